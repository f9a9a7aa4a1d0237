// What a recording may look like, and how it is played.
#include <sstream>

#include <gtest/gtest.h>

#include "hosts/replay/plan.hpp"
#include "hosts/replay/recording.hpp"

namespace rind::hosts::replay {
namespace {

recording read_text(const std::string& text) {
  std::istringstream in(text);
  auto r = read_recording(in);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : recording{};
}

recording shapes() {
  auto r = read_recording_file(RIND_TEST_DATA "/replay/shapes.jsonl");
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : recording{};
}

TEST(recording, every_kind_of_message_is_read_and_zero_usage_is_unknown) {
  const auto r = shapes();
  ASSERT_EQ(r.size(), 16U);
  EXPECT_EQ(r[0].line, 2U); // the compaction before it is no message
  EXPECT_FALSE(r[0].input_tokens);
  EXPECT_FALSE(r[2].ended_well);
  const auto& a = r[3];
  EXPECT_EQ(a.msg.tool_calls[1], (tool_call{"call_2", "read", R"({"path":"b.txt"})"}));
  EXPECT_EQ(a.msg.reasoning->text, "Two files, two calls.");
  EXPECT_EQ(a.input_tokens, 500);
  EXPECT_EQ(a.output_tokens, 40);
  EXPECT_EQ(r[4].line, 7U); // an empty line counts as a line
  EXPECT_TRUE(r[4].msg.is_error);
  EXPECT_EQ(r[5].msg.tool_call_id, "call_1");
  EXPECT_TRUE(r[7].ended_well); // finish null
}

TEST(recording, nothing_is_an_empty_recording) {
  EXPECT_TRUE(read_text("").empty());
  EXPECT_TRUE(read_text("\n  \r\n").empty());
  EXPECT_TRUE(read_text(R"({"kind":"compaction","summary":"s","tokens_before":1})").empty());
}

TEST(recording, a_bad_line_is_named) {
  const struct {
    const char* line;
    const char* why;
  } cases[] = {
      {"not json", "no JSON"},
      {"[]", "object"},
      {"{}", "role"},
      {R"({"kind":"note"})", "kind"},
      {R"({"role":"system","content":"x"})", "role"},
      {R"({"role":"user"})", "content"},
      {R"({"role":"user","content":["x"]})", "content"},
      {R"({"role":"tool","content":"x"})", "tool_call_id"},
      {R"({"role":"assistant","content":"x","tool_calls":{}})", "tool_calls"},
      {R"({"role":"assistant","content":"x","tool_calls":[{"name":"t"}]})", "id"},
      {R"({"role":"assistant","content":"x","usage":{"input_tokens":-1}})", "usage.input_tokens"},
      {R"({"role":"assistant","content":"x","usage":{"input_tokens":"9"}})", "usage.input_tokens"},
      {"{\"role\":\"user\",\"content\":\"\xff\"}", "no JSON"},
  };
  for (const auto& c : cases) {
    std::istringstream in("{\"role\":\"user\",\"content\":\"fine\"}\n" + std::string(c.line) +
                          "\n");
    const auto r = read_recording(in);
    ASSERT_FALSE(r) << c.line;
    EXPECT_EQ(r.error().message.find("line 2: "), 0U) << r.error().message;
    EXPECT_NE(r.error().message.find(c.why), std::string::npos) << r.error().message;
  }
}

TEST(recording, a_file_that_is_none_is_an_error) {
  EXPECT_FALSE(read_recording_file(RIND_TEST_DATA "/replay/no_such_file.jsonl"));
  EXPECT_FALSE(read_recording_file(RIND_TEST_DATA));
}

TEST(plan, each_message_is_played_thrown_away_or_skipped) {
  const auto r = shapes();
  const auto p = make_plan(r);
  EXPECT_EQ(p.journaled.size() + p.discarded + p.skipped, r.size());
  EXPECT_EQ(p.discarded, 2U); // the broken stream and the aborted answer
  EXPECT_EQ(p.skipped, 3U);   // to nobody, said twice, a result of no open call
  EXPECT_EQ(p.journaled, (std::vector<std::size_t>{1, 3, 4, 5, 6, 7, 10, 12, 13, 14, 15}));
  ASSERT_EQ(p.turns.size(), 5U);
}

TEST(plan, a_broken_stream_is_asked_for_again_where_the_recording_goes_on) {
  const auto p = make_plan(shapes());
  const auto& steps = p.turns[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].kind, step_kind::interrupted);
  EXPECT_EQ(steps[1].kind, step_kind::answer);
  EXPECT_EQ(steps[1].results, (std::vector<std::size_t>{4, 5})); // as recorded, not as called
  EXPECT_FALSE(steps[1].hangs);
}

TEST(plan, S9_a_call_without_a_result_hangs_until_the_client_cancels) {
  const auto p = make_plan(shapes());
  const auto& s = p.turns[3].steps.at(0);
  EXPECT_TRUE(s.hangs);
  EXPECT_EQ(s.results, std::vector<std::size_t>{14});
}

TEST(plan, an_aborted_answer_is_cut_and_ends_its_turn) {
  const auto p = make_plan(shapes());
  ASSERT_EQ(p.turns[2].steps.size(), 1U);
  EXPECT_EQ(p.turns[2].steps[0].kind, step_kind::cut);
}

TEST(plan, the_same_call_id_belongs_to_the_newest_call) {
  const auto r = read_text(R"({"role":"user","content":"go"}
{"role":"assistant","tool_calls":[{"id":"c","name":"t","arguments":"{}"}],"finish":"toolUse"}
{"role":"tool","tool_call_id":"c","content":"one"}
{"role":"assistant","tool_calls":[{"id":"c","name":"t","arguments":"{}"}],"finish":"toolUse"}
{"role":"tool","tool_call_id":"c","content":"two"}
)");
  const auto p = make_plan(r);
  ASSERT_EQ(p.turns.size(), 1U);
  ASSERT_EQ(p.turns[0].steps.size(), 2U);
  EXPECT_EQ(p.turns[0].steps[0].results, std::vector<std::size_t>{2});
  EXPECT_EQ(p.turns[0].steps[1].results, std::vector<std::size_t>{4});
}

TEST(plan, an_empty_answer_is_no_message_and_an_empty_prompt_no_prompt) {
  const auto r = read_text(R"({"role":"user","content":" "}
{"role":"assistant","content":"to nobody","finish":"stop"}
{"role":"user","content":"go"}
{"role":"assistant","content":"","finish":"stop"}
)");
  const auto p = make_plan(r);
  EXPECT_EQ(p.skipped, 2U);
  EXPECT_EQ(p.discarded, 1U);
  EXPECT_EQ(p.journaled, std::vector<std::size_t>{2});
}

} // namespace
} // namespace rind::hosts::replay
