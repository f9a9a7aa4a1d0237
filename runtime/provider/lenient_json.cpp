// Reading JSON from outside.
#include "runtime/provider/lenient_json.hpp"

#include <algorithm>
#include <cmath>

#include "messages/json.hpp"

namespace rind::provider {

namespace {

bool is_shallow(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '{' || c == '['))
      ++depth;
    else if (!in_string && (c == '}' || c == ']') && depth > 0)
      --depth;
    if (depth > outside_json_depth_max)
      return false;
  }
  return true;
}

/// The code unit of a `\uXXXX` escape at `at`, or nothing.
std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u')
    return std::nullopt;
  unsigned unit = 0;
  for (auto i = at + 2; i < at + 6; ++i) {
    const auto c = text[i];
    const auto digit = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (digit < 0)
      return std::nullopt;
    unit = unit * 16 + static_cast<unsigned>(digit);
  }
  return unit;
}

bool is_high(std::optional<unsigned> unit) {
  return unit && *unit >= 0xD800 && *unit < 0xDC00;
}

bool is_low(std::optional<unsigned> unit) {
  return unit && *unit >= 0xDC00 && *unit < 0xE000;
}

/// Text whose lone surrogate escapes are replaced.
std::string pair_surrogates(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto unit = unit_at(text, i);
    if (is_high(unit) && is_low(unit_at(text, i + 6))) {
      result += text.substr(i, 12);
      i += 12;
    } else if (is_high(unit) || is_low(unit)) {
      result += "\\ufffd";
      i += 6;
    } else {
      const auto length = text[i] == '\\' ? std::min<std::size_t>(2, text.size() - i) : 1;
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

std::optional<nlohmann::json> parse(std::string_view text) {
  auto value = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded())
    return std::nullopt;
  return value;
}

} // namespace

std::optional<nlohmann::json> parse_outside_json(std::string_view text) {
  if (!is_shallow(text))
    return std::nullopt;
  if (auto value = parse(text))
    return value;
  const auto repaired = pair_surrogates(repair_utf8(text));
  return repaired == text ? std::nullopt : parse(repaired);
}

const nlohmann::json& member(const nlohmann::json& value, const char* key) {
  static const nlohmann::json nothing;
  if (!value.is_object())
    return nothing;
  const auto found = value.find(key);
  return found == value.end() ? nothing : *found;
}

std::string text_member(const nlohmann::json& value, const char* key) {
  const auto& found = member(value, key);
  return found.is_string() ? found.get<std::string>() : std::string{};
}

std::optional<std::int64_t> count_member(const nlohmann::json& value, const char* key) {
  const auto& found = member(value, key);
  constexpr double largest = 9.0e15; // exact in a double
  if (found.is_number_unsigned() &&
      found.get<std::uint64_t>() < static_cast<std::uint64_t>(largest))
    return static_cast<std::int64_t>(found.get<std::uint64_t>());
  if (found.is_number_float()) {
    const auto number = found.get<double>();
    if (number >= 0 && number < largest && number == std::floor(number))
      return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace rind::provider
