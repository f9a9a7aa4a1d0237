// The classifier against recorded failures of many servers (tests/data/provider_errors*.jsonl), and
// the rules that no recording shows.
#include <nlohmann/json.hpp>

#include "tests/unit/provider/recorded_cases.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::judge_case;
using testing::recorded_cases;

std::optional<std::int64_t> number(const json& expect, const char* key) {
  return expect.contains(key) ? std::optional{expect[key].get<std::int64_t>()} : std::nullopt;
}

TEST(classifier, S30_S34_every_recorded_failure_has_its_class_and_numbers) {
  const auto cases = recorded_cases();
  ASSERT_GE(cases.size(), 380u);
  for (const auto& c : cases) {
    const auto v = judge_case(c, 0);
    const auto& expect = c["expect"];
    EXPECT_EQ(v.error_class, expect["class"].get<std::string>()) << c["case"];
    EXPECT_EQ(v.error.limit_tokens, number(expect, "limit")) << c["case"];
    EXPECT_EQ(v.error.requested_tokens, number(expect, "requested")) << c["case"];
    EXPECT_EQ(v.error.shrink_output_first, expect.value("lower_output", false)) << c["case"];
    EXPECT_EQ(may_retry_same(v.error), expect["same_again"].get<bool>()) << c["case"];
    ASSERT_EQ(v.error.retry_after_s.has_value(), expect.contains("wait_s")) << c["case"];
    if (v.error.retry_after_s) {
      EXPECT_NEAR(*v.error.retry_after_s, expect["wait_s"].get<double>(), 1e-9) << c["case"];
    }
  }
}

TEST(classifier, every_split_of_every_recorded_stream_is_judged_the_same) {
  for (const auto& c : recorded_cases()) {
    if (c["ends_as"] == "response")
      continue;
    const auto whole = judge_case(c, 0);
    for (std::size_t at = 1; at < c["body"].get_ref<const std::string&>().size(); ++at) {
      const auto v = judge_case(c, at);
      ASSERT_EQ(v.error_class, whole.error_class) << c["case"] << " split at " << at;
      ASSERT_EQ(v.error.message, whole.error.message) << c["case"] << " split at " << at;
      ASSERT_EQ(v.error.limit_tokens, whole.error.limit_tokens) << c["case"] << " split at " << at;
    }
  }
}

provider_error classified(int status, const std::string& message, sent_facts sent = {}) {
  return classify_error({status, {}}, json{{"error", {{"message", message}}}}.dump(), sent);
}

TEST(classifier, unseen_wordings_of_the_same_kinds_are_caught) {
  using enum provider_error_class;
  struct row {
    int status;
    const char* message;
    provider_error_class expected;
    std::optional<std::int64_t> limit;
    std::optional<std::int64_t> requested;
  };
  for (const auto& r : std::vector<row>{
           {400,
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
            "input length",
            context_length, 200000, 209573},
           {400,
            "The input (5,000 tokens) is longer than the model's context length (4,096 tokens).",
            context_length, 4096, 5000},
           {400, "Prompt 40000 > 32768 maximum context length", context_length, 32768, 40000},
           {500,
            "the request exceeds the available context size, try increasing it",
            context_length,
            {},
            {}},
           {400, "Your conversation is too long for this model.", context_length, {}, {}},
           {413,
            "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested "
            "9000, please reduce your message size",
            rate_limit,
            {},
            {}},
           {400, "prompt is too long for your rate limit tier", rate_limit, {}, {}},
           {400, "This context window needs a plan upgrade: insufficient credits", quota, {}, {}},
           {400,
            "Requested output exceeds the output token limit of this model",
            invalid_request,
            {},
            {}},
           {413, "Payload Too Large: 41943040 bytes", request_too_large, {}, {}},
           {400,
            "1 validation error: {'type': 'string_type', 'msg': 'Input should be a string', "
            "'input': 'prompt is too long: 9 tokens > 5 maximum'}",
            unrecognised,
            {},
            {}},
           {400, "I have never heard of this", unrecognised, {}, {}},
           {422, "I have never heard of this", invalid_request, {}, {}},
           {418, "teapot", invalid_request, {}, {}},
           {502, "bad gateway", server_error, {}, {}},
           {503, "Loading model", overloaded, {}, {}},
       }) {
    const auto e = classified(r.status, r.message);
    EXPECT_EQ(e.error_class, r.expected) << r.message << " -> " << to_string(e.error_class);
    EXPECT_EQ(e.limit_tokens, r.limit) << r.message;
    EXPECT_EQ(e.requested_tokens, r.requested) << r.message;
    EXPECT_EQ(e.message, r.message);
  }
}

TEST(classifier, S33a_no_words_turn_a_rate_a_quota_or_a_key_into_an_overflow) {
  for (const auto* words :
       {"maximum context length is 10 tokens", "prompt is too long: 20 tokens > 10 maximum",
        "context window exceeds limit"}) {
    EXPECT_EQ(classified(429, words).error_class, provider_error_class::rate_limit);
    EXPECT_EQ(classified(402, words).error_class, provider_error_class::quota);
    EXPECT_EQ(classified(401, words).error_class, provider_error_class::auth);
  }
}

TEST(classifier, S16_only_a_stated_number_is_a_limit) {
  for (const auto* words :
       {"prompt too long; exceeded max context length by 123 tokens",
        "context window exceeds limit (2013)", "Rate limit: context window 30000 tokens per minute",
        "prompt is too long: 900 characters"})
    EXPECT_EQ(classified(400, words).limit_tokens, std::nullopt) << words;
}

