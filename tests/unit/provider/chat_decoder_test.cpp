// Answers of Chat Completions, good and bad, through the reader that the HTTP provider uses; each
// stream is also split at every byte.
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using testing::chunk;
using testing::described;
using testing::events;
using testing::read;

const std::string hello = chunk(R"({"role":"assistant","content":""})");
const std::string stop = chunk("{}", "stop");
const std::string done = "[DONE]";

std::string calls(const std::string& list) {
  return chunk(R"({"tool_calls":[)" + list + "]}");
}

TEST(chat_decoder, reads_text_usage_and_finish) {
  const auto r = read(events(
      {hello, chunk(R"({"content":"Hel"})"), chunk(R"({"content":"lo 日本"})"), stop,
       R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},)"
       R"("completion_tokens_details":{"reasoning_tokens":2}}})",
       done}));
  ASSERT_TRUE(r.is_answer());
  EXPECT_EQ(r.text, "Hello 日本");
  EXPECT_EQ(r.answer().msg->content, "Hello 日本");
  EXPECT_EQ(r.answer().msg->model, "m");
  EXPECT_EQ(r.answer().finish, finish_reason::stop);
  EXPECT_EQ(r.answer().usage, (token_usage{10, 3, 8, 2}));
}

TEST(chat_decoder, finds_usage_wherever_it_stands) {
  struct row {
    const char* name;
    std::vector<std::string> chunks;
    token_usage expected;
  };
  const auto in_choice =
      R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":1}}]})";
  const auto in_finish =
      R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":1,"prompt_cache_hit_tokens":5}})";
  for (const auto& [name, chunks, expected] : std::vector<row>{
           {"in the choice", {hello, in_choice, done}, {7, 1, {}, {}}},
           {"beside the finish", {hello, in_finish, done}, {7, 1, 5, {}}},
           {"all zero is unknown",
            {hello, stop, R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}})",
             done},
            {}},
           {"zero input is unknown",
            {hello, stop, R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":4}})",
             done},
            {{}, 4, {}, {}}},
           {"null", {hello, stop, R"({"choices":[],"usage":null})", done}, {}},
           {"a later null takes nothing away",
            {hello, in_choice, R"({"choices":[],"usage":null})", done},
            {7, 1, {}, {}}},
           {"negative is unknown",
            {hello, stop, R"({"choices":[],"usage":{"prompt_tokens":-4,"completion_tokens":2}})",
             done},
            {{}, 2, {}, {}}}}) {
    const auto r = read(events(chunks));
    ASSERT_TRUE(r.is_answer()) << name;
    EXPECT_EQ(r.answer().usage, expected) << name;
  }
}

TEST(chat_decoder, F10_usage_is_brought_to_one_contract) {
  struct row {
    const char* name;
    std::string usage;
    token_usage expected;
  };
  for (
      const auto& [name, usage, expected] : std::vector<row>{
          {"cached as a subset",
           R"({"prompt_tokens":150000,"completion_tokens":10,"total_tokens":150010,"prompt_tokens_details":{"cached_tokens":140000}})",
           {150'000, 10, 140'000, {}}},
          {"cached beside the prompt",
           R"({"prompt_tokens":90000,"completion_tokens":10,"total_tokens":150010,"prompt_tokens_details":{"cached_tokens":60000}})",
           {150'000, 10, 60'000, {}}},
          {"more cached than prompt, no total",
           R"({"prompt_tokens":10000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":140000}})",
           {150'000, 10, 140'000, {}}},
          {"no total",
           R"({"prompt_tokens":150000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":140000}})",
           {150'000, 10, 140'000, {}}},
          {"reasoning beside the answer",
           R"({"prompt_tokens":100,"completion_tokens":10,"total_tokens":140,"completion_tokens_details":{"reasoning_tokens":30}})",
           {100, 40, {}, 30}},
          {"out of range",
           R"({"prompt_tokens":1e300,"completion_tokens":18446744073709551615,"total_tokens":{}})",
           {}}}) {
    const auto r = read(events({hello, stop, R"({"choices":[],"usage":)" + usage + "}", done}));
    ASSERT_TRUE(r.is_answer()) << name;
    EXPECT_EQ(r.answer().usage, expected) << name;
  }
}

