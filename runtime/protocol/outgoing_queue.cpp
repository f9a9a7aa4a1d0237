// The slow-client rule.
#include "runtime/protocol/outgoing_queue.hpp"

#include <algorithm>

#include "messages/json.hpp"

namespace rind::protocol {

namespace {

bool is_tool_progress(const session_event& event) {
  const auto* live = std::get_if<live_event_body>(&event.body);
  return live != nullptr && std::holds_alternative<events::tool_progress>(*live);
}

void forget_session(auto& gaps, const std::string& session_id) {
  std::erase_if(gaps, [&](const auto& gap) { return std::get<0>(gap.first) == session_id; });
}

} // namespace

const std::string* outgoing_queue::event_item::text() const {
  return merged_text ? &*merged_text : delta_text(update->event());
}

outgoing_queue::stream outgoing_queue::stream_of(const session_event& event) {
  return {event.session_id, event.turn_id, std::get<live_event_body>(event.body).index()};
}

bool outgoing_queue::makes_gaps_moot(const session_event& event) {
  if (const auto* durable = std::get_if<entry_ptr>(&event.body))
    return std::holds_alternative<entries::assistant_message>((*durable)->body) ||
           std::holds_alternative<entries::turn_ended>((*durable)->body);
  const auto* retry = std::get_if<events::turn_step_retry>(&std::get<live_event_body>(event.body));
  return retry != nullptr && retry->discard_partial;
}

std::size_t outgoing_queue::unsent_frames() const {
  return frames_ + (oversized_.empty() ? 0 : oversized_.size() - 1);
}

std::size_t outgoing_queue::unsent_bytes() const {
  return bytes_ + (oversized_.empty() ? 0 : oversized_bytes_ - oversized_.front());
}

void outgoing_queue::count(const event_item& e) {
  if (is_oversized(e)) {
    oversized_.push_back(e.bytes);
    oversized_bytes_ += e.bytes;
  } else {
    ++frames_;
    bytes_ += e.bytes;
  }
}

void outgoing_queue::uncount(const event_item& e) {
  if (is_oversized(e)) {
    oversized_.erase(std::find(oversized_.begin(), oversized_.end(), e.bytes));
    oversized_bytes_ -= e.bytes;
  } else {
    --frames_;
    bytes_ -= e.bytes;
  }
}

bool outgoing_queue::push(update_ptr update) {
  if (too_slow_)
    return false;
  event_item added{std::move(update), 0, std::nullopt, 0};
  added.bytes = added.update->tail().size();
  const session_event& event = added.update->event();
  if (delta_text(event) != nullptr) {
    const auto gap = gaps_.find(stream_of(event));
    if (gap != gaps_.end()) {
      added.dropped_characters = gap->second;
      gaps_.erase(gap);
    }
  } else if (makes_gaps_moot(event)) {
    forget_session(gaps_, event.session_id);
  }
  count(added);
  items_.emplace_back(std::move(added));
  if (is_over())
    merge_deltas();
  if (is_over())
    drop_deltas();
  if (is_over())
    drop_tool_progress();
  too_slow_ = is_over();
  return !too_slow_;
}

void outgoing_queue::push(response_text response) {
  if (too_slow_)
    return;
  if (!response.covers_session.empty())
    forget_session(gaps_, response.covers_session);
  response_bytes_ += response.bytes();
  items_.emplace_back(std::move(response));
}

bool outgoing_queue::merge_into(event_item& left, const event_item& right) {
  const std::string* more = right.text();
  const std::string* text = left.text();
  if (more == nullptr || text == nullptr || right.dropped_characters > 0 ||
      stream_of(left.update->event()) != stream_of(right.update->event()) ||
      left.bytes + right.bytes > limits_.bytes)
    return false;
  uncount(left);
  uncount(right);
  if (!left.merged_text)
    left.merged_text = *text;
  left.merged_text->append(*more);
  left.bytes += more->size();
  count(left);
  return true;
}

void outgoing_queue::merge_deltas() {
  std::deque<item> kept;
  for (auto& next : items_) {
    auto* right = std::get_if<event_item>(&next);
    auto* left = kept.empty() ? nullptr : std::get_if<event_item>(&kept.back());
    if (right == nullptr || left == nullptr || !merge_into(*left, *right))
      kept.push_back(std::move(next));
  }
  items_.swap(kept);
}

void outgoing_queue::drop_deltas() {
  std::deque<item> kept;
  std::map<stream, std::int64_t>
      gaps; // of what this pass dropped, up to the item that it stands at
  for (auto& next : items_) {
    if (const auto* response = std::get_if<response_text>(&next)) {
      forget_session(gaps, response->covers_session);
    } else {
      auto& e = std::get<event_item>(next);
      const session_event& event = e.update->event();
      const std::string* text = e.text();
      if (text != nullptr && is_over()) {
        gaps[stream_of(event)] += e.dropped_characters + count_characters(*text);
        uncount(e);
        continue;
      }
      if (text != nullptr) {
        const auto gap = gaps.find(stream_of(event));
        if (gap != gaps.end()) {
          e.dropped_characters += gap->second;
          gaps.erase(gap);
        }
      } else if (makes_gaps_moot(event)) {
        forget_session(gaps, event.session_id);
      }
    }
    kept.push_back(std::move(next));
  }
  items_.swap(kept);
  for (const auto& [key, characters] : gaps)
    gaps_[key] += characters;
}

void outgoing_queue::drop_tool_progress() {
  std::erase_if(items_, [this](const item& next) {
    const auto* e = std::get_if<event_item>(&next);
    if (e == nullptr || !is_tool_progress(e->update->event()) || !is_over())
      return false;
    uncount(*e);
    return true;
  });
}

std::optional<std::string> outgoing_queue::pop() {
  if (items_.empty())
    return std::nullopt;
  item next = std::move(items_.front());
  items_.pop_front();
  if (auto* response = std::get_if<response_text>(&next)) {
    response_bytes_ -= response->bytes();
    return response->head + (response->numbered ? std::to_string(sequence_) : "") + response->tail;
  }
  auto& e = std::get<event_item>(next);
  uncount(e);
  ++sequence_;
  if (!e.merged_text && e.dropped_characters == 0)
    return event_frame(sequence_, e.update->tail());
  const session_event& event = e.update->event();
  const session_event told =
      e.merged_text ? with_delta_text(event, std::move(*e.merged_text)) : event;
  return event_frame(sequence_, delta_tail(told, e.dropped_characters));
}

} // namespace rind::protocol
