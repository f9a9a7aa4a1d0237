// Matching of phrases.
#include "runtime/provider/phrase.hpp"

#include <algorithm>
#include <array>

namespace rind::provider {

namespace {

constexpr std::size_t text_bytes_max = 4'096;
constexpr std::size_t digits_max = 15;

/// What begins an echo of the request inside a message, lower case.
constexpr std::array<std::string_view, 24> echo_marks{
    "'input':",   "\"input\":", "input_value=", "'messages':", "\"messages\":", "content':",
    "content\":", "'text':",    "\"text\":",    "'prompt':",   "\"prompt\":",   "content: \"",
    "content: '", "value: \"",  "value: '",     "input: \"",   "input: '",      "text: \"",
    "text: '",    "got \"",     "got '",        "received \"", "received '",    "near \""};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A number that is there and means something else than its digits: "8k", "5e3", "8.192", "8 192",
/// "16 KiB", "4 thousand".
constexpr std::int64_t of_unknown_scale = -1;

/// Where a number that ended at `at` goes on as a fraction, a scale or a unit: the end of that,
/// else `at`.
std::size_t end_of_scale(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto word_end = [&](std::size_t from) {
    while (from < text.size() &&
           (is_letter(text[from]) || is_digit(text[from]) || text[from] == '.'))
      ++from;
    return from;
  };
  if (rest.empty() || rest.starts_with("token"))
    return at;
  if (is_letter(rest.front()) || (rest.front() == '.' && rest.size() > 1 && is_digit(rest[1])))
    return word_end(at);
  const auto groups = rest.size() >= 4 && rest[0] == ' ' && is_digit(rest[1]) &&
                      is_digit(rest[2]) && is_digit(rest[3]) &&
                      (rest.size() == 4 || !is_digit(rest[4]));
  if (groups)
    return at + 4;
  for (const std::string_view scale : {" thousand", " million", " k ", " m ", " kib", " kb", " mb"})
    if (rest.starts_with(scale))
      return word_end(at + 1);
  return at;
}

/// Reads a whole number at `at` and moves behind it; of_unknown_scale where its digits are not the
/// number.
std::optional<std::int64_t> read_number(std::string_view text, std::size_t& at) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  auto i = at;
  for (; i < text.size(); ++i) {
    const auto groups = (text[i] == ',' || text[i] == '_') && digits > 0 && i + 3 < text.size() &&
                        is_digit(text[i + 1]) && is_digit(text[i + 2]) && is_digit(text[i + 3]) &&
                        (i + 4 == text.size() || !is_digit(text[i + 4]));
    if (groups)
      continue;
    if (!is_digit(text[i]))
      break;
    if (++digits > digits_max)
      return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  if (digits == 0)
    return std::nullopt;
  at = end_of_scale(text, i);
  return at == i ? value : of_unknown_scale;
}

/// The next token of a phrase: a literal, a gap or a number.
std::string_view take_token(std::string_view& phrase) {
  std::size_t length = 1;
  if (phrase.front() == '{')
    length = phrase.find('}') + 1;
  else if (phrase.front() != '~')
    length = std::min(phrase.find_first_of("~{"), phrase.size());
  const auto token = phrase.substr(0, length);
  phrase.remove_prefix(length);
  return token;
}

void keep(std::string_view name, std::int64_t value, stated_numbers& numbers) {
  if (value <= 0) // of unknown scale, or none
    return;
  auto* field = name == "{limit}"       ? &numbers.limit
                : name == "{requested}" ? &numbers.requested
                : name == "{prompt}"    ? &numbers.prompt
                : name == "{output}"    ? &numbers.output
                                        : nullptr;
  if (field != nullptr && !*field)
    *field = value;
}

/// Moves `at` over a gap to where `token` begins.
bool skip_gap(std::string_view token, std::string_view text, std::size_t& at) {
  const auto window =
      text.substr(0, std::min(text.size(), at + phrase_gap_bytes_max + token.size()));
  const auto found =
      token.front() == '{' ? window.find_first_of("0123456789", at) : window.find(token, at);
  if (found == std::string_view::npos)
    return false;
  at = found;
  return true;
}

bool match_at(std::string_view phrase, std::string_view text, std::size_t at,
              stated_numbers& numbers) {
  auto found = numbers;
  while (!phrase.empty()) {
    auto token = take_token(phrase);
    if (token == "~") {
      token = take_token(phrase);
      if (!skip_gap(token, text, at))
        return false;
    }
    if (token.front() == '{') {
      const auto value = read_number(text, at);
      if (!value)
        return false;
      keep(token, *value, found);
    } else if (text.compare(at, token.size(), token) == 0) {
      at += token.size();
    } else {
      return false;
    }
  }
  numbers = found;
  return true;
}

} // namespace

std::string normalised(std::string_view text) {
  text = text.substr(0, text_bytes_max);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 7, "http://") == 0 || text.compare(i, 8, "https://") == 0)
      i = std::min(text.find_first_of(" \t\r\n)\"'<>", i), text.size());
    if (i == text.size())
      break;
    const auto c = text[i];
    const auto is_space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!is_space)
      result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  for (const auto mark : echo_marks)
    if (const auto at = result.find(mark); at != std::string::npos)
      result.resize(at);
  return result;
}

bool match_phrase(std::string_view phrase, std::string_view text, stated_numbers& numbers) {
  if (phrase.empty())
    return false;
  auto rest = phrase;
  const auto first = take_token(rest);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (first.front() == '{') {
      at = text.find_first_of("0123456789", at);
      if (at == std::string_view::npos)
        return false;
      if (match_at(phrase, text, at, numbers))
        return true;
      while (at + 1 < text.size() && is_digit(text[at + 1]))
        ++at;
      continue;
    }
    at = text.find(first, at);
    if (at == std::string_view::npos)
      return false;
    if (match_at(phrase, text, at, numbers))
      return true;
  }
  return false;
}

} // namespace rind::provider
