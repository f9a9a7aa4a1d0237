// How much room text takes on a terminal: columns, characters, and where to break a line. Text is
// well-formed UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rind::hosts::chat {

/// Bytes of the character that starts at `position`.
std::size_t character_bytes(std::string_view text, std::size_t position);
/// Where the character before `position` starts; `position` is above 0.
std::size_t previous_character(std::string_view text, std::size_t position);
/// Columns of the one character that starts at `position`: 0 (combining), 1 or 2 (East Asian, most
/// emoji).
int character_columns(std::string_view text, std::size_t position);
int columns_of(std::string_view text);
/// The longest beginning that takes at most so many columns; something that was cut ends in `…`.
std::string fit(std::string_view text, int columns);
/// Rows of at most so many columns, broken at spaces where there are any; at least one row. No
/// newline in the text.
std::vector<std::string> wrap(std::string_view text, int columns);
/// Text that cannot move the cursor or speak to the terminal: control characters are made visible,
/// a tab becomes two spaces. Newlines stay. Bytes that are no UTF-8 become U+FFFD.
std::string printable(std::string_view text);

} // namespace rind::hosts::chat
