// Digits in groups of three.
#include "runtime/protocol/number_text.hpp"

namespace rind::protocol {

std::string grouped(std::int64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

} // namespace rind::protocol
