// A short table of wide and combining characters, enough for aligned text; it needs no locale.
#include "hosts/chat/text_width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "messages/json.hpp"

namespace rind::hosts::chat {

namespace {

struct range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array combining = {
    range{0x0300, 0x036F}, range{0x0483, 0x0489}, range{0x0591, 0x05BD}, range{0x064B, 0x065F},
    range{0x0E31, 0x0E31}, range{0x0E34, 0x0E3A}, range{0x1AB0, 0x1AFF}, range{0x1DC0, 0x1DFF},
    range{0x200B, 0x200F}, range{0x20D0, 0x20FF}, range{0xFE00, 0xFE0F}, range{0xFE20, 0xFE2F}};
constexpr std::array wide = {
    range{0x1100, 0x115F},   range{0x2E80, 0x303E},   range{0x3041, 0xA4CF},
    range{0xAC00, 0xD7A3},   range{0xF900, 0xFAFF},   range{0xFE30, 0xFE6F},
    range{0xFF00, 0xFF60},   range{0xFFE0, 0xFFE6},   range{0x1F300, 0x1F64F},
    range{0x1F680, 0x1F6FF}, range{0x1F900, 0x1FAFF}, range{0x20000, 0x3FFFD}};

template <class Table>
bool is_in(const Table& table, std::uint32_t value) {
  return std::any_of(table.begin(), table.end(),
                     [value](range r) { return value >= r.first && value <= r.last; });
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::uint32_t code_point(std::string_view text, std::size_t position) {
  const auto bytes = character_bytes(text, position);
  const auto first = static_cast<unsigned char>(text[position]);
  if (bytes == 1)
    return first;
  std::uint32_t value = first & (0x7Fu >> bytes);
  for (std::size_t index = 1; index < bytes; ++index)
    value = value << 6 | (static_cast<unsigned char>(text[position + index]) & 0x3Fu);
  return value;
}

/// Where a row that starts at `start` has to end, and where the next one starts.
struct row_end {
  std::size_t end;
  std::size_t next;
};

row_end end_of_row(std::string_view text, std::size_t start, int columns) {
  int used = 0;
  std::size_t last_space = std::string_view::npos;
  for (auto at = start; at < text.size(); at += character_bytes(text, at)) {
    used += character_columns(text, at);
    if (used > columns && at > start) {
      if (text[at] == ' ')
        return {at, at + 1};
      if (last_space != std::string_view::npos)
        return {last_space, last_space + 1};
      return {at, at};
    }
    if (text[at] == ' ' && at > start)
      last_space = at;
  }
  return {text.size(), text.size()};
}

} // namespace

std::size_t character_bytes(std::string_view text, std::size_t position) {
  std::size_t end = position + 1;
  while (end < text.size() && end < position + 4 && is_continuation(text[end]))
    ++end;
  return end - position;
}

std::size_t previous_character(std::string_view text, std::size_t position) {
  auto start = position - 1;
  while (start > 0 && position - start < 4 && is_continuation(text[start]))
    --start;
  return start;
}

int character_columns(std::string_view text, std::size_t position) {
  const auto value = code_point(text, position);
  if (is_in(combining, value))
    return 0;
  return is_in(wide, value) ? 2 : 1;
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size(); at += character_bytes(text, at))
    columns += character_columns(text, at);
  return columns;
}

std::string fit(std::string_view text, int columns) {
  if (columns_of(text) <= columns)
    return std::string(text);
  int used = 0;
  std::size_t at = 0;
  while (at < text.size() && used + character_columns(text, at) <= columns - 1) {
    used += character_columns(text, at);
    at += character_bytes(text, at);
  }
  return std::string(text.substr(0, at)) + (columns > 0 ? "…" : "");
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> rows;
  std::size_t start = 0;
  do {
    const auto row = end_of_row(text, start, std::max(columns, 1));
    rows.emplace_back(text.substr(start, row.end - start));
    start = row.next;
    if (start == text.size() && row.end < row.next)
      rows.emplace_back(); // the break took the last space: what is appended later belongs to a new
                           // row
  } while (start < text.size());
  return rows;
}

std::string printable(std::string_view text) {
  const auto repaired = repair_utf8(text);
  std::string out;
  out.reserve(repaired.size());
  for (std::size_t at = 0; at < repaired.size(); at += character_bytes(repaired, at)) {
    const auto value = code_point(repaired, at);
    if (value == '\n')
      out += '\n';
    else if (value == '\t')
      out += "  ";
    else if (value == '\r')
      continue;
    else if (value < 0x20)
      (out += '^') += static_cast<char>(value + 0x40);
    else if (value == 0x7F || (value >= 0x80 && value < 0xA0) ||
             (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069))
      out += "\xEF\xBF\xBD"; // C1 controls, and marks that reorder text
    else
      out.append(repaired, at, character_bytes(repaired, at));
  }
  return out;
}

} // namespace rind::hosts::chat