TEST(chat_decoder, S26_reasoning_details_are_joined_and_kept_for_the_next_request) {
  const auto detail = [](const std::string& list) {
    return chunk(R"({"reasoning_details":[)" + list + "]}");
  };
  const auto r = read(
      events({detail(R"({"type":"reasoning.text","text":"I ","index":0,"format":"f","id":null})"),
              detail(R"({"type":"reasoning.text","text":"think","index":0,"signature":null})"),
              detail(R"({"type":"reasoning.encrypted","data":"c2Vj","index":1},7)"),
              detail(R"({"type":"reasoning.text","text":"","index":0,"signature":"c2ln+/=="})"),
              detail(R"({"type":"reasoning.encrypted","data":"+/==","index":1})"),
              detail(R"({"type":"reasoning.summary","summary":"A"})"),
              detail(R"({"type":"reasoning.summary","summary":"B"})"),
              detail(R"({"type":"reasoning.encrypted","id":"e1","data":"x"})"),
              detail(R"({"type":"reasoning.encrypted","id":"e2","data":"y"})"),
              chunk(R"({"content":"Yes"})"), stop, done}));
  ASSERT_TRUE(r.is_answer());
  EXPECT_EQ(
      nlohmann::json::parse(r.answer().msg->reasoning->opaque),
      nlohmann::json::parse(
          R"({"format":"chat","members":{"reasoning_details":[)"
          R"({"type":"reasoning.text","text":"I think","index":0,"format":"f","id":null,"signature":"c2ln+/=="},)"
          R"({"type":"reasoning.encrypted","data":"c2Vj+/==","index":1},{"type":"reasoning.summary","summary":"AB"},)"
          R"({"type":"reasoning.encrypted","id":"e1","data":"x"},{"type":"reasoning.encrypted","id":"e2","data":"y"}]}})"));
  const auto again = nlohmann::json::parse(render_message(*r.answer().msg));
  EXPECT_EQ(again["reasoning_details"].size(), 5u);
  EXPECT_EQ(again["content"], "Yes");

  std::string flood;
  for (std::size_t i = 0; i <= answer_parts_max; ++i)
    flood +=
        testing::event(detail(R"({"type":"reasoning.text","index":)" + std::to_string(i) + "}"));
  const auto many = read(flood + events({stop, done}));
  ASSERT_FALSE(many.is_answer());
  EXPECT_EQ(many.error().code, "answer_too_large");
}

TEST(chat_decoder, takes_reasoning_from_one_field) {
  const auto r = read(events({chunk(R"({"reasoning":"I ","reasoning_content":"I "})"),
                              chunk(R"({"reasoning":"think","reasoning_content":"think"})"),
                              chunk(R"({"content":"Yes"})"), stop, done}));
  EXPECT_EQ(r.reasoning, "I think");
  EXPECT_EQ(r.answer().msg->reasoning->text, "I think");
  EXPECT_EQ(r.answer().msg->reasoning->opaque, "");
  const auto parts = read(events(
      {chunk(
           R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Yes"}]})"),
       stop, done}));
  EXPECT_EQ(parts.reasoning, "Hm");
  EXPECT_EQ(parts.text, "Yes");
}

TEST(chat_decoder, assembles_tool_calls_of_every_dialect) {
  struct row {
    const char* name;
    std::vector<std::string> chunks;
    std::vector<tool_call> expected;
  };
  const std::vector<row> rows{
      {"fragments by index",
       {calls(R"({"index":0,"id":"a","type":"function","function":{"name":"add","arguments":""}})"),
        calls(R"({"index":1,"id":"b","function":{"name":"mul","arguments":""}})"),
        calls(R"({"index":0,"function":{"arguments":"{\"x\":"}})"),
        calls(R"({"index":1,"function":{"arguments":"{}"}})"),
        calls(R"({"index":0,"function":{"arguments":"1}"}})")},
       {{"a", "add", R"({"x":1})"}, {"b", "mul", "{}"}}},
      {"all with index 0, other ids",
       {calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":"{}"}})"),
        calls(R"({"index":0,"id":"b","function":{"name":"add","arguments":"{}"}})")},
       {{"a", "add", "{}"}, {"b", "add", "{}"}}},
      {"no index",
       {calls(R"({"id":"a","function":{"name":"add","arguments":"{\"x\""}})"),
        calls(R"({"function":{"arguments":":1}"}})"),
        calls(R"({"id":"b","function":{"name":"mul","arguments":"{}"}})")},
       {{"a", "add", R"({"x":1})"}, {"b", "mul", "{}"}}},
      {"no ids, other names",
       {calls(R"({"index":0,"function":{"name":"add","arguments":"{}"}})"),
        calls(R"({"index":0,"function":{"name":"mul","arguments":"{}"}})")},
       {{"call_r1_1", "add", "{}"}, {"call_r1_2", "mul", "{}"}}},
      {"no ids, the same name again",
       {calls(R"({"function":{"name":"add","arguments":"{\"x\":1}"}})"),
        calls(R"({"function":{"name":"add","arguments":"{\"x\":2}"}})")},
       {{"call_r1_1", "add", R"({"x":1})"}, {"call_r1_2", "add", R"({"x":2})"}}},
      {"repeated id and name",
       {calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":"{\"x\""}})"),
        calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":":1}"}})")},
       {{"a", "add", R"({"x":1})"}}},
      {"an object as arguments",
       {calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":{"x":1}}})")},
       {{"a", "add", R"({"x":1})"}}},
      {"no arguments",
       {calls(R"({"index":0,"id":"a","function":{"name":"now"}})")},
       {{"a", "now", "{}"}}},
      {"empty id and name in fragments",
       {calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":"{"}})"),
        calls(R"({"index":0,"id":"","function":{"name":"","arguments":"}"}})")},
       {{"a", "add", "{}"}}},
      {"the same id twice",
       {calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":"{}"}})"),
        calls(R"({"index":1,"id":"a","function":{"name":"mul","arguments":"{}"}})")},
       {{"a", "add", "{}"}, {"call_r1_2", "mul", "{}"}}},
      {"the old form",
       {chunk(R"({"function_call":{"name":"add","arguments":"{\"x\""}})"),
        chunk(R"({"function_call":{"arguments":":1}"}})")},
       {{"call_r1_1", "add", R"({"x":1})"}}},
  };
  for (const auto& r : rows) {
    auto chunks = r.chunks;
    chunks.insert(chunks.begin(), hello);
    chunks.push_back(chunk("{}", "tool_calls"));
    chunks.push_back(done);
    const auto result = read(events(chunks));
    ASSERT_TRUE(result.is_answer()) << r.name;
    EXPECT_EQ(result.answer().msg->tool_calls, r.expected) << r.name;
    EXPECT_EQ(result.answer().finish, finish_reason::tool_calls) << r.name;
  }
}

