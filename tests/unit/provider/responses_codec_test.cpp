// Requests of OpenAI Responses: what each rule of the format makes of a conversation.
#include "runtime/provider/request_parts.hpp"
#include "runtime/provider/responses_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::answer_message;
using testing::body_of;
using testing::result_message;
using testing::system_message;
using testing::user_message;

const std::string reasoning =
    R"({"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"c2Vj+/=="})";

/// The types of the input items, in order.
std::string shape(const json& body) {
  std::string out;
  for (const auto& item : body["input"]) {
    out += out.empty() ? "" : " ";
    out += item["type"] == "message" ? item["role"].get<std::string>()
                                     : item["type"].get<std::string>();
  }
  return out;
}

TEST(responses_codec, the_body_is_what_the_format_wants) {
  auto request = testing::plain_request();
  request.tools = std::make_shared<const std::vector<tool_definition>>(std::vector<tool_definition>{
      {"add", "adds", R"({"type":"object","properties":{"a":{"type":"number"}}})"}});
  const responses_codec codec;
  EXPECT_EQ(codec.path(), "/responses");
  EXPECT_EQ(codec.auth().name, "Authorization");
  const auto body =
      body_of(codec, {system_message("One."), system_message("Two."), user_message("Hi")}, request);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["store"], false);
  EXPECT_EQ(body["truncation"], "disabled");
  EXPECT_EQ(body["include"], json::array({"reasoning.encrypted_content"}));
  EXPECT_EQ(body["max_output_tokens"], 100);
  EXPECT_EQ(body["instructions"], "One.\n\nTwo.");
  EXPECT_EQ(body["tools"][0]["type"], "function");
  EXPECT_EQ(body["tools"][0]["name"], "add");
  EXPECT_EQ(body["tools"][0]["strict"], false);
  EXPECT_EQ(body["tools"][0]["parameters"]["properties"]["a"]["type"], "number");
  EXPECT_EQ(
      body["input"],
      json::parse(
          R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}])"));
  EXPECT_FALSE(body.contains("reasoning"));
  request.tools = nullptr;
  request.output_limit_tokens = 0;
  const auto bare = body_of(codec, {user_message("Hi")}, request);
  for (const auto* absent : {"tools", "instructions", "max_output_tokens"})
    EXPECT_FALSE(bare.contains(absent)) << absent;
}

TEST(responses_codec, S8_calls_and_results_pair_by_call_id_and_no_item_has_an_id) {
  const std::string long_id(80, 'x');
  const auto body =
      body_of(responses_codec{},
              {user_message("Go on."), answer_message("What was."), // after a compaction
               answer_message("Let me.", {{"a", "look", R"({"x": 1})"}, {long_id, "look", ""}}),
               result_message("a", "found"), result_message(long_id, "", true)});
  EXPECT_EQ(shape(body), "user assistant assistant function_call function_call "
                         "function_call_output function_call_output");
  const auto& input = body["input"];
  EXPECT_EQ(input[1]["content"][0]["type"], "output_text");
  EXPECT_EQ(
      input[3],
      json::parse(
          R"({"type":"function_call","call_id":"a","name":"look","arguments":"{\"x\": 1}"})"));
  EXPECT_EQ(input[4]["arguments"], "{}");
  EXPECT_LE(input[4]["call_id"].get<std::string>().size(), wire_id_chars_max);
  EXPECT_EQ(input[6]["call_id"], input[4]["call_id"]);
  EXPECT_EQ(input[5],
            json::parse(R"({"type":"function_call_output","call_id":"a","output":"found"})"));
  for (const auto& item : input)
    EXPECT_FALSE(item.contains("id"));
}

TEST(responses_codec, S26_reasoning_goes_out_directly_before_the_item_it_came_with) {
  const auto said = answer_message("Let me.", {{"a", "look", ""}, {"b", "look", ""}},
                                   R"({"format":"responses","parts":[{"reasoning":)" + reasoning +
                                       R"(},{"text_bytes":7},{"call":true},{"reasoning":)" +
                                       reasoning + R"(},{"call":true}]})");
  const auto body = body_of(responses_codec{}, {user_message("x"), said, result_message("a", "1"),
                                                result_message("b", "2")});
  EXPECT_EQ(shape(body), "user reasoning assistant function_call reasoning function_call "
                         "function_call_output function_call_output");
  EXPECT_EQ(body["input"][1], json::parse(reasoning));
}

TEST(responses_codec, S26_reasoning_of_another_format_stays_at_home) {
  const auto said = answer_message("Yes.", {},
                                   R"({"format":"anthropic","parts":[{"reasoning":)" + reasoning +
                                       R"(},{"text_bytes":4}]})");
  EXPECT_EQ(shape(body_of(responses_codec{}, {user_message("x"), said, user_message("y")})),
            "user assistant user");
}

TEST(responses_codec, reasoning_is_asked_for_as_the_settings_say) {
  auto request = testing::plain_request();
  const auto asked = body_of(responses_codec{reasoning_effort::low}, request.messages, request);
  EXPECT_EQ(asked["reasoning"], json({{"effort", "low"}, {"summary", "auto"}}));
  const auto none = body_of(responses_codec{reasoning_effort::none}, request.messages, request);
  EXPECT_FALSE(none.contains("reasoning"));
  EXPECT_FALSE(none.contains("include")) << "a model that does not reason refuses it";
  request.kind = sampling_kind::compact;
  EXPECT_FALSE(body_of(responses_codec{reasoning_effort::low}, request.messages, request)
                   .contains("reasoning"));
}

} // namespace
} // namespace rind::provider
