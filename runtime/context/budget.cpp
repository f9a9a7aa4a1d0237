// The one resolver of a session's limits (S14, S19) and the judgement of a request by them.
#include "runtime/context/budget.hpp"

#include <algorithm>

#include "runtime/canary/canary.hpp"

namespace rind::context {

namespace {

constexpr std::int64_t output_share_of_window = 4;
constexpr std::int64_t summary_share_of_window = 10;
constexpr std::int64_t summary_margin_percent = 5;
constexpr std::int64_t safety_percent =
    95; // of the hard limit and of what the summary request can hold

std::int64_t percent_of(std::int64_t tokens, std::int64_t percent) {
  return tokens * percent / 100;
}

std::int64_t at_least_one(std::int64_t tokens) {
  return std::max<std::int64_t>(tokens, 1);
}

struct resolved_window {
  std::int64_t tokens = 0;
  const char* origin = "";
};

resolved_window window_of(const model_limits& limits, std::optional<std::int64_t> learned) {
  if (learned)
    return {at_least_one(*learned), "provider"};
  if (limits.window_tokens)
    return {at_least_one(*limits.window_tokens), "settings"};
  return {default_window_tokens, "default"};
}

std::int64_t max_output_of(const model_limits& limits) {
  return at_least_one(limits.max_output_tokens.value_or(default_max_output_tokens));
}

} // namespace

budget resolve_budget(const std::string& model, const model_limits& limits,
                      std::optional<std::int64_t> learned_window, const std::string& summary_model,
                      const model_limits& summary_limits,
                      std::optional<std::int64_t> learned_summary_window) {
  const auto window = window_of(limits, learned_window);
  const auto summary_window = window_of(summary_limits, learned_summary_window).tokens;
  budget b;
  b.model = model;
  b.window_tokens = window.tokens;
  b.window_origin = window.origin;
  b.input_cap_tokens = at_least_one(limits.input_cap_tokens.value_or(window.tokens));
  b.hard_limit_tokens =
      at_least_one(std::min(b.window_tokens, b.input_cap_tokens) - hard_limit_margin_tokens);
  b.output_limit_tokens =
      at_least_one(std::min(max_output_of(limits), b.window_tokens / output_share_of_window));
  b.summary_model = summary_model;
  b.summary_limit_tokens =
      at_least_one(std::min({summary_limit_max_tokens, summary_window / summary_share_of_window,
                             max_output_of(summary_limits)}));
  const auto summary_cap = at_least_one(summary_limits.input_cap_tokens.value_or(summary_window));
  b.summary_input_limit_tokens =
      at_least_one(std::min(summary_window - b.summary_limit_tokens, summary_cap) -
                   percent_of(summary_window, summary_margin_percent));
  b.threshold_tokens = std::min(
      {percent_of(b.window_tokens, limits.threshold_percent.value_or(default_threshold_percent)),
       percent_of(b.hard_limit_tokens, safety_percent),
       percent_of(b.summary_input_limit_tokens, safety_percent)});
  if (limits.auto_compact_limit_tokens)
    b.threshold_tokens = std::min(b.threshold_tokens, *limits.auto_compact_limit_tokens);
  b.threshold_tokens = at_least_one(b.threshold_tokens);
  return b;
}

std::int64_t output_limit_for(const budget& b, std::int64_t active_tokens) {
  if (RIND_PLANTED(output_limit_ignored))
    return b.output_limit_tokens;
  return std::min(b.output_limit_tokens,
                  std::max(b.window_tokens - active_tokens, output_limit_min_tokens));
}

verdict judge(const budget& b, std::int64_t fixed_tokens, std::int64_t active_tokens,
              std::optional<std::int64_t> tightened) {
  const auto threshold = tightened ? std::min(b.threshold_tokens, *tightened) : b.threshold_tokens;
  if (fixed_tokens >= b.threshold_tokens)
    return verdict::fixed_too_large;
  if (active_tokens > b.hard_limit_tokens && !RIND_PLANTED(hard_limit_ignored))
    return verdict::over_hard_limit;
  return active_tokens >= threshold ? verdict::over_threshold : verdict::fits;
}

} // namespace rind::context
