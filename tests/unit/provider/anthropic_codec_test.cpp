// Requests of Anthropic Messages: what each rule of the format makes of a conversation.
#include "runtime/provider/anthropic_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::answer_message;
using testing::body_of;
using testing::result_message;
using testing::system_message;
using testing::user_message;

const std::string thinking = R"({"type":"thinking","thinking":"Hm é\n","signature":"c2ln+/=="})";

std::string opaque(const std::string& parts) {
  return R"({"format":"anthropic","parts":[)" + parts + "]}";
}

/// The conversation in short: "u:text" and the like, a message a line.
std::string shape(const json& body) {
  std::string out;
  for (const auto& m : body["messages"]) {
    out += m["role"] == "user" ? "u" : "a";
    for (const auto& block : m["content"])
      out += ":" + block["type"].get<std::string>();
    out += '\n';
  }
  return out;
}

std::size_t marks_in(const json& value) {
  std::size_t marks = value.is_object() && value.contains("cache_control") ? 1 : 0;
  if (value.is_structured())
    for (const auto& inner : value)
      marks += marks_in(inner);
  return marks;
}

tool_definitions one_tool() {
  return std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{{"look", "looks", R"({"type":"object","properties":{}})"}});
}

TEST(anthropic_codec, names_path_version_and_the_header_of_the_key) {
  const anthropic_codec codec;
  EXPECT_EQ(codec.path(), "/messages");
  EXPECT_EQ(codec.auth().name, "x-api-key");
  EXPECT_EQ(codec.auth().prefix, "");
  ASSERT_EQ(codec.fixed_headers().size(), 1u);
  EXPECT_EQ(codec.fixed_headers()[0].name, "anthropic-version");
  EXPECT_EQ(codec.fixed_headers()[0].value, "2023-06-01");
}

TEST(anthropic_codec, the_body_is_what_the_format_wants) {
  auto request = testing::plain_request();
  request.tools = one_tool();
  const auto body =
      body_of(anthropic_codec{}, {system_message("Be kind."), user_message("Hi")}, request);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["max_tokens"], 100);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["system"][0]["text"], "Be kind.");
  EXPECT_EQ(body["tools"][0]["name"], "look");
  EXPECT_EQ(body["tools"][0]["input_schema"]["type"], "object");
  EXPECT_EQ(shape(body), "u:text\n");
  request.output_limit_tokens = 0; // the format demands a limit
  request.tools = nullptr;
  const auto bare = body_of(anthropic_codec{}, {user_message("Hi")}, request);
  EXPECT_EQ(bare["max_tokens"], anthropic_default_output_tokens);
  EXPECT_FALSE(bare.contains("system"));
  EXPECT_FALSE(bare.contains("tools"));
}

TEST(anthropic_codec, S8_roles_alternate_and_results_come_first_in_one_message) {
  const auto body = body_of(
      anthropic_codec{}, {user_message("Go on."), answer_message("What was."), // after a compaction
                          answer_message("", {{"a", "look", R"({"x":1})"}, {"b", "look", ""}}),
                          result_message("a", "found"), result_message("b", "gone", true),
                          user_message("and now?"), user_message("quick")});
  EXPECT_EQ(shape(body), "u:text\na:text:tool_use:tool_use\n"
                         "u:tool_result:tool_result:text:text\n");
  const auto& calls = body["messages"][1]["content"];
  EXPECT_EQ(calls[1]["input"], json({{"x", 1}}));
  EXPECT_EQ(calls[2]["input"], json::object());
  const auto& results = body["messages"][2]["content"];
  EXPECT_EQ(results[0]["tool_use_id"], "a");
  EXPECT_FALSE(results[0].contains("is_error"));
  EXPECT_EQ(results[1]["is_error"], true);
}

TEST(anthropic_codec, no_text_is_blank) {
  const auto body = body_of(anthropic_codec{}, {system_message(" "), user_message(""),
                                                answer_message("\n ", {{"a", "look", ""}}),
                                                result_message("a", ""), user_message("\n")});
  EXPECT_FALSE(body.contains("system"));
  EXPECT_EQ(shape(body), "u:text\na:tool_use\nu:tool_result:text\n");
  EXPECT_EQ(body["messages"][0]["content"][0]["text"], "(empty)");
  EXPECT_FALSE(body["messages"][2]["content"][0].contains("content"));
  const auto failed =
      body_of(anthropic_codec{}, {user_message("x"), answer_message("", {{"a", "look", ""}}),
                                  result_message("a", "", true)});
  EXPECT_EQ(failed["messages"][2]["content"][0]["content"], "(empty)"); // an error needs a text
}

