// Spellings of what is told about sessions.
#include "messages/session_info.hpp"

#include <array>

namespace rind {

const char* to_string(turn_progress value) {
  constexpr std::array names{"running", "interrupted"};
  return names[static_cast<std::size_t>(value)];
}

const char* to_string(replay_mode value) {
  constexpr std::array names{"messages", "events"};
  return names[static_cast<std::size_t>(value)];
}

} // namespace rind
