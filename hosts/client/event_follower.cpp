// Two clocks: the cursor counts a session's durable events, the sequence counts a connection's
// frames.
#include "hosts/client/event_follower.hpp"

#include <algorithm>

namespace rind::hosts::client {

namespace {

std::optional<std::int64_t> number_at(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer())
    return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<std::int64_t> cursor_of(const nlohmann::json& frame) {
  const auto event = frame.find("event");
  return event != frame.end() && event->is_object() ? number_at(*event, "cursor") : std::nullopt;
}

} // namespace

/// Moves the cursor on for a durable event that is new.
bool event_follower::is_repeat(const nlohmann::json& frame) {
  const auto cursor = cursor_of(frame);
  if (!cursor)
    return false;
  if (*cursor <= cursor_)
    return true;
  cursor_ = *cursor;
  return false;
}

std::optional<nlohmann::json> event_follower::take_frame(nlohmann::json frame) {
  if (live_)
    return is_repeat(frame) ? std::nullopt : std::optional(std::move(frame));
  if (held_.size() >= held_frames_max)
    overrun_ = true;
  else
    held_.push_back(std::move(frame));
  return std::nullopt;
}

bool event_follower::take_page(const nlohmann::json& page) {
  if (!page.is_object())
    return false;
  const auto cursor = number_at(page, "cursor");
  const auto more = page.find("has_more");
  if (!cursor || more == page.end() || !more->is_boolean() ||
      (more->get<bool>() && *cursor <= cursor_))
    return false;
  cursor_ = std::max(cursor_, *cursor);
  if (more->get<bool>())
    return true;
  // What the page covers is told by it; durable frames that came later and are not in it go on from
  // the cursor.
  const auto covered = number_at(page, "as_of_sequence").value_or(0);
  std::vector<nlohmann::json> released;
  for (auto& frame : held_)
    if (number_at(frame, "sequence").value_or(covered + 1) > covered && !is_repeat(frame))
      released.push_back(std::move(frame));
  held_ = std::move(released);
  live_ = true;
  return true;
}

} // namespace rind::hosts::client
