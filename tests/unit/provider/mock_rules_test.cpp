// The boundary rules of the three formats: each has a request that the mock provider takes and one
// that it refuses, in the words of the real provider.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hosts/mock_provider/seal.hpp"
#include "tests/unit/provider/mock_kit.hpp"

namespace rind::hosts::mock_provider {
namespace {

using nlohmann::json;
using namespace test;

std::string quoted(const std::string& text) {
  return json(text).dump();
}

// -- Chat Completions ----------------------------------------------------------------------------

std::string chat_call(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"function","function":{"name":"f","arguments":"{}"}})";
}

std::string chat_calls(const std::string& calls) {
  return R"({"role":"assistant","content":null,"tool_calls":[)" + calls + "]}";
}

std::string chat_result(const std::string& id) {
  return R"({"role":"tool","tool_call_id":")" + id + R"(","content":"r"})";
}

const std::vector<fragment>& chat_fragments() {
  static const std::vector<fragment> all{
      {"s", R"({"role":"system","content":"s"})"},
      {"u", R"({"role":"user","content":"u"})"},
      {"a", R"({"role":"assistant","content":"a"})"},
      {"a empty", R"({"role":"assistant","content":""})"},
      {"a null", R"({"role":"assistant","content":null})"},
      {"u null", R"({"role":"user","content":null})"},
      {"call 1", chat_calls(chat_call("c1"))},
      {"calls 1 2", chat_calls(chat_call("c1") + "," + chat_call("c2"))},
      {"calls none", chat_calls("")},
      {"r1", chat_result("c1")},
      {"r2", chat_result("c2")},
  };
  return all;
}

TEST(mock_rules, chat_completions) {
  expect_rules(
      chat_client(), chat_fragments(),
      {
          {"a model is named", "{}", R"({"model":null})", "'model'"},
          {"there are messages", R"({"messages":[<u>]})", R"({"messages":[]})", "'messages'"},
          {"messages are objects", R"({"messages":[<u>]})", R"({"messages":[1]})", "objects"},
          {"a role is known", R"({"messages":[<s>,<u>]})",
           R"({"messages":[<u>,{"role":"robot","content":"x"},<u>]})", "'robot'"},
          {"every call has a result", R"({"messages":[<u>,<calls 1 2>,<r2>,<r1>]})",
           R"({"messages":[<u>,<calls 1 2>,<r1>]})", "did not have response messages: c2"},
          {"results come at once", R"({"messages":[<u>,<call 1>,<r1>,<u>]})",
           R"({"messages":[<u>,<call 1>,<u>,<r1>]})", "did not have response messages: c1"},
          {"a result has a call", R"({"messages":[<u>,<call 1>,<r1>]})",
           R"({"messages":[<u>,<call 1>,<r1>,<r2>]})", "must be a response to a preceeding"},
          {"a call has one result", R"({"messages":[<u>,<call 1>,<r1>,<call 1>,<r1>]})",
           R"({"messages":[<u>,<call 1>,<r1>,<r1>]})", "must be a response to a preceeding"},
          {"an assistant says something", R"({"messages":[<u>,<a>,<u>]})",
           R"({"messages":[<u>,<a empty>,<u>]})", "either content or tool_calls"},
          {"content is null only beside calls", R"({"messages":[<u>,<call 1>,<r1>]})",
           R"({"messages":[<u>,<a null>,<u>]})", "got null"},
          {"the user's content is never null", R"({"messages":[<u>]})",
           R"({"messages":[<u null>]})", "got null"},
          {"a list of calls is not empty", R"({"messages":[<u>,<call 1>,<r1>]})",
           R"({"messages":[<u>,<calls none>,<u>]})", "not empty"},
          {"parts have a type",
           R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]})",
           R"({"messages":[{"role":"user","content":["a"]}]})", "parts with a type"},
          {"arguments are a string", R"({"messages":[<u>,<call 1>,<r1>]})",
           R"({"messages":[<u>,{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":{}}}]},<r1>]})",
           "arguments that are a string"},
          {"the user begins", R"({"messages":[<s>,<s>,<u>,<a>,<u>]})",
           R"({"messages":[<s>,<a>,<u>]})", "to have the role user"},
          {"the user or a tool ends", R"({"messages":[<u>,<a>,<u>]})", R"({"messages":[<u>,<a>]})",
           "Expected last role User or Tool"},
          {"tools are nested", R"({"tools":[{"type":"function","function":{"name":"f"}}]})",
           R"({"tools":[{"type":"function","name":"f"}]})", "tools[0].function"},
      });
}

