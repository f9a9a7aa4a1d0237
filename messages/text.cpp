// UTF-8 and times as text: what the codec needs below JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "messages/json.hpp"

namespace rind {

namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// What a lead byte asks for: the length of its sequence (0: no lead byte) and the bounds of the
/// second byte, which shut out overlong forms, surrogates and what lies above U+10FFFF.
struct lead {
  std::size_t length;
  unsigned char second_low;
  unsigned char second_high;
};

lead lead_of(unsigned char byte) {
  if (byte < 0x80)
    return {1, 0, 0};
  if (byte < 0xC2)
    return {0, 0, 0};
  if (byte < 0xE0)
    return {2, 0x80, 0xBF};
  if (byte < 0xF0)
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

struct sequence {
  std::size_t bytes; // to step over; at least 1
  bool valid;
};

/// The sequence that starts at `at`; of an invalid one the longest part that could have started a
/// valid one.
sequence sequence_at(std::string_view text, std::size_t at) {
  const lead l = lead_of(byte_at(text, at));
  if (l.length <= 1)
    return {1, l.length == 1};
  for (std::size_t i = 1; i < l.length; ++i) {
    if (at + i >= text.size())
      return {i, false};
    const unsigned char byte = byte_at(text, at + i);
    const bool fits =
        i == 1 ? byte >= l.second_low && byte <= l.second_high : is_continuation(byte);
    if (!fits)
      return {i, false};
  }
  return {l.length, true};
}

/// The first byte from `at` on that is no ASCII, or the end; eight bytes a step, for nearly all
/// text is ASCII.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080U;
  std::uint64_t eight = 0;
  for (; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & high_bits) != 0)
      break;
  }
  while (at < text.size() && byte_at(text, at) < 0x80)
    ++at;
  return at;
}

/// Bytes of well-formed UTF-8 at the start of the text.
std::size_t valid_prefix(std::string_view text) {
  for (std::size_t at = 0;;) {
    at = skip_ascii(text, at);
    if (at == text.size())
      return at;
    const sequence s = sequence_at(text, at);
    if (!s.valid)
      return at;
    at += s.bytes;
  }
}

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

std::optional<int> digits(std::string_view text) {
  int value = 0;
  const auto* end = text.data() + text.size();
  const bool only_digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (!only_digits || error != std::errc{} || stop != end)
    return std::nullopt;
  return value;
}

constexpr std::chrono::sys_days first_day = std::chrono::year{0} / 1 / 1;
constexpr std::chrono::sys_days after_last_day = std::chrono::year{10000} / 1 / 1;

} // namespace

bool is_valid_utf8(std::string_view text) {
  return valid_prefix(text) == text.size();
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = valid_prefix(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty())
      break;
    out.append(replacement_character);
    text.remove_prefix(sequence_at(text, 0).bytes);
  }
  return out;
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return !is_continuation(static_cast<unsigned char>(c)); });
}

std::string_view first_characters(std::string_view text, std::int64_t characters) {
  std::int64_t seen = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (!is_continuation(byte_at(text, at)) && seen++ >= characters)
      return text.substr(0, at);
  return text;
}

std::string format_time(std::int64_t time_ms) {
  using namespace std::chrono;
  const std::int64_t lowest = duration_cast<milliseconds>(first_day.time_since_epoch()).count();
  const std::int64_t highest =
      duration_cast<milliseconds>(after_last_day.time_since_epoch()).count() - 1;
  const sys_time<milliseconds> time{milliseconds{std::clamp(time_ms, lowest, highest)}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  std::array<char, 64> out{};
  const int size = std::snprintf(
      out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {out.data(), static_cast<std::size_t>(size)};
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 24 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != '.' || text[23] != 'Z')
    return std::nullopt;
  const auto y = digits(text.substr(0, 4));
  const auto month_number = digits(text.substr(5, 2));
  const auto day_number = digits(text.substr(8, 2));
  const auto h = digits(text.substr(11, 2));
  const auto m = digits(text.substr(14, 2));
  const auto s = digits(text.substr(17, 2));
  const auto ms = digits(text.substr(20, 3));
  if (!y || !month_number || !day_number || !h || !m || !s || !ms || *h > 23 || *m > 59 || *s > 59)
    return std::nullopt;
  const year_month_day date{year{*y}, month{static_cast<unsigned>(*month_number)},
                            day{static_cast<unsigned>(*day_number)}};
  if (!date.ok())
    return std::nullopt;
  const sys_time<milliseconds> time =
      sys_days{date} + hours{*h} + minutes{*m} + seconds{*s} + milliseconds{*ms};
  return time.time_since_epoch().count();
}

bool nests_deeper_than(std::string_view text, std::size_t limit) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"')
      in_string = true;
    else if ((c == '[' || c == '{') && ++depth > limit)
      return true;
    else if ((c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

} // namespace rind
