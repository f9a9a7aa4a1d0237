// The contract of wire formats: the same conversations through all three, each through the reader
// that the HTTP provider uses. What is peculiar to one format stands in its unit tests.
#include <algorithm>

#include "runtime/provider/anthropic_codec.hpp"
#include "runtime/provider/model_codecs.hpp"
#include "runtime/provider/responses_codec.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::answer_message;
using testing::described;
using testing::read_result;
using testing::result_message;
using testing::system_message;
using testing::user_message;

/// An answer as a script; each format has its own way to say it.
struct script {
  std::vector<std::string> text; // in pieces
  std::vector<tool_call> calls;  // arguments in two pieces
  std::string cipher;  // reasoning that has to be resent, before the first call or the text
  bool is_cut = false; // by the output limit
};

constexpr std::int64_t input_tokens = 150'000;
constexpr std::int64_t cached_tokens = 140'000;
constexpr std::int64_t output_tokens = 40;

/// A format: its codec, and the other side of it.
struct dialect {
  const char* name;
  std::shared_ptr<const wire_codec> codec;
  std::vector<json> (*speak)(const script&);
  json failure; // "too long", as an event of the stream
  bool is_named;
};

void PrintTo(const dialect& d, std::ostream* out) {
  *out << d.name;
}

std::pair<std::string, std::string> halves(const std::string& text) {
  return {text.substr(0, text.size() / 2), text.substr(text.size() / 2)};
}

json chat_chunk(json delta, json finish = nullptr) {
  auto choice =
      json{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}};
  return {{"choices", json::array({std::move(choice)})}};
}

json chat_call(std::size_t index, json function, const json& id) {
  auto call = json{{"index", index}, {"function", std::move(function)}};
  if (!id.is_null())
    call["id"] = id;
  return chat_chunk({{"tool_calls", json::array({std::move(call)})}});
}

std::vector<json> speak_chat(const script& s) {
  std::vector<json> out{chat_chunk({{"role", "assistant"}, {"content", ""}})};
  if (!s.cipher.empty())
    out.push_back(chat_chunk(
        {{"reasoning", "Hm."},
         {"reasoning_details",
          json::array(
              {json{{"type", "reasoning.encrypted"}, {"data", s.cipher}, {"index", 0}}})}}));
  for (const auto& text : s.text)
    out.push_back(chat_chunk({{"content", text}}));
  for (std::size_t i = 0; i < s.calls.size(); ++i) {
    const auto& call = s.calls[i];
    const auto [first, second] = halves(call.arguments);
    out.push_back(chat_call(i, {{"name", call.name}, {"arguments", first}}, call.id));
    if (!second.empty())
      out.push_back(chat_call(i, {{"arguments", second}}, nullptr));
  }
  out.push_back(chat_chunk(json::object(), s.is_cut          ? "length"
                                           : s.calls.empty() ? "stop"
                                                             : "tool_calls"));
  out.push_back({{"choices", json::array()},
                 {"usage",
                  {{"prompt_tokens", input_tokens},
                   {"prompt_tokens_details", {{"cached_tokens", cached_tokens}}},
                   {"completion_tokens", output_tokens}}}});
  return out;
}

json response_event(const char* type, std::size_t index, const char* key, json value) {
  return {
      {"type", std::string{"response."} + type}, {"output_index", index}, {key, std::move(value)}};
}

std::vector<json> speak_responses(const script& s) {
  std::vector<json> out{{{"type", "response.created"}, {"response", {{"status", "in_progress"}}}}};
  std::size_t at = 0;
  if (!s.cipher.empty()) {
    out.push_back(response_event("reasoning_summary_text.delta", at, "delta", "Hm."));
    out.push_back(response_event("output_item.done", at++, "item",
                                 {{"type", "reasoning"},
                                  {"id", "rs_1"},
                                  {"summary", json::array()},
                                  {"encrypted_content", s.cipher}}));
  }
  if (!s.text.empty()) {
    std::string whole;
    for (const auto& text : s.text) {
      out.push_back(response_event("output_text.delta", at, "delta", text));
      whole += text;
    }
    const json part{{"type", "output_text"}, {"text", whole}};
    out.push_back(response_event("output_item.done", at++, "item",
                                 {{"type", "message"}, {"content", json::array({part})}}));
  }
  for (const auto& call : s.calls) {
    auto item = json{{"type", "function_call"}, {"call_id", call.id}, {"name", call.name}};
    item["arguments"] = "";
    out.push_back(response_event("output_item.added", at, "item", item));
    const auto [first, second] = halves(call.arguments);
    for (const auto& piece : {first, second})
      out.push_back(response_event("function_call_arguments.delta", at, "delta", piece));
    item["arguments"] = call.arguments;
    out.push_back(response_event("output_item.done", at++, "item", item));
  }
  const auto* how = s.is_cut ? "incomplete" : "completed";
  json response{{"status", how},
                {"usage",
                 {{"input_tokens", input_tokens},
                  {"input_tokens_details", {{"cached_tokens", cached_tokens}}},
                  {"output_tokens", output_tokens}}}};
  if (s.is_cut)
    response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  out.push_back({{"type", std::string{"response."} + how}, {"response", std::move(response)}});
  return out;
}