// -- Responses -----------------------------------------------------------------------------------

std::string response_call(const std::string& call_id, const std::string& id = "") {
  return R"({"type":"function_call","name":"f","arguments":"{}","call_id":")" + call_id + "\"" +
         (id.empty() ? "" : R"(,"id":")" + id + "\"") + "}";
}

std::string response_output(const std::string& call_id) {
  return R"({"type":"function_call_output","output":"r","call_id":")" + call_id + "\"}";
}

std::string reasoning_item(const std::string& summary, const std::string& seal) {
  return R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":)" +
         quoted(summary) + R"(}],"encrypted_content":)" + quoted(seal) + "}";
}

const std::vector<fragment>& response_fragments() {
  static const std::vector<fragment> all{
      {"u", R"({"role":"user","content":"u"})"},
      {"a", R"({"role":"assistant","content":[{"type":"output_text","text":"a"}]})"},
      {"call 1", response_call("c1")},
      {"call 2", response_call("c2")},
      {"call with id", response_call("c1", "fc_1")},
      {"call with wrong id", response_call("c1", "call_1")},
      {"call of 64", response_call(std::string(64, 'c'))},
      {"result of 64", response_output(std::string(64, 'c'))},
      {"call of 65", response_call(std::string(65, 'c'))},
      {"result of 65", response_output(std::string(65, 'c'))},
      {"r1", response_output("c1")},
      {"r2", response_output("c2")},
      {"thought", reasoning_item("hm", sealed("hm"))},
      {"thought without summary",
       R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":)" +
           quoted(sealed("hm")) + "}"},
      {"edited thought", reasoning_item("hm", sealed("hm").substr(1))},
      {"edited summary", reasoning_item("ho", sealed("hm"))},
      {"open thought", R"({"type":"reasoning","id":"rs_1","summary":[]})"},
  };
  return all;
}

TEST(mock_rules, responses) {
  expect_rules(
      responses_client(), response_fragments(),
      {
          {"a model is named", "{}", R"({"model":null})", "'model'"},
          {"there is input", R"({"input":"u"})", R"({"input":null})", "'input'"},
          {"input is not empty", R"({"input":[<u>]})", R"({"input":[]})", "'input'"},
          {"an item's type is known", R"({"input":[<u>]})", R"({"input":[<u>,{"type":"tool"}]})",
           "'tool'"},
          {"parts fit the role", R"({"input":[<u>,<a>,<u>]})",
           R"({"input":[<u>,{"role":"assistant","content":[{"type":"input_text","text":"a"}]}]})",
           "'output_text' and 'refusal'"},
          {"messages are called input", R"({"input":[<u>]})", R"({"messages":[<u>]})",
           "has moved to 'input'"},
          {"the limit is max_output_tokens", R"({"max_output_tokens":16})", R"({"max_tokens":16})",
           "has moved to 'max_output_tokens'"},
          {"the limit is at least 16", R"({"max_output_tokens":16})", R"({"max_output_tokens":15})",
           ">= 16"},
          {"no earlier response is kept", R"({"previous_response_id":null})",
           R"({"previous_response_id":"resp_1"})", "not found"},
          {"tools are flat", R"({"tools":[{"type":"function","name":"f"}]})",
           R"({"tools":[{"type":"function","function":{"name":"f"}}]})", "'tools[0].name'"},
          {"every call has an output", R"({"input":[<u>,<call 1>,<call 2>,<r2>,<r1>]})",
           R"({"input":[<u>,<call 1>,<call 2>,<r1>]})",
           "No tool output found for function call c2"},
          {"an output has a call", R"({"input":[<u>,<call 1>,<r1>]})", R"({"input":[<u>,<r1>]})",
           "No tool call found for function call output with call_id c1"},
          {"an output follows its call", R"({"input":[<u>,<call 1>,<r1>,<u>]})",
           R"({"input":[<u>,<r1>,<call 1>]})", "No tool call found"},
          {"a call's id begins with fc", R"({"input":[<u>,<call with id>,<r1>]})",
           R"({"input":[<u>,<call with wrong id>,<r1>]})", "begins with 'fc'"},
          {"ids have at most 64 characters", R"({"input":[<u>,<call of 64>,<result of 64>]})",
           R"({"input":[<u>,<call of 65>,<result of 65>]})", "maximum length 64"},
          {"a call has arguments", R"({"input":[<u>,<call 1>,<r1>]})",
           R"({"input":[<u>,{"type":"function_call","call_id":"c1","name":"f"},<r1>]})",
           "'input[1].arguments'"},
          {"reasoning is followed by its item", R"({"input":[<u>,<thought>,<call 1>,<r1>]})",
           R"({"input":[<u>,<call 1>,<r1>,<thought>]})", "without its required following item"},
          {"no one else's words follow reasoning", R"({"input":[<u>,<thought>,<a>,<u>]})",
           R"({"input":[<u>,<thought>,<u>]})", "without its required following item"},
          {"a seal is unbroken", R"({"input":[<u>,<thought>,<a>,<u>]})",
           R"({"input":[<u>,<edited thought>,<a>,<u>]})", "could not be verified"},
          {"a summary is unchanged", R"({"input":[<u>,<thought without summary>,<a>,<u>]})",
           R"({"input":[<u>,<edited summary>,<a>,<u>]})", "could not be verified"},
          {"reasoning that is not stored comes sealed",
           R"({"store":true,"input":[<u>,<open thought>,<a>,<u>]})",
           R"({"store":false,"input":[<u>,<open thought>,<a>,<u>]})", "not persisted", 404},
      });
}

