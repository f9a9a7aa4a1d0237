// Faults in the cut between what is summarised and what stays word for word (F18 to F26), and in
// the context that is built afterwards (F43, F44).
#include <gtest/gtest.h>

#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::asks_for;
using kit::look;
using kit::says;
using kit::text_of_tokens;

const std::vector<message_ptr>& last_messages(const kit::world& w) {
  return const_cast<kit::world&>(w).model().requests().back().request.messages;
}

TEST(scenario, F18_parallel_calls_stay_with_their_results_in_any_order) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(asks_for({look("c1"), look("c2"), look("c3")}));
  for (const std::int64_t delay_ms : {30, 10, 20}) { // the results come as 2, 3, 1
    auto script = kit::answers(text_of_tokens(1'200));
    script.delay_ms = delay_ms;
    w.tool().expect(std::move(script));
  }
  auto answer = ann.prompt("Look at three things.");
  w.advance(1'000);
  ASSERT_EQ(answer.said(), "ok");
  kit::fill(w, ann, 2'000, 3);
  EXPECT_GE(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

TEST(scenario, F18_S9_a_call_cut_short_and_then_compacted_has_a_placeholder) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 2);
  w.model().expect(asks_for({look("c1"), look("c2")}));
  kit::tool_script endless;
  endless.endless = true;
  w.tool().expect(kit::answers("seen")).expect(endless);
  auto answer = ann.prompt("Look.");
  w.run();
  ann.cancel();
  w.advance(10);
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::cancelled);
  kit::fill(w, ann, 20);
  EXPECT_EQ(kit::holding(last_messages(w), "No result was recorded"), 1);
  EXPECT_EQ(kit::holding(last_messages(w), "seen"), 1);
  auto compacted = ann.compact();
  w.run();
  EXPECT_EQ(compacted.said(), "ok");
  kit::fill(w, ann, 20);
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
  EXPECT_EQ(w.tool().calls().size(), 2u); // never run again on its own
}

TEST(scenario, F20_an_open_call_of_a_refused_turn_does_not_stop_a_compaction) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 2);
  w.model().expect(asks_for({look("c1")}));
  kit::tool_script deaf;
  deaf.deaf = true; // ends neither by itself nor by a cancel
  w.tool().expect(deaf);
  auto answer = ann.prompt("Look.");
  w.run();
  ann.cancel();
  w.advance(5'000);
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::cancelled);
  kit::fill(w, ann, 2'000, 2);
  auto compacted = ann.compact();
  w.run();
  EXPECT_EQ(compacted.said(), "ok");
  kit::fill(w, ann, 20);
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

TEST(scenario, F22_S18a_one_giant_result_is_shortened_in_the_view_and_whole_in_the_journal) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(asks_for({look("c1")}));
  const auto giant = text_of_tokens(12'000);
  w.tool().expect(kit::answers(giant));
  auto answer = ann.prompt("Read it.");
  w.run();
  ASSERT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 0);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->strategy, compaction_strategy::context_rescue);
  EXPECT_LT(last_messages(w).back()->content.size(), giant.size() / 2);
  bool whole = false;
  for (const auto& e : w.journal_of("s1"))
    if (const auto* r = std::get_if<entries::tool_result>(&e->body))
      whole = r->msg->content == giant;
  EXPECT_TRUE(whole);
}

TEST(scenario, F24_S18_results_that_no_model_has_read_stay_word_for_word) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'300, 3);
  w.model().expect(asks_for({look("c1"), look("c2"), look("c3")}));
  const std::vector<std::string> results{"first " + text_of_tokens(1'000),
                                         "second " + text_of_tokens(1'000),
                                         "third " + text_of_tokens(1'000)};
  for (const auto& r : results)
    w.tool().expect(kit::answers(r));
  auto answer = ann.prompt("Look at three things.");
  w.run();
  ASSERT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->detail, phase_detail::between_samplings);
  for (const auto& r : results)
    EXPECT_EQ(kit::holding(last_messages(w), r), 1) << r.substr(0, 6);
}

TEST(scenario, F26_S19_only_bodies_of_results_are_shortened_for_a_summary) {
  kit::world w;
  auto& ann = w.client("s1", "model-big");
  kit::serve_politely(w);
  kit::fill(w, ann, 1'500, 2);
  w.model().expect(asks_for({look("c1")}));
  w.tool().expect(kit::answers(text_of_tokens(9'000)));
  kit::fill(w, ann, 20);
  kit::fill(w, ann, 1'000);
  ann.set_model("model-a");
  w.run();
  const auto before = w.model().requests().size();
  auto compacted = ann.compact();
  w.run();
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(compacted.value()->shortened_bodies, 1);
  const auto& summary = w.model().requests()[before].request;
  ASSERT_EQ(summary.kind, sampling_kind::compact);
  EXPECT_EQ(kit::holding(summary.messages, text_of_tokens(1'500)), 1);
  EXPECT_EQ(kit::holding(summary.messages, text_of_tokens(9'000)), 0);
  EXPECT_EQ(summary.tools, nullptr);
}

TEST(scenario, F43_S8_the_context_after_a_compaction_ends_with_the_next_input) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(says(text_of_tokens(3'500))); // too much for a suffix
  kit::fill(w, ann, 2'000);
  auto compacted = ann.compact();
  w.run();
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(compacted.value()->message_end_index_exclusive, 2); // nothing is retained
  auto answer = ann.prompt("And now?");
  w.run();
  EXPECT_EQ(answer.said(), "ok");
  EXPECT_EQ(last_messages(w).back()->content, "And now?");
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

TEST(scenario, F44_what_was_acknowledged_is_not_asked_again_after_a_compaction) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect(says("Started.").after(100));
  auto turn = ann.prompt("Request A.");
  w.run();
  ann.steer("Steering B.");
  w.advance(1'000);
  ASSERT_EQ(turn.said(), "ok");
  const auto calls = w.model().calls(sampling_kind::assistant);
  auto compacted = ann.compact();
  w.advance(1'000);
  ASSERT_EQ(compacted.said(), "ok");
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), calls); // S27: no input, no sampling
}

TEST(scenario, F44_a_prompt_that_waits_for_the_compaction_comes_last_and_once) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'300, 4);
  auto turn = ann.prompt("Request C. " + text_of_tokens(800));
  w.run();
  ASSERT_EQ(turn.said(), "ok");
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  EXPECT_EQ(kit::boundaries_of(w, "s1")[0]->detail, phase_detail::before_first_sampling);
  EXPECT_EQ(kit::holding(last_messages(w), "Request C."), 1);
  EXPECT_EQ(last_messages(w).back()->content.substr(0, 10), "Request C.");
}

} // namespace
} // namespace rind
