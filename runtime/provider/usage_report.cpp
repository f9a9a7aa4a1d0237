// The contract of usage.
#include "runtime/provider/usage_report.hpp"

namespace rind::provider {

namespace {

/// Whether `part` stands beside `whole` instead of in it; `rest` is what else the total holds.
bool is_beside(std::int64_t part, std::int64_t whole, std::int64_t rest,
               std::optional<std::int64_t> total) {
  return part > whole || (part > 0 && total == whole + part + rest);
}

} // namespace

token_usage normalised(usage_report r) {
  if (r.input.value_or(0) == 0) {
    r.input.reset();
    r.cached.reset();
    if (r.output.value_or(0) == 0)
      return {};
  }
  const auto input = r.input.value_or(0);
  const auto output = r.output.value_or(0);
  const auto cached = r.cached.value_or(0);
  const auto reasoning = r.reasoning.value_or(0);
  if (r.input && is_beside(cached, input, output, r.total))
    r.input = input + cached;
  if (r.output && is_beside(reasoning, output, input, r.total))
    r.output = output + reasoning;
  return {r.input, r.output, r.cached, r.reasoning};
}

} // namespace rind::provider
