// The projection: what a journal means, live and after a restart.
#include <numeric>

#include <gtest/gtest.h>

#include "runtime/context/token_estimator.hpp"
#include "runtime/view/projection.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::view {
namespace {

using kit::make_call;
using kit::shown;

std::vector<std::string> contents(const message_view& v) {
  std::vector<std::string> out;
  for (const auto& i : v.items)
    out.push_back(i.msg->content);
  return out;
}

std::vector<item_kind> kinds(const message_view& v) {
  std::vector<item_kind> out;
  for (const auto& i : v.items)
    out.push_back(i.kind);
  return out;
}

TEST(projection, S11_messages_are_the_view_in_order) {
  kit::journal_builder j;
  j.turn()
      .user("one")
      .assistant("", {make_call("1")})
      .result("1", "found")
      .assistant("done")
      .ended();
  const auto p = j.project();
  EXPECT_EQ(contents(p.view()),
            (std::vector<std::string>{"Be brief.", "one", "", "found", "done"}));
  EXPECT_EQ(p.view().message_count, 4);
  EXPECT_EQ(p.view().first_unread, 4);
  EXPECT_EQ(p.view().items[1].start, 0);
  EXPECT_FALSE(p.structure_fault());
  EXPECT_EQ(p.first_prompt(), "one");
  EXPECT_EQ(p.last_text(), "done");
}

TEST(projection, S11_the_hosts_system_messages_come_before_the_sessions) {
  kit::journal_builder j;
  projection_settings settings;
  settings.system_messages = {kit::make_message(message_role::system, "House rules.")};
  auto tools = std::make_shared<std::vector<tool_definition>>();
  tools->push_back({"read_file", "Reads a file.", "{}"});
  settings.tools = tools;
  const auto p = j.project(settings);
  EXPECT_EQ(contents(p.view()), (std::vector<std::string>{"House rules.", "Be brief."}));
  EXPECT_EQ(p.view().system_items, 2U);
  EXPECT_EQ(p.view().tokens, 0);
  EXPECT_EQ(p.fixed_tokens(),
            p.view().items[0].tokens + p.view().items[1].tokens +
                context::estimate_tools(*tools)); // F13
}

TEST(projection, S12_the_sum_follows_each_message) {
  kit::journal_builder j;
  j.turn();
  projection p(projection_settings{});
  for (int i = 0; i < 50; ++i)
    j.user("message " + std::to_string(i))
        .assistant("answer", {make_call("c" + std::to_string(i))})
        .result("c" + std::to_string(i), "r");
  for (const auto& e : j.entries()) {
    ASSERT_TRUE(p.apply(e));
    const auto& v = p.view();
    const auto sum = std::accumulate(v.items.begin() + static_cast<std::ptrdiff_t>(v.system_items),
                                     v.items.end(), std::int64_t{0},
                                     [](std::int64_t s, const item& i) { return s + i.tokens; });
    ASSERT_EQ(sum, v.tokens);
  }
}

TEST(projection, S9_open_calls_get_placeholders_at_the_end_of_an_operation) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1"), make_call("2")}).result("2", "fine");
  EXPECT_TRUE(j.project().operation()->unread_tool_calls);
  j.ended(entries::turn_outcome::cancelled);
  j.turn("t2").user("and now");
  const auto p = j.project();
  ASSERT_EQ(p.view().items.size(), 6U);
  const auto& placeholder = p.view().items[4];
  EXPECT_EQ(placeholder.kind, item_kind::placeholder);
  EXPECT_EQ(placeholder.msg->tool_call_id, "1");
  EXPECT_TRUE(placeholder.msg->is_error);
  EXPECT_NE(placeholder.msg->content.find("unknown"), std::string::npos);
  EXPECT_EQ(placeholder.start, placeholder.end_exclusive);
  EXPECT_EQ(p.view().message_count, 4); // a placeholder is no journaled message
  EXPECT_FALSE(p.fault());
}

