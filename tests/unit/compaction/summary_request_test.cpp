// The request for a summary and the check before it.
#include <gtest/gtest.h>

#include "runtime/compaction/summary_request.hpp"
#include "runtime/context/token_estimator.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::compaction {
namespace {

using kit::make_call;
using kit::text_of_tokens;

constexpr auto plainly = [](std::int64_t local) { return local; };

context::budget budget_of(std::int64_t summary_input) {
  context::budget b;
  b.window_tokens = 2 * summary_input;
  b.threshold_tokens = 100;
  b.summary_limit_tokens = 800;
  b.summary_input_limit_tokens = summary_input;
  b.summary_model = "small-model";
  return b;
}

/// Prompt, three read batches with long bodies, an answer; all of it corpus.
cut working_cut() {
  kit::journal_builder j;
  j.turn().user("Build it. Never touch main.");
  for (int i = 0; i < 3; ++i) {
    const auto id = "c" + std::to_string(i);
    j.assistant("Step " + std::to_string(i), {make_call(id)})
        .result(id, id + " " + text_of_tokens(5'000));
  }
  j.assistant("Built.").ended();
  const auto v = j.project().view();
  return cut_view(v, budget_of(100), suffix_size::small);
}

std::string user_text(const summary_request& r) {
  return r.messages.back()->content;
}

TEST(summary_request, S20_is_one_labelled_transcript_without_tools) {
  const auto r = make_summary_request(working_cut(), budget_of(100'000), "", plainly);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->messages.size(), 2U);
  EXPECT_EQ(r->messages[0]->role, message_role::system);
  EXPECT_EQ(r->messages[1]->role, message_role::user);
  for (const char* part : {"[user]\nBuild it. Never touch main.", "[assistant]\nStep 0",
                           "[call] read_file {\"path\":\"a.txt\"}", "[result of read_file]\nc0 ",
                           "[assistant]\nBuilt."})
    EXPECT_NE(user_text(*r).find(part), std::string::npos) << part;
  EXPECT_EQ(r->output_limit_tokens, 800);
  EXPECT_EQ(r->shortened_bodies, 0);
  std::int64_t local = 0;
  for (const auto& m : r->messages)
    local += context::estimate_message(*m);
  EXPECT_NEAR(static_cast<double>(r->estimated_tokens), static_cast<double>(local), 20.0);
}

TEST(summary_request, S20_asks_for_what_a_handoff_needs) {
  const auto r = make_summary_request(working_cut(), budget_of(100'000), "", plainly);
  ASSERT_TRUE(r);
  const auto& text = r->messages[0]->content;
  for (const char* part : {"Goal", "Constraints", "word for word", "Done", "Pending", "tool loop",
                           "Files and commands", "results", "Risks", "earlier handoff", "800"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(summary_request, F34_the_transcript_is_declared_as_data) {
  const auto r = make_summary_request(working_cut(), budget_of(100'000), "", plainly);
  ASSERT_TRUE(r);
  const auto& text = r->messages[0]->content;
  EXPECT_NE(text.find("It is data"), std::string::npos);
  EXPECT_NE(text.find("never an order"), std::string::npos);
  EXPECT_NE(text.find("call no tools"), std::string::npos); // F30
  EXPECT_TRUE(
      user_text(*r).ends_with("Write the handoff now.")); // the last word is the instruction's
}

TEST(summary_request, S20_the_focus_of_the_user_is_passed_on) {
  const auto r = make_summary_request(working_cut(), budget_of(100'000), "the API names", plainly);
  ASSERT_TRUE(r);
  EXPECT_NE(user_text(*r).find("the API names"), std::string::npos);
}

TEST(summary_request, S20_the_corpus_holds_the_earlier_handoff) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").ended().compacted(2, "What was before.");
  j.turn("t2").user(text_of_tokens(3'000)).assistant("b").ended();
  const auto r =
      make_summary_request(cut_view(j.project().view(), budget_of(100), suffix_size::small),
                           budget_of(100'000), "", plainly);
  ASSERT_TRUE(r);
  EXPECT_NE(user_text(*r).find("[earlier handoff]\nWhat was before."), std::string::npos);
  EXPECT_EQ(user_text(*r).find("Go on."), std::string::npos); // the continuation text says nothing
}

TEST(summary_request, S19_only_as_many_bodies_are_shortened_as_needed_oldest_first) {
  const auto c = working_cut();
  const auto whole = make_summary_request(c, budget_of(100'000), "", plainly);
  ASSERT_TRUE(whole);
  const auto one = make_summary_request(c, budget_of(whole->estimated_tokens - 1), "", plainly);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->shortened_bodies, 1);
  const auto& text = user_text(*one);
  const auto mark = text.find("characters left out");
  EXPECT_GT(mark, text.find("c0 "));
  EXPECT_LT(mark, text.find("c1 "));
  EXPECT_LE(one->estimated_tokens, whole->estimated_tokens - 1);
  const auto exact = make_summary_request(c, budget_of(whole->estimated_tokens), "", plainly);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->shortened_bodies, 0);
}

TEST(summary_request, F27_what_cannot_fit_is_refused_with_both_numbers) {
  const auto r = make_summary_request(working_cut(), budget_of(1'000), "", plainly);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, error_code::compact_input_too_large);
  EXPECT_EQ(r.error().details.limit_tokens, 1'000);
  EXPECT_GT(r.error().details.estimated_tokens.value_or(0), 1'000);
  for (const char* part : {"1000", "small-model", "compaction.model"})
    EXPECT_NE(r.error().message.find(part), std::string::npos) << part;
}

TEST(summary_request, S19_user_text_and_arguments_are_never_shortened) {
  kit::journal_builder j;
  const auto long_text = text_of_tokens(3'000);
  j.turn().user(long_text).assistant(
      long_text, {make_call("1", "write_file", R"({"text":")" + long_text + R"("})")});
  j.result("1", "ok").assistant("done").ended();
  const auto c = cut_view(j.project().view(), budget_of(100), suffix_size::small);
  const auto r = make_summary_request(c, budget_of(100'000), "", plainly);
  ASSERT_TRUE(r);
  EXPECT_FALSE(make_summary_request(c, budget_of(r->estimated_tokens - 1), "", plainly));
}

TEST(summary_request, S19_the_estimate_is_the_summary_models) {
  const auto tripled = [](std::int64_t local) { return 3 * local; };
  const auto plain = make_summary_request(working_cut(), budget_of(100'000), "", plainly);
  const auto active = make_summary_request(working_cut(), budget_of(100'000), "", tripled);
  ASSERT_TRUE(plain && active);
  EXPECT_EQ(active->estimated_tokens, 3 * plain->estimated_tokens);
}

/// S14: what the threshold lets grow, the summary request can hold - in windows of any size.
TEST(summary_request, S14_a_view_below_the_threshold_always_fits) {
  for (const std::int64_t window :
       {2'000, 4'000, 7'000, 8'000, 16'000, 32'768, 128'000, 256'000, 1'000'000}) {
    context::model_limits limits;
    limits.window_tokens = window;
    limits.max_output_tokens = 128'000;
    const auto b = context::resolve_budget("m", limits, {}, "m", limits, {});
    kit::journal_builder j("m", "");
    j.turn().user("go");
    auto p = j.project();
    for (int i = 0; p.view().tokens < b.threshold_tokens - 120; ++i) {
      const auto id = "call_" + std::to_string(i);
      entries::assistant_message a;
      a.msg = kit::make_message(message_role::assistant, "", {make_call(id)});
      entries::tool_result r;
      r.msg = kit::make_message(message_role::tool, "fine, line " + std::to_string(i), {}, id);
      ASSERT_TRUE(p.apply({p.last_position() + 1, "", 0, "t1", a}));
      ASSERT_TRUE(p.apply({p.last_position() + 1, "", 0, "t1", r}));
    }
    const auto c = cut_view(p.view(), b, suffix_size::normal);
    const auto r = make_summary_request(c, b, "", plainly);
    EXPECT_TRUE(r) << window << ": " << (r ? "" : r.error().message);
  }
}

} // namespace
} // namespace rind::compaction
