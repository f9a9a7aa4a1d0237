// One script, three formats: every field of an answer means the same in each, and each says it in
// its own words.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hosts/mock_provider/seal.hpp"
#include "tests/unit/provider/mock_kit.hpp"

namespace rind::hosts::mock_provider {
namespace {

using nlohmann::json;
using namespace test;
using strings = std::vector<std::string>;

/// Runs `check` for each format.
void in_each_format(const std::function<void(const client_format&)>& check) {
  for (const auto& format : client_formats()) {
    SCOPED_TRACE(format.name);
    check(format);
  }
}

std::string rule_of(const std::string& answer) {
  return "{\"answer\":" + answer + "}";
}

mock_reply stream_of(const client_format& format, const std::string& answer) {
  return reply_to(format, rule_of(answer), format.ask("q", true));
}

mock_reply whole_of(const client_format& format, const std::string& answer) {
  return reply_to(format, rule_of(answer), format.ask("q", false));
}

// -- what is said --------------------------------------------------------------------------------

constexpr const char* full_answer =
    R"({"deltas":["gr\u00fc","\u00dfe ","\u6f22\u5b57"],"reasoning":"let me see what there is",)"
    R"("tool_calls":[{"id":"c1","name":"read","arguments":{"path":"a/long/enough/path.txt"}},)"
    R"({"name":"now","arguments":""}]})";

TEST(mock_formats, a_stream_and_a_body_say_the_same_in_every_format) {
  in_each_format([](const client_format& format) {
    const auto stream = stream_of(format, full_answer);
    EXPECT_TRUE(stream.stream);
    EXPECT_EQ(stream.content_type, "text/event-stream");
    EXPECT_TRUE(format.hear(stream).ended);
    const auto whole = whole_of(format, full_answer);
    EXPECT_FALSE(whole.stream);
    EXPECT_EQ(whole.length_bytes, bytes_of(whole).size());
    for (const auto& got : {format.hear(stream), format.hear(whole)}) {
      EXPECT_EQ(got.text, "grüße 漢字");
      EXPECT_EQ(got.reasoning, "let me see what there is");
      ASSERT_EQ(got.calls.size(), 2u);
      EXPECT_EQ(got.calls[0].first, "read");
      EXPECT_EQ(json::parse(got.calls[0].second), json({{"path", "a/long/enough/path.txt"}}));
      EXPECT_EQ(got.calls[1], (std::pair<std::string, std::string>{"now", ""}));
      EXPECT_EQ(got.call_ids, (strings{"c1", "call_1_1"}));
      EXPECT_EQ(got.finish, format.finishes[1]);
      EXPECT_EQ(got.error, nullptr);
    }
    EXPECT_EQ(format.hear(stream).proof, format.hear(whole).proof);
  });
}

TEST(mock_formats, events_of_responses_and_messages_are_named_by_their_type) {
  for (const auto* format : {&responses_client(), &messages_client()}) {
    const auto bytes = bytes_of(stream_of(*format, full_answer));
    std::size_t events = 0;
    for (std::size_t at = 0; at < bytes.size(); ++events) {
      const auto line = bytes.find('\n', at);
      const auto end = bytes.find("\n\n", at);
      const auto type = bytes.substr(at + 7, line - at - 7);
      const auto data = bytes.substr(line + 7, end - line - 7);
      EXPECT_EQ(bytes.substr(at, 7), "event: ");
      ASSERT_EQ(bytes.substr(line, 7), "\ndata: ");
      EXPECT_EQ(json::parse(data)["type"], type);
      at = end + 2;
    }
    EXPECT_GT(events, 20u) << format->name;
  }
}

TEST(mock_formats, an_empty_answer_is_empty_in_every_format) {
  in_each_format([](const client_format& format) {
    for (const auto& reply : {stream_of(format, "{}"), whole_of(format, "{}")}) {
      const auto got = format.hear(reply);
      EXPECT_EQ(got.text + got.reasoning + got.proof, "");
      EXPECT_TRUE(got.calls.empty());
      EXPECT_EQ(got.finish, format.finishes[0]);
    }
  });
}

TEST(mock_formats, neutral_finish_words_are_translated_and_others_sent_as_they_are) {
  const strings neutral{"stop", "tool_calls", "length", "content_filter", "window_exceeded"};
  in_each_format([&](const client_format& format) {
    for (std::size_t i = 0; i < neutral.size(); ++i) {
      const auto answer = R"({"text":"a","finish":")" + neutral[i] + "\"}";
      EXPECT_EQ(format.hear(stream_of(format, answer)).finish, format.finishes[i]);
      EXPECT_EQ(format.hear(whole_of(format, answer)).finish, format.finishes[i]);
    }
    const auto odd = R"({"text":"a","finish":"error_finish"})";
    EXPECT_EQ(format.hear(stream_of(format, odd)).finish, "error_finish");
    EXPECT_EQ(format.hear(stream_of(format, R"({"text":"a","finish":null})")).finish, "");
  });
}

TEST(mock_formats, done_false_leaves_out_the_mark_of_the_end_where_there_is_one) {
  in_each_format([](const client_format& format) {
    const auto got = format.hear(stream_of(format, R"({"text":"a","done":false})"));
    EXPECT_EQ(got.finish, format.finishes[0]);
    EXPECT_EQ(got.ended, &format == &responses_client()); // it ends with its finish
  });
}

// -- usage ---------------------------------------------------------------------------------------

TEST(mock_formats, counted_usage_is_the_whole_prompt_of_which_half_is_cached) {
  in_each_format([](const client_format& format) {
    const auto body = format.ask(std::string(400, 'x'), true);
    const auto prompt = request_of(format, body).prompt_tokens;
    const auto got = format.hear(reply_to(format, rule_of(R"({"text":"12345"})"), body));
    EXPECT_GT(prompt, 100);
    EXPECT_EQ(format.count(got.usage), (counts{prompt, prompt / 2, 2}));
  });
}

TEST(mock_formats, no_part_of_a_messages_prompt_alone_is_its_size) {
  const auto usage =
      messages_client()
          .hear(stream_of(messages_client(), R"({"text":"a","usage":{"input":1000}})"))
          .usage;
  EXPECT_EQ(usage["input_tokens"], 250);
  EXPECT_EQ(usage["cache_creation_input_tokens"], 250);
  EXPECT_EQ(usage["cache_read_input_tokens"], 500);
}

TEST(mock_formats, neutral_counts_are_translated_and_any_other_object_is_sent_as_it_is) {
  in_each_format([](const client_format& format) {
    for (const bool stream : {true, false}) {
      const auto usage = [&](const std::string& value) {
        return format.hear(reply_to(format, rule_of("{\"text\":\"a\",\"usage\":" + value + "}"),
                                    format.ask("q", stream)));
      };
      EXPECT_EQ(format.count(usage(R"({"input":250000,"cached":10,"output":7})").usage),
                (counts{250000, 10, 7}));
      EXPECT_EQ(usage(R"({"prompt_tokens":7})").usage, json({{"prompt_tokens", 7}}));
      EXPECT_TRUE(usage("null").usage_seen);
      EXPECT_EQ(usage("null").usage, nullptr);
      EXPECT_FALSE(usage("\"none\"").usage_seen);
    }
  });
}

TEST(mock_formats, a_bad_neutral_count_is_refused_at_the_start) {
  const auto rules = parse_script(R"({"answer":{"usage":{"input":-1}}})");
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("usage.input must be from 0"), std::string::npos);
}

