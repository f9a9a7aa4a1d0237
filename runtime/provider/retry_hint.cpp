// Reading of retry hints.
#include "runtime/provider/retry_hint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
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

constexpr std::array<std::string_view, 7> lead_ins{
    "try again in ", "retry in ",   "retry after ", "try again after ", "retry your request after ",
    "please wait ",  "retrying in "};

/// Headers that say when an allowance is full again, with those that say what is left of it. Where
/// something is left, it is another allowance that ran out.
struct allowance_row {
  std::string_view reset;
  std::string_view remaining;
};

constexpr std::array<allowance_row, 7> allowances{{
    {"x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"},
    {"x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"},
    {"x-ratelimit-reset", "x-ratelimit-remaining"},
    {"anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"},
    {"anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"},
    {"anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"},
    {"anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"},
}};

/// Times since the epoch in headers: seconds above the first number, milliseconds above the second.
constexpr double epoch_seconds_min = 1e9;
constexpr double epoch_ms_min = 1e12;

/// A longer wait is told as this one; it is far past any that is waited for.
constexpr double longest_wait = 1e9;

/// A plain number of at least 0; "inf" and "nan" are none.
std::optional<double> unbounded_number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  return value;
}

std::optional<double> number_of(std::string_view text) {
  const auto value = unbounded_number_of(text);
  return value ? std::optional{std::min(*value, longest_wait)} : std::nullopt;
}

std::optional<std::time_t> date_of(std::string_view text) {
  std::tm parts{};
  const std::string copy{text};
  const auto* end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0')
    return std::nullopt;
  return timegm(&parts);
}

/// "2026-01-01T00:00:00Z", with or without a fraction, in seconds since the epoch.
std::optional<double> moment_of(std::string_view text) {
  std::tm parts{};
  const std::string copy{text};
  const auto* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr)
    return std::nullopt;
  if (*end == '.')
    end += 1 + std::strspn(end + 1, "0123456789");
  return *end == 'Z' && end[1] == '\0' ? std::optional{static_cast<double>(timegm(&parts))}
                                       : std::nullopt;
}

std::optional<double> now_of(const response_head& head) {
  const auto date = date_of(header_value(head, "date"));
  return date ? std::optional{static_cast<double>(*date)} : std::nullopt;
}

/// From the response's own date to a moment, both in seconds since the epoch. A past moment is now.
std::optional<double> wait_until(double then, const response_head& head) {
  const auto now = now_of(head);
  return now ? std::optional{std::clamp(then - *now, 0.0, longest_wait)} : std::nullopt;
}

std::optional<double> from_retry_headers(const response_head& head) {
  if (const auto ms = number_of(header_value(head, "retry-after-ms")))
    return *ms / 1000.0;
  const auto text = header_value(head, "retry-after");
  if (const auto seconds = number_of(text))
    return seconds;
  const auto then = date_of(text);
  return then ? wait_until(static_cast<double>(*then), head) : std::nullopt;
}

/// Seconds of a reset: a duration ("6m0s"), a moment (RFC 3339, or a number since the epoch), or
/// plain seconds.
std::optional<double> reset_of(std::string_view text, const response_head& head) {
  if (const auto number = unbounded_number_of(text)) {
    if (*number >= epoch_ms_min)
      return wait_until(*number / 1000.0, head);
    return *number >= epoch_seconds_min ? wait_until(*number, head) : number;
  }
  if (const auto then = moment_of(text))
    return wait_until(*then, head);
  return duration_at(text);
}

/// The longest reset of the allowances that ran out.
std::optional<double> from_allowances(const response_head& head) {
  std::optional<double> longest;
  for (const auto& row : allowances) {
    const auto left = number_of(header_value(head, row.remaining));
    if (left.value_or(0) > 0)
      continue;
    const auto wait = reset_of(header_value(head, row.reset), head);
    if (wait && wait > longest)
      longest = wait;
  }
  return longest;
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
    if (error != std::errc{} || !std::isfinite(value) || value < 0)
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
  return total ? std::optional{std::min(*total, longest_wait)} : std::nullopt;
}

std::optional<double> retry_after(const response_head& head, const error_evidence& evidence,
                                  const std::vector<std::string>& texts) {
  if (const auto stated = from_retry_headers(head))
    return stated;
  if (evidence.retry_delay_s)
    return evidence.retry_delay_s;
  for (const auto& text : texts)
    for (const auto lead_in : lead_ins)
      for (auto at = text.find(lead_in); at != std::string::npos; at = text.find(lead_in, at + 1))
        if (const auto delay = duration_at(std::string_view{text}.substr(at + lead_in.size())))
          return delay;
  return from_allowances(head);
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