json block_start(std::size_t index, json block) {
  return {{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(block)}};
}

json block_delta(std::size_t index, const char* type, const char* key, const std::string& text) {
  return {
      {"type", "content_block_delta"}, {"index", index}, {"delta", {{"type", type}, {key, text}}}};
}

json block_stop(std::size_t index) {
  return {{"type", "content_block_stop"}, {"index", index}};
}

std::vector<json> speak_anthropic(const script& s) {
  std::vector<json> out{{{"type", "message_start"},
                         {"message",
                          {{"usage",
                            {{"input_tokens", 1'000},
                             {"cache_creation_input_tokens", input_tokens - cached_tokens - 1'000},
                             {"cache_read_input_tokens", cached_tokens},
                             {"output_tokens", 1}}}}}}};
  std::size_t at = 0;
  if (!s.cipher.empty()) {
    out.push_back(block_start(at, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}));
    out.push_back(block_delta(at, "thinking_delta", "thinking", "Hm."));
    out.push_back(block_delta(at, "signature_delta", "signature", s.cipher));
    out.push_back(block_stop(at++));
  }
  if (!s.text.empty()) {
    out.push_back(block_start(at, {{"type", "text"}, {"text", ""}}));
    for (const auto& text : s.text)
      out.push_back(block_delta(at, "text_delta", "text", text));
    out.push_back(block_stop(at++));
  }
  for (const auto& call : s.calls) {
    out.push_back(block_start(
        at,
        {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", json::object()}}));
    const auto [first, second] = halves(call.arguments);
    for (const auto& piece : {first, second})
      out.push_back(block_delta(at, "input_json_delta", "partial_json", piece));
    out.push_back(block_stop(at++));
  }
  const auto* reason = s.is_cut ? "max_tokens" : s.calls.empty() ? "end_turn" : "tool_use";
  out.push_back({{"type", "message_delta"},
                 {"delta", {{"stop_reason", reason}}},
                 {"usage", {{"output_tokens", output_tokens}}}});
  out.push_back({{"type", "message_stop"}});
  return out;
}

std::vector<dialect> dialects() {
  return {{"chat",
           std::make_shared<chat_codec>(),
           speak_chat,
           {{"error", {{"code", "context_length_exceeded"}, {"message", "too long"}}}},
           false},
          {"responses",
           std::make_shared<responses_codec>(),
           speak_responses,
           {{"type", "response.failed"},
            {"response",
             {{"status", "failed"},
              {"error", {{"code", "context_length_exceeded"}, {"message", "too long"}}},
              {"usage", nullptr}}}},
           true},
          {"anthropic",
           std::make_shared<anthropic_codec>(),
           speak_anthropic,
           {{"type", "error"},
            {"error",
             {{"type", "invalid_request_error"},
              {"message", "prompt is too long: 210000 tokens > 200000 maximum"}}}},
           true}};
}

class wire_format_contract : public ::testing::TestWithParam<dialect> {
protected:
  static std::string frame(const json& event) {
    return GetParam().is_named ? testing::named_event(event.dump()) : testing::event(event.dump());
  }

  static std::string stream(const std::vector<json>& events) {
    std::string all;
    for (const auto& event : events)
      all += frame(event);
    return all;
  }

  static std::string stream(const script& s) { return stream(GetParam().speak(s)); }

  static testing::response response() {
    testing::response r;
    r.codec = GetParam().codec;
    return r;
  }

  static read_result read(const std::string& body) { return testing::read(body, response()); }

  static std::string body(std::vector<message_ptr> messages) {
    auto request = testing::plain_request();
    request.messages = std::move(messages);
    return GetParam().codec->request_body(request);
  }
};

const script plain{{"Hel", "lo 日本 😀"}, {}, "", false};
const script working{{"Let me look."},
                     {{"a", "look", R"({"place":"here"})"}, {"b", "now", ""}, {"c", "look", "{}"}},
                     "c2VjcmV0+/==",
                     false};
const script cut_short{{"Let me"}, {}, "c2VjcmV0+/==", true};

TEST_P(wire_format_contract, plain_text_is_the_same_answer) {
  const auto r = read(stream(plain));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.text, "Hello 日本 😀");
  EXPECT_EQ(*r.answer().msg, *answer_message("Hello 日本 😀"));
  EXPECT_EQ(r.answer().finish, finish_reason::stop);
}

TEST_P(wire_format_contract, parallel_calls_and_empty_arguments_are_the_same_answer) {
  const auto r = read(stream(working));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.answer().finish, finish_reason::tool_calls);
  EXPECT_EQ(r.answer().msg->content, "Let me look.");
  EXPECT_EQ(r.answer().msg->tool_calls,
            (std::vector<tool_call>{
                {"a", "look", R"({"place":"here"})"}, {"b", "now", "{}"}, {"c", "look", "{}"}}));
  EXPECT_EQ(r.reasoning, "Hm.");
}

TEST_P(wire_format_contract, F10_usage_has_one_meaning) {
  const auto r = read(stream(plain));
  ASSERT_TRUE(r.is_answer());
  EXPECT_EQ(r.answer().usage, (token_usage{input_tokens, output_tokens, cached_tokens, {}}));
}

TEST_P(wire_format_contract, S26_reasoning_is_resent_as_it_came_and_by_its_format_alone) {
  const auto r = read(stream(working));
  ASSERT_TRUE(r.is_answer()) << described(r);
  std::vector<message_ptr> next{user_message("Go on."), r.answer().msg};
  for (const auto* id : {"a", "b", "c"})
    next.push_back(result_message(id, "found"));
  for (const auto& other : dialects()) {
    auto request = testing::plain_request();
    request.messages = next;
    const auto sent = other.codec->request_body(request);
    const auto at = sent.find(working.cipher);
    if (other.name != std::string{GetParam().name}) {
      EXPECT_EQ(at, std::string::npos) << other.name;
      continue;
    }
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(sent.find(working.cipher, at + 1), std::string::npos) << "it is sent once";
  }
  // What S26 takes out of the view, because another model wrote it, is not sent.
  auto without = *next[1];
  without.reasoning.reset();
  next[1] = std::make_shared<const message>(std::move(without));
  EXPECT_EQ(body(next).find(working.cipher), std::string::npos);
}

TEST_P(wire_format_contract, S26_reasoning_of_a_cut_answer_is_not_kept) {
  const auto r = read(stream(cut_short));
  ASSERT_TRUE(r.is_answer()) << described(r);
  EXPECT_EQ(r.answer().finish, finish_reason::length);
  EXPECT_EQ(r.answer().msg->reasoning->opaque, "");
}

TEST_P(wire_format_contract, every_split_of_a_stream_reads_the_same) {
  for (const auto& s : {stream(plain), stream(working),
                        stream(plain).substr(0, 300) + "\n\n" + frame(GetParam().failure)}) {
    const auto expected = described(read(s));
    const std::string_view all{s};
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at < s.size(); ++at) {
      ASSERT_EQ(described(testing::read_pieces({all.substr(0, at), all.substr(at)}, response())),
                expected)
          << "split at " << at;
      bytes.push_back(all.substr(at, 1));
    }
    EXPECT_EQ(described(testing::read_pieces(bytes, response())), expected);
  }
}

TEST_P(wire_format_contract, S32_a_stream_cut_anywhere_is_the_answer_or_interrupted) {
  for (const auto& script : {plain, working}) {
    const auto s = stream(script);
    const auto whole = read(s);
    for (std::size_t at = 0; at < s.size(); ++at) {
      for (const auto error : {http_error::none, http_error::partial}) {
        auto r = response();
        r.end.error = error;
        const auto result = testing::read(s.substr(0, at), r);
        if (result.is_answer()) {
          ASSERT_EQ(*result.answer().msg, *whole.answer().msg) << "cut at " << at;
          ASSERT_EQ(result.answer().finish, whole.answer().finish) << "cut at " << at;
        } else {
          ASSERT_EQ(result.error().error_class, provider_error_class::stream_interrupted)
              << "cut at " << at << described(result);
        }
      }
    }
  }
}

TEST_P(wire_format_contract, F56_S34_an_error_in_the_stream_is_classified_wherever_it_comes) {
  const auto events = GetParam().speak(working);
  for (std::size_t before = 0; before + 2 < events.size(); ++before) {
    const std::vector<json> begin{events.begin(),
                                  events.begin() + static_cast<std::ptrdiff_t>(before)};
    const auto r = read(stream(begin) + frame(GetParam().failure));
    ASSERT_FALSE(r.is_answer());
    EXPECT_EQ(r.error().error_class, provider_error_class::context_length)
        << before << described(r);
  }
}

TEST_P(wire_format_contract, F58_the_first_error_wins_over_what_follows) {
  const auto busy =
      R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})";
  auto r = response();
  r.end = {http_error::partial, "cut"};
  const auto failed =
      testing::read(testing::event(busy) + frame(GetParam().failure) + stream(plain), r);
  ASSERT_FALSE(failed.is_answer());
  EXPECT_EQ(failed.error().error_class, provider_error_class::overloaded) << described(failed);
}