/// A conversation whose second request brings back what the mock itself said.
json with_output(const json& items) {
  auto body = responses_client().ask("q", false);
  for (const auto& item : items)
    body["input"].push_back(item);
  for (const auto& item : items)
    if (item["type"] == "function_call")
      body["input"].push_back(
          {{"type", "function_call_output"}, {"call_id", item["call_id"]}, {"output", "r"}});
  return body;
}

TEST(mock_rules, responses_know_which_items_came_with_reasoning) {
  const auto heard = responses_client().hear(reply_to(
      responses_client(),
      R"({"answer":{"reasoning":"hm","tool_calls":[{"name":"f","arguments":{}},{"name":"g","arguments":{}}]}})",
      responses_client().ask("q", false)));
  ASSERT_EQ(heard.output.size(), 3u);
  const json whole = heard.output;
  const auto refused = [](const json& items) {
    const auto reading = read_by(responses_client(), with_output(items));
    const auto* fault = std::get_if<provider_fault>(&reading);
    return fault == nullptr ? std::string{} : fault->message;
  };
  EXPECT_EQ(refused(whole), "");
  EXPECT_NE(refused({whole[1], whole[2]}).find("without its required 'reasoning' item"),
            std::string::npos);
  EXPECT_NE(refused({whole[0], whole[2], whole[1]}).find("without its required following item"),
            std::string::npos);
  auto without_ids = whole;
  for (auto& item : without_ids)
    item.erase("id");
  EXPECT_EQ(refused({without_ids[1], without_ids[2]}), "");
  EXPECT_EQ(refused(without_ids), "");
}

// -- Messages ------------------------------------------------------------------------------------

std::string tool_use(const std::string& id) {
  return R"({"type":"tool_use","id":")" + id + R"(","name":"f","input":{}})";
}

std::string tool_result(const std::string& id) {
  return R"({"type":"tool_result","tool_use_id":")" + id + R"(","content":"r"})";
}

std::string thinking(const std::string& text, const std::string& signature) {
  return R"({"type":"thinking","thinking":")" + text + R"(","signature":)" + quoted(signature) +
         "}";
}

std::string redacted(const std::string& data) {
  return R"({"type":"redacted_thinking","data":)" + quoted(data) + "}";
}

std::string turn(const std::string& role, const std::string& blocks) {
  return R"({"role":")" + role + R"(","content":[)" + blocks + "]}";
}

std::string cached_texts(int count) {
  std::string blocks;
  for (int i = 0; i < count; ++i)
    blocks += std::string{i > 0 ? "," : ""} +
              R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}})";
  return turn("user", blocks);
}

