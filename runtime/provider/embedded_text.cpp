// Small text tools of the embedded model.
#include "runtime/provider/embedded_text.hpp"

#include <algorithm>

namespace rind::provider {

namespace {

constexpr std::size_t continuation_bytes_max = 3; // of one character
constexpr std::string_view white_space = " \t\r\n\v\f";

bool is_word_byte(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c >= 0x80;
}

char lower_byte(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

std::string_view prefix_of(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max)
    return text;
  for (auto end = bytes_max; end + continuation_bytes_max >= bytes_max && end > 0; --end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80)
      return text.substr(0, end);
  return text.substr(0, bytes_max); // no UTF-8: cut anywhere
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  const auto whole = trimmed(text);
  const auto kept = prefix_of(whole, bytes_max);
  std::string line{kept};
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  if (kept.size() < whole.size())
    line += "…";
  return line;
}

std::string lowered(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), lower_byte);
  return result;
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  std::vector<std::string_view> result;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    if (const auto sentence = trimmed(text.substr(begin, end - begin)); !sentence.empty())
      result.push_back(sentence);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    const auto ends_sentence = (c == '.' || c == '!' || c == '?') && i + 1 < text.size() &&
                               white_space.find(text[i + 1]) != std::string_view::npos;
    if (c == '\n' || ends_sentence)
      take(i + 1);
  }
  take(text.size());
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> result;
  std::string word;
  for (const auto c : text) {
    if (is_word_byte(static_cast<unsigned char>(c))) {
      word += lower_byte(c);
    } else if (!word.empty()) {
      result.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty())
    result.push_back(std::move(word));
  return result;
}

bool contains_any(std::string_view haystack, const std::vector<std::string_view>& needles) {
  return std::any_of(needles.begin(), needles.end(), [&](std::string_view needle) {
    return haystack.find(needle) != std::string_view::npos;
  });
}

} // namespace rind::provider