TEST_P(wire_format_contract, floods_end_as_typed_errors) {
  script flood;
  flood.text.assign(17, std::string(1u << 20, 'x'));
  auto events = GetParam().speak(flood);
  // The closing events repeat the text; the pieces alone have to be enough.
  events.erase(std::remove_if(events.begin(), events.end(),
                              [](const json& e) { return e.dump().size() > (2u << 20); }),
               events.end());
  const auto text = read(stream(events));
  ASSERT_FALSE(text.is_answer());
  EXPECT_EQ(text.error().code, "answer_too_large");
  EXPECT_EQ(text.error().retry_same, false);
  script many;
  for (std::size_t i = 0; i <= answer_calls_max; ++i)
    many.calls.push_back({"c" + std::to_string(i), "look", "{}"});
  const auto calls = read(stream(many));
  ASSERT_FALSE(calls.is_answer());
  EXPECT_EQ(calls.error().code, "answer_too_large");
}

/// Every value of an event, replaced by values of every other kind.
TEST_P(wire_format_contract, values_of_wrong_types_never_break_the_reader) {
  const std::vector<json> odd{nullptr,
                              true,
                              -1,
                              1e308,
                              18'446'744'073'709'551'615u,
                              "x",
                              "",
                              json::array(),
                              json::object(),
                              json::array({json::object(), 7})};
  auto events = GetParam().speak(working);
  events.push_back(GetParam().failure);
  for (std::size_t at = 0; at < events.size(); ++at) {
    const auto places = events[at].flatten();
    for (const auto& place : places.items()) {
      for (json::json_pointer p{place.key()}; !p.empty(); p.pop_back()) {
        for (const auto& value : odd) {
          auto changed = events;
          changed[at][p] = value;
          std::string all;
          for (const auto& event : changed)
            all += testing::event(event.dump());
          const auto r = read(all); // an answer or an error, and no crash
          EXPECT_TRUE(r.is_answer() || !std::string{r.error().message}.empty());
        }
      }
    }
  }
}

