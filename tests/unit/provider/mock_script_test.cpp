// The mock provider's script: reading, matching, and the bytes of its replies, without a socket.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/mock_provider/echo.hpp"
#include "hosts/mock_provider/script.hpp"
#include "runtime/provider/sse_parser.hpp"
#include "tests/unit/provider/mock_kit.hpp"

namespace rind::hosts::mock_provider {
namespace {

using nlohmann::json;
using namespace test;

const client_format& chat = chat_client();

json body_of(const std::string& text) {
  return chat.ask(text, true);
}

/// The request after a tool has answered.
json body_with_result(const std::string& text, const std::string& result) {
  auto body = body_of(text);
  body["messages"].push_back(
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls", json::array({{{"id", "c"},
                                    {"type", "function"},
                                    {"function", {{"name", "f"}, {"arguments", "{}"}}}}})}});
  body["messages"].push_back({{"role", "tool"}, {"tool_call_id", "c"}, {"content", result}});
  return body;
}

mock_request request_of(const json& body, std::string conversation = "") {
  return test::request_of(chat, body, conversation);
}

mock_reply reply_to(const std::string& rules, const json& body, const limits& defaults = {}) {
  return test::reply_to(chat, rules, body, defaults);
}

std::vector<provider::sse_event> events_of(const mock_reply& reply) {
  provider::sse_parser parser;
  return parser.feed(bytes_of(reply)).events;
}

heard assemble(const mock_reply& reply) {
  return chat.hear(reply);
}

// -- reading -------------------------------------------------------------------------------------

TEST(mock_script, skips_empty_lines_and_comments_and_keeps_line_numbers) {
  const auto rules = rules_of("# a comment\n\n{\"answer\":{\"text\":\"a\"}}\r\n  \n"
                              "{\"times\":0,\"answer\":{\"text\":\"b\"}}");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].line, 3u);
  EXPECT_EQ(rules[0].times, 1);
  EXPECT_EQ(rules[1].line, 5u);
  EXPECT_EQ(rules[1].times, 0);
}

TEST(mock_script, a_bad_line_is_refused_with_its_number_and_field) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", "line 1: not JSON"},
      {"[]", "rule must be an object"},
      {"{}", "rule.answer is missing"},
      {"{\"answer\":{},\"tmies\":1}", "rule.tmies is not a known field"},
      {"{\"answer\":{},\"times\":-1}", "rule.times must be from 0"},
      {"{\"answer\":{},\"times\":18446744073709551615}", "rule.times must be from 0"},
      {"{\"answer\":{},\"conversation\":5}", "rule.conversation must be a string"},
      {"{\"answer\":{},\"match\":{\"nth\":0}}", "match.nth must be from 1"},
      {"{\"answer\":{},\"match\":{\"has_tools\":\"yes\"}}",
       "match.has_tools must be true or false"},
      {"{\"answer\":{},\"match\":[]}", "match must be an object"},
      {"{\"answer\":{\"txt\":\"\"}}", "answer.txt is not a known field"},
      {"{\"answer\":{\"text\":\"a\",\"deltas\":[]}}", "answer.deltas cannot stand beside text"},
      {"{\"answer\":{\"deltas\":[1]}}", "answer.deltas must be an array of strings"},
      {"{\"answer\":{\"chunk_chars\":0}}", "answer.chunk_chars must be from 1"},
      {"{\"answer\":{\"tool_calls\":[{\"arguments\":{}}]}}", "tool_calls[].name is missing"},
      {"{\"answer\":{\"tool_calls\":[{\"name\":\"a\",\"x\":1}]}}", "tool_calls[].x is not a known"},
      {"{\"answer\":{\"usage\":5}}", "answer.usage must be"},
      {"{\"answer\":{\"status\":99}}", "answer.status must be from 200"},
      {"{\"answer\":{\"status\":600}}", "answer.status must be at most 599"},
      {"{\"answer\":{\"headers\":{\"a\":1}}}", "answer.headers must be an object of strings"},
      {"{\"answer\":{\"html\":true,\"body\":\"\"}}", "answer.html cannot stand beside body"},
      {"{\"answer\":{\"flood\":\"loud\"}}", "answer.flood must be one of: events, line"},
      {"{\"answer\":{\"cut\":\"up\"}}", "answer.cut must be one of: close, reset, clean"},
      {"{\"answer\":{\"keepalive_comments\":true}}", "answer.keepalive_every_ms must be above 0"},
      {"{\"answer\":{\"delay_ms\":1.5}}", "answer.delay_ms must be a whole number"},
  };
  for (const auto& [line, reason] : cases) {
    SCOPED_TRACE(line);
    const auto rules = parse_script(line);
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().code, error_code::invalid_request);
    EXPECT_NE(rules.error().message.find(reason), std::string::npos) << rules.error().message;
  }
  const auto second = parse_script("{\"answer\":{}}\n{");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("line 2"), std::string::npos);
}

