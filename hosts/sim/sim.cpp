// Seeds, failures, and what is said of them on the way.
#include "hosts/sim/sim.hpp"

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "hosts/sim/tally.hpp"
#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"
#include "tests/kit/scenario/minimize.hpp"
#include "tests/kit/scenario/player.hpp"

namespace rind::hosts::sim {

namespace {

using nlohmann::json;

constexpr std::size_t timeline_shown_max = 60;
/// A person who waits is told after so many seeds how far it is.
constexpr std::uint64_t progress_seeds = 2'000;
constexpr int exit_interrupted = 128 + SIGINT;

volatile std::sig_atomic_t interrupted = 0;

struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  bool is_single() const { return first == last; }
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t n = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return n;
}

std::optional<seed_range> range_in(const std::string& text) {
  const auto dots = text.find("..");
  const auto first = number_in(std::string_view{text}.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : number_in(std::string_view{text}.substr(dots + 2));
  if (!first || !last || *last < *first || *last - *first >= seeds_max)
    return std::nullopt;
  return seed_range{*first, *last};
}

int refuse(const std::string& what) {
  std::cerr << "rind sim: error: " << what << "\n";
  return 2;
}

/// What was printed may have got lost; then nobody knows what came of the runs.
int printed(int code) {
  std::cout.flush();
  if (std::cout)
    return code;
  std::cerr << "rind sim: error: standard output cannot be written\n";
  return 1;
}

class stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Whether a run failed as another one did. An expectation says in words what was found in place of
/// what: another finding is another failure.
bool is_same(const kit::breach& one, const kit::breach& other) {
  return one.invariant == other.invariant &&
         (one.invariant != kit::expectation_breach || one.what == other.what);
}

class simulation {
public:
  explicit simulation(const sim_options& o) : options_(o) {}

  int run_seeds(seed_range range) {
    for (auto seed = range.first; !interrupted; ++seed) {
      tell_progress(range);
      const auto s = drawn(seed);
      take(seed, "seed " + std::to_string(seed), s, kit::play(s, {options_.timeline, {}}));
      if (seed == range.last || tally_.failed.size() >= failures_max)
        break;
    }
    return finish();
  }

  int run_scenario(const kit::scenario& s) {
    take(s.world.seed, *options_.scenario_file, s, kit::play(s, {options_.timeline, {}}));
    return finish();
  }

  int run_canaries() {
    auto found = json::array();
    bool all_found = true;
    for (const auto& c : canary::all()) {
      canary::plant(c.which);
      const auto row = find(c);
      all_found = all_found && row.at("found").get<bool>();
      if (!options_.json)
        std::cout << canary_line(row) << std::endl;
      found.push_back(row);
    }
    canary::plant(canary::id::none);
    if (options_.json)
      std::cout << dump_json(json{{"canaries", found}}) << "\n";
    return printed(all_found ? 0 : 1);
  }

private:
  kit::scenario drawn(std::uint64_t seed) const {
    auto d = options_.draw;
    d.seed = seed;
    return kit::draw(d);
  }

  void take(std::uint64_t seed, const std::string& name, const kit::scenario& s,
            const kit::run_report& report) {
    tally_.add(report);
    for (const auto& line : report.timeline)
      std::cout << line << "\n";
    if (!report.failure)
      return;
    tally_.failed.push_back({seed, *report.failure});
    auto& out = options_.json ? std::cerr : std::cout;
    out << name << ": " << report.failure->invariant << ": " << report.failure->what << "\n";
    if (options_.minimize)
      show_smallest(seed, s, *report.failure, out);
  }

  void tell_progress(seed_range range) const {
    const bool is_wanted = options_.progress || ::isatty(STDERR_FILENO) == 1;
    if (is_wanted && !range.is_single() && tally_.runs % progress_seeds == 0)
      std::cerr << "rind sim: " << tally_.runs << " of " << range.last - range.first + 1
                << " runs, " << tally_.failed.size() << " failures\n";
  }

  /// Where the smallest story of a failure goes: never over the file that it came from.
  std::string file_for(std::uint64_t seed) const {
    const std::filesystem::path from = options_.scenario_file.value_or("");
    const auto name = from.empty() ? "sim-failure-" + std::to_string(seed) + ".jsonl"
                                   : from.stem().string() + "-smallest.jsonl";
    return (std::filesystem::path(options_.failures_folder) / name).string();
  }

  void show_smallest(std::uint64_t seed, const kit::scenario& s, const kit::breach& broken,
                     std::ostream& out) const {
    const auto smallest = kit::minimize(s, [&](const kit::scenario& candidate) {
      const auto r = interrupted ? kit::run_report{} : kit::play(candidate);
      return r.failure && is_same(*r.failure, broken);
    });
    const auto path = file_for(seed);
    std::ofstream file{path};
    file << kit::to_json_lines(smallest);
    file.close();
    const auto timeline = kit::play(smallest, {true, {}}).timeline;
    const auto skipped =
        timeline.size() > timeline_shown_max ? timeline.size() - timeline_shown_max : 0;
    if (skipped > 0)
      out << "  … " << skipped << " lines before\n";
    for (auto i = skipped; i < timeline.size(); ++i)
      out << "  " << timeline[i] << "\n";
    out << (file ? "  replays it: rind sim --scenario " + path
                 : "  " + path + " could not be written")
        << "\n";
  }

  int finish() {
    tally_.seconds = watch_.seconds();
    std::cout << (options_.json ? to_json_text(tally_) : to_text(tally_));
    if (interrupted)
      return printed(exit_interrupted);
    return printed(tally_.failed.empty() ? 0 : 1);
  }

  json find(const canary::description& c) const {
    json row{{"id", c.name}, {"found", false}};
    for (std::uint64_t seed = 1; seed <= canary_seeds_max; ++seed) {
      const auto r = kit::play(drawn(seed));
      row["seeds"] = seed;
      if (!r.failure || fails_anyway(seed, c))
        continue;
      row["found"] = true;
      row["invariant"] = r.failure->invariant;
      row["what"] = r.failure->what;
      break;
    }
    return row;
  }

  /// A seed that fails without the bug proves nothing of it.
  bool fails_anyway(std::uint64_t seed, const canary::description& c) const {
    canary::plant(canary::id::none);
    const auto clean = kit::play(drawn(seed));
    canary::plant(c.which);
    return clean.failure.has_value();
  }

  static std::string canary_line(const json& row) {
    auto line = row.at("id").get<std::string>();
    line.resize(34, ' ');
    if (!row.at("found").get<bool>())
      return line + "NOT FOUND in " + std::to_string(canary_seeds_max) + " seeds";
    return line + std::to_string(row.at("seeds").get<std::uint64_t>()) + " seeds  " +
           row.at("invariant").get<std::string>() + ": " + row.at("what").get<std::string>();
  }

  const sim_options& options_;
  stopwatch watch_;
  tally tally_;
};

/// What the failures' folder is wrong for; empty: nothing.
std::string folder_fault(const std::string& folder) {
  std::error_code ignored; // what cannot be looked at is none
  if (!std::filesystem::is_directory(folder, ignored))
    return "--failures " + folder + " is no folder";
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return "--failures " + folder + " cannot be written";
  return {};
}

int run_file(simulation& s, const std::string& path) {
  std::error_code ignored; // then opening it tells
  std::ifstream file{path};
  if (!file || std::filesystem::is_directory(path, ignored))
    return refuse("\"" + path + "\" is no file that can be read");
  const auto read = kit::read_scenario(file);
  if (!read)
    return refuse(path + ": " + read.error().message);
  return s.run_scenario(*read);
}

} // namespace

int run_sim(const sim_options& options) {
  const auto range = range_in(options.seeds);
  if (!range)
    return refuse("--seeds is A..B or A, at most " + std::to_string(seeds_max) +
                  " of them, not \"" + options.seeds + "\"");
  if (options.canaries && !canary::are_built_in())
    return refuse(
        "this program holds no planted bugs; `make canaries` builds and runs one that does");
  const bool is_one_run = options.scenario_file || range->is_single();
  if (options.timeline && !is_one_run)
    return refuse("--timeline tells a single run: give one seed or a scenario");
  if (const auto fault = options.minimize ? folder_fault(options.failures_folder) : std::string{};
      !fault.empty())
    return refuse(fault);
  // What a run provokes on purpose is no news to who started it.
  spdlog::set_level(spdlog::level::off);
  simulation s{options};
  if (options.canaries)
    return s.run_canaries();
  std::signal(SIGINT, [](int) { interrupted = 1; });
  return options.scenario_file ? run_file(s, *options.scenario_file) : s.run_seeds(*range);
}

} // namespace rind::hosts::sim
