// The outcome table, pair by pair.
#include <set>

#include <gtest/gtest.h>

#include "runtime/compaction/outcome.hpp"

namespace rind::compaction {
namespace {

using enum caller_action;

struct table_row {
  outcome_kind kind;
  const char* name;
  caller_action manual;
  caller_action automatic;
  caller_action on_error;
  std::optional<error_code> code;
};

TEST(outcome, S17_each_pair_has_its_action) {
  const std::vector<table_row> rows{
      {outcome_kind::committed,
       "committed",
       respond_record,
       sample,
       sample_if_smaller_else_rescue,
       {}},
      {outcome_kind::compact_input_too_large, "compact_input_too_large", fail, fail, fail,
       error_code::compact_input_too_large},
      {outcome_kind::nothing_to_compact, "nothing_to_compact", refuse, sample_if_fits_else_shorten,
       first_rescue, error_code::nothing_to_compact},
      {outcome_kind::no_gain, "no_gain", fail, sample_if_fits_else_shorten, first_rescue,
       error_code::no_gain},
      {outcome_kind::cancelled, "cancelled", cancel, cancel, cancel, error_code::cancelled},
      {outcome_kind::persistence_conflict, "persistence_conflict", fail,
       rebuild_once_more_then_fail, rebuild_once_more_then_fail, error_code::persistence_conflict},
      {outcome_kind::persistence_failed, "persistence_failed", fail, fail, fail,
       error_code::persistence_failed},
      {outcome_kind::not_owner, "not_owner", stop, stop, stop, error_code::not_owner},
  };
  ASSERT_EQ(rows.size(), outcome_kind_count);
  std::set<std::string> names;
  for (const auto& row : rows) {
    EXPECT_EQ(action_for(row.kind, compaction_reason::manual), row.manual) << row.name;
    EXPECT_EQ(action_for(row.kind, compaction_reason::automatic), row.automatic) << row.name;
    EXPECT_EQ(action_for(row.kind, compaction_reason::context_length_error), row.on_error)
        << row.name;
    EXPECT_STREQ(to_string(row.kind), row.name);
    names.insert(to_string(row.kind));
    if (!row.code)
      continue;
    const auto o = rejected(row.kind, 123);
    EXPECT_EQ(o.kind, row.kind);
    EXPECT_EQ(o.error->code, *row.code) << row.name;
    EXPECT_FALSE(o.error->message.empty()) << row.name;
    EXPECT_EQ(o.tokens_before, 123);
  }
  EXPECT_EQ(names.size(), outcome_kind_count);
}

} // namespace
} // namespace rind::compaction
