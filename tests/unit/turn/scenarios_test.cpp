// Scenarios from the field, as far as one operation shows them. Expected is what the rules say.
#include <gtest/gtest.h>

#include "tests/unit/turn/machine_kit.hpp"

namespace rind::turn {
namespace {

using enum provider_error_class;

TEST(scenarios, F01_the_threshold_is_looked_at_before_every_call_of_one_turn) {
  script_world w;
  w.limits.threshold_percent = 80;
  w.prompt();
  for (int i = 0; i < 20; ++i)
    w.model.push_back(calls({"c" + std::to_string(i)}));
  w.tool_text = [](const std::string&) {
    return kit::text_of_tokens(2'000);
  }; // a tenth of the window each
  w.run();
  EXPECT_TRUE(w.completed) << w.diagram();
  EXPECT_EQ(w.requests.size(), 21u);
  EXPECT_GE(w.count("compact auto between_samplings"), 2);
  for (const auto& r : w.requests)
    EXPECT_LT(r.estimated_tokens, 16'000);
  EXPECT_EQ(w.count("tools"), 20); // no tool ran twice
}

TEST(scenarios, F06_auto_off_keeps_the_recovery_and_recovery_off_names_the_command) {
  script_world w;
  w.auto_compact = false;
  w.history(8, 2'100);
  w.prompt();
  w.model = {overflows()};
  w.run();
  EXPECT_TRUE(w.completed);
  EXPECT_EQ(w.count("compact context_length_error"), 1);

  script_world off;
  off.overflow_recovery = false;
  off.history(6, 2'000);
  off.prompt();
  off.model = {overflows()};
  off.run();
  EXPECT_EQ(off.requests.size(), 1u);
  EXPECT_EQ(off.count("compact"), 0);
  EXPECT_EQ(off.ends.at(0).error->code, error_code::context_length_exceeded);

  script_world unset; // another session of the same host
  unset.history(8, 2'100);
  unset.prompt();
  unset.run();
  EXPECT_EQ(unset.count("compact auto"), 1);
}

TEST(
    scenarios,
    F47_a_provider_that_always_refuses_is_asked_a_bounded_number_of_times_with_ever_smaller_requests) {
  script_world w(200'000);
  w.history(60, 2'000);
  w.prompt();
  w.model_after = overflows();
  w.run();
  ASSERT_EQ(w.ends.size(), 1u);
  EXPECT_EQ(w.ends[0].error->code, error_code::context_length_exhausted);
  EXPECT_LE(w.requests.size(), 6u); // the request, one after the compaction, four rescues
  EXPECT_EQ(w.ends[0].error->details.attempts.size(), w.requests.size());
  for (std::size_t i = 1; i < w.requests.size(); ++i)
    EXPECT_LT(w.requests[i].estimated_tokens, w.requests[i - 1].estimated_tokens);
  EXPECT_LE(w.count("compact"), 2); // the second with a smaller suffix at most
}

TEST(scenarios, F47_without_a_compaction_that_helps_it_ends_after_four_rescues) {
  script_world w(200'000);
  w.history(60, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model_after = overflows();
  w.run();
  EXPECT_EQ(w.requests.size(), 5u);
  EXPECT_EQ(w.ends.at(0).error->code, error_code::context_length_exhausted);
  EXPECT_EQ(w.all<entries::attempt_started>().back().rescues, 4);
}

TEST(scenarios, F48_the_count_starts_anew_with_the_next_operation) {
  script_world w(200'000);
  w.history(60, 2'000);
  w.prompt();
  w.model_after = overflows();
  w.run();
  ASSERT_EQ(w.ends.at(0).error->code, error_code::context_length_exhausted);
  w.forget();
  w.prompt("small");
  w.model = {overflows(), says("fine")};
  w.run();
  EXPECT_EQ(w.count("record attempt(1,0)"), 1);
  EXPECT_EQ(w.requests.size(), 2u);
  EXPECT_TRUE(w.completed);
}

TEST(scenarios, F49_a_tightened_limit_ends_with_the_operation_and_is_never_the_models) {
  script_world w(200'000);
  w.history(60, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows(), overflows(), overflows(), calls({"a"}), says("fine")};
  w.run();
  ASSERT_TRUE(w.completed);
  EXPECT_TRUE(w.all<entries::window_learned>().empty());
  // In the operation the threshold was at most the tightened limit, and was shown so.
  const auto tightened = *w.all<entries::attempt_started>().back().tightened_limit_tokens;
  EXPECT_EQ(w.contexts.back().stats.auto_compact_token_limit, tightened);
  w.forget();
  w.prompt();
  w.run();
  EXPECT_EQ(w.contexts.back().stats.auto_compact_token_limit, w.snapshot().budget.threshold_tokens);
  EXPECT_EQ(w.contexts.back().stats.context_window_tokens, 200'000);
}

TEST(scenarios, F49_the_tightened_limit_ends_with_a_set_model) {
  script_world w(200'000);
  w.history(30, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows(), overflows(), calls({"a"}), says("fine")};
  w.on_effect = [&w](const std::string& e) {
    if (e == "tools 1")
      w.add(entries::model_set{"model-b"});
  };
  w.run();
  EXPECT_TRUE(w.completed);
  EXPECT_EQ(w.contexts.back().stats.auto_compact_token_limit, w.snapshot().budget.threshold_tokens);
  EXPECT_EQ(w.requests.back().model, "model-b");
}

TEST(scenarios, F52_a_rescue_is_journaled_as_an_attempt_before_and_as_a_boundary_with_its_answer) {
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.forced = {compaction::outcome_kind::no_gain};
  w.model = {overflows()};
  w.crash_at("sample", 2); // the rescued request is out
  w.run();
  const auto attempts = w.all<entries::attempt_started>();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[1].rescues, 1);
  EXPECT_TRUE(w.projection().boundaries().empty());
  const auto first = w.requests[1];
  w.recover_from_crash();
  w.forget();
  w.run(true);
  ASSERT_EQ(w.requests.size(), 1u);
  EXPECT_LT(w.requests[0].estimated_tokens, attempts[1].refused_estimate_tokens);
  EXPECT_LE(w.requests[0].estimated_tokens, *attempts[1].tightened_limit_tokens);
  ASSERT_EQ(w.projection().boundaries().size(), 1u);
  EXPECT_EQ(w.projection().boundaries()[0]->strategy, compaction_strategy::context_rescue);
  EXPECT_FALSE(w.projection().boundaries()[0]->replaced.empty());
}

TEST(scenarios, F53_a_compaction_that_does_not_help_is_not_believed) {
  // The summariser returns what it was given: above the summary limit, so a handoff without a model
  // takes its place (S21).
  const auto echo = [] {
    sampling_answer a;
    a.msg = kit::make_message(message_role::assistant, kit::text_of_tokens(14'000));
    return sampling_outcome{a};
  };
  script_world w;
  w.history(6, 2'000);
  w.prompt();
  w.summary = echo;
  w.model = {overflows()};
  w.run();
  ASSERT_FALSE(w.projection().boundaries().empty());
  EXPECT_EQ(w.projection().boundaries()[0]->strategy, compaction_strategy::deterministic_fallback);
  EXPECT_LT(w.requests.at(1).estimated_tokens, w.requests.at(0).estimated_tokens);

  script_world rejected;
  rejected.history(6, 2'000);
  rejected.prompt();
  rejected.forced = {compaction::outcome_kind::no_gain};
  rejected.model = {overflows()};
  rejected.run();
  EXPECT_EQ(rejected.count("record attempt(1,1)"), 1); // the next rung, in the same operation
  EXPECT_TRUE(rejected.completed);
}

TEST(scenarios, F54_nothing_to_compact_switches_nothing_off) {
  script_world w;
  for (int i = 0; i < 2; ++i) {
    w.begin(operation_kind::compact);
    w.run();
    EXPECT_EQ(w.summaries, 0);
  }
  w.forget();
  w.history(8, 2'100);
  w.prompt();
  w.run();
  EXPECT_EQ(w.count("compact auto"), 1);
  EXPECT_EQ(w.summaries, 1);
}

TEST(scenarios, F66_the_threshold_and_an_overflow_in_one_turn_compact_a_view_once) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.model = {overflows()};
  w.run();
  EXPECT_EQ(w.count("compact"), 1);
  EXPECT_EQ(w.summaries, 1);
  EXPECT_EQ(w.count("record attempt(1,1)"), 1); // the recovery goes on with the rescue
}

TEST(scenarios, F66_a_report_of_an_earlier_generation_is_no_anchor) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.run();
  entries::assistant_message late;
  late.msg = kit::make_message(message_role::assistant, "late");
  late.usage.input_tokens = 16'500;
  late.request_local_tokens = 16'000;
  late.request_generation = 0;
  w.begin();
  w.user("next");
  w.add(late);
  EXPECT_EQ(w.snapshot().stats().source, token_source::local_estimate);
}

TEST(scenarios, F68_a_summary_that_missed_its_deadline_is_replaced_and_the_turn_goes_on) {
  script_world w;
  w.history(8, 2'100);
  w.prompt();
  w.summary = [] { return sampling_outcome{error_of(provider_error_class::timeout)}; };
  w.on_effect = [&w](const std::string& e) {
    if (e.rfind("compact", 0) == 0)
      w.accept("s1", input_mode::steering); // accepted all the time
  };
  w.run();
  EXPECT_TRUE(w.completed);
  EXPECT_EQ(w.projection().boundaries().at(0)->strategy,
            compaction_strategy::deterministic_fallback);
  EXPECT_EQ(w.count("deliver s1"), 1);
}

// -- F60: cancel in every state ---------------------------------------------------

TEST(scenarios, F60_a_cancel_in_any_state_ends_in_one_cancelled_close_and_starts_nothing_else) {
  const std::vector<const char*> moments{"take",
                                         "build",
                                         "compact auto",
                                         "sample",
                                         "record assistant",
                                         "tools",
                                         "record result",
                                         "record usage",
                                         "wait",
                                         "record attempt(1,0)",
                                         "compact context_length_error",
                                         "record attempt(2,1)",
                                         "record boundary",
                                         "next"};
  const std::vector<std::string> starts{"take",   "next", "build", "compact",
                                        "sample", "wait", "tools"};
  int met = 0;
  for (const auto* moment : moments) {
    for (int nth = 1; nth <= 4; ++nth) {
      script_world w;
      w.history(6, 2'500);
      w.prompt();
      auto interrupted = error_of(stream_interrupted);
      interrupted.usage.input_tokens = 5;
      w.model = {calls({"a", "b"}),  fails(error_of(server_error)),
                 fails(interrupted), overflows(),
                 overflows(),        says("done")};
      w.tool_text = [](const std::string&) { return kit::text_of_tokens(3'000); };
      w.cancel_at(moment, nth);
      w.run();
      const auto d = w.diagram();
      const auto stop = d.find("stop");
      if (stop == std::string::npos)
        continue;
      ++met;
      ASSERT_EQ(w.ends.size(), 1u) << moment << nth << ": " << d;
      EXPECT_EQ(w.ends[0].outcome, entries::turn_outcome::cancelled) << d;
      EXPECT_FALSE(w.ends[0].error);
      EXPECT_EQ(w.machine().at(), state::ended) << d;
      const auto after = d.substr(stop);
      for (const auto& s : starts)
        EXPECT_EQ(after.find("| " + s), std::string::npos) << moment << nth << ": " << d;
    }
  }
  EXPECT_GE(met, 14);
}

TEST(scenarios, F60_results_that_come_after_a_cancel_are_kept_and_cut_ones_are_not) {
  turn_machine m{options{}};
  script_world w; // for its contexts only
  w.prompt();
  (void)m.start();
  (void)m.on(inputs::input_taken{});
  (void)m.on(inputs::context_ready{w.snapshot()});
  effects::sample request;
  request.model = "model-a";
  (void)m.on(calls({"a", "b", "c"})(request));
  (void)m.on(inputs::recorded{});
  ASSERT_EQ(m.at(), state::tools);
  EXPECT_TRUE(std::holds_alternative<effects::stop_work>(m.on(inputs::cancel_requested{}).at(0)));
  inputs::tool_finished done;
  done.tool_call_id = "a";
  const auto kept = m.on(done);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<effects::record>(kept[0]));
  EXPECT_TRUE(m.on(done).empty()); // the same call again
  inputs::tool_finished cut;
  cut.tool_call_id = "b";
  cut.status = tool_status::cancelled;
  EXPECT_TRUE(m.on(cut).empty());
  EXPECT_TRUE(m.on(inputs::recorded{}).empty()); // "c" still runs
  cut.tool_call_id = "c";
  const auto last = m.on(cut);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(std::get<effects::close>(last[0]).outcome, entries::turn_outcome::cancelled);
}

TEST(scenarios, F60_a_second_cancel_changes_nothing) {
  turn_machine m{options{}};
  (void)m.start();
  EXPECT_EQ(m.on(inputs::cancel_requested{}).size(), 1u);
  EXPECT_TRUE(m.on(inputs::cancel_requested{}).empty());
  EXPECT_EQ(m.on(inputs::input_taken{}).size(), 1u);
  EXPECT_EQ(m.at(), state::closing);
}

} // namespace
} // namespace rind::turn
