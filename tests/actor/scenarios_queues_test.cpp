// Faults with cancel, queued inputs and triggers that meet (F60 to F68), and with what is shown and
// what follows (F75, F76).
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::hangs;
using kit::says;
using kit::text_of_tokens;

TEST(scenario, F60_F62_S4_another_client_cancels_the_summary_and_the_session_is_free_at_once) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  auto& bob = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(hangs());
  auto compacted = ann.compact();
  w.run();
  const auto at = w.now_ms();
  auto cancelled = bob.cancel();
  w.run();
  EXPECT_EQ(cancelled.said(), "ok");
  EXPECT_EQ(compacted.said(), "Cancelled");
  EXPECT_TRUE(w.model().requests().back().cancelled);
  auto info = bob.info();
  w.run();
  EXPECT_FALSE(info.value().turn.has_value());
  auto answer = bob.prompt("Go on.");
  w.run();
  EXPECT_EQ(answer.said(), "ok");
  EXPECT_EQ(w.now_ms(), at); // no time passed
}

enum class entrance { manual, automatic, on_error };

class input_at_each_step : public testing::TestWithParam<std::tuple<entrance, input_mode>> {};

TEST_P(input_at_each_step, F63_S3_what_was_accepted_is_delivered_once_or_handed_back) {
  const auto [by, mode] = GetParam();
  int accepted = 0;
  for (std::size_t deliveries = 0;; ++deliveries) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, by == entrance::automatic ? 4 : 3);
    if (by == entrance::on_error)
      w.model().expect(kit::refuses_length());
    if (by == entrance::manual)
      ann.compact();
    else
      ann.prompt(by == entrance::automatic ? text_of_tokens(800) : "Go on.");
    const bool over = w.time().step(deliveries) < deliveries;
    auto queued =
        mode == input_mode::steering ? ann.steer("One more.") : ann.follow_up("One more.");
    w.advance(1'000);
    ASSERT_TRUE(queued.arrived()) << "after " << deliveries;
    const auto fate = kit::fate_of(w, "s1", "One more.");
    if (queued.ok()) {
      ++accepted;
      EXPECT_EQ(fate.accepted, 1) << "after " << deliveries;
      EXPECT_EQ(fate.delivered, 1) << "after " << deliveries; // the operation ended well
      EXPECT_EQ(fate.handed_back, 0) << "after " << deliveries;
    } else {
      EXPECT_EQ(queued.said(), "TurnNotActive") << "after " << deliveries;
      EXPECT_EQ(fate.accepted, 0);
    }
    EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
    if (over)
      break;
    ASSERT_LT(deliveries, 1'000u);
  }
  EXPECT_GT(accepted, 10);
}

INSTANTIATE_TEST_SUITE_P(
    scenario, input_at_each_step,
    testing::Combine(testing::Values(entrance::manual, entrance::automatic, entrance::on_error),
                     testing::Values(input_mode::steering, input_mode::follow_up)));

TEST(scenario, F63_S3_a_burst_is_bounded_and_loses_nothing_that_was_accepted) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(says("Summary.").after(100));
  ann.compact();
  w.run();
  std::vector<kit::awaited<actors::queued_answer>> burst;
  for (int i = 0; i < 100; ++i)
    burst.push_back(ann.steer("Input " + std::to_string(i) + "."));
  w.advance(10'000);
  int accepted = 0;
  for (int i = 0; i < 100; ++i) {
    const auto fate = kit::fate_of(w, "s1", "Input " + std::to_string(i) + ".");
    if (burst[static_cast<std::size_t>(i)].ok()) {
      ++accepted;
      EXPECT_EQ(fate.delivered, 1) << i;
    } else {
      EXPECT_EQ(burst[static_cast<std::size_t>(i)].said(), "InputQueueFull");
      EXPECT_EQ(fate.accepted, 0);
    }
  }
  EXPECT_EQ(accepted, 4);
}

class steers_around_a_compaction : public testing::TestWithParam<bool> {};

TEST_P(steers_around_a_compaction, F64_S27_in_order_after_the_boundary_or_handed_back) {
  const bool fails = GetParam();
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(says("Summary.").after(100));
  auto compacted = ann.compact();
  ann.steer("First.");
  ann.steer("Second.");
  w.advance(50);
  ann.steer("Third.");
  w.run();
  if (fails)
    w.refuse_append();
  w.advance(1'000);
  std::vector<std::string> delivered;
  std::vector<std::string> handed_back;
  for (const auto& e : w.journal_of("s1")) {
    if (const auto* d = std::get_if<entries::input_delivered>(&e->body))
      delivered.push_back(d->msg->content);
    if (const auto* end = std::get_if<entries::turn_ended>(&e->body))
      for (const auto& u : end->undelivered)
        handed_back.push_back(u.text);
  }
  const std::vector<std::string> all{"First.", "Second.", "Third."};
  EXPECT_EQ(delivered, fails ? std::vector<std::string>{} : all);
  EXPECT_EQ(handed_back, fails ? all : std::vector<std::string>{});
  EXPECT_EQ(compacted.said(), fails ? "persistence_failed" : "ok");
}

INSTANTIATE_TEST_SUITE_P(scenario, steers_around_a_compaction, testing::Bool());

TEST(scenario, F66_S2_a_second_compaction_is_refused_while_one_runs) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(says("Summary.").after(100));
  auto first = ann.compact();
  w.run();
  auto second = ann.compact();
  w.advance(1'000);
  EXPECT_EQ(first.said(), "ok");
  EXPECT_EQ(second.said(), "TurnActive");
  EXPECT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
}

TEST(scenario, F66_S25_threshold_and_overflow_in_one_turn_compact_one_after_the_other) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'300, 4);
  w.model().expect(kit::refuses_length());
  auto answer = ann.prompt(text_of_tokens(800)); // over the threshold, and then refused
  w.run();
  ASSERT_TRUE(answer.ok());
  const auto line = kit::line_of(ann.events());
  EXPECT_EQ(kit::count_of(line, "compaction_started"),
            static_cast<std::int64_t>(
                std::count_if(ann.events().begin(), ann.events().end(), [](const event_ptr& e) {
                  const auto* live = std::get_if<live_event_body>(&e->body);
                  return live && std::holds_alternative<events::compaction_ended>(*live);
                })));
  EXPECT_LE(w.model().calls(sampling_kind::compact), 2);
}

