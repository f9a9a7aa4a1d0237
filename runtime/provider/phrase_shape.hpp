// The structure of a complaint about length, whatever its words: something that is measured (a
// prompt, tokens), a comparison (exceeds, is longer) and a bound (limit, window) in one sentence,
// and nothing that speaks for another matter (bytes, rates, the output). Pure; the words are data
// of error_patterns.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rind::provider {

/// A sentence is looked at up to this many words.
inline constexpr std::size_t sentence_words_max = 96;

struct length_complaint {
  std::string_view rest; // of the text, from the sentence on: its numbers stand there
  std::string words;     // what stood for what: "prompt exceeds limit"
};

/// The first sentence of normalised text that complains of the length of a prompt, or nothing.
std::optional<length_complaint> find_length_complaint(std::string_view text);

} // namespace rind::provider
