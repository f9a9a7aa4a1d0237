// Sums by model.
#include "runtime/journal/usage_ledger.hpp"

#include <algorithm>

namespace rind::journal {

namespace {

constexpr double priced_tokens = 1'000'000; // what a price is for

} // namespace

usage_sum& operator+=(usage_sum& to, const usage_sum& other) {
  to.samplings += other.samplings;
  to.summaries += other.summaries;
  to.uncounted += other.uncounted;
  to.input_tokens += other.input_tokens;
  to.cached_tokens += other.cached_tokens;
  to.output_tokens += other.output_tokens;
  to.reasoning_tokens += other.reasoning_tokens;
  return to;
}

double cost_of(const usage_sum& usage, const config::token_price& price) {
  const auto cost = [](std::int64_t tokens, double of_a_million) {
    return static_cast<double>(tokens) * of_a_million / priced_tokens;
  };
  const auto cached = std::min(usage.cached_tokens, usage.input_tokens);
  return cost(usage.input_tokens - cached, price.input) + cost(cached, price.cached_input) +
         cost(usage.output_tokens, price.output);
}

void usage_ledger::take(const entry& e) {
  std::visit([this](const auto& body) { take(body); }, e.body);
}

void usage_ledger::take(const entries::assistant_message& body) {
  const auto& writer = body.msg->model;
  add(writer.empty() ? model_ : writer, sampling_kind::assistant, body.usage);
}

void usage_ledger::take(const entries::usage_recorded& body) {
  add(body.model, body.kind, body.usage);
}

// Where the handoff was made without a model, a summary may have been paid for before.
void usage_ledger::take(const entries::boundary& body) {
  const auto& record = *body.record;
  if (record.usage || record.strategy == compaction_strategy::llm_inline)
    add(record.summary_model, sampling_kind::compact, record.usage.value_or(token_usage{}));
}

void usage_ledger::add(const std::string& model, sampling_kind kind, const token_usage& usage) {
  usage_sum one;
  (kind == sampling_kind::compact ? one.summaries : one.samplings) = 1;
  one.uncounted = !usage.input_tokens && !usage.output_tokens ? 1 : 0;
  one.input_tokens = usage.input_tokens.value_or(0);
  one.cached_tokens = usage.cached_tokens.value_or(0);
  one.output_tokens = usage.output_tokens.value_or(0);
  one.reasoning_tokens = usage.reasoning_tokens.value_or(0);
  by_model_[model] += one;
}

} // namespace rind::journal
