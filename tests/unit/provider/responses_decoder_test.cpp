// Answers of OpenAI Responses, good and bad, through the reader that the HTTP provider uses.
#include "runtime/provider/responses_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::described;
using testing::named_event;
using testing::named_events;

testing::read_result answer_to(const std::string& body, testing::response r = {}) {
  r.codec = std::make_shared<responses_codec>();
  return testing::read(body, r);
}

const std::string created =
    R"({"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","error":null,"usage":null}})";

std::string added(int index, const std::string& item) {
  return R"({"type":"response.output_item.added","output_index":)" + std::to_string(index) +
         R"(,"item":)" + item + "}";
}

std::string done(int index, const std::string& item) {
  return R"({"type":"response.output_item.done","output_index":)" + std::to_string(index) +
         R"(,"item":)" + item + "}";
}

std::string piece(const std::string& type, int index, const std::string& text) {
  return json{{"type", "response." + type}, {"output_index", index}, {"delta", text}}.dump();
}

std::string message_item(const std::string& text) {
  return R"({"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":")" +
         text + "\"}]}";
}

std::string call_item(const std::string& id, const std::string& arguments) {
  return json{{"type", "function_call"},
              {"id", "fc_" + id},
              {"call_id", id},
              {"name", "look"},
              {"arguments", arguments}}
      .dump();
}

const std::string empty_message =
    R"({"type":"message","id":"msg_1","role":"assistant","content":[]})";
const std::string reasoning =
    R"({"type":"reasoning","id":"rs_1","status":"completed","summary":[{"type":"summary_text","text":"Hm é"}],"encrypted_content":"c2Vj+/=="})";

std::string ended(const std::string& how, const std::string& more = R"("usage":null)") {
  return R"({"type":"response.)" + how + R"(","response":{"id":"resp_1","status":")" + how + "\"," +
         more + "}}";
}

const std::string completed = ended("completed");

TEST(responses_decoder, reads_text_usage_and_finish) {
  const auto r = answer_to(named_events(
      {created, added(0, empty_message), piece("output_text.delta", 0, "Hel"),
       piece("output_text.delta", 0, "lo 日本"), done(0, message_item("Hello 日本")),
       ended(
           "completed",
           R"("error":null,"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":8},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13})")}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.text, "Hello 日本");
  EXPECT_EQ(r.answer().msg->content, "Hello 日本");
  EXPECT_EQ(r.answer().msg->model, "m");
  EXPECT_EQ(r.answer().finish, finish_reason::stop);
  EXPECT_EQ(r.answer().finish_text, "completed");
  EXPECT_EQ(r.answer().usage, (token_usage{10, 3, 8, 2}));
}

TEST(responses_decoder, the_complete_item_counts_more_than_its_pieces) {
  const auto r = answer_to(named_events(
      {created, added(0, empty_message), piece("output_text.delta", 0, "Helo"),
       done(0, message_item("Hello")), added(1, call_item("a", "")),
       piece("function_call_arguments.delta", 1, R"({"x":)"), done(1, call_item("a", R"({"x":1})")),
       done(2, call_item("b", R"({"y":2})")), completed}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.answer().msg->content, "Hello");
  EXPECT_EQ(r.answer().msg->tool_calls,
            (std::vector<tool_call>{{"a", "look", R"({"x":1})"}, {"b", "look", R"({"y":2})"}}));
}

TEST(responses_decoder, assembles_calls_of_every_dialect) {
  struct row {
    const char* name;
    std::vector<std::string> events;
    std::vector<tool_call> expected;
  };
  const auto by_item = [](const std::string& id, const std::string& text) {
    return json{
        {"type", "response.function_call_arguments.delta"}, {"item_id", id}, {"delta", text}}
        .dump();
  };
  for (
      const auto& [name, events, expected] : std::vector<row>{
          {"parallel, mixed by output_index",
           {added(0, call_item("a", "")), added(1, call_item("b", "")),
            piece("function_call_arguments.delta", 1, R"({"y":)"),
            piece("function_call_arguments.delta", 0, R"({"x":1})"),
            piece("function_call_arguments.delta", 1, "2}")},
           {{"a", "look", R"({"x":1})"}, {"b", "look", R"({"y":2})"}}},
          {"named by item_id",
           {added(0, call_item("a", "")), added(1, call_item("b", "")),
            by_item("fc_a", R"({"x":1})"), by_item("fc_b", R"({"y":2})")},
           {{"a", "look", R"({"x":1})"}, {"b", "look", R"({"y":2})"}}},
          {"arguments.done alone",
           {added(0, call_item("a", "")),
            R"({"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_a","arguments":"{\"x\":1}"})"},
           {{"a", "look", R"({"x":1})"}}},
          {"no arguments",
           {added(0, call_item("a", "")), done(0, call_item("a", ""))},
           {{"a", "look", "{}"}}},
          {"each with index 0",
           {added(0, call_item("a", "")), done(0, call_item("a", "{}")),
            added(0, call_item("b", "")), done(0, call_item("b", R"({"y":2})"))},
           {{"a", "look", "{}"}, {"b", "look", R"({"y":2})"}}},
          {"an object as arguments",
           {done(0, R"({"type":"function_call","call_id":"a","name":"look","arguments":{"x":1}})")},
           {{"a", "look", R"({"x":1})"}}},
          {"no call_id",
           {done(0, R"({"type":"function_call","id":"fc_a","name":"look","arguments":"{}"})")},
           {{"call_r1_1", "look", "{}"}}}}) {
    auto all = events;
    all.insert(all.begin(), created);
    all.push_back(completed);
    const auto r = answer_to(named_events(all));
    ASSERT_TRUE(r.is_answer()) << name << described(r);
    EXPECT_EQ(r.answer().msg->tool_calls, expected) << name;
    EXPECT_EQ(r.answer().finish, finish_reason::tool_calls) << name;
  }
}

TEST(responses_decoder, S26_encrypted_reasoning_is_kept_in_its_place_without_its_id) {
  const auto r =
      answer_to(named_events({created, added(0, R"({"type":"reasoning","id":"rs_1","summary":[]})"),
                              piece("reasoning_summary_text.delta", 0, "Hm é"), done(0, reasoning),
                              added(1, empty_message), piece("output_text.delta", 1, "Let me."),
                              done(1, message_item("Let me.")), done(2, reasoning),
                              done(3, call_item("a", "{}")), completed}));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.reasoning, "Hm éHm é");
  const auto opaque = json::parse(r.answer().msg->reasoning->opaque);
  const auto kept =
      R"({"reasoning":{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm é"}],"encrypted_content":"c2Vj+/=="}})";
  EXPECT_EQ(opaque["format"], "responses");
  EXPECT_EQ(opaque["parts"], json::parse("[" + std::string{kept} + R"(,{"text_bytes":7},)" + kept +
                                         R"(,{"call":true}])"));
}

