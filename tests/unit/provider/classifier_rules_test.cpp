// The rules of the classifier: the order of its evidence, where it looks and where it does not, the
// numbers it believes, and that it stands any bytes.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/error_patterns.hpp"
#include "runtime/provider/phrase.hpp"
#include "tests/unit/provider/recorded_cases.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::codec_of;
using testing::recorded_cases;

using enum provider_error_class;

constexpr std::array<const char*, 3> formats{"chat", "messages", "responses"};

testing::read_result read_in(const std::string& format, const std::string& body,
                             testing::response r = {}) {
  r.codec = codec_of(format);
  return testing::read(body, r);
}

/// A connection that breaks.
testing::response broken() {
  testing::response r;
  r.end.error = http_error::partial;
  r.end.text = "the connection broke";
  return r;
}

std::string body_of(const std::string& message, const std::string& code = {}) {
  json error{{"message", message}};
  if (!code.empty())
    error["code"] = code;
  return json{{"error", error}}.dump();
}

provider_error classified(int status, const std::string& message, const std::string& code = {}) {
  return classify_error({status, {}}, body_of(message, code), {});
}

// -- numbers ---------------------------------------------------------------------------------

TEST(classifier_numbers, F50_S16_only_a_stated_window_is_a_limit) {
  struct row {
    const char* message;
    std::optional<std::int64_t> limit;
    std::optional<std::int64_t> requested;
  };
  for (const auto& r : std::vector<row>{
           {"maximum context length is 8192 tokens", 8192, {}},
           {"prompt is too long: 208,310 tokens > 200,000 maximum", 200'000, 208'310},
           {"input length and `max_tokens` exceed context limit: 100 + 50 > 120", 120, 150},
           {"This model's maximum prompt length is 131072 but the request contains 136973 tokens",
            131'072, 136'973},
           {"Prompt uses 9000 tokens, more than the limit of 8192", 8192, 9000},
           {"Prompt exceeds the limit by 123 tokens", {}, {}},
           {"too many tokens: size limit exceeded by 11326 tokens", {}, {}},
           {"prompt too long; exceeded max context length by 123 tokens", {}, {}},
           {"context window exceeds limit (2013)", {}, {}},
           {"[4001] the prompt exceeds the context window", {}, {}},
           {"the prompt exceeds the context window of about 8000 tokens", {}, {}},
           {"the prompt exceeds the context window of at least 8000 tokens", {}, {}},
           {"the prompt exceeds the context window of 8k tokens", {}, {}},
           {"the prompt exceeds the context window of 0 tokens", {}, {}},
           {"the prompt exceeds the context window of 99999999999999999999 tokens", {}, {}},
           {"prompt is too long: it has 77409 characters", {}, {}},
           {"prompt is too long, reduce it to 32 kb", {}, {}},
           {"gpt-4-32k-0613: your input exceeds the context window of this model", {}, {}},
       }) {
    const auto e = classified(400, r.message);
    EXPECT_EQ(e.error_class, context_length) << r.message;
    EXPECT_EQ(e.limit_tokens, r.limit) << r.message;
    EXPECT_EQ(e.requested_tokens, r.requested) << r.message;
  }
}

TEST(classifier_numbers, F50_S16_an_error_of_another_class_states_no_window) {
  for (const auto* words :
       {"Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000",
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens",
        "Request payload size exceeds the limit: 20971520 bytes",
        "This request requires more credits. You requested up to 65536 tokens"}) {
    const auto e = classified(400, words);
    EXPECT_NE(e.error_class, context_length) << words;
    EXPECT_EQ(e.limit_tokens, std::nullopt) << words;
    EXPECT_EQ(e.requested_tokens, std::nullopt) << words;
  }
}

TEST(classifier_numbers, S30_output_is_lowered_first_only_where_the_prompt_leaves_room) {
  const auto needs = [](std::int64_t prompt, std::int64_t output) {
    return classified(400, "input length and `max_tokens` exceed context limit: " +
                               std::to_string(prompt) + " + " + std::to_string(output) +
                               " > 100000")
        .shrink_output_first;
  };
  EXPECT_TRUE(needs(50'000, 60'000));
  EXPECT_TRUE(needs(98'976, 4'096)); // 1,024 are left
  EXPECT_FALSE(needs(98'977, 4'096));
  EXPECT_FALSE(needs(120'000, 4'096));
  EXPECT_FALSE(classified(400, "prompt is too long: 9 tokens > 5 maximum").shrink_output_first);
}

