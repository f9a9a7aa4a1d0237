// The loop of an operation, read as sequence diagrams.
#include <gtest/gtest.h>

#include "tests/unit/turn/machine_kit.hpp"

namespace rind::turn {
namespace {

using enum provider_error_class;

const failure& error_of_end(const script_world& w) {
  return *w.ends.at(0).error;
}

// -- S7, S8 ------------------------------------------------------------------

TEST(turn_machine, S7_the_loop_ends_when_the_model_asks_for_nothing) {
  script_world w;
  w.prompt();
  w.model = {calls({"a", "b"}), says("done")};
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | sample | record assistant call call | tools 2 | record "
                         "result | record result | "
                         "take | build | sample | record assistant | next");
  EXPECT_TRUE(w.completed);
  EXPECT_EQ(w.machine().at(), state::ended);
}

TEST(turn_machine, S7_calls_are_journaled_before_they_run_and_numbered_by_sampling) {
  script_world w;
  w.prompt();
  w.model = {calls({"a"}), says("done")};
  w.crash_at("tools 1");
  w.run();
  EXPECT_EQ(w.all<entries::tool_requested>().size(), 1u);
  w.recover_from_crash();
  w.run(true);
  const auto answers = w.all<entries::assistant_message>();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].sampling, 1);
  EXPECT_EQ(answers[1].sampling, 2);
}

TEST(turn_machine, S7_samplings_are_limited_also_over_a_resume) {
  script_world w;
  w.samplings_max = 3;
  w.prompt();
  w.model_after = [n = 0](const effects::sample& s) mutable {
    return calls({"c" + std::to_string(n++)})(s);
  };
  w.crash_at("sample", 3);
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  EXPECT_EQ(w.requests.size(), 1u); // two were committed before the crash
  EXPECT_EQ(error_of_end(w).code, error_code::sampling_limit_reached);
}

TEST(turn_machine,
     S7_steering_is_delivered_one_a_sampling_and_a_follow_up_when_the_task_has_ended) {
  script_world w;
  w.prompt();
  w.accept("s1", input_mode::steering);
  w.accept("s2", input_mode::steering);
  w.accept("f1", input_mode::follow_up);
  w.model = {calls({"a"}), says("one"), says("two")};
  w.run();
  EXPECT_EQ(
      w.diagram(),
      "take | deliver s1 | build | sample | record assistant call | tools 1 | record result | "
      "take | deliver s2 | build | sample | record assistant | "
      "next | deliver f1 | build | sample | record assistant | next");
}

TEST(turn_machine, S8_a_view_that_breaks_the_boundary_is_never_sent) {
  script_world w;
  w.begin();
  w.user("bad \xff bytes");
  w.run();
  EXPECT_TRUE(w.requests.empty());
  EXPECT_EQ(error_of_end(w).code, error_code::invalid_message_boundary);
}

TEST(turn_machine,
     S9_a_call_without_a_result_is_a_placeholder_after_a_resume_and_does_not_run_again) {
  script_world w;
  w.prompt();
  w.model = {calls({"a"})};
  w.crash_at("tools 1");
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  EXPECT_EQ(w.count("tools"), 0);
  ASSERT_EQ(w.requests.size(), 1u);
  EXPECT_EQ(w.requests[0].messages.back()->role, message_role::tool);
  EXPECT_TRUE(w.requests[0].messages.back()->is_error);
}

// -- S10 ---------------------------------------------------------------------

TEST(turn_machine, S10_a_turn_that_had_its_last_answer_ends_without_another_sampling) {
  script_world w;
  w.prompt();
  w.crash_at("next");
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  EXPECT_EQ(w.diagram(), "build | next");
  EXPECT_TRUE(w.completed);
}

TEST(turn_machine, S10_a_resumed_turn_that_had_its_last_answer_goes_on_with_its_queues) {
  script_world w;
  w.prompt();
  w.accept("f1", input_mode::follow_up);
  w.crash_at("next");
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  EXPECT_EQ(w.diagram(), "build | next | deliver f1 | build | sample | record assistant | next");
}