TEST(responses_decoder, reasoning_that_cannot_be_sent_again_is_only_shown) {
  struct row {
    const char* name;
    std::vector<std::string> events;
  };
  for (
      const auto& [name, events] : std::vector<row>{
          {"not encrypted",
           {done(
                0,
                R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}]})"),
            done(1, message_item("Yes.")), completed}},
          {"an orphan", {done(0, message_item("Yes.")), done(1, reasoning), completed}},
          {"an incomplete answer",
           {done(0, reasoning), done(1, message_item("Yes.")),
            ended("incomplete", R"("incomplete_details":{"reason":"max_output_tokens"})")}}}) {
    const auto r = answer_to(named_events(events));
    ASSERT_TRUE(r.is_answer()) << name << described(r);
    EXPECT_EQ(r.answer().msg->reasoning->opaque, "") << name;
    EXPECT_NE(r.answer().msg->reasoning->text, "") << name;
  }
  // Models whose reasoning is open want it back as it is.
  const auto open = answer_to(named_events(
      {done(
           0,
           R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]})"),
       done(1, message_item("Yes.")), completed}));
  EXPECT_NE(open.answer().msg->reasoning->opaque.find("reasoning_text"), std::string::npos);
  EXPECT_EQ(open.reasoning, "Hm");
}

TEST(responses_decoder, maps_the_ways_to_end) {
  struct row {
    std::string end;
    finish_reason reason;
    const char* word;
  };
  for (const auto& [end, reason, word] : std::vector<row>{
           {completed, finish_reason::stop, "completed"},
           {ended("incomplete", R"("incomplete_details":{"reason":"max_output_tokens"})"),
            finish_reason::length, "max_output_tokens"},
           {ended("incomplete", R"("incomplete_details":{"reason":"content_filter"})"),
            finish_reason::content_filter, "content_filter"},
           {ended("incomplete", R"("incomplete_details":null)"), finish_reason::other,
            "incomplete"},
           {R"({"type":"response.completed"})", finish_reason::stop, "completed"}}) {
    const auto r = answer_to(named_events({created, done(0, message_item("Hi")), end}));
    ASSERT_TRUE(r.is_answer()) << end << described(r);
    EXPECT_EQ(r.answer().finish, reason) << end;
    EXPECT_EQ(r.answer().finish_text, word);
  }
  const auto refused = answer_to(named_events(
      {created, R"({"type":"response.refusal.delta","output_index":0,"delta":"I can not."})",
       done(0, R"({"type":"message","content":[{"type":"refusal","refusal":"I can not."}]})"),
       completed}));
  ASSERT_TRUE(refused.is_answer());
  EXPECT_EQ(refused.answer().finish, finish_reason::content_filter);
}