const std::vector<fragment>& message_fragments() {
  const std::string text = R"({"type":"text","text":"a"})";
  const std::string empty = R"({"type":"text","text":""})";
  const std::string blank = R"({"type":"text","text":" \n"})";
  const auto thought = thinking("hm", signature_of("hm"));
  static const std::vector<fragment> all{
      {"u", R"({"role":"user","content":"u"})"},
      {"a", R"({"role":"assistant","content":"a"})"},
      {"a empty", R"({"role":"assistant","content":""})"},
      {"a ends in space", R"({"role":"assistant","content":"a "})"},
      {"u empty", turn("user", "")},
      {"u with empty text", turn("user", text + "," + empty)},
      {"u with blank text", turn("user", blank)},
      {"u two texts", turn("user", text + "," + text)},
      {"call 1", turn("assistant", tool_use("c1"))},
      {"call 2", turn("assistant", tool_use("c2"))},
      {"call bad id", turn("assistant", tool_use("c.1"))},
      {"r bad id", turn("user", tool_result("c.1"))},
      {"calls 1 2", turn("assistant", text + "," + tool_use("c1") + "," + tool_use("c2"))},
      {"call of user", turn("user", tool_use("c1"))},
      {"call without input", turn("assistant", R"({"type":"tool_use","id":"c1","name":"f"})")},
      {"r1", turn("user", tool_result("c1"))},
      {"r2", turn("user", tool_result("c2"))},
      {"r1 r1", turn("user", tool_result("c1") + "," + tool_result("c1"))},
      {"r2 r1", turn("user", tool_result("c2") + "," + tool_result("c1"))},
      {"r1 text", turn("user", tool_result("c1") + "," + text)},
      {"text r1", turn("user", text + "," + tool_result("c1"))},
      {"r1 empty", turn("user", R"({"type":"tool_result","tool_use_id":"c1","content":""})")},
      {"r1 empty error",
       turn("user", R"({"type":"tool_result","tool_use_id":"c1","content":"","is_error":true})")},
      {"thought a", turn("assistant", thought + "," + text)},
      {"thought call", turn("assistant", thought + "," + tool_use("c1"))},
      {"call thought", turn("assistant", tool_use("c1") + "," + thought)},
      {"thought only", turn("assistant", thought)},
      {"edited a", turn("assistant", thinking("hm ", signature_of("hm")) + "," + text)},
      {"unsigned a", turn("assistant", R"({"type":"thinking","thinking":"hm"},)" + text)},
      {"empty thought call",
       turn("assistant", thinking("", signature_of("")) + "," + tool_use("c1"))},
      {"hidden a", turn("assistant", redacted(sealed("hm")) + "," + text)},
      {"hidden call", turn("assistant", redacted(sealed("hm")) + "," + tool_use("c1"))},
      {"edited hidden a", turn("assistant", redacted("x" + sealed("hm")) + "," + text)},
      {"hidden only", turn("assistant", redacted(sealed("hm")))},
      {"tools", R"("tools":[{"name":"f","input_schema":{"type":"object"}}])"},
      {"think", R"("max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024})"},
      {"4 marks", cached_texts(4)},
      {"5 marks", cached_texts(5)},
  };
  return all;
}

TEST(mock_rules, messages_bodies) {
  expect_rules(
      messages_client(), message_fragments(),
      {
          {"a model is named", "{}", R"({"model":null})", "model: Field required"},
          {"max_tokens is required", R"({"max_tokens":1})", R"({"max_tokens":null})",
           "max_tokens: Field required"},
          {"max_tokens is above 0", R"({"max_tokens":1})", R"({"max_tokens":0})", "max_tokens"},
          {"there are messages", R"({"messages":[<u>]})", R"({"messages":[]})",
           "at least one message"},
          {"no other field", R"({"top_k":3})", R"({"store":false})",
           "store: Extra inputs are not permitted"},
          {"the system's text is not empty", R"({"system":[{"type":"text","text":"s"}]})",
           R"({"system":[{"type":"text","text":""}]})", "non-empty"},
          {"tools have a schema", R"({<tools>})", R"({"tools":[{"name":"f"}]})",
           "tools.0.custom.input_schema: Field required"},
          {"tools are not nested", R"({<tools>})",
           R"({"tools":[{"type":"function","function":{"name":"f"}}]})", "tools.0.custom.name"},
          {"thinking has a budget", R"({<think>})", R"({"thinking":{"type":"enabled"}})",
           "budget_tokens: Field required"},
          {"the budget is at least 1024", R"({<think>})",
           R"({"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1023}})", "1024"},
          {"the budget is below max_tokens", R"({<think>})",
           R"({"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024}})",
           "must be greater than `thinking.budget_tokens`"},
          {"at most four marks of caching", R"({"messages":[<4 marks>]})",
           R"({"messages":[<5 marks>]})", "A maximum of 4 blocks"},
      });
}

