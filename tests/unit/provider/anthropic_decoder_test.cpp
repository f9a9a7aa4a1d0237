// Answers of Anthropic Messages, good and bad, through the reader that the HTTP provider uses.
#include "runtime/provider/anthropic_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::described;
using testing::named_event;
using testing::named_events;

testing::read_result answer_to(const std::string& body, testing::response r = {}) {
  r.codec = std::make_shared<anthropic_codec>();
  return testing::read(body, r);
}

std::string start(const std::string& usage = R"({"input_tokens":10,"output_tokens":1})") {
  return R"({"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":)" +
         usage + "}}";
}

std::string open(int index, const std::string& block) {
  return R"({"type":"content_block_start","index":)" + std::to_string(index) +
         R"(,"content_block":)" + block + "}";
}

std::string piece(int index, const std::string& delta) {
  return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" +
         delta + "}";
}

std::string text_piece(int index, const std::string& text) {
  return piece(index, R"({"type":"text_delta","text":")" + text + "\"}");
}

std::string json_piece(int index, const std::string& text) {
  return piece(index, json{{"type", "input_json_delta"}, {"partial_json", text}}.dump());
}

std::string close(int index) {
  return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}";
}

std::string ended(const std::string& reason, const std::string& usage = R"({"output_tokens":7})") {
  return R"({"type":"message_delta","delta":{"stop_reason":")" + reason + R"("},"usage":)" + usage +
         "}";
}

const std::string ping = R"({"type":"ping"})";
const std::string stop = R"({"type":"message_stop"})";
const std::string text_block = R"({"type":"text","text":""})";

std::string call_block(const std::string& id, const std::string& input = "{}") {
  return R"({"type":"tool_use","id":")" + id + R"(","name":"look","input":)" + input + "}";
}

std::vector<std::string> said(const std::string& reason, const std::string& usage_at_start,
                              const std::string& usage_at_end) {
  return {start(usage_at_start),       open(0, text_block),
          text_piece(0, "Hi"),         close(0),
          ended(reason, usage_at_end), stop};
}

TEST(anthropic_decoder, reads_text_usage_and_finish) {
  const auto r =
      answer_to(named_events({start(), open(0, text_block), ping, text_piece(0, "Hel"),
                              text_piece(0, "lo 日本"), close(0), ended("end_turn"), stop}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.text, "Hello 日本");
  EXPECT_EQ(r.answer().msg->content, "Hello 日本");
  EXPECT_EQ(r.answer().msg->model, "m");
  EXPECT_FALSE(r.answer().msg->reasoning);
  EXPECT_EQ(r.answer().finish, finish_reason::stop);
  EXPECT_EQ(r.answer().finish_text, "end_turn");
  EXPECT_EQ(r.answer().usage, (token_usage{10, 7, {}, {}}));
}

TEST(anthropic_decoder, F10_input_is_the_whole_prompt_with_the_cache_in_it) {
  struct row {
    const char* name;
    std::string at_start;
    std::string at_end;
    token_usage expected;
  };
  for (
      const auto& [name, at_start, at_end, expected] : std::vector<row>{
          {"cache beside the input",
           R"({"input_tokens":4,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1})",
           R"({"output_tokens":9})",
           {1'104, 9, 1'000, {}}},
          {"cumulative at the end",
           R"({"input_tokens":4,"cache_read_input_tokens":10,"output_tokens":1})",
           R"({"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,"output_tokens":9})",
           {25, 9, 20, {}}},
          {"null at the end",
           R"({"input_tokens":4,"cache_read_input_tokens":10,"output_tokens":1})",
           R"({"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":9})",
           {14, 9, 10, {}}},
          {"zero at the end",
           R"({"input_tokens":4,"output_tokens":1})",
           R"({"input_tokens":0,"output_tokens":9})",
           {4, 9, {}, {}}},
          {"zero at the start",
           R"({"input_tokens":0,"output_tokens":0})",
           R"({"input_tokens":6,"output_tokens":9})",
           {6, 9, {}, {}}},
          {"no usage at the end",
           R"({"input_tokens":4,"output_tokens":1})",
           "null",
           {4, 1, {}, {}}},
          {"none at all", "null", "null", {}},
          {"out of range",
           R"({"input_tokens":1e300,"output_tokens":-5})",
           R"({"output_tokens":"9"})",
           {}},
          {"all from the cache",
           R"({"input_tokens":0,"cache_read_input_tokens":50})",
           R"({"output_tokens":2})",
           {50, 2, 50, {}}}}) {
    const auto r = answer_to(named_events(said("end_turn", at_start, at_end)));
    ASSERT_TRUE(r.is_answer()) << name;
    EXPECT_EQ(r.answer().usage, expected) << name;
  }
}