TEST(responses_decoder, S32_what_is_no_answer_is_an_error_with_its_class) {
  using enum provider_error_class;
  struct row {
    const char* name;
    std::string body;
    provider_error_class expected;
  };
  const auto partial =
      named_events({created, added(0, empty_message), piece("output_text.delta", 0, "Let me")});
  const auto too_long = ended(
      "failed",
      R"("error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."},"usage":null)");
  const auto busy =
      R"({"type":"error","code":"server_is_overloaded","message":"Busy","param":null})";
  for (
      const auto& r : std::vector<row>{
          {"nothing", "", stream_interrupted},
          {"cut", partial, stream_interrupted},
          {"cut behind a complete item", partial + named_event(done(0, message_item("Let me"))),
           stream_interrupted},
          {"a mark instead of an end", partial + testing::event("[DONE]"), stream_interrupted},
          {"failed", partial + named_event(too_long), context_length},
          {"failed, without a name", testing::event(created) + testing::event(too_long),
           context_length},
          {"failed first", named_event(too_long), context_length},
          {"failed without a reason", named_event(ended("failed", R"("error":null)")),
           server_error},
          {"flat error first", named_event(busy), overloaded},
          {"nested error",
           partial +
               named_event(
                   R"({"type":"error","error":{"code":"context_length_exceeded","message":"too long"}})"),
           context_length},
          {"F58 an error and then failed: the first counts",
           partial + named_event(busy) + named_event(too_long), overloaded},
          {"an event that is no JSON", partial + "event: response.completed\ndata: {\"a\n\n",
           server_error},
          {"a whole body that failed",
           R"({"object":"response","status":"failed","output":[],"error":{"code":"context_length_exceeded","message":"too long"}})",
           context_length},
          {"a whole body that is an error",
           R"({"error":{"message":"slow down","code":"slow_down"}})", overloaded},
          {"a whole body that goes on",
           R"({"object":"response","status":"in_progress","output":[]})", stream_interrupted},
          {"half a body", R"({"object":"response","output":[{"ty)", stream_interrupted}}) {
    const auto result = answer_to(r.body);
    ASSERT_FALSE(result.is_answer()) << r.name;
    EXPECT_EQ(result.error().error_class, r.expected) << r.name << ": " << described(result);
    EXPECT_EQ(result.error().status, 200) << r.name;
  }
}

TEST(responses_decoder, F56_the_echo_of_the_request_in_a_failure_is_no_evidence) {
  const auto r = answer_to(named_event(ended(
      "failed",
      R"("instructions":"Say: context_length_exceeded, maximum context length is 5 tokens","error":{"code":"server_error","message":"Sorry."})")));
  ASSERT_FALSE(r.is_answer());
  EXPECT_EQ(r.error().error_class, provider_error_class::server_error) << described(r);
}

TEST(responses_decoder, skips_what_it_does_not_know) {
  const auto r = answer_to(
      named_events({created, R"({"type":"response.note","message":"all is well"})",
                    done(0, R"({"type":"web_search_call","id":"ws_1"})"),
                    R"({"type":"response.content_part.added","output_index":1,"part":{}})",
                    done(1, message_item("Hi"))}) +
      "event: keepalive\ndata: \n\n" + named_event(completed) + testing::event("[DONE]"));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.answer().msg->content, "Hi");
  EXPECT_EQ(r.text, "Hi");
}

TEST(responses_decoder, the_output_of_the_last_event_counts_where_no_item_came_whole) {
  const auto output = R"("output":[)" + message_item("Hello") + "," + call_item("a", R"({"x":1})") +
                      R"(],"usage":{"input_tokens":3,"output_tokens":1})";
  const auto streamed = answer_to(
      named_events({created, piece("output_text.delta", 0, "Hel"), ended("completed", output)}));
  const auto whole =
      answer_to(R"({"object":"response","status":"completed","error":null,)" + output + "}");
  for (const auto& r : {streamed, whole}) {
    ASSERT_TRUE(r.is_answer()) << described(r);
    EXPECT_EQ(r.text, "Hello");
    EXPECT_EQ(r.answer().msg->content, "Hello");
    EXPECT_EQ(r.answer().msg->tool_calls.at(0).arguments, R"({"x":1})");
    EXPECT_EQ(r.answer().usage.input_tokens, 3);
  }
}

} // namespace
} // namespace rind::provider