TEST(chat_decoder, a_call_without_a_name_is_no_answer) {
  const auto r = read(events({calls(R"({"index":0,"id":"a","function":{"arguments":"{}"}})"),
                              chunk("{}", "tool_calls"), done}));
  ASSERT_FALSE(r.is_answer());
  EXPECT_EQ(r.error().code, "malformed_tool_call");
}

TEST(chat_decoder, maps_finish_reasons) {
  struct row {
    const char* text;
    finish_reason reason;
  };
  for (const auto& [text, reason] :
       std::vector<row>{{"stop", finish_reason::stop},
                        {"length", finish_reason::length},
                        {"max_tokens", finish_reason::length},
                        {"content_filter", finish_reason::content_filter},
                        {"tool_calls", finish_reason::stop}, // no call came
                        {"model_length", finish_reason::window_exceeded},
                        {"model_context_window_exceeded", finish_reason::window_exceeded},
                        {"brand_new", finish_reason::other}}) {
    const auto r = read(events({chunk(R"({"content":"a"})"), chunk("{}", text), done}));
    ASSERT_TRUE(r.is_answer()) << text;
    EXPECT_EQ(r.answer().finish, reason) << text;
    EXPECT_EQ(r.answer().finish_text, text);
  }
}

TEST(chat_decoder, S32_what_is_no_answer_is_an_error_with_its_class) {
  using enum provider_error_class;
  struct row {
    const char* name;
    std::string body;
    provider_error_class expected;
  };
  const auto partial = chunk(R"({"content":"Let me"})");
  const auto failure =
      R"({"error":{"message":"The server had an error","type":"server_error","code":null}})";
  for (
      const auto& r : std::vector<row>{
          {"done only", events({done}), stream_interrupted},
          {"nothing", "", stream_interrupted},
          {"comments only", ": keep-alive\n\n: keep-alive\n\n", stream_interrupted},
          {"cut", events({hello, partial}), stream_interrupted},
          {"cut in mid-event", events({hello}) + "data: {\"choices\":[{\"ind", stream_interrupted},
          {"error in mid-stream", events({hello, partial, failure}), server_error},
          {"done after an error", events({hello, failure, done}), server_error},
          {"an error field",
           events({hello}) +
               "error: {\"code\":500,\"message\":\"Context size has been exceeded.\"}\n\n" +
               events({done}),
           context_length},
          {"an error event",
           "event: error\ndata: "
           "{\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}}\n\n",
           overloaded},
          {"an error beside choices",
           events(
               {R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"bad"}})"}),
           server_error},
          {"finish error", events({partial, chunk("{}", "error"), done}), server_error},
          {"out of resources", events({partial, chunk("{}", "insufficient_system_resource"), done}),
           overloaded},
          {"native finish",
           events(
               {R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","native_finish_reason":"network_error"}]})",
                done}),
           server_error},
          {"no JSON in an event", events({hello, "upstream went away"}), server_error},
          {"a whole body that is an error",
           R"({"error":{"message":"Provider returned error","code":502}})", server_error},
          {"a page", "<!DOCTYPE html><html><title>Sign in</title></html>", server_error},
          {"half a body", R"({"choices":[{"message":{"content":"a)", stream_interrupted}}) {
    const auto result = read(r.body);
    ASSERT_FALSE(result.is_answer()) << r.name;
    EXPECT_EQ(result.error().error_class, r.expected) << r.name << ": " << described(result);
    EXPECT_EQ(result.error().status, 200) << r.name;
  }
}

