// Small text tools of the embedded model: cutting, splitting, matching. Bytes are UTF-8; case is
// folded for ASCII only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rind::provider {

/// The longest prefix of at most `bytes_max` bytes that ends between two characters.
std::string_view prefix_of(std::string_view text, std::size_t bytes_max);

/// `text` without white space at its ends.
std::string_view trimmed(std::string_view text);

/// `text` on one line and at most `bytes_max` bytes, with "…" where something was cut.
std::string excerpt(std::string_view text, std::size_t bytes_max);

/// ASCII lower case; other bytes unchanged.
std::string lowered(std::string_view text);

/// Sentences and lines, trimmed, without empty ones. A sentence ends in . ! ? and white space, a
/// line in LF.
std::vector<std::string_view> sentences_of(std::string_view text);

/// Lower-case words of letters, digits, '-', '_' and non-ASCII bytes.
std::vector<std::string> words_of(std::string_view text);

/// Whether any of `needles` occurs in `haystack` (both lower case).
bool contains_any(std::string_view haystack, const std::vector<std::string_view>& needles);

} // namespace rind::provider