TEST(scenario, F66_S13_usage_of_an_earlier_generation_is_no_anchor) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(says("Yes.").counted(2'100, 3)).expect(says("Yes.").counted(4'300, 3));
  kit::fill(w, ann, 2'000, 2);
  const auto source = [&] {
    auto report = ann.inspect();
    w.run();
    return report.value().stats.source;
  };
  EXPECT_EQ(source(), token_source::assistant_usage_plus_local_delta);
  auto compacted = ann.compact();
  w.run();
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(source(), token_source::local_estimate);
  w.model().expect(says("Yes.").counted(500, 3));
  kit::fill(w, ann, 20);
  EXPECT_EQ(source(), token_source::assistant_usage_plus_local_delta);
}

struct slow_summary {
  const char* name;
  kit::scripted_reply reply;
  std::int64_t ends_after_ms;
};

void PrintTo(const slow_summary& s, std::ostream* out) {
  *out << s.name;
}

class summary_deadlines : public testing::TestWithParam<slow_summary> {};

TEST_P(summary_deadlines, F68_S23_silence_and_the_whole_are_bounded_and_inputs_stay_accepted) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(GetParam().reply);
  const auto begin = w.now_ms();
  auto compacted = ann.compact();
  w.advance(10'000);
  auto steered = ann.steer("Meanwhile.");
  w.run();
  EXPECT_EQ(steered.said(), "ok");
  ASSERT_TRUE(w.time().advance_until([&] { return compacted.arrived(); }, 600'000));
  EXPECT_EQ(w.now_ms() - begin, GetParam().ends_after_ms);
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(compacted.value()->strategy, compaction_strategy::deterministic_fallback);
  EXPECT_EQ(compacted.value()->fallback->type, "timeout");
  EXPECT_EQ(kit::fate_of(w, "s1", "Meanwhile.").delivered, 1);
}

INSTANTIATE_TEST_SUITE_P(
    scenario, summary_deadlines,
    testing::Values(slow_summary{"silent", hangs(), 30'000},
                    slow_summary{"stalls_after_a_while", hangs().dripping("x", 3, 9'000), 57'000},
                    slow_summary{"steady_but_endless", hangs().dripping("x", 100, 9'000), 120'000}),
    [](const auto& p) { return p.param.name; });

TEST(scenario, F75_each_attempt_begins_and_ends_once_and_says_how) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  auto none = ann.compact();
  w.run();
  EXPECT_EQ(none.said(), "NothingToCompact"); // neutral: no event, no entry, no call
  EXPECT_TRUE(ann.events().empty());
  EXPECT_TRUE(w.journal_of("s1").empty());
  kit::fill(w, ann, 2'000, 3);
  ann.forget_events();
  auto done_well = ann.compact();
  w.run();
  EXPECT_EQ(kit::line_of(ann.events()),
            "turn_started compaction_started context_compacted:llm_inline "
            "compaction_ended:committed turn_completed");
  const auto& record = *done_well.value();
  EXPECT_EQ(record.reason, compaction_reason::manual);
  EXPECT_GT(record.tokens_before, record.tokens_after);
  for (const auto& e : ann.events())
    if (const auto* live = std::get_if<live_event_body>(&e->body))
      if (const auto* ended = std::get_if<events::compaction_ended>(live)) {
        EXPECT_EQ(ended->tokens_before, record.tokens_before);
        EXPECT_EQ(ended->tokens_after, record.tokens_after);
      }
}

TEST(scenario, F76_S27_a_waiting_session_waits_after_a_compaction_and_a_running_turn_goes_on) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3); // ends with a final answer
  const auto calls = w.model().calls(sampling_kind::assistant);
  auto compacted = ann.compact();
  w.advance(60'000);
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), calls); // idle stays idle
  kit::fill(w, ann, 2'300, 3);
  w.model().expect(kit::asks_for({kit::look("c1")}));
  w.tool().expect(kit::answers(text_of_tokens(2'500)));
  ann.forget_events();
  auto answer = ann.prompt("Look.");
  w.run();
  EXPECT_EQ(answer.value().outcome,
            entries::turn_outcome::completed); // inside a tool loop it goes on
  EXPECT_EQ(kit::count_of(kit::line_of(ann.events()), "turn_started"), 1);
  EXPECT_EQ(kit::count_of(kit::line_of(ann.events()), "context_compacted:llm_inline"), 1);
}

} // namespace
} // namespace rind
