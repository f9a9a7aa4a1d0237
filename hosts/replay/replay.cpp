// Host, client, one prompt after the other; then the journal is read and examined.
#include "hosts/replay/replay.hpp"

#include <atomic>
#include <iostream>
#include <mutex>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "actors/system.hpp"
#include "hosts/client/protocol_client.hpp"
#include "hosts/replay/checks.hpp"
#include "hosts/replay/kept_store.hpp"
#include "hosts/replay/script.hpp"
#include "hosts/settings.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/journal/open_journal.hpp"

namespace rind::hosts::replay {

using nlohmann::json;

namespace {

constexpr const char* model_name = "recorded";
/// A prompt without any request, event or answer for so long is given up.
constexpr std::int64_t silence_max_ms = 120'000;
constexpr std::int64_t manual_compaction_max_ms = 300'000;
/// A recorded turn is played whole, however long it is.
constexpr std::int64_t samplings_max = 1'000'000;

result<std::shared_ptr<journal::store>> open_store(const std::string& where) {
  auto opened = journal::open_journal(where, journal::journal_access::serve);
  if (!opened)
    return make_failure(opened.error().code, "--journal: " + opened.error().message);
  return std::shared_ptr<journal::store>(std::move(*opened));
}

config::settings settings_for(const replay_options& o) {
  config::settings s;
  s.journal = o.journal;
  s.default_model = model_name;
  s.log_level = "error";
  s.session.samplings_max = samplings_max;
  config::model_settings m;
  m.name = model_name;
  m.limits.window_tokens = o.window_tokens;
  if (o.percent)
    m.limits.threshold_percent = *o.percent;
  config::provider_settings p;
  p.models.push_back(std::move(m));
  s.providers.push_back(std::move(p));
  return s;
}

/// The state of the replay on one line of a terminal, kept up to date; nothing elsewhere.
class progress_line {
public:
  explicit progress_line(std::size_t messages)
      : messages_(messages), shown_(::isatty(STDERR_FILENO) == 1) {}
  ~progress_line() { clear(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(std::size_t played, std::size_t compactions) {
    if (shown_)
      std::cerr << "\r\x1B[Kreplaying: " << played << " of " << messages_ << " messages, "
                << compactions << " compactions" << std::flush;
  }
  void clear() {
    if (shown_)
      std::cerr << "\r\x1B[K" << std::flush;
  }

private:
  std::size_t messages_;
  bool shown_;
};

/// The client of the replayed session.
class player {
public:
  player(const replay_options& o, const recording& r, const plan& p, script& s, cues& c)
      : options_(o), recording_(r), plan_(p), script_(s), cues_(c), progress_(r.size()) {}

  /// Plays everything; false: the host does not answer any more. `session_id` is known afterwards.
  bool play(actors::system& host, net::asio_client& loop, const std::string& system_prompt) {
    client::client_events events;
    events.on_event = [this](const json& frame) { take_event(frame); };
    auto opened = client::protocol_client::open(
        [&](net::connect_callback on_connect) { return host.connect(loop, std::move(on_connect)); },
        std::move(events));
    if (!opened)
      return give_up(opened.error().message);
    client_ = std::move(*opened);
    const bool whole = open_session(system_prompt) && play_turns();
    client_.reset(); // no event comes after this
    progress_.clear();
    return whole;
  }

  const std::string& session_id() const { return session_id_; }
  const std::vector<std::string>& notes() const { return notes_; }

private:
  bool give_up(std::string why) {
    note(std::move(why));
    return false;
  }

  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    if (notes_.size() < note_limit)
      notes_.push_back(std::move(what));
  }

  bool open_session(const std::string& system_prompt) {
    const auto greeted = client_->call("initialize", {{"client", "rind replay"}});
    if (!greeted)
      return give_up("initialize: " + greeted.error_message);
    const auto made = client_->call("session/new", {{"system_prompt", system_prompt}});
    if (!made)
      return give_up("session/new: " + made.error_message);
    session_id_ = made->at("session_id").get<std::string>();
    return true;
  }

  bool play_turns() {
    for (std::size_t i = 0; i < plan_.turns.size(); ++i) {
      if (!play_turn(i))
        return false;
      progress_.show(script_.played(), compactions_);
      const auto every = static_cast<std::size_t>(options_.manual_every);
      if (every > 0 && (i + 1) % every == 0 && !compact())
        return false;
    }
    return true;
  }

  bool play_turn(std::size_t i) {
    const auto& prompt = recording_[plan_.turns[i].prompt];
    script_.begin_turn(i);
    client_->request("session/prompt", {{"session_id", session_id_}, {"input", prompt.msg.content}},
                     [this, line = prompt.line](const client::response& answer) {
                       if (!answer)
                         note("the prompt of line " + std::to_string(line) +
                              " was refused: " + answer.error_type + ": " + answer.error_message);
                       cues_.answered();
                     });
    for (;;)
      switch (cues_.wait(silence_max_ms)) {
      case cues::kind::answered:
        return true;
      case cues::kind::overdue:
        return give_up("the prompt of line " + std::to_string(prompt.line) + " does not end");
      case cues::kind::cancel:
        cancel(prompt.line);
        break;
      }
  }

  void cancel(std::size_t line) {
    client_->request("session/cancel", {{"session_id", session_id_}},
                     [this, line](const client::response& answer) {
                       if (!answer)
                         note("the turn of line " + std::to_string(line) +
                              " cannot be cancelled: " + answer.error_message);
                     });
  }

  bool compact() {
    const auto answer = client_->call("rind/session/compact", {{"session_id", session_id_}},
                                      manual_compaction_max_ms);
    if (answer.error_type == client::no_answer_in_time)
      return give_up("a manual compaction does not end");
    if (!answer && answer.error_type != to_string(error_code::nothing_to_compact))
      note("a manual compaction failed: " + answer.error_type + ": " + answer.error_message);
    return true;
  }

  void take_event(const json& frame) {
    cues_.progressed();
    const auto event = frame.find("event");
    if (event == frame.end() || !event->is_object())
      return;
    const auto type = event->value("type", "");
    if (type == "context_compacted")
      ++compactions_;
    else if (type == "turn_failed")
      note("a turn failed: " + event->value("code", "") + ": " + event->value("error", ""));
  }

  const replay_options& options_;
  const recording& recording_;
  const plan& plan_;
  script& script_;
  cues& cues_;
  progress_line progress_;
  std::unique_ptr<client::protocol_client> client_;
  std::string session_id_;
  std::atomic<std::size_t> compactions_{0};
  std::mutex mutex_; // guards notes_
  std::vector<std::string> notes_;
};

/// Everything that is journaled of a session, from the store as it is after the host has ended.
result<std::vector<entry_ptr>> read_journal(journal::store& store, const std::string& session_id) {
  std::vector<entry_ptr> all;
  const auto found = store.find(session_id);
  if (!found)
    return found.error();
  if (!*found) // nobody prompted it
    return all;
  for (;;) {
    auto page =
        store.read(session_id, all.empty() ? 0 : all.back()->position, journal::read_limit_max);
    if (!page)
      return page.error();
    if (page->empty())
      return all;
    all.insert(all.end(), page->begin(), page->end());
  }
}

int fail(const std::string& why) {
  std::cerr << "rind: error: " << why << "\n";
  return 1;
}

void print(const replay_options& o, const findings& f, const std::vector<std::string>& notes) {
  for (const auto& n : notes)
    std::cerr << "rind: replay: " << n << "\n";
  for (const auto& n : f.notes)
    std::cerr << "rind: replay: " << n << "\n";
  std::cout << (o.json ? to_json_text(f) + "\n" : to_table(f)) << std::flush;
}

} // namespace

int run_replay(const replay_options& o) {
  if (o.window_tokens < config::window_min_tokens)
    return fail("--window: must be at least " + std::to_string(config::window_min_tokens) +
                ", the smallest window in which there is room to work");
  const auto read = read_recording_file(o.file);
  if (!read)
    return fail(o.file + ": " + read.error().message);
  if (read->empty())
    return fail(o.file + ": there is no message in it to be played");
  auto settings = settings_for(o);
  start_logging(settings);
  auto store = open_store(o.journal);
  if (!store)
    return fail(store.error().message);
  const auto p = make_plan(*read);
  const true_sizes sizes(*read);
  cues to_client;
  // The host may hold on to the model for as long as it lives; what the model refers to lives
  // longer.
  const auto model =
      std::make_shared<script>(*read, p, sizes, script_options{o.reject_above_tokens}, to_client);
  const auto tools = std::make_shared<const tools::registry>(scripted_tools(*read, *model));
  actors::system_parts parts;
  parts.store = std::make_unique<kept_store>(*store);
  parts.model = model;
  parts.tools = tools;
  auto host = actors::system::start(std::move(settings), std::move(parts));
  if (!host)
    return fail(host.error().message);
  player client(o, *read, p, *model, to_client);
  net::asio_client loop;
  const bool whole =
      client.play(**host, loop, stand_in_prompt(sizes.fixed_tokens(), tools->definitions()));
  (*host)->stop(0);
  const auto entries = read_journal(**store, client.session_id());
  if (!entries)
    return fail("the journal cannot be read: " + entries.error().message);
  const auto found = examine(*read, p, {model_name, o.window_tokens, tools->definitions()},
                             model->requests(), *entries);
  print(o, found, client.notes());
  return whole && found.clean() ? 0 : 1;
}

} // namespace rind::hosts::replay