// -- the order of evidence -------------------------------------------------------------------

TEST(classifier_order, codes_then_negative_evidence_then_wordings_then_shapes_then_the_status) {
  struct row {
    const char* name;
    int status;
    const char* message;
    const char* code;
    provider_error_class expected;
    const char* matched_by;
  };
  for (const auto& r : std::vector<row>{
           {"code before words about keys", 400, "invalid api key", "context_length_exceeded",
            context_length, "code:context_length_exceeded"},
           {"money before all", 402, "prompt is too long", "context_length_exceeded", quota,
            "status:402"},
           {"rate before a wording", 400, "prompt is too long: rate limit", "", rate_limit,
            "veto:rate limit"},
           {"rate code before a wording", 400, "prompt is too long", "rate_limit_exceeded",
            rate_limit, "code:rate_limit_exceeded"},
           {"key before a wording", 400, "context length exceeded: access token", "", auth,
            "veto:access token"},
           {"wording before a look-alike", 400, "string too long: prompt is too long", "",
            context_length, "wording:prompt is too long"},
           {"exempt wording first", 400,
            "The encoder prompt (length 9) is longer than the maximum "
            "model length of 5",
            "", invalid_request, "wording:the encoder prompt (length"},
           {"look-alike before a shape", 400, "payload size: prompt exceeds the maximum", "",
            request_too_large, "wording:payload size"},
           {"shape before the status", 413, "prompt exceeds the maximum", "", context_length,
            "shape:prompt exceeds maximum"},
           {"shape only where a length is refused", 404, "prompt exceeds the maximum", "",
            not_found, "status:404"},
           {"the status", 418, "teapot", "", invalid_request, "status:418"},
       }) {
    const auto c = classify({r.status, {}}, body_of(r.message, r.code), {});
    EXPECT_EQ(c.error.error_class, r.expected) << r.name;
    EXPECT_EQ(c.matched_by, r.matched_by) << r.name;
  }
}

TEST(classifier_order, F55_rates_quotas_keys_and_contexts_of_programs_are_no_overflow) {
  EXPECT_EQ(classify_error({429, {}}, "", {}).error_class, rate_limit);
  EXPECT_EQ(classified(429, "too many tokens, please wait").error_class, rate_limit);
  EXPECT_EQ(classified(400, "invalid context parameter").error_class, unrecognised);
  EXPECT_EQ(classified(401, "your prompt exceeds the maximum tokens of this key").error_class,
            auth);
  EXPECT_EQ(classified(500, "context deadline exceeded").error_class, timeout);
  EXPECT_EQ(classified(500, "context canceled").error_class, server_error);
}

