// What one client saw of one session, in order, and waiting for it. Filled on the connection's
// thread, read on the thread that drives the session.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/demo/run_state.hpp"

namespace rind::hosts::demo {

/// Counts over all sessions for the line of progress.
struct progress {
  std::atomic<std::int64_t> turns = 0;
  std::atomic<std::int64_t> compactions = 0;
  std::atomic<std::int64_t> rescues = 0;
  std::atomic<std::int64_t> retries = 0;
  std::atomic<std::int64_t> sessions_done = 0;
};

/// One event as it came. Deltas and tool progress are counted only.
struct seen_event {
  nlohmann::json event; // as in the frame's `event`
  bool durable = false;
};

/// A copy of what is known so far.
struct session_view {
  std::vector<seen_event> events;
  std::int64_t deltas = 0;
  std::int64_t after_terminal = 0; // events of an operation that came after its terminal event
};

class session_log {
public:
  session_log(const run_state& run, progress& totals) : run_(run), totals_(totals) {}

  /// The `event` of a live frame or a replayed item.
  void take(const nlohmann::json& event);

  std::int64_t deltas() const;
  /// The newest durable event; where to follow from after a reconnect.
  std::int64_t cursor() const;
  /// Durable events of a type that hold so far; `accept` may be empty.
  using event_test = std::function<bool(const nlohmann::json& event)>;
  std::int64_t count(const std::string& type, const event_test& accept = {}) const;
  /// The operation that started and did not end; empty: none.
  std::string open_turn() const;
  session_view copy() const;

  /// Waits until the test holds; it is called under the lock of this log, so it uses `counts`.
  struct counts {
    std::int64_t deltas = 0;
    std::map<std::string, std::int64_t> types; // of all events but deltas
    std::string open_turn;
  };
  bool wait(const std::function<bool(const counts& now)>& test) const;
  /// Wakes who waits, so that it looks at the run's state.
  void wake() const { changed_.notify_all(); }

private:
  void count_event(const std::string& type, const nlohmann::json& event);

  const run_state& run_;
  progress& totals_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<seen_event> events_;
  counts counts_;
  std::set<std::string> ended_turns_;
  std::int64_t after_terminal_ = 0;
  std::int64_t cursor_ = 0;
};

/// Text of a member, or "" where it is none.
std::string text_of(const nlohmann::json& object, const char* name);
bool is_terminal(const std::string& event_type);
/// A boundary that is a rescue and no compaction.
bool is_rescue(const nlohmann::json& context_compacted);

} // namespace rind::hosts::demo
