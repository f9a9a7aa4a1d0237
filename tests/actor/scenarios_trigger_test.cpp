// Faults in what sets a compaction off, and what is right instead (F01 to F13).
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::says;
using kit::text_of_tokens;

constexpr std::int64_t hard_limit = kit::world_window_tokens - context::hard_limit_margin_tokens;

/// A model that asks for a tool that many times and then ends.
void serve_tool_loop(kit::world& w, int calls) {
  auto left = std::make_shared<int>(calls);
  w.model().serve([left](const sampling_request& r) {
    if (r.kind == sampling_kind::compact)
      return says("Twenty files are to be read.");
    if (*left == 0)
      return says("All read.");
    --*left;
    return kit::asks_for({kit::look("c" + std::to_string(*left))});
  });
}

TEST(scenario, F01_S28_the_threshold_is_looked_at_before_every_sampling) {
  kit::world w;
  auto& ann = w.client("s1");
  serve_tool_loop(w, 20);
  for (int i = 0; i < 20; ++i)
    w.tool().expect(kit::answers(text_of_tokens(1'000)));
  auto answer = ann.prompt("Read all files.");
  w.advance(1'000);
  ASSERT_EQ(answer.said(), "ok");
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  const auto boundaries = kit::boundaries_of(w, "s1");
  ASSERT_GE(boundaries.size(), 2u);
  for (const auto& b : boundaries) {
    EXPECT_EQ(b->reason, compaction_reason::automatic);
    EXPECT_EQ(b->detail, phase_detail::between_samplings);
  }
  for (const auto* r : w.model().requests_of(sampling_kind::assistant))
    EXPECT_LE(r->estimated_tokens, hard_limit);
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), 21);
  for (const auto& e : ann.events())
    EXPECT_EQ(e->turn_id, answer.value().turn_id);
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

TEST(scenario, F02_the_same_transcript_compacts_alike_whoever_asks) {
  const auto records = [](bool two_clients) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    auto& bob = two_clients ? w.client("s1") : ann;
    for (int i = 0; i < 8; ++i)
      kit::fill(w, i % 2 ? bob : ann, 2'000);
    std::string text;
    for (const auto& b : kit::boundaries_of(w, "s1"))
      text += to_json(*b).dump() + "\n";
    return text;
  };
  EXPECT_NE(records(false), "");
  EXPECT_EQ(records(false), records(true));
}

TEST(scenario, F06_automatic_off_samples_on_and_an_overflow_is_recovered_all_the_same) {
  kit::world_options o;
  o.settings.compaction.auto_compact = false;
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'400, 4); // above the threshold of 9,690, below the hard limit
  kit::fill(w, ann, 700);
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
  w.model().expect(kit::refuses_length());
  kit::fill(w, ann, 20);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->reason, compaction_reason::context_length_error);
}

TEST(scenario, F06_both_switches_belong_to_one_session_and_outlive_a_restart) {
  kit::world w;
  kit::serve_politely(w);
  actors::open_session_command without_auto{"s1", actors::open_mode::create, {}, {}};
  without_auto.auto_compact = false;
  actors::open_session_command without_recovery{"s2", actors::open_mode::create, {}, {}};
  without_recovery.overflow_recovery = false;
  auto& ann = w.client(without_auto);
  auto& bob = w.client(without_recovery);
  auto& eve = w.client("s3"); // as the host is set
  kit::fill(w, eve, 20);
  for (const bool restarted : {false, true}) {
    if (restarted) {
      w.restart();
      w.reconnect(ann, "s1");
      w.reconnect(bob, "s2");
      w.reconnect(eve, "s3");
    }
    const auto ann_before = kit::boundaries_of(w, "s1").size();
    if (!restarted) {
      kit::fill(w, ann, 2'400, 4); // above the threshold of 9,690, below the hard limit
      kit::fill(w, ann, 700);
      EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
      kit::fill(w, bob, 2'400, 2);
    } else {
      kit::fill(w, ann, 2'400, 3); // over the threshold again
    }
    EXPECT_EQ(kit::boundaries_of(w, "s1").size(), ann_before);
    w.model().expect(kit::refuses_length()); // recovery is a switch of its own
    kit::fill(w, ann, 20);
    EXPECT_EQ(kit::boundaries_of(w, "s1").size(), ann_before + 1);
    bob.forget_events();
    w.model().expect(kit::refuses_length());
    auto failed = bob.prompt("Go on.");
    w.run();
    ASSERT_EQ(failed.said(), "ok");
    EXPECT_EQ(kit::failure_of(bob.events()).code, error_code::context_length_exceeded);
    EXPECT_TRUE(kit::boundaries_of(w, "s2").empty());
  }
  kit::fill(w, eve, 2'400, 5);
  EXPECT_EQ(kit::boundaries_of(w, "s3").size(), 1u);
}

TEST(scenario, F06_recovery_off_fails_at_once_and_names_compact) {
  kit::world_options o;
  o.settings.compaction.overflow_recovery = false;
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 2);
  w.model().expect(kit::refuses_length());
  auto answer = ann.prompt("Go on.");
  w.run();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
  const auto& why = kit::failure_of(ann.events());
  EXPECT_EQ(why.code, error_code::context_length_exceeded);
  EXPECT_NE(why.message.find("/compact"), std::string::npos);
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 0);
}

TEST(scenario, S14_above_the_hard_limit_with_automatic_off_is_an_overflow_without_a_call) {
  kit::world_options o;
  o.settings.compaction.auto_compact = false;
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'400, 4);
  const auto calls = w.model().calls(sampling_kind::assistant);
  kit::fill(w, ann, 2'400);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->reason, compaction_reason::context_length_error);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->detail, phase_detail::hard_limit);
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), calls + 1);
  for (const auto* r : w.model().requests_of(sampling_kind::assistant))
    EXPECT_LE(r->estimated_tokens, hard_limit);
}

TEST(scenario, F07_F76_S2_compact_during_a_turn_is_refused_and_the_turn_goes_on) {
  kit::world w;
  auto& ann = w.client("s1");
  kit::serve_politely(w);
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(says("Slowly.").after(500));
  auto turn = ann.prompt("Go on.");
  w.run();
  auto second = ann.prompt("And then this.");
  auto compact = ann.compact();
  w.run();
  EXPECT_EQ(compact.said(), "TurnActive");
  EXPECT_EQ(turn.said(), "pending");
  w.advance(1'000);
  EXPECT_EQ(turn.said(), "ok");
  EXPECT_EQ(second.said(), "ok");
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
}

class unknown_usage : public testing::TestWithParam<std::optional<std::int64_t>> {};

TEST_P(unknown_usage, F08_the_threshold_fires_by_the_local_estimate) {
  kit::world w;
  w.model().serve([](const sampling_request& r) {
    auto reply = says(r.kind == sampling_kind::compact ? "Summary." : "Yes.");
    return GetParam() ? reply.counted(*GetParam(), *GetParam()) : reply;
  });
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'400, 5);
  EXPECT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(scenario, unknown_usage,
                         testing::Values(std::optional<std::int64_t>{},
                                         std::optional<std::int64_t>{0}));

TEST(scenario, F11_S13_a_report_that_nothing_explains_is_not_believed) {
  kit::world w;
  auto& ann = w.client("s1");
  w.model().expect(says("One.").counted(2'100, 5));
  kit::fill(w, ann, 2'000);
  w.model().expect(says("Two.").counted(9'900, 5)); // a fifth of it was sent
  kit::fill(w, ann, 20);
  w.model().expect(says("Three."));
  kit::fill(w, ann, 20);
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
  EXPECT_LT(w.model().requests().back().request.estimated_tokens, 3'000);
}

TEST(scenario, F13_system_prompt_and_tools_count) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1", {}, text_of_tokens(8'000));
  kit::fill(w, ann, 700, 3);
  auto report = ann.inspect();
  w.run();
  EXPECT_GE(report.value().stats.fixed_tokens, 7'900);
  EXPECT_FALSE(kit::boundaries_of(w, "s1").empty());
}

TEST(scenario, F13_S14a_a_fixed_part_at_the_threshold_fails_before_any_call) {
  kit::world w;
  auto& ann = w.client("s1", {}, text_of_tokens(9'900));
  auto answer = ann.prompt("Hi");
  w.run();
  ASSERT_TRUE(answer.ok()) << answer.said();
  const auto& why = kit::failure_of(ann.events());
  EXPECT_EQ(why.code, error_code::fixed_context_too_large);
  EXPECT_GE(*why.details.estimated_tokens, 9'690);
  EXPECT_EQ(*why.details.limit_tokens, 9'690);
  EXPECT_TRUE(w.model().requests().empty());
}

} // namespace
} // namespace rind
