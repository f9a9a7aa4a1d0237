// Sentences, their words, and what the words stand for.
#include "runtime/provider/phrase_shape.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/provider/error_patterns.hpp"

namespace rind::provider {

namespace {

using words = std::vector<std::string_view>;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

words words_in(std::string_view sentence) {
  words all;
  for (std::size_t i = 0; i < sentence.size() && all.size() < sentence_words_max;) {
    auto end = i + (sentence[i] == '>' ? 1 : 0); // a comparison is a word
    while (end < sentence.size() && sentence[i] != '>' && is_word_char(sentence[end]))
      ++end;
    if (end > i)
      all.push_back(sentence.substr(i, end - i));
    i = end + (end == i ? 1 : 0);
  }
  return all;
}

/// Words of `list` that stand one after the other at `at`.
bool stands_at(const words& all, std::size_t at, std::string_view list) {
  for (; !list.empty(); ++at) {
    const auto end = std::min(list.find(' '), list.size());
    if (at >= all.size() || all[at] != list.substr(0, end))
      return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

/// The first of `lists` that occurs, or "".
std::string_view first_of(const words& all, std::span<const std::string_view> lists) {
  for (const auto list : lists)
    for (std::size_t at = 0; at < all.size(); ++at)
      if (stands_at(all, at, list))
        return list;
  return {};
}

bool has(const words& all, shape_part part) {
  return !first_of(all, shape_words(part)).empty();
}

/// "too many" is a comparison of tokens only: there can be too many of anything.
std::string_view comparison_in(const words& all) {
  constexpr std::size_t reach = 3; // words between: "too many input tokens"
  if (const auto found = first_of(all, shape_words(shape_part::comparison)); !found.empty())
    return found;
  for (std::size_t at = 0; at < all.size(); ++at)
    if (stands_at(all, at, "too many"))
      for (auto next = at + 2; next < std::min(all.size(), at + 2 + reach); ++next)
        if (all[next] == "tokens" || all[next] == "token")
          return "too many";
  return {};
}

bool is_of_another_matter(const words& all) {
  if (has(all, shape_part::never))
    return true;
  if (has(all, shape_part::output) && !has(all, shape_part::prompt_side))
    return true;
  return has(all, shape_part::unlikely) && !has(all, shape_part::window);
}

std::optional<std::string> complaint_of(const words& all) {
  auto measured = first_of(all, shape_words(shape_part::measured));
  if (measured.empty() && has(all, shape_part::size))
    measured = first_of(all, shape_words(shape_part::measured_by_size));
  const auto comparison = comparison_in(all);
  if (measured.empty() || comparison.empty() || is_of_another_matter(all))
    return std::nullopt;
  const auto says_enough = comparison.starts_with("too ") || comparison.starts_with("overflow");
  const auto bound = first_of(all, shape_words(shape_part::bound));
  if (bound.empty() && !says_enough)
    return std::nullopt;
  std::string text;
  for (const auto part : {measured, comparison, bound})
    if (!part.empty())
      text += (text.empty() ? "" : " ") + std::string{part};
  return text;
}

/// The length of the sentence at the front: up to ". ", "; ", "! ", "? " or the end.
std::size_t sentence_length(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i + 1] == ' ' && std::string_view{".;!?"}.find(text[i]) != std::string_view::npos)
      return i + 1;
  return text.size();
}

} // namespace

std::optional<length_complaint> find_length_complaint(std::string_view text) {
  while (!text.empty()) {
    const auto sentence = text.substr(0, sentence_length(text));
    if (auto found = complaint_of(words_in(sentence)))
      return length_complaint{text, std::move(*found)};
    text.remove_prefix(sentence.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return std::nullopt;
}

} // namespace rind::provider
