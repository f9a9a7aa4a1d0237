// The escape sequences are those that every terminal of the last decades knows.
#include "hosts/chat/screen.hpp"

#include <algorithm>
#include <utility>

#include "hosts/chat/text_width.hpp"

namespace rind::hosts::chat {

namespace {

constexpr int input_rows_max = 8;
constexpr int columns_min = 8;

const char* colour_of(text_style style) {
  switch (style) {
  case text_style::answer:
    return "";
  case text_style::user:
    return "\x1B[1m";
  case text_style::quiet:
    return "\x1B[2m";
  case text_style::notice:
    return "\x1B[36m";
  case text_style::warning:
    return "\x1B[33m";
  case text_style::error:
    return "\x1B[31m";
  }
  return "";
}

/// The edited text in rows, and where the cursor stands in them.
struct input_rows {
  std::vector<std::string> rows;
  int cursor_row = 0;
  int cursor_column = 0;
};

input_rows lay_out(const live_region& live, int columns, int rows_max) {
  input_rows laid;
  laid.rows.push_back(live.prompt);
  int used = columns_of(live.prompt);
  const auto place_cursor = [&] {
    laid.cursor_row = static_cast<int>(laid.rows.size()) - 1;
    laid.cursor_column = used;
  };
  for (std::size_t at = 0; at < live.text.size();) {
    const auto bytes = character_bytes(live.text, at);
    const auto shown = live.text[at] == '\n' ? std::string("↵") : live.text.substr(at, bytes);
    const int width = columns_of(shown);
    if (used + width > columns) {
      laid.rows.emplace_back();
      used = 0;
    }
    if (at == live.cursor)
      place_cursor();
    laid.rows.back() += shown;
    used += width;
    at += bytes;
  }
  if (live.cursor >= live.text.size())
    place_cursor();
  // A long text shows the rows around the cursor.
  const int first = std::max(
      0, std::min(laid.cursor_row - rows_max / 2, static_cast<int>(laid.rows.size()) - rows_max));
  const auto last = std::min(laid.rows.size(), static_cast<std::size_t>(first + rows_max));
  laid.rows.assign(laid.rows.begin() + first,
                   laid.rows.begin() + static_cast<std::ptrdiff_t>(last));
  laid.cursor_row -= first;
  return laid;
}

std::string move(int count, char direction) {
  return count > 0 ? "\x1B[" + std::to_string(count) + direction : std::string();
}

} // namespace

std::string screen::styled(text_style style, const std::string& text) const {
  const std::string colour = colours_ && !text.empty() ? colour_of(style) : "";
  return colour.empty() ? text : colour + text + "\x1B[0m";
}

std::string screen::erase_live() {
  auto out = "\r" + move(rows_above_cursor_, 'A') + "\x1B[J";
  rows_above_cursor_ = 0;
  return out;
}

void screen::add(const piece& one, int columns, std::string& out) {
  open_style_ = one.style;
  open_row_ += one.text;
  auto rows = wrap(open_row_, columns);
  open_row_ = std::move(rows.back());
  rows.pop_back();
  if (one.ends_line)
    rows.push_back(std::exchange(open_row_, {}));
  for (const auto& row : rows)
    out += styled(one.style, row) + "\r\n";
}

std::string screen::draw(const std::vector<piece>& pieces, const live_region& live,
                         terminal_size size) {
  // The last column stays free: terminals differ in what they do after writing it.
  const int columns = std::max(size.columns, columns_min) - 1;
  auto out = "\x1B[?25l" + erase_live();
  for (const auto& one : pieces)
    add(one, columns, out);
  std::vector<std::string> rows;
  if (!open_row_.empty()) {
    auto open = wrap(open_row_, columns); // more than one after the terminal became narrower
    for (const auto& row : open)
      rows.push_back(styled(open_style_, row));
  }
  if (!live.status.empty())
    rows.push_back(styled(text_style::quiet, fit(printable(live.status), columns)));
  const auto input = lay_out(live, columns, std::clamp(size.rows - 3, 1, input_rows_max));
  const int cursor_row = static_cast<int>(rows.size()) + input.cursor_row;
  rows.insert(rows.end(), input.rows.begin(), input.rows.end());
  for (std::size_t index = 0; index < rows.size(); ++index)
    out += (index == 0 ? "" : "\r\n") + rows[index];
  out += move(static_cast<int>(rows.size()) - 1 - cursor_row, 'A') + "\r" +
         move(input.cursor_column, 'C') + "\x1B[?25h";
  rows_above_cursor_ = cursor_row;
  return out;
}

std::string screen::leave() {
  auto out = erase_live();
  if (!open_row_.empty())
    out += styled(open_style_, std::exchange(open_row_, {})) + "\r\n";
  return out;
}

} // namespace rind::hosts::chat
