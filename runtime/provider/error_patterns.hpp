// The dialects of provider errors as data: codes and wordings, each with where it was seen. How
// they are weighed stands in error_classifier.cpp; the syntax of wordings in phrase.hpp.
#pragma once

#include <span>
#include <string_view>

#include "messages/sampling.hpp"

namespace rind::provider {

struct code_rule {
  std::string_view code; // lower case, whole
  provider_error_class error_class;
};

struct wording_rule {
  std::string_view phrase;
  provider_error_class error_class;
  std::string_view seen_at; // "…" stands for wordings that no one case is known for
};

/// Codes that say "too long" and nothing else.
std::span<const std::string_view> context_codes();

/// Codes and types with one meaning, strongest first.
std::span<const code_rule> plain_codes();

/// Wordings that beat the codes: billing and rates, and what is no matter of the window.
std::span<const wording_rule> veto_wordings();

/// Wordings of a known "too long", with their numbers. Sums are prompt + output.
std::span<const wording_rule> context_wordings();

/// Wordings that look like "too long" and are not.
std::span<const wording_rule> other_wordings();

/// What unseen servers would say of a prompt that is too long; weighed after everything else.
std::span<const wording_rule> general_context_wordings();

/// Where numbers stand in wordings of no known server; read only once the class is known.
std::span<const std::string_view> number_phrases();

} // namespace rind::provider
