// How one compaction ended, and what its caller does about it: the table of S17 as data.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/errors.hpp"
#include "messages/journal_entry.hpp"
#include "messages/record.hpp"

namespace rind::compaction {

enum class outcome_kind : std::uint8_t {
  committed,
  compact_input_too_large,
  nothing_to_compact,
  no_gain,
  cancelled,
  persistence_conflict,
  persistence_failed,
  not_owner,
};
inline constexpr std::size_t outcome_kind_count = 8;

/// The spelling in `compaction_ended` and in the metrics.
const char* to_string(outcome_kind kind);

/// What the caller of the compaction does.
enum class caller_action : std::uint8_t {
  respond_record,                // manual: the record is the response; queued inputs run
  sample,                        // go on with the sampling
  sample_if_smaller_else_rescue, // smaller than what was refused and under the hard limit: sample;
                                 // else the first rescue
  fail,                          // end the operation with the outcome's error
  refuse,                        // manual: answer the request with the error, no events
  sample_if_fits_else_shorten,   // under the hard limit: sample; else S18a; else
                                 // context_budget_exceeded
  first_rescue,
  cancel,
  rebuild_once_more_then_fail,
  stop, // not the owner any more (S5)
};

caller_action action_for(outcome_kind kind, compaction_reason reason);

/// One compaction as a value. `error` is set for every kind but committed; `record` and `entries`
/// for committed only.
struct outcome {
  outcome_kind kind = outcome_kind::committed;
  std::optional<failure> error;
  std::shared_ptr<const compaction_record> record;
  std::vector<entry_ptr> entries; // as the journal took them
  std::optional<token_usage>
      usage; // of the summary request, also when the summary was thrown away (S23)
  std::int64_t tokens_before = 0;
  std::optional<std::int64_t> tokens_after;
};

/// An outcome that is no commit, with the error that goes with its kind.
outcome rejected(outcome_kind kind, std::int64_t tokens_before,
                 std::optional<token_usage> usage = {});
/// The same with an error of its own (the numbers of compact_input_too_large, the words of the
/// journal).
outcome rejected(outcome_kind kind, failure error, std::int64_t tokens_before,
                 std::optional<token_usage> usage = {});

} // namespace rind::compaction
