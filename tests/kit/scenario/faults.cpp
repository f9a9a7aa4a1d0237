// The words, and what is a name.
#include "tests/kit/scenario/faults.hpp"

#include <algorithm>

#include "tests/kit/invariants/bookkeeping.hpp"

namespace rind::kit {

faults& faults::text(const char* key, const std::string& value, const std::string& session) {
  each_mark(value, [&](const text_mark& m) {
    when(m.session != session, quote, key, "\" holds \"", m.session, ":", std::string(1, m.kind),
         m.id, "\", the mark of another session");
  });
  return *this;
}

std::string faults::joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const auto part : parts)
    all += part;
  return all;
}

bool faults::is_name(std::string_view text) {
  constexpr std::size_t chars_max = 64;
  const auto is_plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= chars_max &&
         std::all_of(text.begin(), text.end(), is_plain);
}

} // namespace rind::kit
