// One of each invariant, in the order of the rules.
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

constexpr invariant_ptr (*factories[])(){
    one_operation_at_a_time,
    inputs_have_one_fate,
    repeated_inputs_run_once,
    cancelled_means_cancelled,
    one_terminal_event,
    journaled_before_it_runs,
    calls_are_bounded,
    messages_keep_the_boundary,
    view_survives_restart,
    estimates_follow_usage,
    requests_fit,
    nothing_is_lost_in_compaction,
    too_large_calls_nothing,
    boundaries_are_conditional,
    manual_compaction_samples_nothing,
    compaction_keeps_the_turn,
    retries_shrink,
    failures_leave_nothing,
    acknowledged_is_durable,
    history_is_told_once_in_order,
    sessions_are_apart,
    queues_are_bounded,
    ends_at_rest,
};

} // namespace

std::vector<invariant_ptr> all_invariants() {
  std::vector<invariant_ptr> all;
  for (const auto make : factories)
    all.push_back(make());
  return all;
}

} // namespace rind::kit