TEST_P(wire_format_contract, S8_S11_a_view_after_a_compaction_is_sent_with_all_its_pairs) {
  const auto sent =
      body({system_message("Be kind."), user_message("Go on."), answer_message("What was."),
            answer_message("", {{"a", "look", R"({"x":1})"}, {"b", "now", ""}}),
            result_message("a", "found it"), result_message("b", "noon", true),
            user_message("steering")});
  EXPECT_TRUE(json::accept(sent));
  std::size_t last = 0;
  for (const auto* text :
       {"Go on.", "What was.", "\"a\"", "\"b\"", "found it", "noon", "steering"}) {
    const auto at = sent.find(text, last);
    ASSERT_NE(at, std::string::npos) << text;
    last = at;
  }
  for (const auto* once : {"Be kind.", "found it", "noon", "What was."})
    EXPECT_EQ(sent.find(once), sent.rfind(once)) << once;
}

TEST_P(wire_format_contract, S20_a_summary_request_has_no_tools_and_no_wishes) {
  auto request = testing::plain_request();
  request.kind = sampling_kind::compact;
  request.messages = {system_message("You write the handoff."), user_message("[transcript]")};
  config::provider_settings settings;
  settings.format = GetParam().name;
  settings.models = {{"m", {}, {}, "provider", "high"}};
  const auto sent = json::parse(make_codecs(settings).of("m")->request_body(request));
  for (const auto* absent : {"tools", "thinking", "reasoning", "reasoning_effort"})
    EXPECT_FALSE(sent.contains(absent)) << absent;
  EXPECT_EQ(sent.dump().find("cache_control"), std::string::npos);
}

TEST_P(wire_format_contract, the_settings_choose_the_format_by_provider_and_by_model) {
  config::provider_settings settings;
  settings.format = GetParam().name;
  settings.models = {{"own", {}, {}, "provider", "default"}, {"other", {}, {}, "chat", "default"}};
  const auto codecs = make_codecs(settings);
  EXPECT_EQ(codecs.of("own")->path(), GetParam().codec->path());
  EXPECT_EQ(codecs.of("unknown")->path(), GetParam().codec->path());
  EXPECT_EQ(codecs.of("other")->path(), "/chat/completions");
}

INSTANTIATE_TEST_SUITE_P(all, wire_format_contract, ::testing::ValuesIn(dialects()),
                         [](const auto& tested) { return std::string{tested.param.name}; });

TEST(wire_formats, each_word_of_the_settings_has_a_codec_of_its_own) {
  std::vector<std::string> paths;
  for (const auto word : config::wire_formats) {
    config::provider_settings settings;
    settings.format = word;
    paths.push_back(make_codecs(settings).of("m")->path());
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"/chat/completions", "/responses", "/messages"}));
}

} // namespace
} // namespace rind::provider
