// Reading of retry hints.
#include "runtime/provider/retry_hint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace rind::provider {

namespace {

constexpr std::size_t duration_parts_max = 4;

struct unit_row {
  std::string_view name; // longer names first
  double seconds;
};

constexpr std::array<unit_row, 14> units{{
    {"milliseconds", 0.001},
    {"millisecond", 0.001},
    {"seconds", 1.0},
    {"second", 1.0},
    {"secs", 1.0},
    {"sec", 1.0},
    {"minutes", 60.0},
    {"minute", 60.0},
    {"hours", 3600.0},
    {"hour", 3600.0},
    {"ms", 0.001},
    {"m", 60.0},
    {"h", 3600.0},
    {"s", 1.0},
}};

constexpr std::array<std::string_view, 6> lead_ins{
    "try again in ", "retry in ", "retry after ", "try again after ", "retry your request after ",
    "please wait "};

/// A longer wait is told as this one; it is far past any that is waited for.
constexpr double longest_wait = 1e9;

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
    return std::nullopt;
  return std::min(value, longest_wait);
}

std::optional<std::time_t> date_of(std::string_view text) {
  std::tm parts{};
  const std::string copy{text};
  const auto* end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0')
    return std::nullopt;
  return timegm(&parts);
}

std::optional<double> from_header(const response_head& head) {
  if (const auto ms = number_of(header_value(head, "retry-after-ms")))
    return *ms / 1000.0;
  const auto text = header_value(head, "retry-after");
  if (const auto seconds = number_of(text))
    return seconds;
  const auto then = date_of(text);
  const auto now = date_of(header_value(head, "date"));
  if (!then || !now)
    return std::nullopt;
  return static_cast<double>(std::max<std::time_t>(*then - *now, 0));
}

} // namespace

std::string_view header_value(const response_head& head, std::string_view name) {
  for (const auto& header : head.headers)
    if (header.name == name)
      return header.value;
  return {};
}

std::optional<double> duration_at(std::string_view text) {
  std::optional<double> total;
  for (std::size_t part = 0; part < duration_parts_max; ++part) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || !(value >= 0))
      break;
    auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
    const auto unit = std::find_if(units.begin(), units.end(), [&](const unit_row& u) {
      return rest.substr(0, u.name.size()) == u.name;
    });
    if (unit == units.end())
      break;
    total = total.value_or(0) + value * unit->seconds;
    text = rest.substr(unit->name.size());
  }
  return total;
}

std::optional<double> retry_after(const response_head& head, const error_evidence& evidence,
                                  const std::vector<std::string>& texts) {
  if (const auto stated = from_header(head))
    return stated;
  if (evidence.retry_delay_s)
    return evidence.retry_delay_s;
  for (const auto& text : texts)
    for (const auto lead_in : lead_ins)
      for (auto at = text.find(lead_in); at != std::string::npos; at = text.find(lead_in, at + 1))
        if (const auto delay = duration_at(std::string_view{text}.substr(at + lead_in.size())))
          return delay;
  return std::nullopt;
}

std::optional<bool> should_retry(const response_head& head) {
  const auto text = header_value(head, "x-should-retry");
  if (text == "true")
    return true;
  if (text == "false")
    return false;
  return std::nullopt;
}

} // namespace rind::provider
