// Which entries are events.
#include "messages/events.hpp"

namespace rind {

bool is_durable_event(const entry_body& body) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, entries::turn_started> ||
               std::is_same_v<T, entries::assistant_message> ||
               std::is_same_v<T, entries::tool_requested> ||
               std::is_same_v<T, entries::tool_result> || std::is_same_v<T, entries::boundary> ||
               std::is_same_v<T, entries::input_delivered> ||
               std::is_same_v<T, entries::turn_ended>;
      },
      body);
}

} // namespace rind
