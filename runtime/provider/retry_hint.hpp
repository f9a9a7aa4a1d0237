// When a provider says to come back: in headers, in fields of the body, in words. Pure: a date is
// held against the response's own date.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// A header's value, or "" (names in lower case).
std::string_view header_value(const response_head& head, std::string_view name);

/// Seconds of "644ms", "11.054s", "6m0s", "86400 seconds", "2 minutes"; nothing where the text
/// begins otherwise.
std::optional<double> duration_at(std::string_view text);

/// Seconds to wait: `retry-after-ms`, then `retry-after` (seconds or a date), then the body's own
/// field, then its words ("try again in 4.77s"), given normalised, then the headers of the
/// allowances that ran out (`x-ratelimit-reset-*`, `anthropic-ratelimit-*-reset`). Dates need the
/// response's own; what makes no sense is passed over.
std::optional<double> retry_after(const response_head& head, const error_evidence& evidence,
                                  const std::vector<std::string>& texts);

/// `x-should-retry`, or nothing.
std::optional<bool> should_retry(const response_head& head);

} // namespace rind::provider