TEST(classifier, S16_a_number_with_a_scale_or_a_fraction_is_an_overflow_and_no_limit) {
  for (const std::string number :
       {"8k", "8K", "32k", "1M", "8.192", "8 192", "5e3", "4 thousand", "16 KiB"}) {
    const auto error =
        classified(400, ("This model's maximum context length is " + number + " tokens.").c_str());
    EXPECT_EQ(error.error_class, provider_error_class::context_length) << number;
    EXPECT_EQ(error.limit_tokens, std::nullopt) << number;
  }
  for (const std::string number : {"8192", "8,192", "8_192"})
    EXPECT_EQ(
        classified(400, ("This model's maximum context length is " + number + " tokens.").c_str())
            .limit_tokens,
        std::optional<std::int64_t>{8192})
        << number;
}

TEST(classifier, an_empty_400_is_an_overflow_only_where_it_is_known_and_the_window_is_nearly_full) {
  const response_head head{400, {}};
  EXPECT_EQ(
      classify_error(head, "", {"https://api.cerebras.ai/v1", 120'000, 131'072, 0}).error_class,
      provider_error_class::context_length);
  EXPECT_EQ(classify_error(head, "", {"https://api.cerebras.ai/v1", 2'000, 131'072, 0}).error_class,
            provider_error_class::unrecognised);
  EXPECT_EQ(classify_error(head, "", {"https://other/v1", 120'000, 131'072, 0}).error_class,
            provider_error_class::unrecognised);
}

TEST(classifier, unwraps_fields_of_their_own) {
  const auto e = classify_error(
      {400, {}},
      R"({"error":{"code":400,"message":"too big","type":"exceed_context_size_error","n_prompt_tokens":4143,"n_ctx":4096}})",
      {});
  EXPECT_EQ(e.error_class, provider_error_class::context_length);
  EXPECT_EQ(e.limit_tokens, 4096);
  EXPECT_EQ(e.requested_tokens, 4143);
}

TEST(classifier, reads_quotas_a_minute_and_a_day_apart) {
  const std::string words =
      "You exceeded your current quota, please check your plan and billing details.";
  const auto body = [&](const char* id) {
    return json{{"error",
                 {{"code", 429},
                  {"message", words},
                  {"details", json::array({{{"violations", json::array({{{"quotaId", id}}})}},
                                           {{"retryDelay", "47s"}}})}}}}
        .dump();
  };
  const auto minute = classify_error({429, {}}, body("InputTokensPerModelPerMinute-FreeTier"), {});
  EXPECT_EQ(minute.error_class, provider_error_class::rate_limit);
  EXPECT_EQ(minute.retry_after_s, 47.0);
  EXPECT_EQ(classify_error({429, {}}, body("RequestsPerDayPerModel"), {}).error_class,
            provider_error_class::quota);
}

TEST(classifier, hostile_bodies_are_bounded) {
  std::string nested = R"("x")";
  for (int i = 0; i < 60; ++i)
    nested = json(R"({"error":)" + nested + "}").dump().substr(0, 100'000);
  std::string wide = R"({"error":[)";
  for (int i = 0; i < 20'000; ++i)
    wide += R"({"message":"m)" + std::to_string(i) + R"("},)";
  wide.back() = ']';
  wide += '}';
  for (const auto& body : {nested, wide, std::string(200'000, '['), std::string(200'000, '{'),
                           std::string(100'000, '\xFF'),
                           R"({"error":{"message":")" + std::string(100'000, '~') + "\"}}"}) {
    const auto e = classify_error({500, {}}, body, {});
    EXPECT_EQ(e.error_class, provider_error_class::server_error);
    EXPECT_LE(e.message.size(), provider_words_bytes_max);
  }
}

TEST(silent_overflow, S34_an_answer_can_carry_an_overflow) {
  struct row {
    const char* name;
    finish_reason finish;
    const char* text;
    std::optional<std::int64_t> input;
    std::optional<std::int64_t> output;
    std::int64_t estimate;
    bool expected;
  };
  constexpr std::int64_t window = 100'000;
  using enum finish_reason;
  for (const auto& r :
       std::vector<row>{{"normal", stop, "a", 50'000, 10, 50'000, false},
                        {"above the window", stop, "a", 100'001, 10, 90'000, true},
                        {"half of the window, more was sent", stop, "a", 50'002, 10, 150'000, true},
                        {"far below, but not half", stop, "a", 20'000, 10, 90'000, false},
                        {"half, and as sent", stop, "a", 50'002, 10, 60'000, false},
                        {"window exceeded", window_exceeded, "a", 50'000, 10, 50'000, true},
                        {"cut at the window", length, "a", 90'000, 9'000, 90'000, true},
                        {"cut at the window, no usage", length, "a", {}, {}, 99'500, true},
                        {"cut below the window", length, "a", 50'000, 16'000, 50'000, false},
                        {"empty near the window", stop, " \n", {}, {}, 95'000, true},
                        {"empty, far from the window", stop, "", 50'000, 0, 50'000, false}}) {
    message m;
    m.role = message_role::assistant;
    m.content = r.text;
    sampling_answer answer{
        std::make_shared<const message>(m), {r.input, r.output, {}, {}}, r.finish, "x"};
    EXPECT_EQ(silent_overflow(answer, {"", r.estimate, window, 16'384}).has_value(), r.expected)
        << r.name;
  }
}

} // namespace
} // namespace rind::provider