TEST(mock_script, text_is_split_between_characters) {
  EXPECT_EQ(split_text("a\xC3\xA4\xF0\x9F\x98\x80z", 2),
            (std::vector<std::string>{"a\xC3\xA4", "\xF0\x9F\x98\x80z"}));
  EXPECT_TRUE(split_text("", 3).empty());
  EXPECT_EQ(split_text("abc", 3), std::vector<std::string>{"abc"});
}

// -- matching ------------------------------------------------------------------------------------

std::vector<std::size_t> lines_picked(script_player& player,
                                      const std::vector<mock_request>& requests) {
  std::vector<std::size_t> lines;
  for (const auto& request : requests)
    lines.push_back(player.pick(request).line);
  return lines;
}

TEST(mock_script, the_first_rule_that_matches_and_is_left_answers) {
  script_player player{rules_of("{\"times\":2,\"answer\":{}}\n"
                                "{\"match\":{\"contains\":\"x\"},\"times\":0,\"answer\":{}}\n"
                                "{\"answer\":{}}")};
  const auto a = request_of(body_of("a"));
  const auto x = request_of(body_of("axa"));
  EXPECT_EQ(lines_picked(player, {x, a, x, a, a, x}), (std::vector<std::size_t>{1, 1, 2, 3, 0, 2}));
}

TEST(mock_script, each_condition_is_asked) {
  auto tooled = body_of("12345");
  tooled["tools"] = json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  const auto result_last = body_with_result("u", "needle");
  const auto plain = request_of(body_of("12345"));
  const std::vector<std::tuple<std::string, mock_request, mock_request>> cases{
      {"{\"model\":\"m\"}", plain,
       request_of({{"model", "other"}, {"messages", body_of("q")["messages"]}})},
      {"{\"contains\":\"34\"}", plain, request_of(body_of("3.4"))},
      {"{\"contains\":\"needle\"}", request_of(result_last), plain},
      {"{\"has_tools\":true}", request_of(tooled), plain},
      {"{\"has_tools\":false}", plain, request_of(tooled)},
      {"{\"has_tool_result\":true}", request_of(result_last), plain},
      {"{\"min_chars\":5}", plain, request_of(body_of("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"))},
      {"{\"min_tokens\":100}", request_of(body_of(std::string(400, 'x'))), plain},
      {"{\"max_tokens\":100}", plain, request_of(body_of(std::string(400, 'x')))},
  };
  for (const auto& [match, right, wrong] : cases) {
    SCOPED_TRACE(match);
    script_player player{rules_of("{\"times\":0,\"match\":" + match + ",\"answer\":{}}")};
    EXPECT_EQ(player.pick(right).line, 1u);
    EXPECT_EQ(player.pick(wrong).line, 0u);
  }
}

TEST(mock_script, conversations_are_scripted_and_counted_apart) {
  script_player player{rules_of("{\"conversation\":\"a\",\"match\":{\"nth\":2},\"answer\":{}}\n"
                                "{\"conversation\":\"b\",\"times\":0,\"answer\":{}}")};
  const auto body = body_of("t");
  const auto a = request_of(body, "a");
  const auto b = request_of(body, "b");
  EXPECT_EQ(lines_picked(player, {a, b, request_of(body), b, a, a}),
            (std::vector<std::size_t>{0, 2, 0, 2, 1, 0}));
}

// -- requests ------------------------------------------------------------------------------------