TEST(chat_decoder, words_of_overflow_in_the_models_text_are_text) {
  const auto r = read(events(
      {chunk(R"({"content":"prompt is too long: 213462 tokens > 200000 maximum"})"), stop, done}));
  EXPECT_TRUE(r.is_answer());
}

TEST(chat_decoder, accepts_a_finish_without_done_and_a_body_that_is_not_streamed) {
  EXPECT_TRUE(read(events({chunk(R"({"content":"a"})"), stop})).is_answer());
  testing::response broken;
  broken.end = {http_error::partial, "cut"};
  EXPECT_TRUE(read(events({chunk(R"({"content":"a"})"), stop}), broken).is_answer());
  const auto whole = read(
      "\n\n"
      R"({"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"a","function":{"name":"now","arguments":""}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":1}})");
  ASSERT_TRUE(whole.is_answer());
  EXPECT_EQ(whole.text, "Hi");
  EXPECT_EQ(whole.answer().msg->tool_calls.at(0).arguments, "{}");
  EXPECT_EQ(whole.answer().usage.input_tokens, 3);
}

TEST(chat_decoder, survives_lone_surrogates_and_deep_json) {
  EXPECT_EQ(read(events({chunk(R"({"content":"a\ud83dz"})"), stop, done})).text, "a\xEF\xBF\xBDz");
  EXPECT_EQ(read(events({chunk(R"({"content":"\ud83d\ude00"})"), stop, done})).text, "😀");
  const auto deep = read(events({std::string(1'000'000, '[')}));
  ASSERT_FALSE(deep.is_answer());
}

TEST(chat_decoder, floods_end_as_typed_errors) {
  const std::string big(1u << 20, 'x');
  std::string text_flood;
  for (int i = 0; i < 17; ++i)
    text_flood += testing::event(chunk(R"({"content":")" + big + "\"}"));
  const auto text = read(text_flood + events({stop, done}));
  ASSERT_FALSE(text.is_answer());
  EXPECT_EQ(text.error().code, "answer_too_large");
  EXPECT_EQ(text.error().retry_same, false);

  std::string call_flood;
  for (std::size_t i = 0; i <= answer_calls_max; ++i)
    call_flood += testing::event(calls(R"({"id":"c)" + std::to_string(i) +
                                       R"(","function":{"name":"n","arguments":"{}"}})"));
  const auto many = read(call_flood + events({stop, done}));
  ASSERT_FALSE(many.is_answer());
  EXPECT_EQ(many.error().code, "answer_too_large");

  const auto line = read("data: " + std::string(sse_line_bytes_max + 1, 'x'));
  ASSERT_FALSE(line.is_answer());
  EXPECT_EQ(line.error().code, "line_too_long");
}

TEST(chat_decoder, every_split_of_every_stream_reads_the_same) {
  const std::vector<std::string> streams{
      "\xEF\xBB\xBF: hi\r\n\r\n" +
          events({hello, chunk(R"({"content":"日本 😀"})"), chunk(R"({"reasoning":"hm"})"), stop,
                  R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}})", done}),
      events({calls(R"({"index":0,"id":"a","function":{"name":"add","arguments":"{\"x\""}})"),
              calls(R"({"index":0,"function":{"arguments":":1}"}})"), chunk("{}", "tool_calls"),
              done}),
      events(
          {hello, chunk(R"({"content":"a"})"),
           R"({"error":{"message":"This model's maximum context length is 10 tokens. However, your messages resulted in 12 tokens."}})"}),
      "data:" + hello + "\r\rdata:" + stop + "\r\rdata:[DONE]\r\r",
      R"( {"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]})",
      events({hello}) + "data: {\"cut",
  };
  for (const auto& stream : streams) {
    const auto expected = described(read(stream));
    for (std::size_t at = 1; at < stream.size(); ++at) {
      const std::string_view all{stream};
      EXPECT_EQ(described(testing::read_pieces({all.substr(0, at), all.substr(at)})), expected)
          << "split at " << at;
    }
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at < stream.size(); ++at)
      bytes.push_back(std::string_view{stream}.substr(at, 1));
    EXPECT_EQ(described(testing::read_pieces(bytes)), expected);
  }
}

} // namespace
} // namespace rind::provider