// -- faults --------------------------------------------------------------------------------------

TEST(mock_formats, a_chunk_is_the_same_step_of_the_answer_in_every_format) {
  struct row {
    int chunks;
    const char* reasoning;
    const char* text;
    std::size_t calls;
  };
  const std::vector<row> rows{{0, "", "", 0},
                              {1, "", "", 0},
                              {2, "0123456789012345", "", 0},
                              {3, "01234567890123456", "", 0},
                              {4, "01234567890123456", "a", 0},
                              {5, "01234567890123456", "ab", 0},
                              {6, "01234567890123456", "ab", 1},
                              {8, "01234567890123456", "ab", 2}};
  in_each_format([&](const client_format& format) {
    for (const auto& row : rows) {
      const auto reply = stream_of(
          format,
          R"({"deltas":["a","b"],"reasoning":"01234567890123456","tool_calls":[)"
          R"({"name":"f","arguments":{"a":1}},{"name":"g","arguments":""}],"cut_after_chunks":)" +
              std::to_string(row.chunks) + "}");
      EXPECT_EQ(reply.chunks.size(), static_cast<std::size_t>(row.chunks));
      EXPECT_EQ(reply.end, reply_end::close);
      const auto bytes = bytes_of(reply);
      // Responses names its calls only when they are whole.
      const auto got = format.hear(reply);
      EXPECT_EQ(got.reasoning, row.reasoning);
      EXPECT_EQ(got.text, row.text);
      if (&format != &responses_client())
        EXPECT_EQ(got.calls.size(), row.calls);
      else
        EXPECT_EQ(bytes.find("\"name\":\"g\"") != std::string::npos, row.calls == 2);
      EXPECT_FALSE(got.ended);
      EXPECT_EQ(got.finish, "");
    }
  });
}

