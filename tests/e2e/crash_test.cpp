// The host is killed at moments that chance chooses, and started again: what its clients were told
// is committed is still there, and everything goes on. Rules S3, S6, S10, S24, S35 and S37. Each
// test is one seed: one journal, many clients, many kills.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/e2e/crash/walker.hpp"
#include "tests/kit/running_host.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::e2e {
namespace {

using nlohmann::json;

constexpr int sessions = 6;
constexpr int kills_a_seed = 10;
constexpr int frames_a_round_max = 4'000; // then the host is killed whatever was seen
constexpr std::int64_t silence_limit_ms = 60'000;
constexpr std::uint64_t rescue_disk_us = 8'000;
constexpr int tool_batches = 400;
constexpr std::size_t large_result_bytes = 12'000;

/// What the kill waits for: so many frames of a kind, from any session, and then some work of this
/// process.
enum class moment { any_frame, streaming, tools, compaction, commit, rescue };

/// In turn; the moment that is hardest to hit comes twice.
constexpr std::array moments{moment::any_frame,  moment::streaming, moment::tools, moment::rescue,
                             moment::compaction, moment::commit,    moment::rescue};

const char* to_string(moment m) {
  constexpr const char* names[] = {"any frame",  "streaming", "tools",
                                   "compaction", "commit",    "rescue"};
  return names[static_cast<int>(m)];
}

/// Whether a frame counts towards the moment.
bool counts(moment m, const json& frame) {
  if (m == moment::any_frame)
    return true;
  if (frame.value("kind", "") == "response")
    return m == moment::commit && frame.contains("result") && frame["result"].contains("accepted");
  const auto& event = frame["event"];
  const auto type = event["type"].get<std::string>();
  switch (m) {
  case moment::streaming:
    return type == "assistant_delta";
  case moment::tools:
    return type == "tool_requested" || type == "tool_call_started";
  case moment::compaction:
    return type == "compaction_started";
  case moment::commit:
    return event.contains("cursor");
  case moment::rescue:
    return type == "assistant_delta" &&
           event["text"].get<std::string>().find("rescued-end") != std::string::npos;
  default:
    return false;
  }
}

appetite appetite_for(moment m) {
  switch (m) {
  case moment::tools:
    return {1, 6, 1, 0};
  case moment::compaction:
    return {5, 1, 1, 3};
  case moment::rescue:
    return {0, 0, 1, 0};
  default:
    return {3, 3, 1, 1};
  }
}

int highest_count(moment m) {
  switch (m) {
  case moment::any_frame:
    return 300;
  case moment::streaming:
    return 80;
  case moment::tools:
    return 10;
  case moment::compaction:
    return 4;
  case moment::commit:
    return 25;
  default:
    return 3;
  }
}

/// The built program, or (scripts/check-canaries) one with a fault.
std::string program_path() {
  const char* other = std::getenv("PROGRAM_UNDER_TEST");
  return other == nullptr ? RIND_PROGRAM : other;
}

/// The mock provider's rules: what a prompt or a tool's result asks for by a word in it.
std::vector<json> script() {
  std::vector<json> rules;
  for (int i = 0; i < tool_batches; ++i) {
    const auto note = [i](const char* name, int k) {
      return json{
          {"name", "note"},
          {"arguments", {{"note", name + std::to_string(i) + "-" + std::to_string(k) + "-end"}}}};
    };
    const auto large = "overflow-" + std::to_string(i) + "-1-end";
    rules.push_back(
        {{"match", {{"contains", "use-tools"}, {"has_tools", true}}},
         {"answer",
          {{"text", "Two notes."}, {"tool_calls", {note("plain-", 1), note("plain-", 2)}}}}});
    rules.push_back(
        {{"match", {{"contains", "use-large-tool"}, {"has_tools", true}}},
         {"answer", {{"text", "A large one."}, {"tool_calls", {note("overflow-", 1)}}}}});
    rules.push_back({{"match", {{"contains", large}, {"has_tools", true}}},
                     {"times", 2},
                     {"answer",
                      {{"status", 400},
                       {"body",
                        {{"error",
                          {{"message", "Your input exceeds the context window of this model."},
                           {"type", "invalid_request_error"},
                           {"code", "context_length_exceeded"}}}}}}}});
  }
  rules.push_back({{"match", {{"contains", "overflow-"}, {"has_tool_result", true}}},
                   {"times", 0},
                   {"answer",
                    {{"deltas", {"What was too long ", "is short now: ", "rescued-end"}},
                     {"delta_delay_ms", 1}}}});
  rules.push_back(
      {{"match", {{"has_tools", false}}},
       {"times", 0},
       {"answer",
        {{"text", "## Goal\nTo talk.\n## Finished\nMuch of it.\n## Pending\nThe rest.\n"},
         {"chunk_chars", 8},
         {"delta_delay_ms", 1}}}});
  std::string talk;
  for (int i = 0; i < 40; ++i)
    talk += "An answer has words, sentence " + std::to_string(i) + ". ";
  rules.push_back(
      {{"times", 0}, {"answer", {{"text", talk}, {"chunk_chars", 120}, {"delta_delay_ms", 1}}}});
  return rules;
}

volatile std::uint64_t work_result;

/// Work of a known amount: the seeded distance between a frame and the kill.
void work(std::uint64_t steps) {
  std::uint64_t x = steps;
  for (std::uint64_t i = 0; i < steps; ++i)
    x = x * 6364136223846793005u + 1442695040888963407u;
  work_result = x;
}

class crash_world {
public:
  explicit crash_world(std::uint64_t seed)
      : seed_(seed), chance_(seed), provider_(program_path(), folder_.file(""), script()) {
    kit::write_file(folder_.file("large.txt"), std::string(large_result_bytes, 'x'));
    kit::write_file(folder_.file("note.sh"),
                    "read -r line\necho \"$line\" >> \"$1\"\necho \"noted $line\"\n"
                    "case \"$line\" in *overflow*) cat \"$2\";; esac\n");
    kit::write_file(
        folder_.file("rind.toml"),
        "[[tools]]\nname = \"note\"\ndescription = \"keeps a note\"\ncommand = [\"/bin/sh\", \"" +
            folder_.file("note.sh") + "\", \"" + folder_.file("notes.txt") + "\", \"" +
            folder_.file("large.txt") + "\"]\n");
    for (int i = 0; i < sessions; ++i)
      walkers_.push_back(std::make_unique<walker>("crash-" + std::to_string(i),
                                                  seed * 1'000 + static_cast<std::uint64_t>(i)));
  }

  /// `next`: what this start of the host will be killed at.
  void start(moment next);
  void run_until(moment m, int count);
  void kill(std::uint64_t steps);
  void finish();
  void check_tools();
  std::string tally() const;
  bool has_complaints() const { return !complaints_.empty(); }
  const complaints& what_is_wrong() const { return complaints_; }
  std::mt19937_64& chance() { return chance_; }
  std::string place() const {
    return "seed " + std::to_string(seed_) + ", kill " + std::to_string(kills_) + ": ";
  }
  std::string log() const { return kit::read_file(folder_.file("server-errors.txt")); }

private:
  std::vector<kit::line_channel*> channels();
  /// Hands every frame that has arrived to its walker until `enough` says so.
  bool hand_out(const std::function<bool(const json&)>& enough);
  std::vector<json> journal_of(const std::string& session_id);
  std::string journal_setting() const { return "sqlite:" + folder_.file("rind.db"); }

  std::uint64_t seed_;
  std::mt19937_64 chance_;
  kit::temp_folder folder_;
  kit::mock_host provider_;
  std::unique_ptr<kit::serving_host> host_;
  std::vector<std::unique_ptr<walker>> walkers_;
  complaints complaints_;
  int kills_ = 0;
};

void crash_world::start(moment next) {
  kit::program_options options;
  options.arguments = {"--config",         folder_.file("rind.toml"),
                       "--journal",        journal_setting(),
                       "--base-url",       provider_.url(),
                       "--model",          "mock-model",
                       "--context-window", "8000"};
  if (seed_ % 3 == 0)
    options.arguments.push_back("--auto-resume");
  options.errors_file = folder_.file("server-errors.txt");
  // A slow disk holds commits open long enough to be hit; every third start has a fast one.
  const auto drawn_us = chance_() % 3 * 1'500;
  if (const auto slow_us = next == moment::rescue ? rescue_disk_us : drawn_us; slow_us > 0) {
    options.variables["LD_PRELOAD"] = RIND_SLOW_DISK;
    options.variables["SLOW_DISK_US"] = std::to_string(slow_us);
    const char* asan = std::getenv("ASAN_OPTIONS");
    options.variables["ASAN_OPTIONS"] =
        std::string(asan == nullptr ? "" : asan) + ":verify_asan_link_order=0";
  }
  host_ = std::make_unique<kit::serving_host>(program_path(), folder_.file("s"), options);
  for (auto& w : walkers_)
    w->connect(host_->socket_path(), complaints_);
}

std::vector<kit::line_channel*> crash_world::channels() {
  std::vector<kit::line_channel*> all;
  for (auto& w : walkers_)
    all.push_back(&w->peer().channel());
  return all;
}

bool crash_world::hand_out(const std::function<bool(const json&)>& enough) {
  for (auto& w : walkers_) {
    while (const auto frame = w->peer().take_frame()) {
      w->take(*frame, complaints_);
      if (enough(*frame))
        return true;
    }
    if (w->peer().channel().is_ended()) {
      complaints_.push_back("the host ended by itself");
      return true;
    }
  }
  return false;
}

void crash_world::run_until(moment m, int count) {
  for (auto& w : walkers_)
    w->set_appetite(appetite_for(m));
  int frames = 0;
  const auto enough = [&](const json& frame) {
    return ++frames >= frames_a_round_max || (counts(m, frame) && --count <= 0) || has_complaints();
  };
  while (!hand_out(enough))
    if (!kit::line_channel::move_bytes(channels(), silence_limit_ms)) {
      complaints_.push_back("nothing came any more");
      return;
    }
}

void crash_world::kill(std::uint64_t steps) {
  work(steps);
  host_->child().kill();
  ++kills_;
  for (auto& w : walkers_)
    w->lose_connection(complaints_);
  for (auto& w : walkers_)
    if (w->book().told_count() > 0)
      w->book().check_journal(journal_of(w->session_id()), complaints_);
}

std::vector<json> crash_world::journal_of(const std::string& session_id) {
  kit::program_options options;
  options.arguments = {"sessions", "--journal", journal_setting(), "export", session_id};
  options.errors_file = folder_.file("export-errors.txt");
  std::vector<json> entries;
  std::istringstream lines(kit::output_of(program_path(), options));
  for (std::string line; std::getline(lines, line);)
    entries.push_back(json::parse(line));
  if (entries.empty())
    complaints_.push_back("S35: the journal of " + session_id +
                          " cannot be read: " + kit::read_file(options.errors_file));
  return entries;
}

/// No more kills: everything that is open comes to its end.
void crash_world::finish() {
  for (auto& w : walkers_)
    w->wind_down();
  const auto all_idle = [this] {
    return std::all_of(walkers_.begin(), walkers_.end(),
                       [](const auto& w) { return w->is_idle(); });
  };
  const auto goes_on = [](const json&) { return false; };
  for (;;) {
    if (hand_out(goes_on) || all_idle())
      break;
    if (!kit::line_channel::move_bytes(channels(), silence_limit_ms)) {
      complaints_.push_back("S10: something never ended");
      return;
    }
  }
  for (auto& w : walkers_) {
    auto whole = w->replay();
    w->book().check_replay(whole, complaints_);
    whole.entries = journal_of(w->session_id());
    w->book().check_journal(whole.entries, complaints_);
    w->book().check_end(whole, complaints_);
  }
  host_->child().signal(SIGTERM);
  if (const auto end = host_->child().wait(); end.exit_code != 0)
    complaints_.push_back("the host ended with " + std::to_string(end.exit_code) + ", signal " +
                          std::to_string(end.signal));
  check_tools();
}

/// A tool call runs at most once, whatever happened to the host (S9, S10).
void crash_world::check_tools() {
  std::map<std::string, int> runs;
  std::istringstream lines(kit::read_file(folder_.file("notes.txt")));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() &&
        ++runs[line] == 2) // empty: the host died before it had handed the arguments over
      complaints_.push_back("S9: a tool call ran again: " + line);
}

std::string crash_world::tally() const {
  std::size_t told = 0, accepted = 0, compactions = 0, rescues = 0;
  for (const auto& w : walkers_) {
    told += w->book().told_count();
    accepted += w->book().accepted_count();
    compactions +=
        w->book().boundary_count("llm_inline") + w->book().boundary_count("deterministic_fallback");
    rescues += w->book().boundary_count("context_rescue");
  }
  return std::to_string(told) + " durable events, " + std::to_string(accepted) +
         " inputs accepted, " + std::to_string(compactions) + " compactions, " +
         std::to_string(rescues) + " rescues";
}

class crash : public testing::TestWithParam<int> {};

TEST_P(crash, S35_what_was_told_survives_sigkill) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  crash_world world(seed);
  const auto moment_of = [seed](int k) {
    return moments[(seed + static_cast<std::uint64_t>(k)) % moments.size()];
  };
  world.start(moment_of(0));
  for (int k = 0; k < kills_a_seed && !world.has_complaints(); ++k) {
    const auto m = moment_of(k);
    const auto count =
        1 + static_cast<int>(world.chance()() % static_cast<unsigned>(highest_count(m)));
    const auto steps = world.chance()() % (m == moment::rescue ? 24'000'000 : 3'000'000);
    world.run_until(m, count);
    world.kill(steps);
    SCOPED_TRACE(world.place() + to_string(m) + " " + std::to_string(count) + " + " +
                 std::to_string(steps) + " steps");
    if (!world.has_complaints())
      world.start(moment_of(k + 1));
    for (const auto& wrong : world.what_is_wrong())
      ADD_FAILURE() << wrong;
  }
  if (world.has_complaints()) {
    std::cerr << "the log of the server:\n" << world.log();
    return;
  }
  world.finish();
  for (const auto& wrong : world.what_is_wrong())
    ADD_FAILURE() << world.place() << wrong;
  std::cout << world.place() << world.tally() << "\n";
}

INSTANTIATE_TEST_SUITE_P(seed, crash, testing::Range(1, 11),
                         [](const auto& one) { return std::to_string(one.param); });

} // namespace
} // namespace rind::e2e
