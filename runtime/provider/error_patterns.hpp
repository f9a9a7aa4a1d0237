// The dialects of provider errors as data: codes and wordings, each with where it was seen. How
// they are weighed stands in error_classifier.cpp; the syntax of wordings in phrase.hpp. Adding a
// dialect is adding a row here and its case to tests/data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "messages/sampling.hpp"

namespace rind::provider {

struct context_code {
  std::string_view code; // lower case, whole
  std::string_view seen_at;
};

struct code_rule {
  std::string_view code; // lower case, whole
  provider_error_class error_class;
  std::string_view seen_at;
};

struct wording_rule {
  std::string_view phrase;
  provider_error_class error_class;
  std::string_view seen_at; // "gateways": of several, none of them its inventor
};

/// What words stand for in a complaint about length (phrase_shape.hpp).
enum class shape_part : std::uint8_t {
  measured,         // too long by itself: a prompt, tokens
  measured_by_size, // too long where the sentence speaks of a size: input, messages
  size,             // what makes it speak of one
  comparison,
  bound,
  output,      // speaks of the answer …
  prompt_side, // … unless this stands beside it
  unlikely,    // speaks of a part of the request …
  window,      // … unless this stands beside it
  never,       // speaks of bytes, time, money or keys
};

/// Codes that say "too long" and nothing else.
std::span<const context_code> context_codes();

/// Codes and types with one meaning.
std::span<const code_rule> plain_codes();

/// Wordings that beat the codes: billing, rates, keys, filters, deadlines.
std::span<const wording_rule> veto_wordings();

/// Wordings that contain one of context_wordings and mean something else.
std::span<const wording_rule> exempt_wordings();

/// Wordings of a known "too long", with their numbers. Sums are prompt + output.
std::span<const wording_rule> context_wordings();

/// Wordings that look like "too long" and are not.
std::span<const wording_rule> other_wordings();

/// Wordings that many servers have in common; weighed after everything else.
std::span<const wording_rule> general_context_wordings();

/// Words of one or more words, lower case, that stand for a part of a complaint.
std::span<const std::string_view> shape_words(shape_part part);

/// Where numbers stand in wordings of no known server; read only once the class is known: anywhere
/// in a message, and from the sentence on that complains of the length.
std::span<const std::string_view> number_phrases();
std::span<const std::string_view> sentence_number_phrases();

} // namespace rind::provider