TEST(mock_formats, cuts_hangs_and_delays_befall_every_format) {
  in_each_format([](const client_format& format) {
    const auto end = [&](const std::string& fields) {
      return stream_of(format, R"({"deltas":["a","b"],)" + fields + "}").end;
    };
    EXPECT_EQ(end(R"("cut_after_chunks":2)"), reply_end::close);
    EXPECT_EQ(end(R"("cut_after_chunks":2,"cut":"clean")"), reply_end::complete);
    EXPECT_EQ(end(R"("cut_after_chunks":2,"cut":"reset")"), reply_end::reset);
    EXPECT_EQ(end(R"("hang_after_chunks":2)"), reply_end::silence);
    EXPECT_TRUE(stream_of(format, R"({"hang":true})").silent);
    const auto slow = stream_of(format, R"({"deltas":["a","b"],"delay_ms":5,"delta_delay_ms":7})");
    EXPECT_EQ(slow.delay_ms, 5);
    EXPECT_EQ(slow.chunks[0].delay_ms, 0);
    EXPECT_EQ(slow.chunks[1].delay_ms, 7);
    const auto split =
        bytes_of(stream_of(format, R"({"deltas":["a","x漢y"],"cut_mid_character":true})"));
    EXPECT_EQ(split.substr(split.size() - 2), "x\xE6");
    const auto half = whole_of(format, R"({"text":"a","cut_after_chunks":1})");
    EXPECT_EQ(half.end, reply_end::close);
    EXPECT_EQ(bytes_of(half).size(), half.length_bytes / 2);
  });
}

TEST(mock_formats, floods_and_comments_have_no_end_in_any_format) {
  in_each_format([](const client_format& format) {
    const auto flood = stream_of(
        format, R"({"text":"a","reasoning":"r","tool_calls":[{"name":"f"}],"flood":true})");
    EXPECT_EQ(flood.end, reply_end::repeat);
    EXPECT_GT(flood.chunks.back().bytes.size(), 16u << 10);
    const auto got = format.hear(flood);
    EXPECT_EQ(got.text.substr(0, 3), "axx");
    EXPECT_TRUE(got.calls.empty());
    EXPECT_EQ(got.finish, "");
    const auto line = stream_of(format, R"({"flood":"line"})");
    EXPECT_EQ(line.end, reply_end::repeat);
    EXPECT_EQ(line.chunks.back().bytes.find('\n'), std::string::npos);
    const auto some =
        stream_of(format, R"({"text":"a","keepalive_comments":2,"keepalive_every_ms":3})");
    EXPECT_EQ(some.chunks[1].bytes, format.keep_alive);
    EXPECT_EQ(some.chunks[1].delay_ms, 3);
    EXPECT_EQ(format.hear(some).text, "a");
    const auto endless = stream_of(
        format,
        R"({"text":"a","keepalive_comments":true,"keepalive_every_ms":3,"hang_after_chunks":2})");
    EXPECT_EQ(endless.end, reply_end::repeat);
    EXPECT_EQ(endless.chunks.size(), 3u);
    EXPECT_EQ(endless.chunks.back().bytes, format.keep_alive);
  });
}