TEST(projection, S9_F20_placeholders_come_back_across_boundaries) {
  kit::journal_builder j;
  j.turn().user("old").assistant("said").ended();
  j.turn("t2").user("go").assistant("", {make_call("1")}).resumed();
  const auto before = j.project().view().items.back().msg->content;
  j.compacted(2, "What was.");
  const auto p = j.project();
  EXPECT_EQ(p.view().items.back().msg->content, before);
  EXPECT_EQ(p.view().items.back().kind, item_kind::placeholder);
  EXPECT_FALSE(p.fault());
  j.assistant("done").ended().compacted(5, "All of it.");
  EXPECT_EQ(
      kinds(j.project().view()),
      (std::vector<item_kind>{item_kind::system, item_kind::continuation, item_kind::handoff}));
}

TEST(projection, S9_a_resume_closes_what_the_crash_left_open) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1")});
  EXPECT_TRUE(j.project().fault());
  j.resumed();
  const auto p = j.project();
  EXPECT_FALSE(p.fault());
  EXPECT_FALSE(p.operation()->unread_tool_calls);
  EXPECT_EQ(p.operation()->resumes, 1);
  j.resumed(true);
  EXPECT_EQ(j.project().operation()->resumes, 1); // a hand-over is not counted
}

TEST(projection, S11_a_boundary_leaves_the_pair_and_the_suffix) {
  kit::journal_builder j;
  j.turn().user("one").assistant("first").ended();
  j.turn("t2").user("two").assistant("", {make_call("1")}).result("1", "found");
  j.compacted(2, "What was.");
  const auto p = j.project();
  EXPECT_EQ(contents(p.view()),
            (std::vector<std::string>{"Be brief.", "Go on.", "What was.", "two", "", "found"}));
  EXPECT_EQ(p.view().items[1].msg->origin, user_origin::continuation);
  EXPECT_EQ(p.view().corpus_start, 2);
  EXPECT_EQ(p.view().generation, 1);
  EXPECT_EQ(p.view().first_unread, 4);
  EXPECT_EQ(p.view().message_count, 5);
  EXPECT_EQ(p.view().newest_user_message->content, "two");
  EXPECT_EQ(p.operation()->compactions, 1);
  EXPECT_FALSE(p.fault());
  EXPECT_EQ(p.messages(2, 4).size(), 2U);
}

std::string long_body(char fill) {
  return std::string(9'000, fill);
}

TEST(projection, S11_what_a_rescue_replaced_stays_replaced) {
  kit::journal_builder j;
  j.turn()
      .user("one")
      .assistant("", {make_call("1")})
      .result("1", long_body('a'))
      .assistant("", {make_call("2")});
  j.result("2", long_body('b')).assistant("", {make_call("3")}).result("3", long_body('c'));
  j.rescued({{2, 3, replacement_kind::body}, {4, 5, replacement_kind::body}});
  auto v = j.project().view();
  EXPECT_TRUE(v.items[3].shortened);
  EXPECT_LT(v.items[3].msg->content.size(), 4'200U);
  EXPECT_FALSE(v.items[7].shortened);
  EXPECT_EQ(v.corpus_start, 0);
  // A later summary keeps what concerns its suffix.
  j.compacted(3, "What was.");
  v = j.project().view();
  EXPECT_TRUE(v.items[4].shortened);
  EXPECT_EQ(v.items[4].start, 4);
  EXPECT_FALSE(v.items[6].shortened);
}

TEST(projection, S31_left_out_units_become_one_note) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").user("two").assistant("b").user("three").assistant("c").user(
      "four");
  j.rescued({{0, 2, replacement_kind::units}});
  j.rescued({{2, 4, replacement_kind::units}});
  const auto p = j.project();
  EXPECT_EQ(kinds(p.view()),
            (std::vector<item_kind>{item_kind::system, item_kind::left_out, item_kind::message,
                                    item_kind::message, item_kind::message}));
  const auto& note = p.view().items[1];
  EXPECT_EQ(note.start, 0);
  EXPECT_EQ(note.end_exclusive, 4);
  EXPECT_EQ(note.left_out_messages, 4);
  EXPECT_EQ(note.msg->origin, user_origin::rescue_note);
  EXPECT_FALSE(p.fault());
  EXPECT_EQ(p.view().newest_user_message->content, "four");
  EXPECT_EQ(p.boundaries().size(), 2U);
}