TEST(mock_script, odd_but_harmless_fields_are_taken) {
  auto body = body_of("a");
  body["stream"] = "yes";
  body["stream_options"] = 5;
  body["tools"] = json::array();
  body["unheard_of"] = true;
  const auto request = request_of(body);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.include_usage);
  EXPECT_FALSE(request.has_tools);
}

TEST(mock_script, tokens_are_a_quarter_of_the_bytes_of_messages_and_tools) {
  auto body = body_of("hello");
  const auto messages = static_cast<std::int64_t>(body["messages"].dump().size());
  EXPECT_EQ(request_of(body).prompt_tokens, (messages + 3) / 4);
  body["tools"] = json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  const auto tools = static_cast<std::int64_t>(body["tools"].dump().size());
  EXPECT_EQ(request_of(body).prompt_tokens, (messages + tools + 3) / 4);
}

// -- replies -------------------------------------------------------------------------------------

TEST(mock_script, a_stream_carries_reasoning_text_calls_finish_and_usage) {
  const auto reply = reply_to(
      R"({"answer":{"text":"grüße, 漢字","chunk_chars":2,"reasoning":"let me see what there is",)"
      R"("tool_calls":[{"id":"c1","name":"read","arguments":{"path":"a/long/enough/path.txt"}},)"
      R"({"name":"now","arguments":""}]}})",
      body_of("q"));
  EXPECT_TRUE(reply.stream);
  EXPECT_EQ(reply.content_type, "text/event-stream");
  EXPECT_EQ(reply.end, reply_end::complete);
  const auto got = assemble(reply);
  EXPECT_EQ(got.text, "grüße, 漢字");
  EXPECT_EQ(got.reasoning, "let me see what there is");
  ASSERT_EQ(got.calls.size(), 2u);
  EXPECT_EQ(got.calls[0],
            (std::pair<std::string, std::string>{"read", "{\"path\":\"a/long/enough/path.txt\"}"}));
  EXPECT_EQ(got.calls[1], (std::pair<std::string, std::string>{"now", ""}));
  EXPECT_EQ(got.call_ids, (std::vector<std::string>{"c1", "call_1_1"}));
  EXPECT_EQ(got.finish, "tool_calls");
  EXPECT_TRUE(got.ended);
  EXPECT_EQ(got.usage["prompt_tokens"], request_of(body_of("q")).prompt_tokens);
  EXPECT_EQ(got.usage["total_tokens"].get<int>(),
            got.usage["prompt_tokens"].get<int>() + got.usage["completion_tokens"].get<int>());
  EXPECT_EQ(got.usage["completion_tokens_details"]["reasoning_tokens"], 6);
}

TEST(mock_script, usage_can_be_scripted_null_or_missing) {
  const auto usage = [](const std::string& value, const json& body) {
    return assemble(reply_to("{\"answer\":{\"usage\":" + value + "}}", body));
  };
  EXPECT_EQ(usage("{\"prompt_tokens\":7}", body_of("q")).usage, json({{"prompt_tokens", 7}}));
  EXPECT_TRUE(usage("null", body_of("q")).usage_seen);
  EXPECT_TRUE(usage("null", body_of("q")).usage.is_null());
  EXPECT_FALSE(usage("\"none\"", body_of("q")).usage_seen);
  auto unasked = body_of("q");
  unasked.erase("stream_options");
  EXPECT_FALSE(usage("{}", unasked).usage_seen);
}

TEST(mock_script, deltas_delays_and_ends_are_as_scripted) {
  const auto reply = reply_to(
      R"({"answer":{"deltas":["a","b"],"finish":"length","done":false,"delay_ms":5,"delta_delay_ms":7}})",
      body_of("q"));
  EXPECT_EQ(reply.delay_ms, 5);
  ASSERT_EQ(reply.chunks.size(), 5u);
  EXPECT_EQ(reply.chunks[0].delay_ms, 0);
  EXPECT_EQ(reply.chunks[1].delay_ms, 7);
  const auto got = assemble(reply);
  EXPECT_EQ(got.finish, "length");
  EXPECT_FALSE(got.ended);
  EXPECT_EQ(assemble(reply_to(R"({"answer":{"text":"a","finish":null}})", body_of("q"))).finish,
            "");
}