TEST(mock_formats, an_error_in_the_stream_takes_the_place_of_the_end) {
  in_each_format([](const client_format& format) {
    const auto fields = R"({"deltas":["a"],"stream_error":{"type":"odd_error","message":"no"}})";
    const auto got = format.hear(stream_of(format, fields));
    EXPECT_EQ(got.text, "a");
    EXPECT_EQ(got.error, json({{"type", "odd_error"}, {"message", "no"}}));
    EXPECT_EQ(got.finish, "");
    EXPECT_EQ(got.usage_seen, &format == &messages_client()); // its head tells the prompt
    EXPECT_EQ(format.hear(whole_of(format, fields)).error["message"], "no");
    const auto line = format.hear(stream_of(format, R"({"text":"a","error_field":{"code":500}})"));
    EXPECT_EQ(line.error_field, json({{"code", 500}}));
    EXPECT_EQ(line.finish, "");
  });
}

TEST(mock_formats, responses_tell_an_error_twice) {
  const auto bytes = bytes_of(stream_of(
      responses_client(), R"({"stream_error":{"type":"t","code":"slow_down","message":"no"}})"));
  const auto at = bytes.find("event: error\ndata: ");
  ASSERT_NE(at, std::string::npos);
  const auto data = bytes.substr(at + 19, bytes.find("\n\n", at) - at - 19);
  const auto event = json::parse(data);
  EXPECT_EQ(event["type"], "error");
  EXPECT_EQ(event["code"], "slow_down");
  EXPECT_EQ(event["message"], "no");
  EXPECT_NE(bytes.find("event: response.failed\n", at), std::string::npos);
}

