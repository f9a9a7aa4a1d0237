// The outcome table of the compaction pipeline (S17).
#include "runtime/compaction/outcome.hpp"

namespace rind::compaction {

namespace {

using enum caller_action;

struct outcome_row {
  outcome_kind kind;
  const char* name;
  std::array<caller_action, 3> action; // manual, automatic, context_length_error
  error_code code; // of the outcome's error; internal_error for committed, which has none
  const char* text;
};

constexpr std::array<outcome_row, outcome_kind_count> outcome_table{{
    {outcome_kind::committed,
     "committed",
     {respond_record, sample, sample_if_smaller_else_rescue},
     error_code::internal_error,
     ""},
    {outcome_kind::compact_input_too_large,
     "compact_input_too_large",
     {fail, fail, fail},
     error_code::compact_input_too_large,
     "the conversation does not fit into a summary request"},
    {outcome_kind::nothing_to_compact,
     "nothing_to_compact",
     {refuse, sample_if_fits_else_shorten, first_rescue},
     error_code::nothing_to_compact,
     "there is nothing to summarise besides an earlier handoff"},
    {outcome_kind::no_gain,
     "no_gain",
     {fail, sample_if_fits_else_shorten, first_rescue},
     error_code::no_gain,
     "the compacted conversation would not be smaller"},
    {outcome_kind::cancelled,
     "cancelled",
     {cancel, cancel, cancel},
     error_code::cancelled,
     "the compaction was cancelled"},
    {outcome_kind::persistence_conflict,
     "persistence_conflict",
     {fail, rebuild_once_more_then_fail, rebuild_once_more_then_fail},
     error_code::persistence_conflict,
     "the conversation changed while it was compacted"},
    {outcome_kind::persistence_failed,
     "persistence_failed",
     {fail, fail, fail},
     error_code::persistence_failed,
     "the journal did not take the boundary"},
    {outcome_kind::not_owner,
     "not_owner",
     {stop, stop, stop},
     error_code::not_owner,
     "another node owns the session"},
}};

constexpr bool table_is_in_enum_order() {
  for (std::size_t i = 0; i < outcome_table.size(); ++i)
    if (static_cast<std::size_t>(outcome_table[i].kind) != i)
      return false;
  return true;
}
static_assert(table_is_in_enum_order());

const outcome_row& row_of(outcome_kind kind) {
  return outcome_table[static_cast<std::size_t>(kind)];
}

} // namespace

const char* to_string(outcome_kind kind) {
  return row_of(kind).name;
}

caller_action action_for(outcome_kind kind, compaction_reason reason) {
  return row_of(kind).action[static_cast<std::size_t>(reason)];
}

outcome rejected(outcome_kind kind, std::int64_t tokens_before, std::optional<token_usage> usage) {
  const auto& row = row_of(kind);
  return rejected(kind, make_failure(row.code, row.text), tokens_before, std::move(usage));
}

outcome rejected(outcome_kind kind, failure error, std::int64_t tokens_before,
                 std::optional<token_usage> usage) {
  outcome o;
  o.kind = kind;
  o.error = std::move(error);
  o.usage = std::move(usage);
  o.tokens_before = tokens_before;
  return o;
}

} // namespace rind::compaction