TEST(anthropic_decoder, assembles_parallel_calls_and_arguments_that_never_come) {
  const auto r = answer_to(named_events(
      {start(), open(0, text_block), text_piece(0, "Let me look."), close(0),
       open(1, call_block("a")), json_piece(1, ""), json_piece(1, R"({"x":)"), json_piece(1, "1}"),
       close(1), open(2, call_block("b")), close(2), open(3, call_block("c", R"({"y":2})")),
       close(3), open(4, call_block("d", R"({"y":2})")), json_piece(4, R"({"z":3})"), close(4),
       ended("tool_use"), stop}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.answer().finish, finish_reason::tool_calls);
  EXPECT_EQ(r.answer().msg->content, "Let me look.");
  EXPECT_EQ(r.answer().msg->tool_calls,
            (std::vector<tool_call>{{"a", "look", R"({"x":1})"},
                                    {"b", "look", "{}"},
                                    {"c", "look", R"({"y":2})"},    // whole at the start
                                    {"d", "look", R"({"z":3})"}})); // pieces count more
}

TEST(anthropic_decoder, S26_thinking_is_kept_byte_for_byte_and_in_its_place) {
  const auto r =
      answer_to(named_events({start(),
                              open(0, R"({"type":"thinking","thinking":"","signature":""})"),
                              piece(0, R"({"type":"thinking_delta","thinking":"Hm é\n"})"),
                              piece(0, R"({"type":"thinking_delta","thinking":" so."})"),
                              piece(0, R"({"type":"signature_delta","signature":"c2ln"})"),
                              piece(0, R"({"type":"signature_delta","signature":"+/=="})"),
                              close(0),
                              open(1, text_block),
                              text_piece(1, "Let me look."),
                              close(1),
                              open(2, call_block("a")),
                              close(2),
                              open(3, R"({"type":"redacted_thinking","data":"x+/="})"),
                              close(3),
                              open(4, R"({"type":"thinking","thinking":"","signature":"ohne"})"),
                              close(4),
                              open(5, call_block("b")),
                              close(5),
                              ended("tool_use"),
                              stop}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.reasoning, "Hm é\n so.");
  EXPECT_EQ(r.answer().msg->reasoning->text, "Hm é\n so.");
  const auto opaque = json::parse(r.answer().msg->reasoning->opaque);
  EXPECT_EQ(opaque["format"], "anthropic");
  EXPECT_EQ(
      opaque["parts"],
      json::parse(
          R"([{"reasoning":{"type":"thinking","thinking":"Hm é\n so.","signature":"c2ln+/=="}},{"text_bytes":12},{"call":true},)"
          R"({"reasoning":{"type":"redacted_thinking","data":"x+/="}},{"reasoning":{"type":"thinking","thinking":"","signature":"ohne"}},{"call":true}])"));
}

TEST(anthropic_decoder, thinking_that_cannot_be_sent_again_is_only_shown) {
  const auto thought = [](const std::string& delta, const std::string& signature) {
    return std::vector<std::string>{
        start(), open(0, R"({"type":"thinking","thinking":"","signature":")" + signature + "\"}"),
        piece(0, R"({"type":"thinking_delta","thinking":")" + delta + "\"}"), close(0)};
  };
  const auto with = [](std::vector<std::string> events, const std::vector<std::string>& more) {
    events.insert(events.end(), more.begin(), more.end());
    return answer_to(testing::events(events)); // names are not needed
  };
  const std::vector<std::string> text{open(1, text_block), text_piece(1, "Yes."), close(1)};
  const std::vector<std::string> good_end{ended("end_turn"), stop};
  auto full = text;
  full.insert(full.end(), good_end.begin(), good_end.end());
  EXPECT_NE(with(thought("Hm", "c2ln"), full).answer().msg->reasoning->opaque, "");
  struct row {
    const char* name;
    testing::read_result result;
  };
  auto cut = text;
  cut.insert(cut.end(), {ended("max_tokens"), stop});
  for (const auto& [name, r] :
       std::vector<row>{{"no signature", with(thought("Hm", ""), full)},
                        {"a character was lost", with(thought(R"(Hm\ud83d)", "c2ln"), full)},
                        {"nothing follows it", with(thought("Hm", "c2ln"), good_end)},
                        {"the answer was cut", with(thought("Hm", "c2ln"), cut)}}) {
    ASSERT_TRUE(r.is_answer()) << name << described(r);
    EXPECT_EQ(r.answer().msg->reasoning->opaque, "") << name;
    EXPECT_EQ(r.answer().msg->reasoning->text.substr(0, 2), "Hm") << name;
  }
}

TEST(anthropic_decoder, maps_stop_reasons) {
  struct row {
    const char* word;
    finish_reason reason;
  };
  for (const auto& [word, reason] :
       std::vector<row>{{"end_turn", finish_reason::stop},
                        {"stop_sequence", finish_reason::stop},
                        {"tool_use", finish_reason::stop}, // no call came
                        {"max_tokens", finish_reason::length},
                        {"refusal", finish_reason::content_filter},
                        {"model_context_window_exceeded", finish_reason::window_exceeded},
                        {"pause_turn", finish_reason::other},
                        {"brand_new", finish_reason::other}}) {
    const auto r = answer_to(named_events(said(word, "null", "null")));
    ASSERT_TRUE(r.is_answer()) << word;
    EXPECT_EQ(r.answer().finish, reason) << word;
    EXPECT_EQ(r.answer().finish_text, word);
  }
}

