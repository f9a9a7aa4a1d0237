// The outcome table of S17 as an operation carries it out: each outcome, through each of the three
// entrances.
#include <gtest/gtest.h>

#include "tests/unit/turn/machine_kit.hpp"

namespace rind::turn {
namespace {

using compaction::outcome_kind;
using enum compaction::outcome_kind;

enum class entrance { manual, automatic, context_length_error };

/// A world in which the first compaction comes through the entrance; the view is under the hard
/// limit.
script_world world_at(entrance e, bool over_hard_limit = false) {
  script_world w;
  if (over_hard_limit)
    w.history(4, 5'000);
  else
    w.history(8, 2'100);
  if (e == entrance::manual) {
    w.begin(operation_kind::compact);
    return w;
  }
  w.prompt();
  if (e == entrance::context_length_error) {
    w.auto_compact = false;
    w.model = {overflows()};
  }
  return w;
}

TEST(outcome_table, S17_each_outcome_does_what_its_caller_has_to) {
  struct row {
    outcome_kind outcome;
    entrance from;
    const char* ends_with; // of the diagram, after the first compaction
    std::int64_t requests; // in all
  };
  const std::vector<row> rows{
      {committed, entrance::manual, "compact manual | next", 0},
      {compact_input_too_large, entrance::manual,
       "compact manual | close failed compact_input_too_large", 0},
      {nothing_to_compact, entrance::manual, "compact manual | close failed NothingToCompact", 0},
      {no_gain, entrance::manual, "compact manual | close failed no_gain", 0},
      {cancelled, entrance::manual, "compact manual | close cancelled", 0},
      {persistence_conflict, entrance::manual, "compact manual | close failed persistence_conflict",
       0},
      {persistence_failed, entrance::manual, "compact manual | close failed persistence_failed", 0},
      {not_owner, entrance::manual, "compact manual | close failed NotOwner", 0},

      {committed, entrance::automatic,
       "before_first_sampling | build | take | build | sample | record assistant | next", 1},
      {compact_input_too_large, entrance::automatic,
       "before_first_sampling | close failed compact_input_too_large", 0},
      {nothing_to_compact, entrance::automatic,
       "before_first_sampling | build | sample | record assistant | next", 1},
      {no_gain, entrance::automatic,
       "before_first_sampling | build | sample | record assistant | next", 1},
      {cancelled, entrance::automatic, "before_first_sampling | close cancelled", 0},
      {persistence_conflict, entrance::automatic,
       "before_first_sampling | build | compact auto before_first_sampling | build | take | build "
       "| sample | record assistant | next",
       1},
      {persistence_failed, entrance::automatic,
       "before_first_sampling | close failed persistence_failed", 0},
      {not_owner, entrance::automatic, "before_first_sampling | close failed NotOwner", 0},

      {committed, entrance::context_length_error,
       "context_length_recovery | build | retry context_length | sample | record assistant | next",
       2},
      {compact_input_too_large, entrance::context_length_error,
       "context_length_recovery | close failed compact_input_too_large", 1},
      {nothing_to_compact, entrance::context_length_error,
       "context_length_recovery | record attempt(1,1) | build | retry context_length | sample | "
       "record boundary assistant | next",
       2},
      {no_gain, entrance::context_length_error,
       "context_length_recovery | record attempt(1,1) | build | retry context_length | sample | "
       "record boundary assistant | next",
       2},
      {cancelled, entrance::context_length_error, "context_length_recovery | close cancelled", 1},
      {persistence_conflict, entrance::context_length_error,
       "context_length_recovery | build | compact context_length_error context_length_recovery | "
       "build | retry context_length | sample | "
       "record assistant | next",
       2},
      {persistence_failed, entrance::context_length_error,
       "context_length_recovery | close failed persistence_failed", 1},
      {not_owner, entrance::context_length_error, "context_length_recovery | close failed NotOwner",
       1},
  };
  ASSERT_EQ(rows.size(), 3 * compaction::outcome_kind_count);
  for (const auto& r : rows) {
    auto w = world_at(r.from);
    w.forced = {r.outcome};
    w.run();
    const auto d = w.diagram();
    const std::string expected = r.ends_with;
    EXPECT_TRUE(d.size() >= expected.size() &&
                d.compare(d.size() - expected.size(), expected.size(), expected) == 0)
        << compaction::to_string(r.outcome) << ", entrance " << static_cast<int>(r.from) << ": "
        << d;
    EXPECT_EQ(static_cast<std::int64_t>(w.requests.size()), r.requests) << d;
  }
}

TEST(outcome_table, S17_a_second_conflict_is_the_end) {
  for (const auto from : {entrance::automatic, entrance::context_length_error}) {
    auto w = world_at(from);
    w.forced = {persistence_conflict, persistence_conflict};
    w.run();
    EXPECT_EQ(w.count("compact"), 2);
    ASSERT_EQ(w.ends.size(), 1u);
    EXPECT_EQ(w.ends[0].error->code, error_code::persistence_conflict);
  }
}

TEST(outcome_table,
     S17_above_the_hard_limit_an_automatic_compaction_that_does_not_help_fails_with_both_numbers) {
  for (const auto kind : {nothing_to_compact, no_gain}) {
    auto w = world_at(entrance::automatic, true);
    w.forced = {kind};
    w.run();
    EXPECT_TRUE(w.requests.empty());
    ASSERT_EQ(w.ends.size(), 1u);
    const auto& error = *w.ends[0].error;
    EXPECT_EQ(error.code, error_code::context_budget_exceeded);
    EXPECT_EQ(error.details.limit_tokens, 18'976);
    EXPECT_GT(*error.details.estimated_tokens, 18'976);
    EXPECT_EQ(w.count("compact"), 1); // the same view is not compacted twice
  }
}

TEST(outcome_table,
     S18a_unread_results_above_the_hard_limit_are_shortened_in_a_boundary_of_their_own) {
  script_world w;
  w.prompt();
  w.model = {calls({"a", "b"}), says("done")};
  w.tool_text = [](const std::string&) { return kit::text_of_tokens(12'000); };
  w.run();
  EXPECT_TRUE(w.completed) << w.diagram();
  EXPECT_EQ(w.summaries, 0);
  ASSERT_EQ(w.projection().boundaries().size(), 1u);
  EXPECT_EQ(w.projection().boundaries()[0]->strategy, compaction_strategy::context_rescue);
  for (const auto& r : w.requests)
    EXPECT_LE(r.estimated_tokens, 18'976);
}

TEST(outcome_table, S18a_what_stays_above_the_hard_limit_is_not_sent) {
  script_world w(4'000);
  w.prompt();
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i)
    ids.push_back("c" + std::to_string(i));
  w.model = {calls(ids), says("done")};
  w.tool_text = [](const std::string&) { return kit::text_of_tokens(1'500); };
  w.run();
  EXPECT_EQ(w.requests.size(), 1u);
  ASSERT_EQ(w.ends.size(), 1u) << w.diagram();
  EXPECT_EQ(w.ends[0].error->code, error_code::context_budget_exceeded);
}

TEST(
    outcome_table,
    S17_a_compaction_on_an_error_that_does_not_come_under_the_refused_size_goes_to_the_first_rescue) {
  script_world w(100'000);
  w.history(10, 2'000);
  w.prompt();
  auto over = error_of(provider_error_class::context_length);
  over.limit_tokens = 5'000; // the view would have to be under this window's hard limit
  over.requested_tokens = 21'000;
  w.model = {fails(over)};
  w.forced = {no_gain};
  w.run();
  EXPECT_EQ(w.requests.size(), 2u);
  for (std::size_t i = 1; i < w.requests.size(); ++i)
    EXPECT_LE(w.requests[i].estimated_tokens, 5'000 - 1'024);
}

} // namespace
} // namespace rind::turn