TEST(anthropic_codec, only_the_last_answer_loses_white_space_at_its_end) {
  const auto body = body_of(anthropic_codec{}, {user_message("a"), answer_message("b \n"),
                                                user_message("c"), answer_message(" d \n")});
  EXPECT_EQ(body["messages"][1]["content"][0]["text"], "b \n");
  EXPECT_EQ(body["messages"][3]["content"][0]["text"], " d");
}

TEST(anthropic_codec, arguments_that_are_no_object_and_odd_ids_and_names_pass) {
  struct row {
    const char* written;
    json sent;
  };
  for (const auto& [written, sent] :
       std::vector<row>{{"{\"a\":", {{"invalid_json", "{\"a\":"}}},
                        {"[1]", {{"invalid_json", "[1]"}}},
                        {R"({"n":1e999})", {{"invalid_json", R"({"n":1e999})"}}}}) {
    const auto body =
        body_of(anthropic_codec{},
                {user_message("x"), answer_message("", {{"functions.a:0", "f.g", written}}),
                 result_message("functions.a:0", "r")});
    const auto& call = body["messages"][1]["content"][0];
    EXPECT_EQ(call["input"], sent) << written;
    EXPECT_EQ(call["name"], "f_g");
    EXPECT_EQ(call["id"].get<std::string>().find_first_of(".:"), std::string::npos);
    EXPECT_EQ(body["messages"][2]["content"][0]["tool_use_id"], call["id"]);
  }
}

TEST(anthropic_codec, each_call_has_an_id_of_its_own) {
  const auto body =
      body_of(anthropic_codec{},
              {user_message("x"), answer_message("", {{"call_0", "look", ""}}),
               result_message("call_0", "one"), answer_message("", {{"call_0", "look", ""}}),
               result_message("call_0", "two"), user_message("y")});
  const auto& messages = body["messages"];
  EXPECT_EQ(messages[1]["content"][0]["id"], "call_0");
  EXPECT_NE(messages[3]["content"][0]["id"], "call_0");
  EXPECT_EQ(messages[2]["content"][0]["tool_use_id"], messages[1]["content"][0]["id"]);
  EXPECT_EQ(messages[4]["content"][0]["tool_use_id"], messages[3]["content"][0]["id"]);
}

TEST(anthropic_codec, calls_in_the_conversation_have_tools_also_where_none_is_offered) {
  const auto body =
      body_of(anthropic_codec{},
              {user_message("x"), answer_message("", {{"a", "look", ""}, {"b", "look", ""}}),
               result_message("a", "1"), result_message("b", "2")});
  ASSERT_EQ(body["tools"].size(), 1u);
  EXPECT_EQ(body["tools"][0]["name"], "look");
  EXPECT_EQ(body["tools"][0]["input_schema"]["type"], "object");
}

TEST(anthropic_codec, S26_thinking_goes_out_byte_for_byte_and_in_its_place) {
  const auto said = answer_message(
      "Let me look.Then again.", {{"a", "look", ""}, {"b", "look", ""}},
      opaque(
          R"({"reasoning":)" + thinking +
          R"(},{"text_bytes":12},{"call":true},{"reasoning":{"type":"redacted_thinking","data":"x+/="}},)"
          R"({"text_bytes":11},{"call":true})"));
  const auto body = body_of(anthropic_codec{}, {user_message("x"), said, result_message("a", "1"),
                                                result_message("b", "2")});
  EXPECT_EQ(shape(body), "u:text\na:thinking:text:tool_use:redacted_thinking:text:tool_use\n"
                         "u:tool_result:tool_result\n");
  const auto& blocks = body["messages"][1]["content"];
  EXPECT_EQ(blocks[0], json::parse(thinking));
  EXPECT_EQ(blocks[1]["text"], "Let me look.");
  EXPECT_EQ(blocks[2]["id"], "a");
  EXPECT_EQ(blocks[3], json::parse(R"({"type":"redacted_thinking","data":"x+/="})"));
  EXPECT_EQ(blocks[4]["text"], "Then again.");
  EXPECT_EQ(blocks[5]["id"], "b");
}

TEST(anthropic_codec, S26_opaque_reasoning_that_does_not_fit_is_left_out_whole) {
  const auto part = R"({"reasoning":)" + thinking + "}";
  for (const auto& text : std::vector<std::string>{
           "no JSON", "[]", "7",
           R"({"format":"responses","parts":[)" + part + R"(,{"text_bytes":4}]})",
           opaque(part + R"(,{"text_bytes":9000000000})"), opaque(part + R"(,{"text_bytes":-1})"),
           opaque(part + R"(,{"text_bytes":3})"),
           opaque(part + R"(,{"text_bytes":4},{"call":true})"), opaque("null,7,[]"),
           R"({"format":"anthropic","parts":7})"}) {
    const auto body =
        body_of(anthropic_codec{},
                {user_message("x"), answer_message("Yes.", {}, text), user_message("y")});
    EXPECT_EQ(shape(body), "u:text\na:text\nu:text\n") << text;
    EXPECT_EQ(body["messages"][1]["content"][0]["text"], "Yes.") << text;
  }
}