TEST(projection, S18a_a_summary_boundary_can_shorten_in_its_suffix) {
  kit::journal_builder j;
  j.turn()
      .user("one")
      .assistant("a")
      .user("two")
      .assistant("", {make_call("1")})
      .result("1", long_body('x'));
  j.compacted(2, "What was.", {{4, 5, replacement_kind::body}});
  const auto p = j.project();
  EXPECT_TRUE(p.view().items.back().shortened);
  EXPECT_EQ(p.messages(4, 5)[0]->content.size(), 9'000U); // the journal keeps it whole
}

TEST(projection, S26_reasoning_of_another_model_is_not_sent) {
  kit::journal_builder j;
  const auto add_reasoned = [&](const char* text, const char* model) {
    auto m = std::make_shared<message>(*kit::make_message(message_role::assistant, text));
    m->reasoning = reasoning_block{"thought", R"({"signature":"abc=="})"};
    m->model = model;
    entries::assistant_message body;
    body.msg = m;
    j.add(body);
  };
  j.turn().user("one");
  add_reasoned("a", "model-a");
  j.ended();
  EXPECT_EQ(j.project().view().items[2].msg->reasoning->opaque, R"({"signature":"abc=="})");
  const auto whole = j.project().view().tokens;
  j.add(entries::model_set{"model-b"});
  EXPECT_FALSE(j.project().view().items[2].msg->reasoning);
  EXPECT_LT(j.project().view().tokens, whole);
  EXPECT_TRUE(j.project().messages(1, 2)[0]->reasoning); // the journal keeps it
  j.turn("t2").user("two");
  add_reasoned("b", "model-a"); // a late one
  EXPECT_FALSE(j.project().view().items[4].msg->reasoning);
  j.ended().add(entries::model_set{"model-a"});
  EXPECT_TRUE(j.project().view().items[2].msg->reasoning);
}

TEST(projection, S3_queues_follow_their_entries) {
  kit::journal_builder j;
  j.turn().user("go");
  j.accepted("i1", input_mode::follow_up, "later")
      .accepted("i2", input_mode::steering, "now")
      .accepted("i3", input_mode::steering, "no");
  EXPECT_EQ(j.project().pending().size(), 3U);
  j.add(entries::input_taken_back{"i3"}).add(entries::input_promoted{"i1"});
  const auto p = j.project();
  ASSERT_EQ(p.pending().size(), 2U);
  EXPECT_EQ(p.pending()[0].mode, input_mode::steering);
  j.delivered("i2", input_mode::steering, "now").resumed();
  EXPECT_EQ(j.project().pending().size(), 1U); // a resumed turn keeps its queues
  EXPECT_EQ(j.project().view().newest_user_message->content, "now");
  j.ended();
  EXPECT_TRUE(j.project().pending().empty());
}

TEST(projection, S10_attempts_are_counted_over_the_operation) {
  kit::journal_builder j;
  j.turn().user("go");
  entries::attempt_started attempt;
  attempt.context_errors = 2;
  attempt.rescues = 1;
  attempt.refused_estimate_tokens = 9'000;
  attempt.limit_tokens = 10'000;
  attempt.tightened_limit_tokens = 7'200;
  j.add(attempt).resumed();
  const auto p = j.project();
  EXPECT_EQ(p.operation()->context_errors, 2);
  EXPECT_EQ(p.operation()->rescues, 1);
  EXPECT_EQ(p.operation()->refused_estimate_tokens, 9'000);
  EXPECT_EQ(p.operation()->tightened_limit_tokens, 7'200);
  EXPECT_EQ(p.operation()->attempts, (std::vector<refused_attempt>{{9'000, 10'000}}));
  j.assistant("made it");
  EXPECT_EQ(j.project().operation()->refused_estimate_tokens, 0);
  EXPECT_EQ(j.project().operation()->tightened_limit_tokens, 7'200); // until the operation ends
  EXPECT_EQ(j.project().operation()->context_errors, 2);
  j.ended().turn("t2");
  EXPECT_EQ(j.project().operation()->context_errors, 0);
  EXPECT_FALSE(j.project().operation()->tightened_limit_tokens);
}

TEST(projection, S16_a_learned_window_lasts_until_model_set) {
  kit::journal_builder j;
  j.turn().user("go").add(entries::window_learned{"model-a", 32'768});
  EXPECT_EQ(j.project().learned_window("model-a"), 32'768);
  EXPECT_FALSE(j.project().learned_window("model-b"));
  j.ended().add(entries::model_set{"model-a"});
  EXPECT_FALSE(j.project().learned_window("model-a"));
}

TEST(projection, S13_the_newest_counted_request_is_the_anchor) {
  kit::journal_builder j;
  j.turn().user("go").counted("done", 10'000, 8'000).ended();
  const auto p = j.project();
  EXPECT_EQ(p.anchor().estimate("model-a", 0, 8'800).tokens, 11'000);
  EXPECT_EQ(p.last_usage()->input_tokens, 10'000);
}

TEST(projection, S13_usage_of_an_earlier_generation_is_dropped) {
  kit::journal_builder j;
  j.turn().user("go").assistant("a").compacted(2, "What was.").user("more");
  j.counted("late", 50'000, 40'000, 0);
  EXPECT_EQ(j.project().anchor().estimate("model-a", 1, 100).source, token_source::local_estimate);
}

TEST(projection, S31_a_rescue_in_the_same_append_takes_the_usage_as_anchor) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").user("two").assistant("b").user("three");
  j.rescued({{0, 2, replacement_kind::units}}).counted("done", 2'000, 1'000, 1);
  const auto estimate = j.project().anchor().estimate("model-a", 1, 1'100);
  EXPECT_EQ(estimate.source, token_source::assistant_usage_plus_local_delta);
  EXPECT_EQ(estimate.tokens, 2'200);
}

TEST(projection, S13_usage_of_another_model_is_dropped) {
  kit::journal_builder j;
  auto m = std::make_shared<message>(*kit::make_message(message_role::assistant, "x"));
  m->model = "model-b";
  entries::assistant_message body;
  body.msg = m;
  body.usage.input_tokens = 5'000;
  body.request_local_tokens = 4'000;
  j.turn().user("go").add(body);
  EXPECT_EQ(j.project().anchor().estimate("model-b", 0, 4'000).source,
            token_source::local_estimate);
}

TEST(projection, S24_the_view_position_moves_with_messages_and_boundaries_only) {
  kit::journal_builder j;
  j.turn().user("go");
  const auto position = j.project().view().view_position;
  j.accepted("i1", input_mode::steering, "x")
      .add(entries::usage_recorded{})
      .add(entries::attempt_started{});
  EXPECT_EQ(j.project().view().view_position, position);
  j.assistant("a");
  EXPECT_EQ(j.project().view().view_position, position + 4);
  j.compacted(2, "What was.");
  EXPECT_EQ(j.project().view().view_position, position + 5);
}

TEST(projection, S11_excerpts_are_one_line_and_cut_at_characters) {
  std::string prompt;
  for (int i = 0; i < 90; ++i)
    prompt += "\u6f22";
  kit::journal_builder j;
  j.turn().user(prompt).assistant("line one\nline two");
  const auto p = j.project();
  EXPECT_EQ(p.first_prompt().size(), 80U * 3U); // 79 characters and an ellipsis, 3 bytes each
  EXPECT_EQ(p.last_text(), "line one line two");
}

struct contradiction_case {
  const char* name;
  entry_body body;
  std::string turn_id = "t1";
};

TEST(projection, S39_a_contradiction_is_an_error_and_changes_nothing) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1")}).accepted("i1", input_mode::steering, "x");
  entries::turn_started second;
  entries::turn_started other_resumed;
  other_resumed.resumed = true;
  auto wrong_generation = std::make_shared<compaction_record>();
  wrong_generation->generation = 2;
  auto splits = std::make_shared<compaction_record>();
  splits->generation = 1;
  splits->message_end_index_exclusive = 3; // beyond the conversation
  splits->continuation_text = "c";
  splits->handoff_text = "h";
  const std::vector<contradiction_case> cases{
      {"result_without_call",
       entries::tool_result{kit::make_message(message_role::tool, "x", {}, "9"), {}, {}, {}, 0}},
      {"end_without_start", entries::turn_ended{}, "t9"},
      {"start_while_open", second, "t2"},
      {"resume_of_another", other_resumed, "t2"},
      {"created_twice", entries::session_created{"m", ""}},
      {"accepted_twice", entries::input_accepted{"i1", input_mode::steering, "x"}},
      {"taken_back_unknown", entries::input_taken_back{"i9"}},
      {"promoted_unknown", entries::input_promoted{"i9"}},
      {"delivered_unknown", entries::input_delivered{kit::make_message(message_role::user, "x")}},
      {"no_message", entries::user_message{nullptr}},
      {"wrong_role", entries::user_message{kit::make_message(message_role::assistant, "x")}},
      {"no_record", entries::boundary{nullptr}},
      {"wrong_generation", entries::boundary{wrong_generation}},
      {"range_beyond", entries::boundary{splits}},
  };
  auto p = j.project();
  const auto before = shown(p.view());
  const auto position = p.last_position();
  for (const auto& c : cases) {
    const auto applied = p.apply({position + 1, "x", 1, c.turn_id, c.body});
    ASSERT_FALSE(applied) << c.name;
    EXPECT_EQ(applied.error().code, error_code::persistence_failed) << c.name;
    EXPECT_EQ(shown(p.view()), before) << c.name;
    EXPECT_EQ(p.last_position(), position) << c.name;
  }
  EXPECT_FALSE(p.apply({position, "x", 1, "t1", entries::model_set{"m"}})); // positions rise
  projection fresh(projection_settings{});
  EXPECT_FALSE(fresh.apply({1, "x", 1, "", entries::model_set{"m"}}));
  EXPECT_FALSE(fresh.exists());
}

TEST(projection, S18_a_boundary_that_splits_a_call_from_its_result_is_refused) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1")}).result("1", "x").compacted(2, "What was.");
  EXPECT_THROW(j.project(), std::logic_error);
}

TEST(projection, F72_a_restart_gives_the_same_view_with_0_1_and_3_boundaries) {
  kit::journal_builder j;
  j.turn();
  for (int boundary = 0; boundary < 4; ++boundary) {
    for (int i = 0; i < 4; ++i) {
      const auto id = std::to_string(boundary) + "-" + std::to_string(i);
      j.user("ask " + id)
          .assistant("", {make_call(id)})
          .result(id, long_body('r'))
          .assistant("told " + id);
    }
    projection live(projection_settings{});
    for (const auto& e : j.entries())
      ASSERT_TRUE(live.apply(e));
    EXPECT_EQ(shown(live.view()), shown(j.project().view()));
    const auto count = live.view().message_count;
    j.rescued({{count - 2, count - 1, replacement_kind::body}});
    const auto system = contents(j.project().view()).front();
    j.compacted(count - 4, "handoff " + std::to_string(boundary));
    const auto v = j.project().view();
    EXPECT_EQ(contents(v).front(), system);
    EXPECT_EQ(v.items[2].msg->content, "handoff " + std::to_string(boundary));
    EXPECT_EQ(v.items.size(), 7U);
    EXPECT_TRUE(v.items[5].shortened);
  }
}

} // namespace
} // namespace rind::view
