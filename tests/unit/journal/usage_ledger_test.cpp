// What a journal says that was counted, by model, and what it costs.
#include <gtest/gtest.h>

#include "runtime/journal/usage_ledger.hpp"
#include "tests/kit/journal_samples.hpp"

namespace rind::journal {
namespace {

entry_body answer(std::string model, token_usage usage) {
  auto m = std::make_shared<message>();
  m->role = message_role::assistant;
  m->model = std::move(model);
  entries::assistant_message out;
  out.msg = std::move(m);
  out.usage = usage;
  return out;
}

entry_body summary(compaction_strategy strategy, std::optional<token_usage> usage) {
  compaction_record record;
  record.strategy = strategy;
  record.summary_model = strategy == compaction_strategy::context_rescue ? "" : "writer";
  record.usage = usage;
  return entries::boundary{std::make_shared<const compaction_record>(record)};
}

std::map<std::string, usage_sum> sums_of(const std::vector<entry_body>& bodies) {
  usage_ledger ledger;
  for (const auto& body : bodies)
    ledger.take(kit::sample_entry("e", body));
  return ledger.by_model();
}

TEST(usage_ledger, S23_answers_summaries_and_what_was_thrown_away_are_added_by_model) {
  const auto sums = sums_of(
      {kit::sample_created("large"), kit::sample_turn_started(), kit::sample_prompt("hello"),
       answer("large", {100, 10, 40, 5}), answer("large", {200, 20, std::nullopt, std::nullopt}),
       entries::usage_recorded{sampling_kind::assistant, "large", {7, 1, {}, {}}},
       summary(compaction_strategy::llm_inline, token_usage{1'000, 100, 0, 0}),
       entries::usage_recorded{sampling_kind::compact, "writer", {500, 50, {}, {}}},
       entries::model_set{"small"}, answer("small", {9, 8, {}, {}}),
       kit::sample_ended(entries::turn_outcome::completed)});
  const std::map<std::string, usage_sum> expected{{"large", {3, 0, 0, 307, 40, 31, 5}},
                                                  {"small", {1, 0, 0, 9, 0, 8, 0}},
                                                  {"writer", {0, 2, 0, 1'500, 0, 150, 0}}};
  EXPECT_EQ(sums, expected);
}

TEST(usage_ledger, what_no_provider_counted_is_told_apart_from_nothing) {
  EXPECT_EQ(sums_of({kit::sample_created("large"), answer("large", {})}),
            (std::map<std::string, usage_sum>{{"large", {1, 0, 1, 0, 0, 0, 0}}}));
  EXPECT_EQ(sums_of({summary(compaction_strategy::llm_inline, std::nullopt)}),
            (std::map<std::string, usage_sum>{{"writer", {0, 1, 1, 0, 0, 0, 0}}}));
}

TEST(usage_ledger, a_boundary_without_a_model_counts_only_what_was_paid_for_before) {
  EXPECT_TRUE(sums_of({summary(compaction_strategy::context_rescue, std::nullopt),
                       summary(compaction_strategy::deterministic_fallback, std::nullopt)})
                  .empty());
  EXPECT_EQ(
      sums_of({summary(compaction_strategy::deterministic_fallback, token_usage{5, 6, {}, {}})}),
      (std::map<std::string, usage_sum>{{"writer", {0, 1, 0, 5, 0, 6, 0}}}));
}

TEST(usage_ledger, an_answer_that_names_no_model_is_the_sessions) {
  const auto sums = sums_of({kit::sample_created("large"), answer("", {1, 1, {}, {}}),
                             entries::model_set{"small"}, answer("", {1, 1, {}, {}}),
                             answer("large", {1, 1, {}, {}})});
  EXPECT_EQ(sums.at("large").samplings, 2);
  EXPECT_EQ(sums.at("small").samplings, 1);
}

TEST(usage_ledger, each_kind_of_token_has_its_price) {
  const config::token_price price{3, 0.5, 15};
  const struct {
    usage_sum usage;
    double cost;
  } rows[] = {{{}, 0},
              {{1, 0, 0, 1'000'000, 0, 0, 0}, 3},
              {{1, 0, 0, 1'000'000, 1'000'000, 0, 0}, 0.5},
              {{1, 0, 0, 1'000'000, 400'000, 0, 0}, 1.8 + 0.2},
              {{1, 0, 0, 0, 0, 1'000'000, 900'000}, 15},   // reasoning is output, not paid twice
              {{1, 0, 0, 10, 2'000'000, 0, 0}, 0.000005}}; // no more is read from a cache than sent
  for (const auto& row : rows)
    EXPECT_NEAR(cost_of(row.usage, price), row.cost, 1e-9);
}

} // namespace
} // namespace rind::journal
