// Events and what a person reads of them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/chat/transcript_renderer.hpp"

namespace rind::hosts::chat {
namespace {

using nlohmann::json;

/// The transcript as lines, each with the first letter of its style; an unfinished line ends in
/// `_`.
class reader {
public:
  explicit reader(transcript_detail detail = transcript_detail::everything) : transcript(detail) {}

  reader& take(json event) {
    transcript.take_event({{"kind", "event"}, {"event", std::move(event)}});
    return *this;
  }
  std::vector<std::string> lines() {
    static constexpr const char* letters = "auqnwe";
    std::vector<std::string> all;
    bool open = false;
    for (const auto& one : transcript.take_pieces()) {
      if (!open)
        all.push_back(std::string(1, letters[static_cast<int>(one.style)]) + " ");
      all.back() += one.text;
      open = !one.ends_line;
    }
    if (open)
      all.back() += "_";
    return all;
  }
  transcript_renderer transcript;
};

using lines = std::vector<std::string>;

json built(double percent, std::int64_t window, int generation) {
  return {{"type", "context_built"},
          {"stats",
           {{"context_usage_percent", percent},
            {"context_window_tokens", window},
            {"compact_generation", generation}}},
          {"decisions", {{"rescued_messages", 0}}}};
}

TEST(transcript_renderer, numbers) {
  EXPECT_EQ(short_count(900), "900");
  EXPECT_EQ(short_count(8'192), "8.2k");
  EXPECT_EQ(short_count(32'000), "32k");
  EXPECT_EQ(short_count(1'000'000), "1M");
  EXPECT_EQ(short_count(1'500'000), "1.5M");
}

TEST(transcript_renderer, the_gauge) {
  EXPECT_EQ(context_gauge(41, 32'000, 2), "[###.....] 41 % of 32k, generation 2");
  EXPECT_EQ(context_gauge(0, 32'000, 0), "[........] 0 % of 32k, generation 0");
  EXPECT_EQ(context_gauge(130, 32'000, 0), "[########] 130 % of 32k, generation 0");
  EXPECT_EQ(context_gauge(41, 0, 0), "");
}

TEST(transcript_renderer, streams_an_answer_and_does_not_say_it_twice) {
  reader r;
  r.take({{"type", "turn_started"}, {"operation", "turn"}});
  EXPECT_TRUE(r.transcript.is_turn_running());
  r.take({{"type", "assistant_delta"}, {"text", "Hello, "}})
      .take({{"type", "assistant_delta"}, {"text", "you\nand"}});
  EXPECT_EQ(r.lines(), lines({"a Hello, you", "a and_"}));
  r.take({{"type", "assistant_message_completed"}, {"content", "Hello, you\nand me"}});
  r.take({{"type", "turn_completed"}, {"undelivered", json::array()}});
  EXPECT_EQ(r.lines(), lines({"a  me"}));
  EXPECT_FALSE(r.transcript.is_turn_running());
  EXPECT_FALSE(r.transcript.has_failed());
}

TEST(transcript_renderer, S38_after_dropped_deltas_the_whole_answer_is_shown) {
  reader r;
  r.take({{"type", "assistant_delta"}, {"text", "one"}});
  r.take({{"type", "assistant_delta"}, {"text", " four"}, {"dropped_chars", 1'010}});
  r.take({{"type", "assistant_message_completed"}, {"content", "one two three four"}});
  const auto all = r.lines();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1], "q (1,010 characters were not shown in time; the whole answer follows)");
  EXPECT_EQ(all[3], "a one two three four");
}

TEST(transcript_renderer, S31a_a_discarded_partial_answer_is_named_and_does_not_count_as_shown) {
  reader r;
  r.take({{"type", "assistant_delta"}, {"text", "wrong"}});
  r.take({{"type", "turn_step_retry"},
          {"attempt", 1},
          {"reason", "stream_interrupted"},
          {"delay_ms", 1'500},
          {"discard_partial", true}});
  r.take({{"type", "assistant_message_completed"}, {"content", "right"}});
  EXPECT_EQ(r.lines(), lines({"a wrong",
                              "w trying again in 1.5 s: stream_interrupted (the answer above was "
                              "cut off and starts anew)",
                              "a right"}));
}

TEST(transcript_renderer, S31a_a_retry_says_why_in_the_words_of_the_provider) {
  reader r;
  r.take({{"type", "turn_step_retry"},
          {"attempt", 1},
          {"reason", "server_error"},
          {"delay_ms", 0},
          {"detail", "connection refused"}});
  EXPECT_EQ(r.lines(), lines({"w trying again: server_error: connection refused"}));
}

TEST(transcript_renderer, a_compaction_is_a_notice_and_moves_the_gauge) {
  reader r;
  r.take(built(96.9, 32'000, 1));
  EXPECT_EQ(r.transcript.status().substr(0, 36), "[########] 97 % of 32k, generation 1");
  r.take({{"type", "compaction_started"}, {"reason", "auto"}, {"waiting", false}});
  EXPECT_NE(r.transcript.status().find("compacting the context"), std::string::npos);
  r.take({{"type", "compaction_ended"}, {"outcome", "committed"}});
  r.take({{"type", "context_compacted"},
          {"record",
           {{"strategy", "llm_inline"},
            {"tokens_before", 31'020},
            {"tokens_after", 6'204},
            {"generation", 2}}}});
  EXPECT_EQ(r.lines(), lines({"n context compacted: 31,020 -> 6,204 tokens"}));
  EXPECT_EQ(r.transcript.status().substr(0, 36), "[##......] 19 % of 32k, generation 2");
}

TEST(transcript_renderer, recovery_is_told_in_words) {
  reader r;
  r.take({{"type", "compaction_started"}, {"reason", "context_length_error"}});
  r.take({{"type", "compaction_ended"}, {"outcome", "no_gain"}});
  r.take({{"type", "context_compacted"},
          {"record",
           {{"strategy", "context_rescue"}, {"tokens_before", 900}, {"tokens_after", 700}}}});
  r.take({{"type", "context_compacted"},
          {"record",
           {{"strategy", "deterministic_fallback"},
            {"tokens_before", 9'000},
            {"tokens_after", 700},
            {"fallback_error", {{"message", "timed out"}}}}}});
  EXPECT_EQ(
      r.lines(),
      lines({"n the model refused the length of the context: compacting it",
             "w the context was not compacted: no_gain", "n context rescued: 900 -> 700 tokens",
             "n context compacted: 9,000 -> 700 tokens (without a model: timed out)"}));
}

TEST(transcript_renderer, usage_moves_the_gauge_and_a_summary_does_not) {
  reader r;
  r.take(built(10, 1'000, 0));
  r.take(
      {{"type", "token_stats_updated"},
       {"stats", {{"input_tokens", 400}, {"output_tokens", 100}, {"sampling_kind", "assistant"}}}});
  EXPECT_EQ(r.transcript.status().substr(0, 15), "[####....] 50 %");
  r.take(
      {{"type", "token_stats_updated"},
       {"stats", {{"input_tokens", 900}, {"output_tokens", 100}, {"sampling_kind", "compact"}}}});
  r.take({{"type", "token_stats_updated"},
          {"stats", {{"input_tokens", nullptr}, {"sampling_kind", "assistant"}}}});
  EXPECT_EQ(r.transcript.status().substr(0, 15), "[####....] 50 %");
}

TEST(transcript_renderer, tools_are_short) {
  reader r;
  r.take({{"type", "tool_requested"},
          {"tool_name", "read_file"},
          {"args_preview", "{\"path\":\"a\"}"}});
  r.take({{"type", "tool_result"},
          {"tool_name", "read_file"},
          {"status", "completed"},
          {"result", "line one\nline two"},
          {"duration_ms", 12}});
  r.take({{"type", "tool_result"},
          {"tool_name", "run"},
          {"status", "timed_out"},
          {"result", ""},
          {"duration_ms", 30'000}});
  EXPECT_EQ(r.lines(), lines({"q * read_file {\"path\":\"a\"}",
                              "q   completed in 12 ms: line one …", "w   timed_out in 30.0 s"}));
}

TEST(transcript_renderer, ends_that_are_not_normal_are_told_with_what_was_not_delivered) {
  reader r;
  r.take({{"type", "assistant_delta"}, {"text", "half"}});
  r.take({{"type", "turn_failed"},
          {"error", "no quota left"},
          {"code", "quota"},
          {"undelivered", {{{"input", "and then"}}}}});
  r.take({{"type", "turn_cancelled"}, {"reason", "shutdown"}});
  EXPECT_EQ(r.lines(), lines({"a half", "e the turn failed: no quota left (quota)",
                              "w not delivered: and then", "n cancelled (shutdown)"}));
  EXPECT_TRUE(r.transcript.has_failed());
}

TEST(transcript_renderer, a_model_cannot_speak_to_the_terminal) {
  reader r;
  r.take({{"type", "assistant_message_completed"}, {"content", "\x1B]0;owned\x07"}});
  EXPECT_EQ(r.lines(), lines({"a ^[]0;owned^G"}));
}

TEST(transcript_renderer, a_pipe_gets_the_answers_word_for_word_and_errors) {
  reader r(transcript_detail::answers_only);
  r.take({{"type", "assistant_delta"}, {"text", "par"}});
  r.take(built(10, 1'000, 0));
  r.take({{"type", "assistant_message_completed"}, {"content", ""}});
  r.take({{"type", "tool_requested"}, {"tool_name", "x"}});
  r.take({{"type", "assistant_message_completed"}, {"content", "tab\there\nend"}});
  r.take({{"type", "turn_failed"}, {"error", "bad"}, {"code", "auth"}});
  EXPECT_EQ(r.lines(), lines({"a tab\there\nend", "e the turn failed: bad (auth)"}));
}

TEST(transcript_renderer, frames_of_any_shape_do_no_harm) {
  const char* types[] = {"turn_started",
                         "context_built",
                         "assistant_delta",
                         "reasoning_delta",
                         "assistant_message_completed",
                         "tool_requested",
                         "tool_call_started",
                         "tool_progress",
                         "tool_result",
                         "compaction_started",
                         "compaction_ended",
                         "context_compacted",
                         "queued_input_delivered",
                         "turn_step_retry",
                         "token_stats_updated",
                         "turn_completed",
                         "turn_failed",
                         "turn_cancelled",
                         "of_the_future"};
  const json values[] = {nullptr, 1, -1e300, "x", json::array({1}), json::object({{"stats", 3}})};
  reader r;
  r.transcript.take_event(json::array());
  for (const char* type : types)
    for (const auto& value : values) {
      json event = {{"type", type}};
      for (const char* field : {"stats", "text", "content", "record", "undelivered", "decisions",
                                "duration_ms", "operation", "dropped_chars"})
        event[field] = value;
      r.take(event);
    }
  for (const auto& line : r.lines())
    EXPECT_EQ(line.find('\n'), std::string::npos);
}

} // namespace
} // namespace rind::hosts::chat
