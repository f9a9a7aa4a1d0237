// Usage as servers report it, brought to one contract: input is the whole prompt of this request
// with cached parts as a subset, reasoning is a subset of output. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "messages/conversation.hpp"

namespace rind::provider {

/// The numbers as they were reported; absent: not reported.
struct usage_report {
  std::optional<std::int64_t> input;
  std::optional<std::int64_t> output;
  std::optional<std::int64_t> cached;
  std::optional<std::int64_t> reasoning;
  std::optional<std::int64_t> total; // as reported, never summed here
};

/// Cached or reasoning tokens that a server counts beside the prompt or the answer are added: it
/// shows in the total, or in a part that is larger than its whole. No request has an empty prompt:
/// an input of zero was not counted.
token_usage normalised(usage_report report);

} // namespace rind::provider
