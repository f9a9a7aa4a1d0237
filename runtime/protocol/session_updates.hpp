// Events of a session as the clients see them. Pure: the same event gives the same bytes, live,
// replayed and after a restart.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "messages/events.hpp"

namespace rind::protocol {

/// Characters of a tool call's arguments that `args_preview` shows.
inline constexpr std::int64_t args_preview_characters = 500;

/// The `event` object of a frame.
nlohmann::json event_body(const session_event& event);
/// The same for a journal entry, whose id, time, turn and position the event carries. Null for an
/// entry that is no durable event.
nlohmann::json durable_event_body(const std::string& session_id, const entry& e);

/// A journaled message as `session/replay` tells it in mode `messages`; nothing for an entry
/// without one.
std::optional<nlohmann::json> message_item(const entry& e);

/// The text of an assistant_delta or reasoning_delta; null for every other event.
const std::string* delta_text(const session_event& event);
/// The event with another delta text. Only for events that delta_text answers.
session_event with_delta_text(const session_event& event, std::string text);

/// One event on its way to any number of connections: its JSON text is made once, by the first that
/// asks, and shared. Safe to read from several threads.
class session_update {
public:
  explicit session_update(event_ptr event) : event_(std::move(event)) {}

  const session_event& event() const { return *event_; }
  bool is_durable() const { return std::holds_alternative<entry_ptr>(event_->body); }
  /// The frame from behind its sequence number on, with its newline.
  const std::string& tail() const;

private:
  event_ptr event_;
  mutable std::once_flag encoded_;
  mutable std::string tail_;
};

using update_ptr = std::shared_ptr<const session_update>;

/// The tail of a delta whose text was put together, or before which `dropped_characters` were left
/// out.
std::string delta_tail(const session_event& event, std::int64_t dropped_characters);

/// The whole frame. `sequence` counts the event frames of one connection from 1.
std::string event_frame(std::int64_t sequence, const std::string& tail);

} // namespace rind::protocol