TEST(mock_rules, messages_turns) {
  expect_rules(
      messages_client(), message_fragments(),
      {
          {"roles are user and assistant", R"({"messages":[<u>,<a>,<u>]})",
           R"({"messages":[{"role":"system","content":"s"},<u>]})", "Unexpected role \"system\""},
          {"the user begins", R"({"messages":[<u>,<a>,<u>]})", R"({"messages":[<a>,<u>]})",
           "first message must use"},
          {"roles alternate", R"({"messages":[<u two texts>]})", R"({"messages":[<u>,<u>]})",
           "roles must alternate"},
          {"no empty content", R"({"messages":[<u>]})", R"({"messages":[<u empty>]})",
           "must have non-empty content"},
          {"only a last assistant turn is empty", R"({"messages":[<u>,<a empty>]})",
           R"({"messages":[<u>,<a empty>,<u>]})", "must have non-empty content"},
          {"no empty text", R"({"messages":[<u two texts>]})",
           R"({"messages":[<u with empty text>]})", "text content blocks must be non-empty"},
          {"no blank text", R"({"messages":[<u two texts>]})",
           R"({"messages":[<u with blank text>]})", "non-whitespace"},
          {"a prefill has no space at its end", R"({"messages":[<u>,<a>]})",
           R"({"messages":[<u>,<a ends in space>]})", "trailing whitespace"},
          {"every call has a result", R"({<tools>,"messages":[<u>,<calls 1 2>,<r2 r1>]})",
           R"({<tools>,"messages":[<u>,<calls 1 2>,<r1>]})",
           "without `tool_result` blocks immediately after: c2"},
          {"results come in the next turn", R"({<tools>,"messages":[<u>,<call 1>,<r1>,<a>,<u>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<u>,<a>,<r1>]})",
           "without `tool_result` blocks immediately after: c1"},
          {"a result has a call", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<r2 r1>]})", "unexpected `tool_use_id`"},
          {"a call has one result", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<r1 r1>]})", "must have a single result"},
          {"results stand before text", R"({<tools>,"messages":[<u>,<call 1>,<r1 text>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<text r1>]})",
           "without `tool_result` blocks immediately after: c1"},
          {"ids of calls are unique", R"({<tools>,"messages":[<u>,<call 1>,<r1>,<call 2>,<r2>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<r1>,<call 1>,<r1>]})", "must be unique"},
          {"ids of calls are plain", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<tools>,"messages":[<u>,<call bad id>,<r bad id>]})", "should match pattern"},
          {"the user makes no calls", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<tools>,"messages":[<call of user>]})", "can only be in `assistant`"},
          {"a call has an input", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<tools>,"messages":[<u>,<call without input>,<r1>]})", "input: Field required"},
          {"calls need tools", R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({"messages":[<u>,<call 1>,<r1>]})", "must define tools"},
          {"an error says something", R"({<tools>,"messages":[<u>,<call 1>,<r1 empty>]})",
           R"({<tools>,"messages":[<u>,<call 1>,<r1 empty error>]})", "cannot be empty if"},
      });
}

