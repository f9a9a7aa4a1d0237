// Cutting text at characters. Views into the argument, nothing copied; well-formed UTF-8 in,
// well-formed UTF-8 out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/json.hpp"

namespace rind::context {

/// The longest prefix of at most `characters` code points.
using rind::first_characters;

/// The longest suffix of at most `characters` code points.
std::string_view last_characters(std::string_view text, std::int64_t characters);

/// The longest prefix of at most `bytes` bytes that ends between characters.
std::string_view first_bytes(std::string_view text, std::size_t bytes);

/// One line of at most `characters` code points: line breaks and tabs become spaces, a cut is shown
/// by an ellipsis within the limit.
std::string excerpt_line(std::string_view text, std::int64_t characters);

} // namespace rind::context
