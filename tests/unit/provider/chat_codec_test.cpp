// Requests of Chat Completions: what each message becomes, and the body around them.
#include <nlohmann/json.hpp>

#include "runtime/provider/chat_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;

message assistant_with(std::string content, std::vector<tool_call> calls) {
  message m;
  m.role = message_role::assistant;
  m.content = std::move(content);
  m.tool_calls = std::move(calls);
  return m;
}

TEST(chat_codec, renders_each_role) {
  message system;
  system.role = message_role::system;
  system.content = "Be kind.";
  message user;
  user.content = "Say \"hi\"\n日本";
  message tool;
  tool.role = message_role::tool;
  tool.tool_call_id = "c1";
  tool.name = "clock";
  tool.content = "noon";
  EXPECT_EQ(json::parse(render_message(system)),
            json({{"role", "system"}, {"content", "Be kind."}}));
  EXPECT_EQ(json::parse(render_message(user)),
            json({{"role", "user"}, {"content", "Say \"hi\"\n日本"}}));
  EXPECT_EQ(json::parse(render_message(tool)),
            json({{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "noon"}}));
}

TEST(chat_codec, content_is_null_only_beside_calls) {
  const std::vector<tool_call> calls{{"c1", "add", R"({"a": 1})"}};
  const auto both = json::parse(render_message(assistant_with("Let me see.", calls)));
  EXPECT_EQ(both["content"], "Let me see.");
  const auto only_calls = json::parse(render_message(assistant_with("", calls)));
  EXPECT_TRUE(only_calls["content"].is_null());
  EXPECT_EQ(
      only_calls["tool_calls"],
      json::parse(
          R"([{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}])"));
  EXPECT_EQ(json::parse(render_message(assistant_with("", {})))["content"], "");
}

TEST(chat_codec, arguments_are_sent_as_they_were_written_unless_they_are_no_json) {
  struct row {
    const char* written;
    const char* sent;
  };
  for (const auto& [written, sent] :
       std::vector<row>{{R"({"a":  1})", R"({"a":  1})"},
                        {"", "{}"},
                        {"{\"a\":", R"({"invalid_json":"{\"a\":"})"}}) {
    const auto m = json::parse(render_message(assistant_with("", {{"c1", "add", written}})));
    EXPECT_EQ(m["tool_calls"][0]["function"]["arguments"], sent);
  }
}

TEST(chat_codec, S26_reasoning_is_resent_only_where_its_opaque_part_says_so) {
  auto m = assistant_with("Yes.", {});
  m.reasoning = reasoning_block{"I thought.", ""};
  EXPECT_EQ(json::parse(render_message(m)).size(), 2u);
  m.reasoning->opaque =
      R"({"format":"responses","members":{"reasoning_content":"I thought."}})"; // of another format
  EXPECT_EQ(json::parse(render_message(m)).size(), 2u);
  m.reasoning->opaque =
      R"({"format":"chat","members":{"reasoning_content":"I thought.","role":"user","content":"no"}})";
  const auto merged = json::parse(render_message(m));
  EXPECT_EQ(merged["reasoning_content"], "I thought.");
  EXPECT_EQ(merged["role"], "assistant");
  EXPECT_EQ(merged["content"], "Yes.");
}

TEST(chat_codec, invalid_utf8_never_breaks_a_body) {
  message m;
  m.content = "a\xFFz";
  EXPECT_TRUE(json::accept(render_message(m)));
}

TEST(chat_codec, the_body_is_what_the_format_wants) {
  auto request = testing::plain_request();
  request.tools = std::make_shared<const std::vector<tool_definition>>(std::vector<tool_definition>{
      {"add", "adds", R"({"type":"object","properties":{"a":{"type":"number"}}})"},
      {"odd", "", "no schema"}});
  const auto body = json::parse(chat_codec{}.request_body(request));
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_EQ(body["max_completion_tokens"], 100);
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_EQ(body["messages"].size(), 1u);
  EXPECT_EQ(body["tools"][0]["function"]["parameters"]["properties"]["a"]["type"], "number");
  EXPECT_EQ(body["tools"][1]["function"]["parameters"]["type"], "object");

  EXPECT_FALSE(body.contains("reasoning_effort"));

  request.tools = nullptr;
  const auto other = json::parse(chat_codec{{"max_tokens"}}.request_body(request));
  EXPECT_EQ(other["max_tokens"], 100);
  EXPECT_FALSE(other.contains("max_completion_tokens"));
  EXPECT_FALSE(other.contains("tools"));

  const chat_codec eager{{"max_tokens", reasoning_effort::high}};
  EXPECT_EQ(json::parse(eager.request_body(request))["reasoning_effort"], "high");
  request.kind = sampling_kind::compact;
  EXPECT_FALSE(json::parse(eager.request_body(request)).contains("reasoning_effort"));
}

} // namespace
} // namespace rind::provider
