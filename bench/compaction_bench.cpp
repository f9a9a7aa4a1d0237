// Rescue, and cut with summary request: both have to stay linear in the length of the view, so the
// floor is the same work on a quarter of it, by message.
#include "bench/comparison.hpp"
#include "bench/conversation.hpp"
#include "runtime/compaction/summary_request.hpp"
#include "runtime/context/rescue.hpp"

namespace rind::bench {

namespace {

constexpr std::int64_t short_turns = 250;
constexpr std::int64_t long_turns = 1'000;

std::int64_t as_it_is(std::int64_t local_tokens) {
  return local_tokens;
}

context::budget budget_for(std::int64_t window_tokens) {
  context::model_limits limits;
  limits.window_tokens = window_tokens;
  return context::resolve_budget("measured", limits, std::nullopt, "measured", limits,
                                 std::nullopt);
}

/// Down to a third: bodies are shortened first, then units are left out.
body rescue(std::int64_t turns) {
  return [turns](benchmark::State& state) {
    const auto p = projection_of(working_session(turns));
    for (auto _ : state) {
      auto plan = context::plan_rescue(p.view(), 0, p.view().tokens / 3, as_it_is);
      benchmark::DoNotOptimize(plan.fits);
    }
    state.SetItemsProcessed(state.iterations() * p.view().message_count);
  };
}

/// The request does not fit as it is, so that results have to be shortened.
body summarise(std::int64_t turns) {
  return [turns](benchmark::State& state) {
    const auto p = projection_of(working_session(turns));
    const auto budget = budget_for(p.view().tokens);
    for (auto _ : state) {
      const auto parts = compaction::cut_view(p.view(), budget, compaction::suffix_size::normal);
      auto request = compaction::make_summary_request(parts, budget, "", as_it_is);
      if (!request)
        state.SkipWithError("the summary request does not fit");
      benchmark::DoNotOptimize(request);
    }
    state.SetItemsProcessed(state.iterations() * p.view().message_count);
  };
}

} // namespace

std::vector<comparison> compaction_comparisons() {
  return {
      {"rescue of 4,000 messages, against 1,000", "ns/message", 1.5, rescue(long_turns),
       rescue(short_turns)},
      {"cut and summary request of 4,000 messages, against 1,000", "ns/message", 1.5,
       summarise(long_turns), summarise(short_turns)},
  };
}

} // namespace rind::bench