TEST(mock_script, a_reply_without_stream_is_one_json_body) {
  auto body = body_of("q");
  body["stream"] = false;
  const auto reply = reply_to(
      R"({"answer":{"text":"hi","tool_calls":[{"id":"c","name":"f","arguments":"{}"}]}})", body);
  EXPECT_FALSE(reply.stream);
  EXPECT_EQ(reply.length_bytes, bytes_of(reply).size());
  const auto out = json::parse(bytes_of(reply));
  const auto& choice = out["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "hi");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "f");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_GT(out["usage"]["prompt_tokens"].get<int>(), 0);
}

TEST(mock_script, errors_carry_status_body_and_headers) {
  const auto scripted = reply_to(
      R"({"answer":{"status":429,"body":{"error":{"message":"slow"}},"headers":{"retry-after":"3"}}})",
      body_of("q"));
  EXPECT_EQ(scripted.status, 429);
  EXPECT_EQ(json::parse(bytes_of(scripted))["error"]["message"], "slow");
  EXPECT_EQ(scripted.headers,
            (std::vector<std::pair<std::string, std::string>>{{"retry-after", "3"}}));
  const auto text = reply_to(R"({"answer":{"status":502,"body":"bad gateway"}})", body_of("q"));
  EXPECT_EQ(bytes_of(text), "bad gateway");
  EXPECT_EQ(text.content_type, "text/plain; charset=utf-8");
  const auto bare = reply_to(R"({"answer":{"status":500}})", body_of("q"));
  EXPECT_TRUE(json::parse(bytes_of(bare))["error"]["message"].is_string());
  const auto empty = reply_to(R"({"answer":{"status":413,"body":""}})", body_of("q"));
  EXPECT_EQ(bytes_of(empty), "");
  const auto page = reply_to(R"({"answer":{"html":true}})", body_of("q"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
}

TEST(mock_script, an_error_in_the_stream_takes_the_place_of_the_end) {
  const auto got = assemble(reply_to(
      R"({"answer":{"deltas":["a"],"stream_error":{"code":400,"message":"no"}}})", body_of("q")));
  EXPECT_EQ(got.text, "a");
  EXPECT_EQ(got.error["code"], 400);
  EXPECT_EQ(got.finish, "");
  EXPECT_TRUE(got.ended);
  EXPECT_FALSE(got.usage_seen);
  const auto line = events_of(reply_to(R"({"answer":{"error_field":{"code":500}}})", body_of("q")));
  ASSERT_EQ(line.size(), 3u);
  EXPECT_EQ(line[1].kind, provider::sse_event_kind::error_field);
}

TEST(mock_script, a_stream_can_be_cut) {
  const auto reply =
      reply_to(R"({"answer":{"deltas":["a","b"],"cut_after_chunks":2}})", body_of("q"));
  EXPECT_EQ(reply.chunks.size(), 2u);
  EXPECT_EQ(reply.end, reply_end::close);
  const auto clean =
      reply_to(R"({"answer":{"text":"a","cut_after_chunks":1,"cut":"clean"}})", body_of("q"));
  EXPECT_EQ(clean.end, reply_end::complete);
  const auto reset =
      reply_to(R"({"answer":{"text":"a","cut_after_chunks":0,"cut":"reset"}})", body_of("q"));
  EXPECT_EQ(reset.end, reply_end::reset);
  EXPECT_TRUE(reset.chunks.empty());
}

TEST(mock_script, a_stream_can_be_cut_in_the_middle_of_a_character) {
  const auto reply =
      reply_to(R"({"answer":{"deltas":["a","x漢y"],"cut_mid_character":true}})", body_of("q"));
  const auto bytes = bytes_of(reply);
  EXPECT_EQ(bytes.substr(bytes.size() - 2), "x\xE6");
  EXPECT_EQ(reply.end, reply_end::close);
  const auto plain =
      bytes_of(reply_to(R"({"answer":{"text":"abc","cut_mid_character":true}})", body_of("q")));
  EXPECT_NE(plain.substr(plain.size() - 1), "\n");
}

TEST(mock_script, silence_floods_and_comments_have_no_end) {
  EXPECT_TRUE(reply_to(R"({"answer":{"hang":true}})", body_of("q")).silent);
  const auto silence =
      reply_to(R"({"answer":{"deltas":["a","b"],"hang_after_chunks":2}})", body_of("q"));
  EXPECT_EQ(silence.chunks.size(), 2u);
  EXPECT_EQ(silence.end, reply_end::silence);
  const auto events = reply_to(R"({"answer":{"text":"a","flood":true}})", body_of("q"));
  EXPECT_EQ(events.end, reply_end::repeat);
  EXPECT_TRUE(assemble(events).finish.empty());
  const auto line = reply_to(R"({"answer":{"flood":"line"}})", body_of("q"));
  EXPECT_EQ(line.end, reply_end::repeat);
  EXPECT_EQ(line.chunks.back().bytes.find('\n'), std::string::npos);
  const auto comments = reply_to(
      R"({"answer":{"text":"a","keepalive_comments":true,"keepalive_every_ms":3}})", body_of("q"));
  EXPECT_EQ(comments.end, reply_end::repeat);
  EXPECT_EQ(comments.chunks.back().bytes.front(), ':');
  EXPECT_EQ(comments.chunks.back().delay_ms, 3);
  const auto some = reply_to(R"({"answer":{"text":"a","keepalive_comments":2}})", body_of("q"));
  EXPECT_EQ(some.chunks[1].bytes.front(), ':');
  EXPECT_EQ(assemble(some).text, "a");
}

TEST(mock_script, sizes_over_a_limit_are_refused_with_both_numbers) {
  const auto body = body_of(std::string(400, 'x'));
  const auto prompt = std::to_string(request_of(body).prompt_tokens);
  const auto message = [&](const mock_reply& reply) {
    EXPECT_EQ(reply.status, 400);
    const auto error = json::parse(bytes_of(reply))["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    return error["message"].get<std::string>();
  };
  const auto by_rule = message(reply_to(R"({"answer":{"reject_above_tokens":50}})", body));
  EXPECT_NE(by_rule.find(" 50 tokens"), std::string::npos);
  EXPECT_NE(by_rule.find(prompt + " tokens"), std::string::npos);
  EXPECT_EQ(reply_to(R"({"answer":{"reject_above_tokens":5000}})", body, {{}, 50}).status, 200);
  message(reply_to("", body, {{}, 50}));
  auto limited = body;
  limited["max_completion_tokens"] = 1000;
  EXPECT_EQ(reply_to(R"({"answer":{"window":500}})", body).status, 200);
  const auto by_window = message(reply_to(R"({"answer":{"window":500}})", limited));
  EXPECT_NE(by_window.find("1000 in the completion"), std::string::npos);
  message(reply_to("", limited, {500, {}}));
  EXPECT_EQ(reply_to(R"({"answer":{"status":503,"window":5}})", limited).status, 503);
}

// -- the default ---------------------------------------------------------------------------------

TEST(mock_script, without_a_rule_the_end_of_the_request_is_echoed) {
  EXPECT_EQ(assemble(reply_to("", body_of("hello there"))).text, "You said: hello there");
  const auto body = body_with_result("hello", "42");
  EXPECT_EQ(assemble(reply_to("", body)).text, "The tool said: 42");
  const auto first = bytes_of(reply_to("", body));
  EXPECT_EQ(first, bytes_of(reply_to("", body)));
}

TEST(mock_script, a_request_for_a_handoff_gets_a_short_summary) {
  auto body = body_of("build the house");
  body["messages"].push_back(
      {{"role", "user"}, {"content", "Write a HANDOFF: summarise the work."}});
  const auto text = assemble(reply_to("", body)).text;
  EXPECT_NE(text.find("## Goal\nbuild the house\n"), std::string::npos) << text;
  EXPECT_NE(text.find("## Pending"), std::string::npos);
  EXPECT_LT(text.size(), 600u);
  body["tools"] = json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  EXPECT_EQ(assemble(reply_to("", body)).text.find("## Goal"), std::string::npos);
}

} // namespace
} // namespace rind::hosts::mock_provider
