// The statistics of S15, put together in one place.
#include "runtime/session/context_snapshot.hpp"

#include <algorithm>

namespace rind::session {

std::int64_t context_snapshot::threshold_tokens() const {
  return std::min(budget.threshold_tokens,
                  tightened_limit_tokens.value_or(budget.threshold_tokens));
}

double context_snapshot::ratio() const {
  return static_cast<double>(active(local_tokens()).tokens) /
         static_cast<double>(std::max<std::int64_t>(local_tokens(), 1));
}

context_stats context_snapshot::stats(const view::message_view& v) const {
  const auto local = fixed_tokens + v.tokens;
  const auto estimate = anchor.estimate(budget.model, v.generation, local);
  context_stats s;
  s.estimated_input_tokens = local;
  s.fixed_tokens = fixed_tokens;
  s.active_tokens = estimate.tokens;
  s.source = estimate.source;
  s.anchor_fallback_reason = estimate.fallback_reason;
  s.context_window_tokens = budget.window_tokens;
  s.context_window_origin = budget.window_origin;
  s.auto_compact_token_limit = threshold_tokens();
  s.hard_limit_tokens = budget.hard_limit_tokens;
  s.output_limit_tokens = context::output_limit_for(budget, estimate.tokens);
  s.generation = v.generation;
  s.message_count = static_cast<std::int64_t>(v.items.size());
  return s;
}

std::vector<message_ptr> messages_of(const view::message_view& v) {
  std::vector<message_ptr> messages;
  messages.reserve(v.items.size());
  for (const auto& item : v.items)
    messages.push_back(item.msg);
  return messages;
}

} // namespace rind::session
