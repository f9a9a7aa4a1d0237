// Planted bugs, by which the simulation is tested: each is a fault that somebody could make, stands
// where it would be made, and must be found. They exist only in the program that is built with
// RIND_CANARIES (target rind_canaries); everywhere else RIND_PLANTED is false and the compiler
// throws them away. One at a time is planted, by `rind sim --canaries`.
#pragma once

#ifdef RIND_CANARIES
#define RIND_PLANTED(name) (::rind::canary::planted() == ::rind::canary::id::name)
#else
#define RIND_PLANTED(name) false
#endif

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rind::canary {

// id, what is wrong
#define RIND_EACH_CANARY(X)                                                                        \
  /* what was accepted, answered and told */                                                       \
  X(answer_before_journal, "an accepted input is answered before it is in the journal (S3)")       \
  X(lose_input_at_compaction_end, "waiting inputs are forgotten when a boundary commits (S3)")     \
  X(newest_input_first, "of the queued inputs the newest is delivered first (S3)")                 \
  X(prompt_answered_before_end, "a prompt is answered before its operation's end is written (S5)") \
  X(queue_without_bound, "a queue takes more inputs than it may hold (S3)")                        \
  X(replay_skips_one, "a replay begins one entry late (S37)")                                      \
  X(same_input_twice, "an input that its client sends again runs again (S3a)")                     \
  X(stashed_request_forgotten, "a request that met an operation's end half-way is never answered") \
  X(told_before_commit, "events are sent before their entries are written (S35)")                  \
  X(two_terminal_events, "the end of an operation is told twice (S5)")                             \
  /* operations and their samplings */                                                             \
  X(calls_run_again, "a resumed turn runs the last tool calls again (S9, S10)")                    \
  X(delta_of_another, "a delta is taken for one of whichever request comes first (S1)")            \
  X(error_left_in_view, "a failed attempt leaves its error among the messages (S31a)")             \
  X(new_turn_id_after_compaction, "what follows a boundary belongs to another operation (S28)")    \
  X(no_placeholder, "a call that a crash left without a result gets no placeholder (S9)")          \
  X(partial_not_discarded, "a retry does not say that the deltas before it are void (S31a)")       \
  X(placeholder_as_success, "the placeholder of an unknown result looks like a success (S9)")      \
  X(session_stuck_after_cancel, "the slot stays taken after a cancel (S1, S4)")                    \
  X(steering_into_retry, "steering is delivered between a failed request and its retry (S28)")     \
  X(tool_before_journal, "tools run before the calls are in the journal (S7)")                     \
  X(two_operations, "a prompt starts while another operation runs (S1)")                           \
  /* the budget and the bounded recovery */                                                        \
  X(anchor_survives_boundary, "reported usage is believed of a view that is gone (S13)")           \
  X(attempts_forgotten_at_restart, "a resumed turn knows nothing of the refusals before (S10)")    \
  X(cached_tokens_twice, "cached tokens are added to an input that holds them (S13)")              \
  X(hard_limit_ignored, "a view above the hard limit is sent (S14)")                               \
  X(keep_tightened_limit, "the tightened limit stays as the model's window (S30)")                 \
  X(one_retry_more, "an interrupted stream is tried once more than it may (S32)")                  \
  X(output_limit_ignored, "the output limit does not give way to the prompt (S14c)")               \
  X(recovery_count_restarts, "refusals and rescues are counted anew at each sampling (S30)")       \
  X(rescue_forgotten_at_restart, "a restart shows again what a rescue had replaced (S11, S31)")    \
  X(retry_not_smaller, "what a compaction could not make smaller is sent again (S30)")             \
  X(share_learned_window, "the window that one session learned counts for all of its model (S16)") \
  /* compaction */                                                                                 \
  X(commit_without_condition, "a boundary is committed whatever became of its view (S24)")         \
  X(compaction_ends_the_turn, "the task does not go on after an automatic compaction (S28)")       \
  X(cut_inside_unit, "the cut parts a message from the results of its calls (S8, S18)")            \
  X(manual_samples, "a manual compaction samples although nothing was asked (S27)")                \
  X(no_second_cancel_check, "a compaction that was cancelled during its summary commits (S22)")    \
  X(refused_boundary_stands, "a boundary that the journal refused is told as committed (S35)")     \
  X(suffix_starts_early, "the oldest unit of the suffix is summarised too (S18)")                  \
  X(suffix_starts_late, "a unit is in neither the corpus nor the suffix (S18)")                    \
  X(summary_left_open, "the summary request of a cancelled compaction runs on (S4)")               \
  X(summary_of_another, "a summary is taken for that of whichever session comes first (S1)")       \
  X(too_large_falls_back, "what does not fit the summary model is compacted without one (S19)")    \
  X(unread_results_summarised, "results that the model has not read are summarised (S18)")

enum class id : std::uint8_t {
  none,
#define RIND_CANARY_ID(name, text) name,
  RIND_EACH_CANARY(RIND_CANARY_ID)
#undef RIND_CANARY_ID
};

struct description {
  id which = id::none;
  std::string_view name;
  std::string_view text;
};

/// Every canary, in the order of the table.
std::span<const description> all();
/// Whether this program was built with them.
bool are_built_in();
/// The one that is planted now; `none` where none is.
id planted();
/// Plants another one from here on. Not while a host runs on other threads.
void plant(id which);

} // namespace rind::canary
