// What can be read off an entry without knowing its neighbours.
#include "messages/journal_entry.hpp"

namespace rind {

const message_ptr* message_of(const entry_body& body) {
  return std::visit(
      [](const auto& b) -> const message_ptr* {
        if constexpr (requires { b.msg; })
          return &b.msg;
        else
          return nullptr;
      },
      body);
}

bool moves_view(const entry_body& body) {
  return message_of(body) != nullptr || std::holds_alternative<entries::boundary>(body);
}

} // namespace rind
