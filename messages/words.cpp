// Spellings of the enums whose words are decided by the codec.
#include "messages/words.hpp"

#include <array>

namespace rind {

namespace {

template <class Enum, std::size_t N>
const char* word(const std::array<const char*, N>& names, Enum value) {
  static_assert(N == static_cast<std::size_t>(last_word<Enum>) + 1);
  return names[static_cast<std::size_t>(value)];
}

} // namespace

const char* to_string(message_role value) {
  return word(std::array{"system", "user", "assistant", "tool"}, value);
}

const char* to_string(user_origin value) {
  return word(std::array{"prompt", "steering", "follow_up", "continuation", "rescue_note"}, value);
}

const char* to_string(tool_status value) {
  return word(
      std::array{"completed", "cancelled", "rejected", "failed", "timed_out", "unavailable"},
      value);
}

const char* to_string(input_mode value) {
  return word(std::array{"steering", "follow_up"}, value);
}

const char* to_string(operation_kind value) {
  return word(std::array{"turn", "compact"}, value);
}

const char* to_string(sampling_kind value) {
  return word(std::array{"assistant", "compact"}, value);
}

const char* to_string(cancel_reason value) {
  return word(std::array{"user", "interrupted", "shutdown", "handover"}, value);
}

const char* to_string(entries::turn_outcome value) {
  return word(std::array{"completed", "failed", "cancelled"}, value);
}

const char* to_string(token_source value) {
  return word(std::array{"assistant_usage_plus_local_delta", "local_estimate"}, value);
}

const char* to_string(finish_reason value) {
  return word(
      std::array{"stop", "tool_calls", "length", "content_filter", "window_exceeded", "other"},
      value);
}

const char* to_string(compaction_phase value) {
  return word(std::array{"manual", "mid_turn"}, value);
}

const char* to_string(replacement_kind value) {
  return word(std::array{"body", "units"}, value);
}

} // namespace rind