TEST(turn_machine, S10_attempts_are_journaled_before_they_are_made_with_what_was_refused) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows(), overflows()};
  w.run();
  const auto attempts = w.all<entries::attempt_started>();
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].refused_estimate_tokens, w.requests[0].estimated_tokens);
  EXPECT_EQ(attempts[1].refused_estimate_tokens, w.requests[0].estimated_tokens);
  EXPECT_EQ(attempts[2].refused_estimate_tokens, w.requests[1].estimated_tokens);
  EXPECT_EQ(attempts[0].limit_tokens, 18'976);
  EXPECT_FALSE(attempts[0].tightened_limit_tokens);
  EXPECT_EQ(attempts[1].limit_tokens, 18'976);
  EXPECT_EQ(attempts[2].limit_tokens, *attempts[1].tightened_limit_tokens);
  EXPECT_LT(*attempts[2].tightened_limit_tokens, *attempts[1].tightened_limit_tokens);
}

// Wherever the crash falls in a recovery, what is sent after it is smaller than everything that was
// refused before.
TEST(turn_machine, S10_what_a_resumed_turn_sends_is_smaller_than_what_was_refused) {
  for (const char* which : {"record attempt(1,0)", "compact", "build", "sample",
                            "record attempt(2,1)", "record attempt(3,2)"}) {
    for (int nth = 1; nth <= 6; ++nth) {
      script_world w(20'000);
      w.history(7, 2'000);
      w.prompt(kit::text_of_tokens(300));
      w.model_after = holds_up_to(1'000);
      w.crash_at(which, nth);
      w.run();
      if (w.completed || !w.ends.empty())
        continue; // there is no such moment
      std::int64_t refused = 0;
      for (const auto& a : w.all<entries::attempt_started>())
        refused = a.refused_estimate_tokens;
      w.recover_from_crash();
      w.forget();
      w.run(true);
      ASSERT_TRUE(w.completed || !w.ends.empty()) << which << nth;
      if (refused > 0 && !w.requests.empty()) {
        EXPECT_LT(w.requests[0].estimated_tokens, refused) << which << " " << nth;
      }
      EXPECT_EQ(w.diagram().find("deliver"), std::string::npos);
    }
  }
}

TEST(turn_machine, S10_a_resumed_compaction_that_is_useless_tightens_from_the_real_limits) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.model = {overflows()};
  w.crash_at("compact");
  w.run();
  w.recover_from_crash();
  w.forced = {compaction::outcome_kind::no_gain};
  w.run(true);
  const auto attempts = w.all<entries::attempt_started>();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(*attempts[1].tightened_limit_tokens, attempts[0].refused_estimate_tokens * 8 / 10);
}

TEST(turn_machine, S10_a_boundary_that_was_committed_before_the_crash_is_not_made_twice) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.model = {overflows()};
  w.crash_at("sample", 2);
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  EXPECT_EQ(w.diagram(), "build | retry context_length | sample | record assistant | next");
  EXPECT_EQ(w.projection().boundaries().size(), 1u);
}

TEST(turn_machine, S10_a_lowered_output_limit_outlives_a_crash) {
  script_world w(64'000);
  w.limits.max_output_tokens = 16'000;
  w.prompt(kit::text_of_tokens(2'000));
  auto over = error_of(context_length);
  over.limit_tokens = 64'000;
  over.requested_tokens = 70'000;
  over.shrink_output_first = true;
  w.model = {fails(over)};
  w.accept("s1", input_mode::steering);
  w.crash_at("sample", 2);
  w.run();
  w.recover_from_crash();
  w.forget();
  w.run(true);
  ASSERT_EQ(w.requests.size(), 1u);
  EXPECT_EQ(w.requests[0].output_limit_tokens, 10'000);
  EXPECT_EQ(w.diagram(), "build | sample | record assistant | next");
}

TEST(turn_machine, S10_a_replayed_refusal_is_counted_once) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.model = {overflows()};
  w.forced = {compaction::outcome_kind::no_gain};
  w.crash_at("sample", 2);
  w.run();
  EXPECT_EQ(w.all<entries::attempt_started>().size(), 2u); // the compaction's and the rescue's
  EXPECT_EQ(w.projection().operation()->attempts.size(), 1u);
}

// -- S14 ---------------------------------------------------------------------

TEST(turn_machine, S14_at_the_threshold_the_view_is_compacted_before_it_is_sent) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | compact auto before_first_sampling | build | take | build "
                         "| sample | record assistant | next");
  EXPECT_LT(w.requests.at(0).estimated_tokens, 16'150);
}

TEST(turn_machine, S14_a_view_above_the_hard_limit_is_never_sent) {
  script_world w;
  w.history(4, 5'000);
  w.prompt();
  w.run();
  EXPECT_EQ(w.count("compact auto hard_limit"), 1);
  for (const auto& r : w.requests)
    EXPECT_LE(r.estimated_tokens, 18'976);
}

TEST(turn_machine, S14_without_auto_compact_the_threshold_starts_nothing) {
  script_world w;
  w.auto_compact = false;
  w.history(8, 2'100);
  w.prompt();
  w.run();
  EXPECT_EQ(w.count("compact"), 0);
  EXPECT_EQ(w.requests.size(), 1u);
}

TEST(turn_machine,
     S14_without_auto_compact_a_view_above_the_hard_limit_is_an_overflow_without_a_call) {
  script_world w;
  w.auto_compact = false;
  w.history(4, 5'000);
  w.prompt();
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | record attempt(1,0) | build | compact "
                         "context_length_error hard_limit | build | "
                         "retry context_length | sample | record assistant | next");
  EXPECT_EQ(w.requests.size(), 1u);
}

TEST(turn_machine, S14_a_rescue_without_a_call_keeps_the_detail) {
  script_world w;
  w.auto_compact = false;
  w.history(4, 5'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.run();
  ASSERT_EQ(w.projection().boundaries().size(), 1u);
  EXPECT_EQ(w.projection().boundaries()[0]->detail, phase_detail::hard_limit);
  EXPECT_EQ(w.projection().boundaries()[0]->strategy, compaction_strategy::context_rescue);
}

TEST(turn_machine, S14_with_both_switches_off_the_error_names_the_command) {
  script_world w;
  w.auto_compact = w.overflow_recovery = false;
  w.history(4, 5'000);
  w.prompt();
  w.run();
  EXPECT_TRUE(w.requests.empty());
  EXPECT_EQ(error_of_end(w).code, error_code::context_length_exceeded);
  EXPECT_NE(error_of_end(w).message.find("/compact"), std::string::npos);
}

TEST(turn_machine, S14a_a_fixed_part_that_reaches_the_threshold_fails_before_any_call) {
  script_world w;
  w.limits.auto_compact_limit_tokens = 5;
  w.prompt();
  w.run();
  EXPECT_EQ(w.count("compact") + w.count("sample"), 0);
  EXPECT_EQ(error_of_end(w).code, error_code::fixed_context_too_large);
  EXPECT_EQ(error_of_end(w).details.limit_tokens, 5);
  EXPECT_EQ(error_of_end(w).details.estimated_tokens, w.projection().fixed_tokens());
}

TEST(turn_machine, S14c_the_output_limit_gives_way_before_a_compaction_is_forced) {
  script_world w;
  w.limits.max_output_tokens = 5'000;
  w.history(7, 2'190);
  w.prompt();
  w.run();
  EXPECT_EQ(w.count("compact"), 0);
  ASSERT_EQ(w.requests.size(), 1u);
  const auto& r = w.requests[0];
  EXPECT_LT(r.output_limit_tokens, 5'000);
  EXPECT_GE(r.output_limit_tokens, 1'024);
  EXPECT_EQ(r.estimated_tokens + r.output_limit_tokens, 20'000);
}

TEST(turn_machine, S15_each_decision_is_announced_with_its_numbers) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.run();
  ASSERT_EQ(w.contexts.size(), 2u);
  EXPECT_TRUE(w.contexts[0].compact_required);
  EXPECT_TRUE(w.contexts[0].auto_compact_limit_reached);
  EXPECT_FALSE(w.contexts[1].compact_required);
  EXPECT_EQ(w.contexts[1].stats.active_tokens, w.requests[0].estimated_tokens);
  ASSERT_GE(w.notes.size(), 2u);
  EXPECT_EQ(w.notes.front().decision, "compact");
  EXPECT_EQ(w.notes.back().decision, "sample");
}

// -- S16 ---------------------------------------------------------------------

TEST(turn_machine, S16_a_stated_window_is_used_from_then_on) {
  script_world w(100'000);
  w.history(5, 2'000);
  w.prompt();
  auto over = error_of(context_length);
  over.limit_tokens = 16'000;
  over.requested_tokens = 16'500;
  w.model = {fails(over)};
  w.run();
  EXPECT_EQ(w.count("record window attempt(1,0)"), 1);
  const auto learned = w.all<entries::window_learned>();
  ASSERT_EQ(learned.size(), 1u);
  EXPECT_EQ(learned[0].window_tokens, 16'000);
  EXPECT_EQ(learned[0].model, "model-a");
  ASSERT_EQ(w.requests.size(), 2u);
  EXPECT_EQ(w.requests[1].window_tokens, 16'000);
  EXPECT_EQ(w.contexts.back().stats.context_window_origin, "provider");
}

TEST(turn_machine, S16_a_window_stated_with_a_later_error_bounds_the_rescue_too) {
  script_world w(100'000);
  w.history(10, 2'000);
  w.prompt();
  auto over = error_of(context_length);
  over.limit_tokens = 6'000;
  over.requested_tokens = 20'500;
  w.model = {overflows(), fails(over)};
  w.forced = {compaction::outcome_kind::no_gain};
  w.run();
  ASSERT_EQ(w.requests.size(), 3u);
  EXPECT_LE(w.requests[2].estimated_tokens, 6'000 - 1'024);
  EXPECT_TRUE(w.completed);
}

// -- S28 ---------------------------------------------------------------------

TEST(turn_machine, S28_steering_accepted_while_the_compaction_runs_enters_the_sampling_after_it) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.on_effect = [&w](const std::string& e) {
    if (e.rfind("compact", 0) == 0)
      w.accept("s1", input_mode::steering);
  };
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | compact auto before_first_sampling | build | take | "
                         "deliver s1 | build | sample | "
                         "record assistant | next");
}

TEST(turn_machine, S28_only_one_steering_input_enters_a_sampling) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.accept("s1", input_mode::steering);
  w.accept("s2", input_mode::steering);
  w.model = {calls({"a"}), says("done")};
  w.run();
  EXPECT_EQ(w.diagram(),
            "take | deliver s1 | build | compact auto before_first_sampling | build | sample | "
            "record assistant call | tools 1 | "
            "record result | take | deliver s2 | build | sample | record assistant | next");
}

TEST(turn_machine, S28_a_follow_up_does_not_take_the_place_of_steering) {
  script_world w;
  w.history(7, 2'200);
  w.prompt();
  w.accept("f1", input_mode::follow_up, kit::text_of_tokens(1'000));
  w.on_effect = [&w](const std::string& e) {
    if (e.rfind("compact", 0) == 0)
      w.accept("s1", input_mode::steering);
  };
  w.model = {says("one"), says("two")};
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | sample | record assistant | next | deliver f1 | build | "
                         "compact auto between_samplings | build | "
                         "take | deliver s1 | build | sample | record assistant | next");
}

TEST(turn_machine, S28_the_budget_is_judged_again_with_the_delivered_input) {
  script_world w;
  w.limits.auto_compact_limit_tokens = 2'000;
  w.history(4, 700);
  w.prompt();
  w.on_effect = [&w, n = 0](const std::string& e) mutable {
    if (e.rfind("compact", 0) == 0 && n++ == 0)
      w.accept("s1", input_mode::steering, kit::text_of_tokens(1'700));
  };
  w.run();
  EXPECT_EQ(w.count("compact auto"), 2) << w.diagram();
  EXPECT_EQ(w.count("deliver s1"), 1);
  EXPECT_TRUE(w.completed);
}

TEST(turn_machine, S28_no_input_comes_between_a_refused_request_and_its_retry) {
  for (const auto& first :
       {overflows(), fails(error_of(server_error)), fails(error_of(stream_interrupted), true)}) {
    script_world w;
    w.history(6, 2'000);
    w.prompt();
    w.model = {first, calls({"a"}), says("done")};
    w.on_effect = [&w, n = 0](const std::string& e) mutable {
      if (e == "sample" && n++ == 0)
        w.accept("s1", input_mode::steering);
    };
    w.run();
    const auto d = w.diagram();
    EXPECT_GT(d.find("deliver s1"), d.find("tools 1")) << d;
    EXPECT_TRUE(w.completed);
  }
}

// -- S27 ---------------------------------------------------------------------

TEST(turn_machine, S27_a_manual_compaction_samples_nothing_without_input) {
  script_world w;
  w.history(4, 2'000);
  w.begin(operation_kind::compact);
  w.run();
  EXPECT_EQ(w.diagram(), "build | compact manual | next");
  EXPECT_TRUE(w.completed);
  EXPECT_TRUE(w.requests.empty());
}

TEST(turn_machine, S27_inputs_of_a_manual_compaction_run_after_the_boundary_steering_first) {
  script_world w;
  w.history(4, 2'000);
  w.begin(operation_kind::compact);
  w.accept("f1", input_mode::follow_up);
  w.accept("s1", input_mode::steering);
  w.run();
  EXPECT_EQ(w.diagram(),
            "build | compact manual | next | deliver s1 | build | sample | record assistant | "
            "next | deliver f1 | build | sample | record assistant | next");
}

TEST(turn_machine, S27_after_a_failed_compaction_no_input_runs) {
  script_world w;
  w.history(4, 2'000);
  w.begin(operation_kind::compact);
  w.accept("s1", input_mode::steering);
  w.forced = {compaction::outcome_kind::no_gain};
  w.run();
  EXPECT_EQ(w.diagram(), "build | compact manual | close failed no_gain");
}

// -- S30: less output -----------------------------------------------------------

provider_error too_much_output() {
  auto over = error_of(context_length);
  over.limit_tokens = 64'000;
  over.requested_tokens = 70'000; // 54,000 and 16,000
  over.shrink_output_first = true;
  return over;
}

script_world asking_for_much_output() {
  script_world w(64'000);
  w.limits.max_output_tokens = 16'000;
  w.history(10, 2'000);
  w.prompt();
  return w;
}

TEST(turn_machine, S30_less_output_is_asked_for_before_anything_is_compacted) {
  auto w = asking_for_much_output();
  w.model = {fails(too_much_output()), calls({"a"}), says("done")};
  w.run();
  EXPECT_EQ(w.diagram(),
            "take | build | sample | record attempt(output) | retry context_length | sample | "
            "record assistant call | "
            "tools 1 | record result | take | build | sample | record assistant | next");
  EXPECT_EQ(w.requests[1].output_limit_tokens, 10'000);
  EXPECT_EQ(w.requests[1].estimated_tokens, w.requests[0].estimated_tokens);
  EXPECT_EQ(w.requests[2].output_limit_tokens, 16'000); // of that sampling only
}

TEST(turn_machine, S30_a_lowered_output_limit_holds_for_the_retry_after_a_compaction) {
  auto w = asking_for_much_output();
  w.model = {fails(too_much_output()), fails(too_much_output()), says("done")};
  w.run();
  EXPECT_EQ(w.count("compact context_length_error"), 1);
  ASSERT_EQ(w.requests.size(), 3u);
  EXPECT_EQ(w.requests[2].output_limit_tokens, 10'000);
}

TEST(turn_machine, S33_an_answer_cut_by_an_output_limit_that_a_refusal_lowered_is_an_overflow) {
  auto w = asking_for_much_output();
  w.model = {fails(too_much_output()), says("half an ans", {}, finish_reason::length),
             says("done")};
  w.run();
  EXPECT_EQ(w.count("compact context_length_error"), 1) << w.diagram();
  EXPECT_TRUE(w.completed);
}

TEST(turn_machine, S26_an_answer_has_the_name_that_the_session_gives_its_model) {
  script_world w;
  w.prompt();
  w.model = {[](const effects::sample& request) {
    auto answer = says("as the provider calls me", 4'321)(request);
    auto& a = std::get<sampling_answer>(answer.outcome);
    auto m = std::make_shared<message>(*a.msg);
    m->model = "wire-name";
    m->reasoning = reasoning_block{"thought", "{}"};
    a.msg = std::move(m);
    return answer;
  }};
  w.run();
  EXPECT_EQ(w.all<entries::assistant_message>().back().msg->model, "model-a");
  EXPECT_TRUE(w.projection().view().items.back().msg->reasoning) << "sent back to who wrote it";
  EXPECT_EQ(w.snapshot().stats().source, token_source::assistant_usage_plus_local_delta);
}

// -- S31 ---------------------------------------------------------------------

TEST(turn_machine, S31_the_rescue_its_answer_and_the_anchor_are_one_append) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows(), says("made it", 4'321)};
  w.run();
  EXPECT_EQ(w.count("record boundary assistant"), 1);
  const auto boundary = w.projection().boundaries().back();
  EXPECT_EQ(boundary->strategy, compaction_strategy::context_rescue);
  EXPECT_EQ(boundary->reason, compaction_reason::context_length_error);
  EXPECT_FALSE(boundary->replaced.empty());
  EXPECT_LT(boundary->tokens_after, boundary->tokens_before);
  const auto answer = w.all<entries::assistant_message>().back();
  EXPECT_EQ(answer.request_generation, boundary->generation);
  const auto s = w.snapshot();
  EXPECT_EQ(s.stats().source, token_source::assistant_usage_plus_local_delta);
  EXPECT_GE(s.stats().active_tokens, 4'321);
}

TEST(turn_machine, S31_nothing_of_a_rescue_is_committed_before_it_has_helped) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows(), fails(error_of(auth))};
  w.run();
  EXPECT_EQ(w.requests.size(), 2u);
  EXPECT_TRUE(w.projection().boundaries().empty());
  EXPECT_EQ(error_of_end(w).code, error_code::auth);
}

TEST(turn_machine, S31_the_view_after_a_restart_is_the_one_that_was_sent) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows()};
  w.run();
  const auto sent = w.requests.back().messages;
  view::projection again{view::projection_settings{}};
  for (const auto& e : w.journal())
    ASSERT_TRUE(again.apply(*e));
  ASSERT_EQ(again.view().items.size(), sent.size() + 1); // the answer
  for (std::size_t i = 0; i < sent.size(); ++i)
    EXPECT_EQ(*again.view().items[i].msg, *sent[i]);
}

// -- S31a, S32 -----------------------------------------------------------------

TEST(turn_machine, S31a_partial_text_is_discarded_and_each_further_attempt_is_announced) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.model = {fails(error_of(stream_interrupted), true), fails(error_of(server_error), false),
             fails(error_of(context_length), true), says("done")};
  w.run();
  ASSERT_EQ(w.retries.size(), 3u);
  EXPECT_TRUE(w.retries[0].discard_partial);
  EXPECT_FALSE(w.retries[1].discard_partial);
  EXPECT_TRUE(w.retries[2].discard_partial);
  EXPECT_EQ(w.retries[0].attempt, 1);
  EXPECT_EQ(w.retries[1].attempt, 2);
  EXPECT_EQ(w.retries[2].attempt, 3);
  EXPECT_EQ(w.retries[0].delay_ms, 2'000);
  EXPECT_EQ(w.retries[1].delay_ms, 2'000);
  EXPECT_EQ(w.retries[2].delay_ms, 0);
  for (const auto& m : w.requests.back().messages)
    EXPECT_EQ(m->content.find("words"), std::string::npos);
}

TEST(turn_machine, S31a_a_new_sampling_discards_nothing_of_the_one_before) {
  script_world w;
  w.prompt();
  w.model = {calls({"a"}), fails(error_of(server_error)), says("done")};
  w.run();
  ASSERT_EQ(w.retries.size(), 1u);
  EXPECT_FALSE(w.retries[0].discard_partial);
  EXPECT_EQ(w.retries[0].attempt, 1);
}

TEST(turn_machine, S32_interrupted_streams_are_retried_three_times_a_sampling) {
  script_world w;
  w.prompt();
  w.model_after = fails(error_of(stream_interrupted), true);
  w.run();
  EXPECT_EQ(w.requests.size(), 4u);
  EXPECT_EQ(w.count("wait 2000") + w.count("wait 4000") + w.count("wait 8000"), 3);
  EXPECT_EQ(error_of_end(w).code, error_code::stream_interrupted);
}

TEST(turn_machine, S32_an_empty_answer_is_an_interrupted_stream_and_then_an_error_of_its_own) {
  for (const char* blank : {"", " \n\t"}) {
    script_world w;
    w.prompt();
    w.model_after = says(blank);
    w.run();
    EXPECT_EQ(w.requests.size(), 4u);
    EXPECT_EQ(error_of_end(w).code, error_code::empty_response);
  }
}

TEST(turn_machine, S23_usage_of_a_failed_attempt_is_journaled_before_its_retry) {
  script_world w;
  w.prompt();
  auto e = error_of(stream_interrupted);
  e.usage.input_tokens = 77;
  w.model = {fails(e)};
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | sample | record usage | retry stream_interrupted | wait "
                         "2000 | sample | record assistant | next");
}

TEST(turn_machine, S33_what_cannot_be_helped_fails_at_once_in_the_providers_words) {
  const std::vector<std::pair<provider_error_class, error_code>> rows{
      {auth, error_code::auth},
      {permission, error_code::permission},
      {quota, error_code::quota},
      {not_found, error_code::not_found},
      {invalid_request, error_code::provider_invalid_request},
      {content_filter, error_code::content_filter},
      {request_too_large, error_code::request_too_large}};
  for (const auto& [error_class, code] : rows) {
    script_world w;
    w.history(7, 2'100);
    w.prompt();
    w.model = {fails(error_of(error_class, "their maximum context length words"))};
    w.run();
    EXPECT_EQ(w.requests.size(), 1u);
    EXPECT_EQ(w.count("compact"), 0) << to_string(error_class);
    EXPECT_EQ(error_of_end(w).code, code);
    EXPECT_EQ(error_of_end(w).message, "their maximum context length words");
  }
}

TEST(turn_machine, S33_an_answer_cut_by_the_output_limit_commits_nothing) {
  script_world w(200'000);
  w.prompt();
  w.model = {says("half an ans", 50, finish_reason::length)};
  w.run();
  EXPECT_EQ(w.count("record assistant"), 0);
  EXPECT_EQ(error_of_end(w).code, error_code::output_truncated);
}

TEST(turn_machine, S33_an_answer_cut_by_a_lowered_limit_is_an_overflow) {
  script_world w;
  w.limits.max_output_tokens = 5'000;
  w.history(7, 2'190); // S14c lowers the limit
  w.prompt();
  w.model = {says("half an ans", {}, finish_reason::length)};
  w.run();
  EXPECT_EQ(w.count("compact context_length_error"), 1);
  EXPECT_TRUE(w.completed);
}

// -- S25 -----------------------------------------------------------------------

TEST(turn_machine, S25_a_suffix_that_keeps_the_view_above_the_threshold_is_tried_smaller_once) {
  script_world w;
  w.limits.auto_compact_limit_tokens = 4'000;
  w.begin();
  w.user("long ago");
  w.assistant(kit::text_of_tokens(2'000));
  w.end();
  w.begin();
  w.user("newest");
  w.assistant(kit::text_of_tokens(4'500)); // the newest read unit alone may exceed the share
  w.end();
  w.prompt();
  w.run();
  EXPECT_EQ(w.diagram(), "take | build | compact auto before_first_sampling | build | compact auto "
                         "before_first_sampling small | build | "
                         "take | build | sample | record assistant | next");
}

TEST(turn_machine, S25_a_suffix_that_stays_too_large_is_sent_under_the_hard_limit) {
  script_world w;
  w.limits.auto_compact_limit_tokens = 4'000;
  w.history(2, 2'000);
  w.prompt(kit::text_of_tokens(5'000)); // unread: in every suffix
  w.run();
  EXPECT_EQ(w.count("compact"), 2) << w.diagram();
  EXPECT_EQ(w.count("compact auto before_first_sampling small"), 1);
  EXPECT_TRUE(w.completed);
}

TEST(turn_machine, S25_the_second_try_changes_nothing_where_it_fails) {
  using enum compaction::outcome_kind;
  for (const auto second :
       {no_gain, nothing_to_compact, compact_input_too_large, persistence_conflict}) {
    script_world w;
    w.limits.auto_compact_limit_tokens = 4'000;
    w.begin();
    w.user("long ago");
    w.assistant(kit::text_of_tokens(2'000));
    w.end();
    w.begin();
    w.user("newest");
    w.assistant(kit::text_of_tokens(4'500));
    w.end();
    w.prompt();
    w.forced = {std::nullopt, second};
    w.run();
    EXPECT_EQ(w.count("compact"), 2) << compaction::to_string(second);
    EXPECT_TRUE(w.completed) << w.diagram();
  }
  for (const auto second : {persistence_failed, not_owner}) {
    script_world w;
    w.limits.auto_compact_limit_tokens = 4'000;
    w.begin();
    w.user("long ago");
    w.assistant(kit::text_of_tokens(2'000));
    w.end();
    w.begin();
    w.user("newest");
    w.assistant(kit::text_of_tokens(4'500));
    w.end();
    w.prompt();
    w.forced = {std::nullopt, second};
    w.run();
    EXPECT_FALSE(w.completed);
    EXPECT_EQ(w.count("close failed"), 1);
  }
}

TEST(turn_machine, S25_the_same_view_is_not_compacted_again_when_the_provider_refuses_it) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.model = {overflows()};
  w.run();
  EXPECT_EQ(
      w.diagram(),
      "take | build | compact auto before_first_sampling | build | take | build | sample | record "
      "attempt(1,0) | build | "
      "record attempt(1,1) | build | close failed context_length_exhausted"); // there is nothing
                                                                              // left to leave out
}

} // namespace
} // namespace rind::turn
