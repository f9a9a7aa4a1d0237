// The handoff: what is accepted, what code adds, what code writes alone.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "runtime/compaction/handoff.hpp"
#include "runtime/context/token_estimator.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::compaction {
namespace {

using kit::make_call;
using kit::text_of_tokens;

context::budget budget_of(std::int64_t summary_limit) {
  context::budget b;
  b.window_tokens = 10 * summary_limit;
  b.threshold_tokens = 100;
  b.summary_limit_tokens = summary_limit;
  return b;
}

kit::journal_builder session() {
  kit::journal_builder j;
  j.turn()
      .user("Fix the parser. Never touch the lexer.")
      .assistant("Looking.", {make_call("1", "grep", R"({"pattern":"parse"})")});
  j.result("1", "parser.cpp:12")
      .assistant("", {make_call("2", "run_tests", "{}")})
      .result("2", "2 failures", true);
  j.assistant("Two tests fail. " + text_of_tokens(2'000)).ended();
  j.turn("t2").user("Use the second approach.");
  return j;
}

cut cut_of(const view::message_view& v) {
  return cut_view(v, budget_of(100), suffix_size::small);
}

sampling_answer answer_of(std::string text, finish_reason finish = finish_reason::stop) {
  sampling_answer a;
  a.msg = kit::make_message(message_role::assistant, std::move(text));
  a.finish = finish;
  return a;
}

struct fault_case {
  const char* name;
  sampling_answer answer;
  const char* type; // empty: accepted
};

TEST(summary_fault, F29_F31_only_a_normal_stop_with_text_is_a_summary) {
  const auto v = session().project().view();
  const auto c = cut_of(v);
  auto with_call = answer_of("text");
  with_call.msg = kit::make_message(message_role::assistant, "text", {make_call("9")});
  auto only_reasoning = answer_of("");
  auto thought = std::make_shared<message>(*only_reasoning.msg);
  thought->reasoning = reasoning_block{"I could write a summary.", ""};
  only_reasoning.msg = thought;
  const std::vector<fault_case> cases{
      {"good", answer_of("Goal: fix the parser."), ""},
      {"no_message", {}, "tool_calls"},
      {"empty", answer_of(""), "empty"},
      {"blank", answer_of(" \n\t "), "empty"},
      {"reasoning_only", only_reasoning, "empty"},
      {"F30_tool_call", with_call, "tool_calls"},
      {"F30_tool_finish", answer_of("text", finish_reason::tool_calls), "tool_calls"},
      {"length", answer_of("text", finish_reason::length), "finish"},
      {"refusal", answer_of("text", finish_reason::content_filter), "finish"},
      {"window", answer_of("text", finish_reason::window_exceeded), "finish"},
      {"unknown", answer_of("text", finish_reason::other), "finish"},
      {"F32_too_long", answer_of(text_of_tokens(900)), "too_long"},
  };
  for (const auto& tried : cases) {
    const auto fault = summary_fault(tried.answer, c, budget_of(800));
    EXPECT_EQ(fault ? fault->type : "", tried.type) << tried.name;
    if (fault) {
      EXPECT_FALSE(fault->message.empty()) << tried.name;
      EXPECT_EQ(fault->status, "rejected") << tried.name;
    }
  }
}

TEST(summary_fault, S21_a_summary_that_is_not_below_the_corpus_is_none) {
  const auto v = session().project().view();
  const auto c = cut_of(v);
  const auto b = budget_of(100'000);
  EXPECT_EQ(summary_fault(answer_of(text_of_tokens(c.corpus_tokens + 20)), c, b)->type,
            "not_smaller");
  EXPECT_FALSE(summary_fault(answer_of(text_of_tokens(c.corpus_tokens - 60)), c, b));
}

TEST(summary_fault, S21_the_providers_count_is_believed_where_ours_is_close) {
  const auto c = cut_of(session().project().view());
  auto a = answer_of(text_of_tokens(900));
  a.usage.output_tokens = 790;
  EXPECT_FALSE(summary_fault(a, c, budget_of(800)));
  a.usage.output_tokens = 5; // not believable for this text
  a.msg = kit::make_message(message_role::assistant, text_of_tokens(1'500));
  EXPECT_TRUE(summary_fault(a, c, budget_of(800)));
}

TEST(handoff, S20_the_newest_words_of_the_person_stand_in_it_unless_the_suffix_holds_them) {
  auto j = session();
  auto v = j.project().view();
  EXPECT_EQ(newest_user_words(v, cut_of(v)).text, ""); // the unread prompt is in the suffix
  j.assistant(text_of_tokens(3'000)).ended();
  v = j.project().view();
  const auto words = newest_user_words(v, cut_of(v));
  EXPECT_EQ(words.text, "Use the second approach.");
  const auto handoff = handoff_from_summary("Goal: fix.", words);
  EXPECT_NE(handoff.find("Goal: fix."), std::string::npos);
  EXPECT_TRUE(handoff.ends_with("\nUse the second approach."));
  EXPECT_EQ(handoff_from_summary("Goal: fix.", {}).find("word for word"), std::string::npos);
}

TEST(handoff, S20_they_come_from_the_journal_at_each_compaction) {
  auto j = session();
  j.assistant(text_of_tokens(3'000)).ended().compacted(7, "What was.");
  j.turn("t3").user("go").assistant("done").ended();
  auto v = j.project().view();
  EXPECT_EQ(v.newest_user_message->content, "go");
  j.compacted(9, "All.");
  v = j.project().view();
  EXPECT_EQ(newest_user_words(v, cut_of(v)).text,
            "go"); // though it left the view two boundaries ago
}

TEST(handoff, S20_neither_the_continuation_nor_a_note_is_the_person) {
  auto j = session();
  j.assistant("done").ended().compacted(3, "What was.").rescued({{3, 5, replacement_kind::units}});
  EXPECT_EQ(j.project().view().newest_user_message->content, "Use the second approach.");
}

TEST(handoff, S20_up_to_8000_characters) {
  std::string text;
  for (int i = 0; i < 9'000; ++i)
    text += "\u6f22";
  kit::journal_builder j;
  j.turn().user(text).assistant(text_of_tokens(500)).ended();
  const auto v = j.project().view();
  EXPECT_EQ(count_characters(newest_user_words(v, cut_of(v)).text), 8'000);
}

TEST(handoff, F34_is_labelled_as_history) {
  const auto handoff = handoff_from_summary("Goal.", {"x"});
  EXPECT_TRUE(handoff.starts_with("[Handoff"));
  EXPECT_NE(handoff.find("no request"), std::string::npos);
  EXPECT_FALSE(continuation_text().empty());
}

TEST(deterministic_handoff, S21_holds_excerpts_and_outcomes) {
  auto j = session();
  j.assistant("On it. " + text_of_tokens(3'000)).ended();
  const auto v = j.project().view();
  const auto c = cut_of(v);
  const auto handoff = deterministic_handoff(c, budget_of(800), newest_user_words(v, c));
  for (const char* part :
       {"- User: Fix the parser. Never touch the lexer.", "- Assistant: Looking.", "- Called grep",
        "-> parser.cpp:12", "- Called run_tests {} -> error: 2 failures",
        "Use the second approach."})
    EXPECT_NE(handoff.find(part), std::string::npos) << part << "\n" << handoff;
  EXPECT_LT(handoff.find("Fix the parser"), handoff.find("Called grep")); // in the order of events
  EXPECT_LE(context::estimate_text(handoff), 800);
}

TEST(deterministic_handoff, S21_the_earlier_handoff_is_trimmed_first) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").ended().compacted(
      2, handoff_from_summary("First line. " + text_of_tokens(700), {"one"}));
  for (int i = 0; i < 4; ++i)
    j.turn("t" + std::to_string(i + 2))
        .user("Question " + std::to_string(i) + " " + text_of_tokens(60))
        .assistant("Answer.")
        .ended();
  const auto v = j.project().view();
  const auto c = cut_of(v);
  const auto handoff = deterministic_handoff(c, budget_of(800), {});
  EXPECT_LE(context::estimate_text(handoff), 800);
  for (const char* part : {"First line.", "[...]", "Question 0", "Question 3"})
    EXPECT_NE(handoff.find(part), std::string::npos) << part << "\n" << handoff;
  EXPECT_EQ(handoff.find("[Handoff", 1), std::string::npos); // F32: frames do not nest
}

TEST(deterministic_handoff, F32_does_not_grow_over_many_compactions) {
  const auto b = budget_of(600);
  kit::journal_builder j;
  std::int64_t count = 0;
  for (int round = 0; round < 6; ++round) {
    const auto id = "c" + std::to_string(round);
    j.turn("t" + std::to_string(round))
        .user("Round " + std::to_string(round))
        .assistant("", {make_call(id)});
    j.result(id, text_of_tokens(4'000))
        .assistant("Result of round " + std::to_string(round))
        .ended();
    count += 4;
    const auto v = j.project().view();
    const auto c = cut_of(v);
    const auto handoff = deterministic_handoff(c, b, newest_user_words(v, c));
    EXPECT_LE(context::estimate_text(handoff), 600) << round;
    EXPECT_NE(handoff.find("Round " + std::to_string(round)), std::string::npos);
    j.compacted(count, handoff);
  }
}

RC_GTEST_PROP(deterministic_handoff, S21_is_valid_utf8_within_the_limit, ()) {
  const std::vector<std::string> alphabet{"a", " ", "\u00e9", "\u6f22", "\U0001f600", "\n"};
  const auto text = [&] {
    std::string out;
    const auto characters = *rc::gen::inRange(1, 3'000);
    const auto step = *rc::gen::inRange(1, 50);
    for (int i = 0; i < characters; ++i)
      out += alphabet[static_cast<std::size_t>(i * step + i / 11) % alphabet.size()];
    return out + "x";
  };
  kit::journal_builder j;
  j.turn().user(text()).assistant(text()).ended().compacted(2,
                                                            handoff_from_summary(text(), {text()}));
  const auto units = *rc::gen::inRange(1, 10);
  for (int i = 0; i < units; ++i) {
    const auto id = std::to_string(i);
    j.turn("u" + id)
        .user(text())
        .assistant(text(), {make_call(id, "f", text())})
        .result(id, text())
        .assistant(text())
        .ended();
  }
  const auto limit = *rc::gen::inRange<std::int64_t>(150, 4'000);
  const auto v = j.project().view();
  const auto handoff = deterministic_handoff(cut_of(v), budget_of(limit), {"short words"});
  RC_ASSERT(is_valid_utf8(handoff));
  RC_ASSERT(context::estimate_text(handoff) <= limit);
  RC_ASSERT(handoff.ends_with("short words"));
}

TEST(history_digest, S24_is_sha256_over_json_lines) {
  EXPECT_EQ(history_digest({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const auto a = kit::make_message(message_role::user, "a");
  const auto b = kit::make_message(message_role::user, "b");
  EXPECT_EQ(history_digest({a, b}).size(), 64U);
  EXPECT_NE(history_digest({a, b}), history_digest({b, a}));
  EXPECT_EQ(history_digest({a}), history_digest({std::make_shared<message>(*a)}));
}

} // namespace
} // namespace rind::compaction
