// Keeping and counting events.
#include "hosts/demo/session_log.hpp"

namespace rind::hosts::demo {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_terminal(const std::string& event_type) {
  return event_type == "turn_completed" || event_type == "turn_failed" ||
         event_type == "turn_cancelled";
}

bool is_rescue(const json& context_compacted) {
  return text_of(context_compacted.at("record"), "strategy") == "context_rescue";
}

void session_log::take(const json& event) {
  const auto type = text_of(event, "type");
  const auto cursor = event.find("cursor");
  const bool durable = cursor != event.end() && cursor->is_number_integer();
  const std::lock_guard lock(mutex_);
  if (durable)
    cursor_ = cursor->get<std::int64_t>();
  if (const auto turn = text_of(event, "turn_id"); !turn.empty() && ended_turns_.count(turn) > 0)
    ++after_terminal_;
  count_event(type, event);
  const bool counted_only =
      type == "assistant_delta" || type == "reasoning_delta" || type == "tool_progress";
  if (!counted_only)
    events_.push_back({event, durable});
  changed_.notify_all();
}

void session_log::count_event(const std::string& type, const json& event) {
  ++counts_.types[type];
  if (type == "assistant_delta")
    ++counts_.deltas;
  else if (type == "turn_started")
    counts_.open_turn = text_of(event, "turn_id");
  else if (type == "turn_step_retry")
    ++totals_.retries;
  else if (type == "context_compacted")
    ++(is_rescue(event) ? totals_.rescues : totals_.compactions);
  if (!is_terminal(type))
    return;
  ++totals_.turns;
  counts_.open_turn.clear();
  ended_turns_.insert(text_of(event, "turn_id"));
}

std::int64_t session_log::deltas() const {
  const std::lock_guard lock(mutex_);
  return counts_.deltas;
}

std::int64_t session_log::cursor() const {
  const std::lock_guard lock(mutex_);
  return cursor_;
}

std::int64_t session_log::count(const std::string& type, const event_test& accept) const {
  const std::lock_guard lock(mutex_);
  std::int64_t found = 0;
  for (const auto& seen : events_)
    if (text_of(seen.event, "type") == type && (!accept || accept(seen.event)))
      ++found;
  return found;
}

std::string session_log::open_turn() const {
  const std::lock_guard lock(mutex_);
  return counts_.open_turn;
}

session_view session_log::copy() const {
  const std::lock_guard lock(mutex_);
  return {events_, counts_.deltas, after_terminal_};
}

bool session_log::wait(const std::function<bool(const counts& now)>& test) const {
  const auto deadline = run_.deadline();
  std::unique_lock lock(mutex_);
  while (!test(counts_)) {
    if (run_.is_given_up() || steady::now() >= deadline)
      return false;
    changed_.wait_for(lock, wait_slice);
  }
  return true;
}

} // namespace rind::hosts::demo