TEST(anthropic_decoder, S32_what_is_no_answer_is_an_error_with_its_class) {
  using enum provider_error_class;
  struct row {
    const char* name;
    std::string body;
    provider_error_class expected;
  };
  const auto overloaded_event =
      R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})";
  const auto partial = named_events({start(), open(0, text_block), text_piece(0, "Let me")});
  for (
      const auto& r : std::vector<row>{
          {"nothing", "", stream_interrupted},
          {"pings only", named_events({ping, ping}), stream_interrupted},
          {"cut", partial, stream_interrupted},
          {"a stop without a reason",
           named_events({start(), open(0, text_block), text_piece(0, "a"), close(0), stop}),
           stream_interrupted},
          {"error first", named_event(overloaded_event), overloaded},
          {"error first, without a name", testing::event(overloaded_event), overloaded},
          {"error in mid-stream", partial + named_event(overloaded_event), overloaded},
          {"stop after an error", partial + named_event(overloaded_event) + named_event(stop),
           overloaded},
          {"F58 the first error counts",
           partial + named_event(overloaded_event) +
               named_event(
                   R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 5 maximum"}})"),
           overloaded},
          {"too long, in the stream",
           named_event(start()) +
               named_event(
                   R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}})"),
           context_length},
          {"an event that is no JSON",
           named_event(start()) + "event: message_delta\ndata: {\"a\n\n", server_error},
          {"a whole body that is an error", overloaded_event, overloaded},
          {"half a body", R"({"type":"message","content":[{"type":"te)", stream_interrupted},
          {"another JSON", R"({"hello":1})", stream_interrupted}}) {
    const auto result = answer_to(r.body);
    ASSERT_FALSE(result.is_answer()) << r.name;
    EXPECT_EQ(result.error().error_class, r.expected) << r.name << ": " << described(result);
    EXPECT_EQ(result.error().status, 200) << r.name;
  }
}

TEST(anthropic_decoder, skips_what_it_does_not_know) {
  const auto r = answer_to(
      named_event(start()) + "event: ping\ndata: \n\n" + "event: brand_new\ndata: not json\n\n" +
      named_events({R"({"type":"note","message":"all is well"})",
                    open(0, R"({"type":"server_tool_use","id":"s","name":"n"})"),
                    json_piece(0, "{}"), close(0), open(1, text_block), text_piece(1, "Hi"),
                    piece(1, R"({"type":"citations_delta","citation":{}})"), close(1),
                    ended("end_turn"), stop}) +
      testing::event("[DONE]"));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(described(r).find("call="), std::string::npos);
  EXPECT_EQ(r.answer().msg->content, "Hi");
}

TEST(anthropic_decoder, words_of_overflow_in_the_models_text_are_text) {
  EXPECT_TRUE(
      answer_to(named_events({start(), open(0, text_block),
                              text_piece(0, "prompt is too long: 213462 tokens > 200000 maximum"),
                              close(0), ended("end_turn"), stop}))
          .is_answer());
}

TEST(anthropic_decoder, accepts_a_reason_without_a_stop_and_a_body_that_is_not_streamed) {
  const auto stream =
      named_events({start(), open(0, text_block), text_piece(0, "a"), close(0), ended("end_turn")});
  EXPECT_TRUE(answer_to(stream).is_answer());
  testing::response broken;
  broken.end = {http_error::partial, "cut"};
  EXPECT_TRUE(answer_to(stream, broken).is_answer());
  const auto whole = answer_to(
      R"({"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},{"type":"text","text":"Hi"},)"
      R"({"type":"tool_use","id":"a","name":"look","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":1}})");
  ASSERT_TRUE(whole.is_answer()) << described(whole);
  EXPECT_EQ(whole.text, "Hi");
  EXPECT_EQ(whole.reasoning, "Hm");
  EXPECT_EQ(whole.answer().msg->tool_calls.at(0).arguments, R"({"x":1})");
  EXPECT_NE(whole.answer().msg->reasoning->opaque, "");
  EXPECT_EQ(whole.answer().usage.input_tokens, 3);
}

TEST(anthropic_decoder, arguments_that_the_output_limit_cut_arrive_as_they_are) {
  const auto r =
      answer_to(named_events({start(), open(0, call_block("a")), json_piece(0, R"({"x":)"),
                              close(0), ended("max_tokens"), stop}));
  ASSERT_TRUE(r.is_answer());
  EXPECT_EQ(r.answer().finish, finish_reason::length);
  EXPECT_EQ(r.answer().msg->tool_calls.at(0).arguments, R"({"x":)");
}

} // namespace
} // namespace rind::provider