TEST(classifier_order, F55_a_guess_far_below_the_window_is_no_overflow) {
  const auto guess = [](const char* words, std::int64_t estimate) {
    return classify_error({400, {}}, body_of(words), {"x", estimate, 100'000, 0}).error_class;
  };
  EXPECT_EQ(guess("the prompt is larger than allowed", 9'000), unrecognised);
  EXPECT_EQ(guess("the prompt is larger than allowed", 90'000), context_length);
  EXPECT_EQ(guess("the prompt is larger than the allowed maximum of 8192", 9'000), context_length);
  EXPECT_EQ(guess("prompt is too long", 9'000), context_length); // a known wording is no guess
}

/// The messages of a body, or of the events in it, as wordings are looked for in them.
std::vector<std::string> texts_of(const std::string& body) {
  sse_parser parser;
  std::vector<std::string> parts{body};
  for (const auto& event : parser.feed(body).events)
    parts.push_back(event.data);
  std::vector<std::string> texts;
  for (const auto& part : parts)
    for (const auto& message : read_evidence(part).messages)
      texts.push_back(normalised(message));
  return texts;
}

TEST(classifier_order, each_wording_of_an_overflow_stands_in_a_recorded_answer) {
  std::vector<std::string> texts;
  for (const auto& c : recorded_cases())
    for (auto& text : texts_of(c["body"]))
      texts.push_back(std::move(text));
  for (const auto& rule : context_wordings()) {
    stated_numbers numbers;
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const auto& text) {
      return match_phrase(rule.phrase, text, numbers);
    })) << rule.phrase;
  }
}

// -- where it looks --------------------------------------------------------------------------

constexpr const char* overflow_words =
    "context_length_exceeded: prompt is too long: 213462 tokens > 200000 maximum";

TEST(classifier_place, an_echo_of_the_request_is_no_evidence) {
  for (const auto& body : std::vector<std::string>{
           body_of(std::string{"Invalid message content: \""} + overflow_words + "\""),
           body_of(std::string{"1 validation error [type=x, input_value='"} + overflow_words +
                   "']"),
           body_of(std::string{"bad request: {'messages': [{'content': '"} + overflow_words +
                   "'}]}"),
           body_of("bad request: " + json{{"messages", overflow_words}}.dump()),
           body_of(std::string{"Invalid 'messages[1].content': \""} + overflow_words +
                   "\" contains an invalid character"),
           json{{"detail", json::array({{{"msg", "Input should be a valid string"},
                                         {"input", overflow_words}}})}}
               .dump(),
           json{{"error", {{"message", "bad"}, {"failed_generation", overflow_words}}}}.dump()}) {
    const auto e = classify_error({400, {}}, body, {});
    EXPECT_EQ(e.error_class, unrecognised) << body;
    EXPECT_EQ(e.limit_tokens, std::nullopt) << body;
  }
}

TEST(classifier_place, F55_S16_a_count_that_contradicts_what_was_sent_is_not_about_it) {
  const auto body = body_of("Unsupported value: my essay says that the prompt is too long: "
                            "213462 tokens > 4096 maximum");
  const auto classified = [&](std::int64_t estimated) {
    return classify_error({400, {}}, body, {"", estimated, 200'000, 4'000});
  };
  EXPECT_EQ(classified(100).error_class, unrecognised);
  EXPECT_EQ(classified(100).limit_tokens, std::nullopt);
  EXPECT_EQ(classified(100'000).error_class, context_length) << "estimates may be wrong by half";
  EXPECT_EQ(classified(0).error_class, context_length) << "nothing is known of what was sent";
}

TEST(classifier_place, what_the_model_wrote_is_no_evidence) {
  const auto chat = testing::chunk(json{{"content", overflow_words}}.dump());
  const auto server_error_event = testing::event(body_of("The server had an error"));
  EXPECT_EQ(testing::read(testing::event(chat)).error().error_class, stream_interrupted);
  EXPECT_EQ(testing::read(testing::event(chat) + server_error_event).error().error_class,
            server_error);
  const auto block =
      testing::event(json{{"type", "content_block_delta"},
                          {"index", 0},
                          {"delta", {{"type", "text_delta"}, {"text", overflow_words}}}}
                         .dump());
  EXPECT_EQ(read_in("messages", block).error().error_class, stream_interrupted);
  const auto piece = testing::event(json{
      {"type", "response.output_text.delta"},
      {"output_index", 0},
      {"delta", overflow_words}}.dump());
  EXPECT_EQ(read_in("responses", piece).error().error_class, stream_interrupted);
}

// -- dialects --------------------------------------------------------------------------------

TEST(classifier_dialects, F56_each_is_known_as_an_http_error_and_in_mid_stream_of_each_format) {
  std::size_t dialects = 0;
  for (const auto& c : recorded_cases()) {
    const std::string body = c["body"];
    if (c["expect"]["class"] != "context_length" || c["ends_as"] != "response" || body.empty() ||
        body.front() != '{')
      continue;
    ++dialects;
    const auto whole = testing::judge_case(c, 0).error;
    EXPECT_EQ(whole.error_class, context_length) << c["case"];
    for (const auto* format : formats) {
      const auto stream = "event: error\n" + testing::event(json::parse(body).dump());
      const auto r = read_in(format, stream);
      ASSERT_FALSE(r.is_answer()) << c["case"] << " in " << format;
      EXPECT_EQ(r.error().error_class, context_length) << c["case"] << " in " << format;
      EXPECT_EQ(r.error().limit_tokens, whole.limit_tokens) << c["case"] << " in " << format;
      EXPECT_EQ(r.error().requested_tokens, whole.requested_tokens)
          << c["case"] << " in " << format;
      EXPECT_FALSE(may_retry_same(r.error())) << c["case"] << " in " << format;
    }
  }
  EXPECT_GE(dialects, 100u);
}

TEST(classifier_dialects, F58_the_first_typed_error_of_a_stream_wins) {
  const auto overflow =
      "event: error\n" + testing::event(body_of("too long", "context_length_exceeded"));
  const auto later = "event: error\n" + testing::event(body_of("The server had an error"));
  for (const auto* format : formats) {
    for (const auto& body : {overflow, overflow + later}) {
      const auto r = read_in(format, body, broken());
      ASSERT_FALSE(r.is_answer()) << format;
      EXPECT_EQ(r.error().error_class, context_length) << format;
    }
  }
}

TEST(classifier_dialects, F58_a_stream_that_breaks_without_a_word_is_no_overflow) {
  auto nearly_full = broken();
  nearly_full.sent = {"x", 99'000, 100'000, 1'000};
  for (const auto* format : formats)
    EXPECT_EQ(read_in(format, "", nearly_full).error().error_class, stream_interrupted) << format;
}

sampling_answer answer_of(finish_reason finish, const char* text, std::int64_t input,
                          std::int64_t output) {
  message m;
  m.role = message_role::assistant;
  m.content = text;
  return {std::make_shared<const message>(m), {input, output, {}, {}}, finish, "x"};
}

TEST(silent_overflow, F59_an_ambiguous_end_is_judged_by_our_own_estimate) {
  constexpr std::int64_t window = 100'000;
  const sent_facts small{"", 11'000, window, 16'384};
  const sent_facts half{"", 50'000, window, 16'384};
  using enum finish_reason;
  EXPECT_FALSE(silent_overflow(answer_of(length, "", 11'000, 15'000), small));
  EXPECT_FALSE(silent_overflow(answer_of(stop, "done", 50'000, 10), half));
  EXPECT_TRUE(silent_overflow(answer_of(stop, "done", 50'000, 10), {"", 120'000, window, 0}));
  EXPECT_TRUE(silent_overflow(answer_of(window_exceeded, "part of", 11'000, 100), small));
}

// -- any bytes -------------------------------------------------------------------------------

void expect_sound(const classification& c) {
  RC_ASSERT(!c.matched_by.empty());
  RC_ASSERT(c.error.message.size() <= provider_words_bytes_max);
  RC_ASSERT(c.error.limit_tokens.value_or(1) > 0);
  RC_ASSERT(c.error.requested_tokens.value_or(1) > 0);
  RC_ASSERT(c.error.retry_after_s.value_or(0) >= 0);
  RC_ASSERT(c.error.error_class == context_length || !c.error.limit_tokens);
}

RC_GTEST_PROP(classifier_property, any_bytes_have_a_class, ()) {
  const auto status = *rc::gen::inRange(0, 600);
  const auto body = *rc::gen::arbitrary<std::string>();
  const auto header = *rc::gen::arbitrary<std::string>();
  expect_sound(classify({status, {{"retry-after", header}, {"x-ratelimit-reset", body}}}, body,
                        {"cerebras", 9, 10, 1}));
}

RC_GTEST_PROP(classifier_property, mutated_bodies_have_a_class, ()) {
  static const auto cases = recorded_cases();
  const auto& c = *rc::gen::elementOf(cases);
  std::string body = c["body"];
  const auto edits = *rc::gen::inRange(1, 8);
  for (int i = 0; i < edits && !body.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, body.size());
    if (*rc::gen::arbitrary<bool>())
      body[at] = *rc::gen::arbitrary<char>();
    else
      body.erase(at, *rc::gen::inRange<std::size_t>(0, 40));
  }
  expect_sound(classify({c["status"], {}}, body, testing::facts_of(c)));
  auto changed = c;
  changed["body"] = body;
  testing::judge_case(changed, 0);
}

} // namespace
} // namespace rind::provider
