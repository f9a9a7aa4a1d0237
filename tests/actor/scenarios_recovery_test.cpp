// Faults in the recovery from a provider that refuses a length (F47 to F54).
#include <limits>

#include <gtest/gtest.h>

#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::asks_for;
using kit::look;
using kit::refuses_length;
using kit::says;
using kit::text_of_tokens;

TEST(scenario, F47_S30_a_provider_that_always_refuses_ends_within_its_bound) {
  kit::world w;
  w.model().serve([](const sampling_request& r) {
    return r.kind == sampling_kind::compact ? says("Summary.") : refuses_length();
  });
  auto& ann = w.client("s1");
  // What may be rescued: read results, then whole units.
  w.model().expect(says("Yes."), 3);
  kit::fill(w, ann, 1'500, 3);
  w.model().expect(asks_for({look("c1")}));
  w.tool().expect(kit::answers(text_of_tokens(3'000)));
  auto answer = ann.prompt("Look.");
  w.advance(1'000);
  ASSERT_TRUE(answer.ok());
  const auto& why = kit::failure_of(ann.events());
  EXPECT_EQ(why.code, error_code::context_length_exhausted);
  EXPECT_GE(why.details.attempts.size(), 2u);
  EXPECT_LE(why.details.attempts.size(), 6u);
  const auto sent = w.model().requests_of(sampling_kind::assistant);
  std::int64_t refused = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 4; i < sent.size(); ++i) { // each retry is smaller than what was refused
    EXPECT_LT(sent[i]->estimated_tokens, refused);
    refused = sent[i]->estimated_tokens;
  }
  EXPECT_LE(sent.size() - 4, 6u);
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 1);
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

TEST(scenario, F48_S30_the_count_starts_anew_with_the_next_operation) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(refuses_length(), 1); // nothing to compact, nothing to rescue
  auto failed = ann.prompt("Small.");
  w.run();
  ASSERT_EQ(failed.value().outcome, entries::turn_outcome::failed);
  kit::fill(w, ann, 2'000, 3);
  for (int i = 0; i < 2; ++i) {
    w.model().expect(refuses_length());
    auto answer = ann.prompt("Go on.");
    w.run();
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
    kit::fill(w, ann, 2'000, 2);
  }
  const auto boundaries = kit::boundaries_of(w, "s1");
  ASSERT_EQ(boundaries.size(), 2u);
  for (const auto& b : boundaries)
    EXPECT_EQ(b->reason, compaction_reason::context_length_error);
}

TEST(scenario, F49_S30_the_tightened_limit_ends_with_its_operation) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(asks_for({look("c1")}));
  w.tool().expect(kit::answers(text_of_tokens(2'500)));
  w.model().expect(refuses_length(), 2); // compaction, then one rescue
  auto answer = ann.prompt("Look.");
  w.run();
  ASSERT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 2u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[1]->strategy, compaction_strategy::context_rescue);
  const auto limits = [&](kit::scripted_client& c) {
    auto report = c.inspect();
    w.run();
    const auto& s = report.value().stats;
    return std::vector<std::int64_t>{s.hard_limit_tokens, s.auto_compact_token_limit,
                                     s.context_window_tokens};
  };
  const auto plain = limits(w.client("s2"));
  EXPECT_EQ(limits(ann), plain);
  const auto calls = w.model().calls(sampling_kind::compact);
  kit::fill(w, ann, 1'500, 2); // would be over a limit of 0.8
  EXPECT_EQ(w.model().calls(sampling_kind::compact), calls);
  w.restart();
  w.reconnect(ann, "s1");
  EXPECT_EQ(limits(ann), plain);
}

TEST(scenario, F49_S30_a_model_that_is_set_while_a_request_runs_ends_its_tightened_limit) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(asks_for({look("c1")}));
  w.tool().expect(kit::answers(text_of_tokens(2'500)));
  w.model().expect(refuses_length());              // compacts
  w.model().expect(refuses_length().after(1'000)); // would tighten the limit
  w.model().expect(kit::hangs());                  // after the rescue
  ann.prompt("Look.");
  w.run();
  auto set = ann.set_model("model-big");
  w.run();
  ASSERT_EQ(set.said(), "ok");
  w.advance(1'000);
  const auto line = kit::line_of(w.journal_of("s1"));
  ASSERT_LT(line.find("model_set"), line.rfind("attempt_started"));
  auto report = ann.inspect();
  w.run();
  auto plain = w.client("s2", "model-big").inspect();
  w.run();
  EXPECT_EQ(report.value().stats.auto_compact_token_limit,
            plain.value().stats.auto_compact_token_limit);
  EXPECT_FALSE(w.projection_of("s1").operation()->tightened_limit_tokens);
  ann.cancel();
  w.run();
}

TEST(scenario, F52_S31_a_rescue_is_a_boundary_and_survives_a_crash) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(asks_for({look("c1")})).expect(refuses_length());
  w.tool().expect(kit::answers(text_of_tokens(6'000)));
  auto answer = ann.prompt("Look.");
  w.run();
  ASSERT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  const auto boundaries = kit::boundaries_of(w, "s1");
  ASSERT_EQ(boundaries.size(), 1u);
  EXPECT_EQ(boundaries[0]->strategy, compaction_strategy::context_rescue);
  EXPECT_FALSE(boundaries[0]->replaced.empty());
  auto live = ann.snapshot();
  w.run();
  const auto before = kit::shown(*(*live)->view);
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  auto again = ann.snapshot();
  w.run();
  EXPECT_EQ(kit::shown(*(*again)->view), before);
  kit::fill(w, ann, 20);
  EXPECT_EQ(kit::holding(w.model().requests().back().request.messages, text_of_tokens(6'000)), 0);
}

TEST(scenario, S10_a_crash_between_refusal_and_retry_goes_on_with_a_smaller_request) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(refuses_length()).expect_summary(kit::hangs());
  ann.prompt("Go on.", "p1");
  w.run();
  const auto refused = w.model().requests_of(sampling_kind::assistant).back()->estimated_tokens;
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  const auto before = w.model().calls(sampling_kind::assistant);
  auto resumed = ann.resume();
  w.run();
  ASSERT_EQ(resumed.said(), "ok");
  EXPECT_EQ(resumed.value().outcome, entries::turn_outcome::completed);
  ASSERT_EQ(w.model().calls(sampling_kind::assistant), before + 1);
  EXPECT_LT(w.model().requests_of(sampling_kind::assistant).back()->estimated_tokens, refused);
}

TEST(scenario, F53_S21_a_summariser_that_echoes_is_replaced_by_code_in_both_entrances) {
  kit::world w;
  w.model().serve([](const sampling_request& r) {
    return says(r.kind == sampling_kind::compact ? r.messages.back()->content : "Yes.");
  });
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  auto compacted = ann.compact();
  w.run();
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(compacted.value()->strategy, compaction_strategy::deterministic_fallback);
  kit::fill(w, ann, 2'000, 2);
  w.model().expect(refuses_length());
  auto answer = ann.prompt("Go on.");
  w.run();
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  const auto boundaries = kit::boundaries_of(w, "s1");
  ASSERT_EQ(boundaries.size(), 2u);
  for (const auto& b : boundaries)
    EXPECT_LT(b->tokens_after, b->tokens_before);
}

TEST(scenario, F54_nothing_to_compact_is_no_strike_and_failures_cost_a_bounded_number_of_calls) {
  kit::world w;
  auto& ann = w.client("s1");
  w.model().serve([](const sampling_request& r) {
    return r.kind == sampling_kind::compact ? kit::refuses(provider_error_class::auth)
                                            : says("Yes.");
  });
  for (int i = 0; i < 2; ++i) {
    auto compacted = ann.compact();
    w.run();
    EXPECT_EQ(compacted.said(), "NothingToCompact");
  }
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 0);
  kit::fill(w, ann, 2'000, 20);
  const auto boundaries = kit::boundaries_of(w, "s1");
  EXPECT_GE(boundaries.size(), 3u); // automatic still works, by code
  EXPECT_LE(w.model().calls(sampling_kind::compact), 20);
  for (const auto& b : boundaries)
    EXPECT_EQ(b->strategy, compaction_strategy::deterministic_fallback);
}

} // namespace
} // namespace rind