TEST(mock_formats, a_status_alone_gets_the_words_of_the_format) {
  struct row {
    int status;
    const char* chat_type;
    const char* response_code;
    const char* message_type;
  };
  const std::vector<row> rows{
      {401, "invalid_request_error", "invalid_api_key", "authentication_error"},
      {429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"},
      {500, "server_error", "server_error", "api_error"},
      {529, "server_error", "server_is_overloaded", "overloaded_error"},
  };
  for (const auto& row : rows) {
    const auto status = std::to_string(row.status);
    in_each_format([&](const client_format& format) {
      const auto whole = stream_of(format, "{\"status\":" + status + "}");
      EXPECT_EQ(whole.status, row.status);
      const auto in_stream = stream_of(format, "{\"stream_error\":" + status + "}");
      EXPECT_EQ(in_stream.status, 200);
      for (const auto& error :
           {json::parse(bytes_of(whole))["error"], format.hear(in_stream).error}) {
        if (&format == &responses_client())
          EXPECT_EQ(error["code"], row.response_code);
        else
          EXPECT_EQ(error["type"], &format == &chat_client() ? row.chat_type : row.message_type);
      }
    });
  }
}

TEST(mock_formats, a_body_of_the_script_is_sent_as_it_is) {
  in_each_format([](const client_format& format) {
    const auto reply =
        stream_of(format, R"({"status":502,"body":"bad gateway","headers":{"retry-after":"3"}})");
    EXPECT_EQ(reply.status, 502);
    EXPECT_EQ(bytes_of(reply), "bad gateway");
    EXPECT_EQ(reply.headers, (header_list{{"retry-after", "3"}}));
    EXPECT_EQ(stream_of(format, R"({"html":true})").content_type, "text/html; charset=utf-8");
  });
}

// -- limits --------------------------------------------------------------------------------------

/// A request of more than 100 tokens with an output limit.
json large(const client_format& format, int output_limit, bool stream = true) {
  auto body = format.ask(std::string(400, 'x'), stream);
  body[format.output_limit] = output_limit;
  return body;
}

std::string overflow_words(const client_format& format, std::int64_t prompt, const char* limit) {
  if (&format == &chat_client())
    return std::string{"maximum context length is "} + limit +
           " tokens. However, your messages resulted in " + std::to_string(prompt) + " tokens.";
  if (&format == &responses_client())
    return "Your input exceeds the context window of this model.";
  return "prompt is too long: " + std::to_string(prompt) + " tokens > " + limit + " maximum";
}

TEST(mock_formats, a_prompt_over_the_limit_is_refused_in_the_words_of_the_format) {
  in_each_format([](const client_format& format) {
    const auto body = large(format, 20);
    const auto prompt = request_of(format, body).prompt_tokens;
    const auto refused = [&](const std::string& answer, const limits& defaults) {
      const auto reply = reply_to(format, rule_of(answer), body, defaults);
      return reply.status == 400 ? json::parse(bytes_of(reply))["error"] : json{};
    };
    for (const auto& error :
         {refused(R"({"reject_above_tokens":50})", {}), refused("{}", {{}, 50})}) {
      EXPECT_NE(error.value("message", "").find(overflow_words(format, prompt, "50")),
                std::string::npos)
          << error;
      if (&format != &messages_client()) {
        EXPECT_EQ(error["code"], "context_length_exceeded");
      }
    }
    EXPECT_EQ(refused(R"({"reject_above_tokens":5000})", {{}, 50}), nullptr);
    EXPECT_EQ(reply_to(format, rule_of(R"({"status":503,"window":5})"), body).status, 503);
  });
}

TEST(mock_formats, prompt_and_output_limit_together_must_fit_the_window) {
  in_each_format([](const client_format& format) {
    const auto window = rule_of(R"({"text":"a","window":500})");
    EXPECT_EQ(reply_to(format, window, large(format, 20)).status, 200);
    const auto reply = reply_to(format, window, large(format, 1000));
    ASSERT_EQ(reply.status, 400);
    EXPECT_EQ(reply_to(format, rule_of("{}"), large(format, 1000), {500, {}}).status, 400);
    const auto message = json::parse(bytes_of(reply))["error"]["message"].get<std::string>();
    const auto prompt = std::to_string(request_of(format, large(format, 1000)).prompt_tokens);
    const auto words =
        &format == &chat_client() ? prompt + " in the messages, 1000 in the completion"
        : &format == &messages_client()
            ? "input length and `max_tokens` exceed context limit: " + prompt + " + 1000 > 500"
            : std::string{"exceeds the context window"};
    EXPECT_NE(message.find(words), std::string::npos) << message;
  });
}

TEST(mock_formats, a_refusal_in_the_stream_is_its_error) {
  in_each_format([](const client_format& format) {
    const auto rule = rule_of(
        R"({"text":"never said","reasoning":"r","reject_above_tokens":50,"reject_in_stream":true})");
    const auto body = large(format, 20);
    const auto reply = reply_to(format, rule, body);
    EXPECT_EQ(reply.status, 200);
    const auto got = format.hear(reply);
    EXPECT_EQ(got.text + got.reasoning + got.finish, "");
    EXPECT_NE(got.error.value("message", "")
                  .find(overflow_words(format, request_of(format, body).prompt_tokens, "50")),
              std::string::npos)
        << got.error;
    EXPECT_EQ(reply_to(format, rule, large(format, 20, false)).status, 400);
    EXPECT_EQ(format.hear(reply_to(format, rule, format.ask("q", true))).text, "never said");
  });
}

TEST(mock_formats, a_silent_overflow_is_an_empty_stop_with_usage_above_the_window) {
  in_each_format([](const client_format& format) {
    const auto got = format.hear(stream_of(format, R"({"usage":{"input":9000,"output":0}})"));
    EXPECT_EQ(got.text, "");
    EXPECT_EQ(got.finish, format.finishes[0]);
    EXPECT_EQ(format.count(got.usage), (counts{9000, 4500, 0}));
  });
}

// -- reasoning that comes back -------------------------------------------------------------------

TEST(mock_formats, thinking_that_was_asked_for_is_there_even_if_empty) {
  auto body = messages_client().ask("q", true);
  body["max_tokens"] = 2000;
  body["thinking"] = {{"type", "enabled"}, {"budget_tokens", 1024}};
  const auto got =
      messages_client().hear(reply_to(messages_client(), rule_of(R"({"text":"a"})"), body));
  EXPECT_EQ(got.reasoning, "");
  EXPECT_NE(got.proof, "");
}

TEST(mock_formats, reasoning_is_sealed_only_where_the_client_includes_it) {
  auto body = responses_client().ask("q", true);
  const auto rule = rule_of(R"({"text":"a","reasoning":"r"})");
  EXPECT_NE(responses_client().hear(reply_to(responses_client(), rule, body)).proof, "");
  body.erase("include");
  EXPECT_EQ(responses_client().hear(reply_to(responses_client(), rule, body)).proof, "");
}

TEST(mock_formats, hidden_reasoning_is_only_sent_sealed) {
  const auto answer = R"({"text":"a","reasoning":"secret","reasoning_hidden":true})";
  in_each_format([&](const client_format& format) {
    for (const auto& reply : {stream_of(format, answer), whole_of(format, answer)}) {
      const auto got = format.hear(reply);
      EXPECT_EQ(got.reasoning, "");
      EXPECT_EQ(got.text, "a");
      EXPECT_EQ(unsealed(got.proof),
                &format == &chat_client() ? std::nullopt : std::optional<std::string>{"secret"});
    }
  });
}

// -- what a script can ask -----------------------------------------------------------------------

TEST(mock_formats, the_same_conversation_answers_the_same_conditions) {
  const std::vector<json> bodies{
      json::parse(R"({"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[
        {"role":"system","content":"s"},{"role":"user","content":"first"},
        {"role":"assistant","content":"a","tool_calls":[
          {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"needle"}]})"),
      json::parse(
          R"({"model":"m","tools":[{"type":"function","name":"f"}],"instructions":"s","input":[
        {"role":"user","content":[{"type":"input_text","text":"first"}]},
        {"role":"assistant","content":"a"},
        {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"needle"}]})"),
      json::parse(
          R"({"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],
        "system":"s","messages":[{"role":"user","content":"first"},
        {"role":"assistant","content":[{"type":"text","text":"a"},
          {"type":"tool_use","id":"c1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[
          {"type":"text","text":"needle"}]}]}]})"),
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(client_formats()[i].name);
    const auto request = request_of(client_formats()[i], bodies[i], "s1");
    EXPECT_EQ(request.conversation, "s1");
    EXPECT_EQ(request.model, "m");
    EXPECT_EQ(request.last_text, "needle");
    EXPECT_EQ(request.last_user_text, "first");
    EXPECT_EQ(request.first_user_text, "first");
    EXPECT_TRUE(request.last_is_tool_result);
    EXPECT_TRUE(request.has_tools);
    EXPECT_FALSE(request.stream);
    EXPECT_EQ(request.message_count, 3u);
    EXPECT_GT(request.prompt_tokens, 40);
  }
}

TEST(mock_formats, a_text_merged_behind_a_result_is_what_the_user_said_last) {
  const auto request = request_of(
      messages_client(),
      json::parse(
          R"({"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],
        "messages":[{"role":"user","content":"first"},
        {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"},
          {"type":"text","text":"and now"}]}]})"));
  EXPECT_EQ(request.last_text, "and now");
  EXPECT_EQ(request.last_user_text, "and now");
  EXPECT_FALSE(request.last_is_tool_result);
}

} // namespace
} // namespace rind::hosts::mock_provider
