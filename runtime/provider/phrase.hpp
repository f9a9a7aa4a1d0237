// Matching of error wordings: phrases with numbers in them, kept as data. Linear, without
// backtracking. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rind::provider {

/// A gap (`~`) of a phrase spans at most this many bytes.
inline constexpr std::size_t phrase_gap_bytes_max = 100;

/// Numbers that a text states, in tokens.
struct stated_numbers {
  std::optional<std::int64_t> limit;     // {limit}
  std::optional<std::int64_t> requested; // {requested}: what the request amounts to
  std::optional<std::int64_t> prompt;    // {prompt}: its input alone
  std::optional<std::int64_t> output;    // {output}: its output limit
};

/// Lower case, white space as single spaces, without URLs and without what follows an echo of the
/// request (`'input': …`). At most 4,096 bytes of the text are looked at.
std::string normalised(std::string_view text);

/// Whether a phrase occurs in normalised text. Phrases are lower case; `~` stands for a gap,
/// `{limit}`, `{requested}`, `{prompt}`,
/// `{output}` and `{n}` for a whole number (`1,234` too). Numbers that are not set yet are set.
bool match_phrase(std::string_view phrase, std::string_view text, stated_numbers& numbers);

} // namespace rind::provider