TEST(mock_rules, messages_thinking) {
  expect_rules(
      messages_client(), message_fragments(),
      {
          {"thinking is unchanged", R"({"messages":[<u>,<thought a>,<u>]})",
           R"({"messages":[<u>,<edited a>,<u>]})", "messages.1.content.0: Invalid `signature`"},
          {"hidden thinking is unchanged", R"({"messages":[<u>,<hidden a>,<u>]})",
           R"({"messages":[<u>,<edited hidden a>,<u>]})", "Invalid `data`"},
          {"no turn ends in hidden thinking", R"({"messages":[<u>,<hidden a>,<u>]})",
           R"({"messages":[<u>,<hidden only>,<u>]})", "The final block"},
          {"hidden thinking is thinking",
           R"({<think>,<tools>,"messages":[<u>,<hidden call>,<r1>]})",
           R"({<think>,<tools>,"messages":[<u>,<call 1>,<r1>]})", "Expected `thinking`"},
          {"thinking is signed", R"({"messages":[<u>,<thought a>,<u>]})",
           R"({"messages":[<u>,<unsigned a>,<u>]})", "signature: Field required"},
          {"no turn ends in thinking", R"({<tools>,"messages":[<u>,<thought call>,<r1>]})",
           R"({<tools>,"messages":[<u>,<call thought>,<r1>]})", "The final block"},
          {"no turn is only thinking", R"({"messages":[<u>,<thought a>,<u>]})",
           R"({"messages":[<u>,<thought only>,<u>]})", "The final block"},
          {"the open loop begins with thinking",
           R"({<think>,<tools>,"messages":[<u>,<thought call>,<r1>]})",
           R"({<think>,<tools>,"messages":[<u>,<call 1>,<r1>]})",
           "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
          {"each turn of the open loop begins with thinking",
           R"({<think>,<tools>,"messages":[<u>,<call 2>,<r2>,<a>,<u>,<thought call>,<r1>]})",
           R"({<think>,<tools>,"messages":[<u>,<thought call>,<r1>,<call 2>,<r2>]})",
           "messages.3.content.0.type: Expected `thinking`"},
          {"thinking can be left out where it is off",
           R"({<tools>,"messages":[<u>,<call 1>,<r1>]})",
           R"({<think>,<tools>,"messages":[<u>,<call 1>,<r1>]})", "Expected `thinking`"},
          {"empty thinking is thinking",
           R"({<think>,<tools>,"messages":[<u>,<empty thought call>,<r1>]})",
           R"({<think>,<tools>,"messages":[<u>,<call 1>,<r1>]})", "Expected `thinking`"},
      });
}

TEST(mock_rules, messages_need_a_key_and_a_version) {
  struct row {
    header_list headers;
    int status; ///< 0: taken
  };
  const std::vector<row> rows{
      {{{"x-api-key", "k"}, {"anthropic-version", "2023-06-01"}}, 0},
      {{{"authorization", "(present)"}, {"anthropic-version", "2023-06-01"}}, 0},
      {{{"anthropic-version", "2023-06-01"}}, 401},
      {{{"x-api-key", "k"}}, 400},
  };
  for (const auto& row : rows) {
    const auto reading =
        read_by(messages_client(), messages_client().ask("q", true), "", row.headers);
    const auto* fault = std::get_if<provider_fault>(&reading);
    EXPECT_EQ(fault == nullptr ? 0 : fault->status, row.status);
  }
}

TEST(mock_rules, a_body_that_is_no_object_is_refused_everywhere) {
  for (const auto& format : client_formats())
    for (const auto* body : {"", "[]", "{", "\"text\""}) {
      const auto reading = format.server().read({body, good_headers(), ""});
      EXPECT_TRUE(std::holds_alternative<provider_fault>(reading)) << format.name << ' ' << body;
    }
}

// -- seals ---------------------------------------------------------------------------------------

TEST(mock_seal, a_sealed_text_comes_back_and_an_edit_shows) {
  for (const std::string text : {"", "a", "ab", "abc", "gr\xC3\xBC\xC3\x9F dich", "====", "a.b"}) {
    const auto seal = sealed(text);
    EXPECT_EQ(unsealed(seal), text);
    for (std::size_t i = 0; i < seal.size(); ++i) {
      auto edited = seal;
      edited[i] = edited[i] == 'A' ? 'B' : 'A';
      EXPECT_EQ(unsealed(edited), std::nullopt) << edited;
    }
  }
  EXPECT_EQ(unsealed(""), std::nullopt);
  EXPECT_NE(signature_of("a"), signature_of("a "));
}

} // namespace
} // namespace rind::hosts::mock_provider
