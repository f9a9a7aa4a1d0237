// Cutting text at characters: a byte that continues a character is never the first of what is left.
#include "runtime/context/text_cut.hpp"

namespace rind::context {

namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

} // namespace

std::string_view last_characters(std::string_view text, std::int64_t characters) {
  std::size_t begin = text.size();
  for (std::int64_t taken = 0; taken < characters && begin > 0; ++taken) {
    --begin;
    while (begin > 0 && continues(text[begin]))
      --begin;
  }
  return text.substr(begin);
}

std::string_view first_bytes(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size())
    return text;
  while (bytes > 0 && continues(text[bytes]))
    --bytes;
  return text.substr(0, bytes);
}

std::string excerpt_line(std::string_view text, std::int64_t characters) {
  const auto whole = first_characters(text, characters);
  const bool cut = whole.size() < text.size();
  std::string line{cut ? first_characters(whole, characters - 1) : whole};
  for (char& c : line)
    if (c == '\n' || c == '\r' || c == '\t')
      c = ' ';
  if (cut && characters > 0)
    line += "\u2026";
  return line;
}

} // namespace rind::context
