// Events on the wire: each type against its golden line, and what must not depend on anything but
// the event.
#include <set>

#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "tests/unit/protocol/samples.hpp"

namespace rind::protocol {

namespace {

using nlohmann::json;
using namespace samples;

entries::turn_ended ended(entries::turn_outcome outcome) {
  entries::turn_ended e;
  e.outcome = outcome;
  e.duration_ms = 1'234;
  e.samplings = 3;
  e.compactions = 1;
  return e;
}

entries::turn_ended failed() {
  auto e = ended(entries::turn_outcome::failed);
  failure_details numbers;
  numbers.attempts = {{900, 1'000}, {700, 720}};
  e.error = make_failure(error_code::context_length_exhausted, "it does not fit", numbers);
  e.undelivered = {{"in-1", input_mode::steering, "wait"}};
  return e;
}

entries::turn_ended cancelled() {
  auto e = ended(entries::turn_outcome::cancelled);
  e.reason = cancel_reason::handover;
  e.undelivered = {{"in-2", input_mode::follow_up, "and then"}};
  return e;
}

/// One event of each shape, in the order of the golden file.
std::vector<session_event> every_event() {
  const tool_call good{"c1", "read", R"({"path":"é"})"};
  const tool_call bad{"c2", "read", R"({"path":)"};
  auto unanchored = stats();
  unanchored.source = token_source::local_estimate;
  unanchored.anchor_fallback_reason = "no usage yet";
  return {
      durable(entries::turn_started{operation_kind::turn, 6, false, false, "in-1"}),
      durable(entries::turn_started{operation_kind::compact, 0, true, false, ""}),
      live(events::context_built{stats(), true, true, 2}),
      live(events::context_built{unanchored, false, false, 0}),
      live(events::assistant_delta{"hé\n"}),
      live(events::reasoning_delta{"hm"}),
      durable(entries::assistant_message{assistant("héllo"), {}, 0, 0, 0, 1}),
      durable(entries::tool_requested{good}),
      durable(entries::tool_requested{bad}),
      live(events::tool_call_started{"c1", "read"}),
      live(events::tool_progress{"c1", "read", "half"}),
      durable(entries::tool_result{tool("c1", "body"), tool_status::completed, "", "", 30}),
      durable(entries::tool_result{tool("c1", "no"), tool_status::timed_out, "deadline", "tool",
                                   60'000}),
      live(
          events::compaction_started{compaction_reason::automatic, phase_detail::hard_limit, true}),
      live(events::compaction_started{compaction_reason::manual, phase_detail::none, false}),
      live(events::compaction_ended{"committed", 900, 200, 55}),
      live(events::compaction_ended{"cancelled", 900, std::nullopt, 5}),
      durable(entries::boundary{std::make_shared<const compaction_record>(record())}),
      durable(entries::input_delivered{user("wait", user_origin::steering, "in-1")}),
      durable(entries::input_delivered{user("and then", user_origin::follow_up, "in-2")}),
      live(events::turn_step_retry{1, "overloaded", 2'000, true, "come back later"}),
      live(events::token_stats_updated{{100, 5, std::nullopt, 0}, sampling_kind::compact}),
      durable(ended(entries::turn_outcome::completed)),
      durable(failed()),
      durable(cancelled()),
  };
}

} // namespace

TEST(session_updates, every_event_is_as_its_golden_line) {
  const auto golden = golden_lines("events.jsonl");
  const auto all = every_event();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const session_update update(std::make_shared<const session_event>(all[i]));
    const std::string frame = event_frame(static_cast<std::int64_t>(i) + 1, update.tail());
    EXPECT_EQ(frame, (i < golden.size() ? golden[i] : "") + "\n");
  }
  EXPECT_EQ(golden.size(), all.size());
}

TEST(session_updates, S36_every_alternative_is_told_and_only_durable_ones_carry_a_cursor) {
  std::set<std::size_t> live_kinds;
  for (const auto& event : every_event()) {
    const json body = event_body(event);
    ASSERT_TRUE(body.is_object());
    const bool is_durable = std::holds_alternative<entry_ptr>(event.body);
    EXPECT_EQ(body.contains("cursor"), is_durable) << body;
    if (!is_durable)
      live_kinds.insert(std::get<live_event_body>(event.body).index());
  }
  EXPECT_EQ(live_kinds.size(), std::variant_size_v<live_event_body>);
}

TEST(session_updates, S36_an_entry_is_told_if_and_only_if_it_is_a_durable_event) {
  const std::vector<entry_body> silent{entries::session_created{"m", ""},
                                       entries::user_message{user("hi")},
                                       entries::input_accepted{"i", input_mode::steering, "x"},
                                       entries::input_promoted{"i"},
                                       entries::input_taken_back{"i"},
                                       entries::attempt_started{},
                                       entries::usage_recorded{},
                                       entries::model_set{"m"},
                                       entries::window_learned{"m", 1}};
  for (const auto& body : silent) {
    EXPECT_FALSE(is_durable_event(body));
    EXPECT_TRUE(event_body(durable(body)).is_null()) << kind_of(body);
  }
  for (const auto& event : every_event()) {
    const auto* e = std::get_if<entry_ptr>(&event.body);
    EXPECT_TRUE(e == nullptr || is_durable_event((*e)->body)) << event_body(event);
  }
}

TEST(session_updates, S36_a_durable_event_depends_on_its_entry_alone) {
  auto event = durable(entries::tool_requested{{"c1", "read", "{}"}});
  const json as_sent = event_body(event);
  event.event_id = "other";
  event.time_ms = 1;
  event.turn_id = "other";
  EXPECT_EQ(event_body(event), as_sent);
  EXPECT_EQ(durable_event_body("s-1", *std::get<entry_ptr>(event.body)), as_sent);
}

TEST(session_updates, the_preview_of_arguments_is_cut_between_characters) {
  std::string text;
  for (int i = 0; i < 600; ++i)
    text += "漢";
  const json body = event_body(durable(entries::tool_requested{{"c1", "read", text}}));
  EXPECT_EQ(count_characters(body.at("args_preview").get<std::string>()), 500);
  EXPECT_TRUE(is_valid_utf8(body.at("args_preview").get<std::string>()));
  EXPECT_TRUE(body.at("arguments").is_null());
}

TEST(session_updates, arguments_that_are_no_object_or_nest_too_deep_are_null) {
  const std::string deep = R"({"a":)" + std::string(2'000'000, '[');
  for (const auto& text :
       {std::string(), std::string("[1]"), std::string("7"), std::string(R"({"a":1}x)"), deep})
    EXPECT_TRUE(
        event_body(durable(entries::tool_requested{{"c1", "t", text}})).at("arguments").is_null());
}

TEST(session_updates, a_frame_is_one_line_whatever_the_text) {
  const session_update update(std::make_shared<const session_event>(
      live(events::assistant_delta{"a\nb\r\x01\xE2\x80\xA8\"\\"})));
  const std::string frame = event_frame(1, update.tail());
  EXPECT_EQ(frame.find('\n'), frame.size() - 1);
  EXPECT_EQ(json::parse(frame).at("event").at("text"), "a\nb\r\x01\xE2\x80\xA8\"\\");
}

TEST(session_updates, delta_texts_can_be_exchanged_and_gaps_told) {
  const auto event = live(events::reasoning_delta{"hm"});
  ASSERT_NE(delta_text(event), nullptr);
  const json frame = json::parse(event_frame(4, delta_tail(with_delta_text(event, "hm, no"), 17)));
  EXPECT_EQ(frame.at("event").at("type"), "reasoning_delta");
  EXPECT_EQ(frame.at("event").at("text"), "hm, no");
  EXPECT_EQ(frame.at("event").at("dropped_chars"), 17);
  EXPECT_EQ(frame.at("event").at("event_id"), "e-live");
  EXPECT_EQ(delta_text(live(events::tool_progress{"c", "t", "x"})), nullptr);
}

TEST(message_item, shows_what_its_role_has) {
  message said;
  said.role = message_role::assistant;
  said.content = "ok";
  said.tool_calls = {{"c1", "read", R"({"a":1})"}};
  said.reasoning = reasoning_block{"hm", "[\"opaque\"]"};
  const auto item = [](entry_body body) {
    return message_item(*std::get<entry_ptr>(durable(std::move(body)).body));
  };
  const std::string place = R"("cursor":5,"ts":"2026-01-01T00:00:00.007Z")";
  EXPECT_EQ(*item(entries::user_message{user("hi")}),
            json::parse(R"({"role":"user","content":"hi",)" + place + "}"));
  EXPECT_EQ(*item(entries::assistant_message{share(said), {}, 0, 0, 0, 1}),
            json::parse(R"({"role":"assistant","content":"ok","reasoning":"hm",)"
                        R"("tool_calls":[{"id":"c1","name":"read","arguments":"{\"a\":1}"}],)" +
                        place + "}"));
  EXPECT_EQ(*item(entries::assistant_message{assistant("x"), {}, 0, 0, 0, 1}),
            json::parse(R"({"role":"assistant","content":"x","tool_calls":[],)" + place + "}"));
  EXPECT_EQ(
      *item(entries::tool_result{tool("c1", "b"), tool_status::completed, "", "", 1}),
      json::parse(
          R"({"role":"tool","content":"b","tool_call_id":"c1","name":"read","is_error":false,)" +
          place + "}"));
  EXPECT_FALSE(item(entries::model_set{"m"}));
}

} // namespace rind::protocol