TEST(anthropic_codec, F35_an_answer_with_thinking_is_joined_to_no_other) {
  const auto said = answer_message("", {{"a", "look", ""}},
                                   opaque(R"({"reasoning":)" + thinking + R"(},{"call":true})"));
  const auto body = body_of(anthropic_codec{}, {user_message("Go on."), answer_message("What was."),
                                                said, result_message("a", "1")});
  EXPECT_EQ(shape(body), "u:text\na:text\nu:text\na:thinking:tool_use\nu:tool_result\n");
}

TEST(anthropic_codec, an_answer_does_not_end_in_thinking) {
  const auto said =
      answer_message(" ", {}, opaque(R"({"reasoning":)" + thinking + R"(},{"text_bytes":1})"));
  const auto body = body_of(anthropic_codec{}, {user_message("a"), said, user_message("b")});
  EXPECT_EQ(shape(body), "u:text:text\n"); // nothing was left of it
}

TEST(anthropic_codec, cache_marks_stand_behind_what_the_next_request_repeats) {
  auto request = testing::plain_request();
  request.tools = one_tool();
  const std::vector<message_ptr> said{user_message("a"), answer_message("b"), user_message("c"),
                                      answer_message("", {{"a", "look", ""}}),
                                      result_message("a", "1")};
  auto with_system = said;
  with_system.insert(with_system.begin(), system_message("Be kind."));
  const auto body = body_of(anthropic_codec{}, with_system, request);
  EXPECT_EQ(marks_in(body), 3u);
  EXPECT_LE(marks_in(body), cache_marks_max);
  EXPECT_EQ(marks_in(body["system"].back()), 1u);
  EXPECT_EQ(marks_in(body["messages"][2]), 1u);
  EXPECT_EQ(marks_in(body["messages"].back()["content"].back()), 1u);
  const auto bare = body_of(anthropic_codec{}, said, request);
  EXPECT_EQ(marks_in(bare["tools"].back()), 1u);
  request.kind = sampling_kind::compact; // never repeated
  EXPECT_EQ(marks_in(body_of(anthropic_codec{}, said, request)), 0u);
}

TEST(anthropic_codec, thinking_is_asked_for_as_the_settings_say_and_where_it_may_be) {
  auto request = testing::plain_request();
  request.output_limit_tokens = 8'000;
  const std::vector<message_ptr> plain{user_message("a")};
  struct row {
    reasoning_effort effort;
    std::int64_t budget_tokens; // 0: none
  };
  for (const auto& [effort, budget] : std::vector<row>{{reasoning_effort::unset, 0},
                                                       {reasoning_effort::none, 0},
                                                       {reasoning_effort::low, 2'000},
                                                       {reasoning_effort::medium, 4'000},
                                                       {reasoning_effort::high, 6'000}}) {
    const auto body = body_of(anthropic_codec{effort}, plain, request);
    if (budget == 0)
      EXPECT_FALSE(body.contains("thinking"));
    else
      EXPECT_EQ(body["thinking"], json({{"type", "enabled"}, {"budget_tokens", budget}}));
  }
  const anthropic_codec high{reasoning_effort::high};
  const std::vector<message_ptr> loop{user_message("a"), answer_message("", {{"a", "look", ""}}),
                                      result_message("a", "1")};
  EXPECT_FALSE(body_of(high, loop, request).contains("thinking")) << "the loop began without";
  const auto thought = answer_message("", {{"a", "look", ""}},
                                      opaque(R"({"reasoning":)" + thinking + R"(},{"call":true})"));
  EXPECT_TRUE(body_of(high, {user_message("a"), thought, result_message("a", "1")}, request)
                  .contains("thinking"));
  request.output_limit_tokens = 1'024; // too little for any
  EXPECT_FALSE(body_of(high, plain, request).contains("thinking"));
  request.output_limit_tokens = 8'000;
  request.kind = sampling_kind::compact;
  EXPECT_FALSE(body_of(high, plain, request).contains("thinking"));
}

TEST(anthropic_codec, invalid_utf8_never_breaks_a_body) {
  EXPECT_TRUE(json::accept(anthropic_codec{}.request_body([] {
    auto request = testing::plain_request();
    request.messages = {user_message("a\xFFz")};
    return request;
  }())));
}

} // namespace
} // namespace rind::provider
