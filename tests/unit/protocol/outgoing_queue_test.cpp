// The slow-client rule: what a queue keeps, drops and tells.
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "runtime/protocol/outgoing_queue.hpp"
#include "tests/unit/protocol/samples.hpp"

namespace rind::protocol {

namespace {

using nlohmann::json;

update_ptr update_of(session_event event) {
  return std::make_shared<const session_update>(
      std::make_shared<const session_event>(std::move(event)));
}

update_ptr delta(const std::string& text, const std::string& session = "s-1",
                 const std::string& turn = "t-1") {
  return update_of({session, turn, "e", 0, live_event_body(events::assistant_delta{text})});
}

update_ptr reasoning(const std::string& text) {
  return update_of(samples::live(events::reasoning_delta{text}));
}

update_ptr progress(const std::string& text) {
  return update_of(samples::live(events::tool_progress{"c1", "read", text}));
}

update_ptr completed(const std::string& text) {
  return update_of(
      samples::durable(entries::assistant_message{samples::assistant(text), {}, 0, 0, 0, 1}));
}

update_ptr tool_requested() {
  return update_of(samples::durable(entries::tool_requested{{"c1", "read", "{}"}}));
}

update_ptr retry(bool discard_partial) {
  return update_of(samples::live(events::turn_step_retry{1, "overloaded", 1, discard_partial}));
}

response_text pong(const std::string& covers = "") {
  response_text out = result_frame(1, {{"ok", true}});
  out.covers_session = covers;
  return out;
}

/// All frames that are left, in short: `type:text` with `-n` for dropped characters, `response` for
/// a response. Checks the sequence.
std::vector<std::string> drain(outgoing_queue& queue) {
  std::vector<std::string> out;
  while (const auto text = queue.pop()) {
    EXPECT_EQ(text->find('\n'), text->size() - 1);
    const json frame = json::parse(*text);
    if (frame.at("kind") == "response") {
      out.emplace_back("response");
      continue;
    }
    EXPECT_EQ(frame.at("sequence"), queue.last_sequence());
    const json& event = frame.at("event");
    std::string shown = event.at("type");
    if (event.contains("text"))
      shown += ":" + event.at("text").get<std::string>();
    if (event.contains("dropped_chars"))
      shown += "-" + std::to_string(event.at("dropped_chars").get<int>());
    out.push_back(shown);
  }
  EXPECT_EQ(queue.unsent_frames(), 0U);
  EXPECT_EQ(queue.unsent_bytes(), 0U);
  EXPECT_EQ(queue.response_bytes(), 0U);
  return out;
}

using frames = std::vector<std::string>;

constexpr std::size_t roomy_bytes = 1'000'000;

} // namespace

TEST(outgoing_queue, S38_within_the_limits_every_frame_leaves_as_it_came) {
  outgoing_queue queue({roomy_bytes, 5});
  for (const auto* text : {"a", "b", "c"})
    EXPECT_TRUE(queue.push(delta(text)));
  queue.push(pong());
  EXPECT_TRUE(queue.push(completed("abc")));
  EXPECT_TRUE(queue.push(retry(false)));
  EXPECT_EQ(drain(queue), (frames{"assistant_delta:a", "assistant_delta:b", "assistant_delta:c",
                                  "response", "assistant_message_completed", "turn_step_retry"}));
  EXPECT_EQ(queue.last_sequence(), 5);
}

TEST(outgoing_queue, S38_past_the_frames_neighbouring_deltas_of_one_stream_are_merged) {
  outgoing_queue queue({roomy_bytes, 5});
  for (const auto& update :
       {delta("a"), delta("b"), reasoning("r"), delta("c"), delta("d"), delta("e")})
    EXPECT_TRUE(queue.push(update));
  EXPECT_EQ(drain(queue),
            (frames{"assistant_delta:ab", "reasoning_delta:r", "assistant_delta:cde"}));
  EXPECT_EQ(queue.last_sequence(), 3) << "numbers are given when a frame leaves";
}

TEST(outgoing_queue, S38_merging_never_crosses_another_frame_session_or_turn) {
  outgoing_queue queue({roomy_bytes, 6});
  EXPECT_TRUE(queue.push(delta("a")));
  queue.push(pong());
  for (const auto& update : {delta("b"), tool_requested(), delta("c"), delta("d", "s-2"),
                             delta("e", "s-1", "t-2"), delta("f", "s-1", "t-2")})
    EXPECT_TRUE(queue.push(update));
  EXPECT_EQ(drain(queue),
            (frames{"assistant_delta:a", "response", "assistant_delta:b", "tool_requested",
                    "assistant_delta:c", "assistant_delta:d", "assistant_delta:ef"}));
}

TEST(outgoing_queue, S38_the_next_delta_tells_how_many_characters_were_dropped) {
  outgoing_queue queue({roomy_bytes, 3});
  for (const auto& update :
       {delta("hé"), tool_requested(), delta("漢!"), tool_requested(), delta("z")})
    EXPECT_TRUE(queue.push(update));
  EXPECT_EQ(drain(queue), (frames{"tool_requested", "tool_requested", "assistant_delta:z-4"}));
}

TEST(outgoing_queue, S38_a_gap_at_the_end_of_the_queue_is_told_by_the_next_delta_that_comes) {
  outgoing_queue queue({roomy_bytes, 2});
  for (const auto& update : {tool_requested(), tool_requested(), delta("ab"), delta("c")})
    EXPECT_TRUE(queue.push(update));
  EXPECT_TRUE(queue.pop());
  EXPECT_TRUE(queue.push(reasoning("r"))) << "another stream tells nothing of it";
  EXPECT_TRUE(queue.pop());
  EXPECT_TRUE(queue.push(delta("d")));
  EXPECT_EQ(drain(queue), (frames{"reasoning_delta:r", "assistant_delta:d-3"}));
  EXPECT_TRUE(queue.push(delta("e")));
  EXPECT_EQ(drain(queue), (frames{"assistant_delta:e"})) << "a gap is told once";
}

TEST(outgoing_queue, S38_a_gap_is_forgotten_once_its_text_is_moot) {
  struct row {
    const char* name;
    update_ptr update;
    bool forgotten;
  };
  const auto terminal = update_of(samples::durable(entries::turn_ended{}));
  for (const auto& [name, update, forgotten] :
       std::vector<row>{{"completed", completed("abc"), true},
                        {"terminal", terminal, true},
                        {"discarded", retry(true), true},
                        {"retry", retry(false), false},
                        {"tool", tool_requested(), false}}) {
    outgoing_queue queue({roomy_bytes, 1});
    EXPECT_TRUE(queue.push(tool_requested()));
    EXPECT_TRUE(queue.push(delta("abc")));
    EXPECT_TRUE(queue.pop());
    EXPECT_TRUE(queue.push(update));
    EXPECT_TRUE(queue.pop());
    EXPECT_TRUE(queue.push(delta("d")));
    EXPECT_EQ(drain(queue), (frames{forgotten ? "assistant_delta:d" : "assistant_delta:d-3"}))
        << name;
  }
}

TEST(outgoing_queue, S37_a_replay_that_covers_the_session_leaves_no_gap_behind) {
  outgoing_queue queue({roomy_bytes, 1});
  EXPECT_TRUE(queue.push(delta("abc")));
  queue.push(pong("s-1"));
  EXPECT_TRUE(queue.push(tool_requested()));
  EXPECT_TRUE(queue.push(delta("d")))
      << "both deltas are dropped, the second one behind the replay";
  EXPECT_EQ(drain(queue), (frames{"response", "tool_requested"}));
  EXPECT_TRUE(queue.push(delta("e")));
  EXPECT_EQ(drain(queue), (frames{"assistant_delta:e-1"}));

  EXPECT_TRUE(queue.push(tool_requested()));
  EXPECT_TRUE(queue.push(delta("abc")));
  queue.push(pong("s-1"));
  EXPECT_TRUE(queue.pop());
  EXPECT_TRUE(queue.push(delta("f")));
  EXPECT_EQ(drain(queue), (frames{"response", "assistant_delta:f"}));
}

TEST(outgoing_queue, S37_a_numbered_response_tells_the_last_sequence_before_it) {
  outgoing_queue queue({roomy_bytes, 10});
  EXPECT_TRUE(queue.push(delta("a")));
  EXPECT_TRUE(queue.push(tool_requested()));
  queue.push(response_text{"<", ">\n", true, "s-1"});
  EXPECT_TRUE(queue.push(delta("b")));
  queue.pop();
  queue.pop();
  EXPECT_EQ(queue.pop(), "<2>\n");
}

TEST(outgoing_queue, S38_tool_progress_goes_after_the_deltas_and_the_rest_is_never_dropped) {
  outgoing_queue queue({roomy_bytes, 3});
  for (const auto& update :
       {progress("half"), delta("a"), tool_requested(), retry(false), completed("x")})
    EXPECT_TRUE(queue.push(update));
  EXPECT_EQ(drain(queue),
            (frames{"tool_requested", "turn_step_retry", "assistant_message_completed"}));
}

TEST(outgoing_queue, S38_past_the_limit_without_deltas_the_client_is_too_slow) {
  const std::vector<update_ptr> kept{tool_requested(),
                                     retry(true),
                                     update_of(samples::live(events::context_built{})),
                                     update_of(samples::live(events::token_stats_updated{})),
                                     update_of(samples::live(events::compaction_started{})),
                                     update_of(samples::live(events::tool_call_started{"c", "t"}))};
  for (const auto& update : kept) {
    outgoing_queue queue({roomy_bytes, 2});
    EXPECT_TRUE(queue.push(update));
    EXPECT_TRUE(queue.push(update));
    EXPECT_FALSE(queue.push(update));
    EXPECT_TRUE(queue.is_too_slow());
    EXPECT_FALSE(queue.push(update)) << "for good";
  }
}

TEST(outgoing_queue, S38_bytes_are_bounded_too) {
  outgoing_queue queue({3'000, 1'000});
  EXPECT_TRUE(queue.push(completed(std::string(2'000, 'x'))));
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(queue.push(delta("0123456789")));
  EXPECT_LE(queue.unsent_bytes(), 3'000U);
  EXPECT_FALSE(queue.push(completed(std::string(2'000, 'x'))));
}

TEST(outgoing_queue, S38_responses_and_one_oversized_frame_do_not_count) {
  outgoing_queue queue({2'000, 3});
  for (int i = 0; i < 50; ++i)
    queue.push(pong());
  EXPECT_EQ(queue.unsent_frames(), 0U);
  EXPECT_GT(queue.response_bytes(), 0U);
  EXPECT_TRUE(queue.push(completed(std::string(9'000, 'x'))));
  EXPECT_TRUE(queue.push(tool_requested()));
  EXPECT_EQ(queue.unsent_frames(), 1U);
  EXPECT_FALSE(queue.push(completed(std::string(9'000, 'y')))) << "the second one counts";
}

TEST(outgoing_queue, S38_an_oversized_frame_that_left_makes_room_for_another) {
  outgoing_queue queue({2'000, 3});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(queue.push(completed(std::string(9'000, 'x'))));
    EXPECT_TRUE(queue.pop());
  }
}

/// Whatever is pushed and popped: sequences without gaps, order kept, kept events complete, and of
/// each stream the characters that arrive and those told as dropped make up all that was sent
/// before the last delta that arrived.
RC_GTEST_PROP(outgoing_queue, S38_nothing_is_lost_untold, ()) {
  outgoing_queue queue({2'500, *rc::gen::inRange<std::size_t>(1, 8)});
  std::int64_t sent_characters = 0;
  std::int64_t told_characters = 0;
  std::vector<std::int64_t> sent_kept;
  std::vector<std::int64_t> got_kept;
  std::map<std::int64_t, std::int64_t>
      sent_until; // id of a delta -> characters sent up to and with it
  std::int64_t sequence = 0;
  std::int64_t next_id = 0;
  bool alive = true;
  const auto take = [&](const std::string& text) {
    const json frame = json::parse(text);
    RC_ASSERT(frame.at("sequence") == ++sequence);
    const json& event = frame.at("event");
    if (event.at("type") == "tool_requested") {
      got_kept.push_back(event.at("cursor"));
      return;
    }
    told_characters +=
        count_characters(event.at("text").get<std::string>()) + event.value("dropped_chars", 0);
    const auto last_id = std::stoll(event.at("text").get<std::string>().substr(
        event.at("text").get<std::string>().rfind('#') + 1));
    RC_ASSERT(told_characters == sent_until.at(last_id));
  };
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
  for (const int step : steps) {
    if (step <= 2 && alive) {
      const std::string text =
          std::string(static_cast<std::size_t>(step) * 3, 'x') + "é#" + std::to_string(++next_id);
      sent_characters += count_characters(text);
      sent_until[next_id] = sent_characters;
      alive = queue.push(delta(text));
    } else if (step == 3 && alive) {
      sent_kept.push_back(++next_id);
      alive = queue.push(
          update_of(samples::durable(entries::tool_requested{{"c", "t", "{}"}}, next_id)));
    } else if (const auto text = queue.pop()) {
      take(*text);
    }
    RC_ASSERT(!alive || (queue.unsent_bytes() <= 2'500U));
  }
  while (const auto text = queue.pop())
    take(*text);
  RC_ASSERT(got_kept == sent_kept);
}

} // namespace rind::protocol
