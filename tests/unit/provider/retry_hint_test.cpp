// When a provider says to come back: every form, and what makes no sense.
#include <nlohmann/json.hpp>

#include "runtime/provider/retry_hint.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;

constexpr const char* date = "Wed, 21 Oct 2015 07:28:00 GMT";

struct hint_row {
  const char* name;
  std::vector<http_header> headers;
  std::string body;
  std::optional<double> expected;
};

std::string said(const std::string& message) {
  return json{{"error", {{"message", message}}}}.dump();
}

std::string delay_of(const json& value) {
  return json{{"error", {{"message", "slow"}, {"details", json::array({{{"retryDelay", value}}})}}}}
      .dump();
}

TEST(retry_hint, S32_reads_every_form) {
  const auto slow = said("slow");
  for (const auto& r : std::vector<hint_row>{
           {"ms before s", {{"retry-after-ms", "644"}, {"retry-after", "1"}}, slow, 0.644},
           {"ms that is none", {{"retry-after-ms", "soon"}, {"retry-after", "7"}}, slow, 7.0},
           {"fraction", {{"retry-after", "1.5"}}, slow, 1.5},
           {"zero", {{"retry-after", "0"}}, slow, 0.0},
           {"azure, a day", {{"retry-after", "86400"}}, slow, 86'400.0},
           {"bounded", {{"retry-after", "9999999999"}}, slow, 1e9},
           {"date", {{"retry-after", "Wed, 21 Oct 2015 07:28:10 GMT"}, {"date", date}}, slow, 10.0},
           {"past", {{"retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"}, {"date", date}}, slow, 0.0},
           {"date alone", {{"retry-after", "Wed, 21 Oct 2015 07:28:10 GMT"}}, slow, {}},
           {"word before text",
            {{"retry-after", "soon"}},
            said("Please try again in 6m0s."),
            360.0},
           {"seconds in text", {}, said("Please try again in 11.054s. Visit x"), 11.054},
           {"minutes in text", {}, said("Try again in 1m2.5s."), 62.5},
           {"ms in text", {}, said("Please retry in 900.2ms"), 0.9002},
           {"words", {}, said("Please retry after 86400 seconds."), 86'400.0},
           {"wait", {}, said("Please wait 42 seconds before retrying."), 42.0},
           {"no number", {}, said("Please try again in a moment"), {}},
           {"field", {}, delay_of("47s"), 47.0},
           {"field, fraction", {}, delay_of("0.539477544s"), 0.539477544},
           {"field, infinite", {}, delay_of("infs"), {}},
           {"field, below zero", {}, delay_of("-3s"), {}},
           {"field, no unit", {}, delay_of("47"), {}},
           {"header before field", {{"retry-after", "2"}}, delay_of("47s"), 2.0},
           {"below zero", {{"retry-after", "-5"}}, slow, {}},
           {"infinite", {{"retry-after", "inf"}}, slow, {}},
           {"no number at all", {{"retry-after", "nan"}}, slow, {}},
           {"allowance that ran out",
            {{"x-ratelimit-reset-tokens", "6m0s"},
             {"x-ratelimit-remaining-tokens", "0"},
             {"x-ratelimit-reset-requests", "20ms"},
             {"x-ratelimit-remaining-requests", "0"}},
            slow,
            360.0},
           {"allowance with something left",
            {{"x-ratelimit-reset-tokens", "6m0s"}, {"x-ratelimit-remaining-tokens", "63"}},
            slow,
            {}},
           {"RFC 3339",
            {{"anthropic-ratelimit-input-tokens-reset", "2015-10-21T07:28:30Z"}, {"date", date}},
            slow,
            30.0},
           {"RFC 3339 without now",
            {{"anthropic-ratelimit-input-tokens-reset", "2015-10-21T07:28:30Z"}},
            slow,
            {}},
           {"epoch in ms", {{"x-ratelimit-reset", "1445412490000"}, {"date", date}}, slow, 10.0},
           {"epoch in s", {{"x-ratelimit-reset", "1445412490"}, {"date", date}}, slow, 10.0},
           {"plain seconds", {{"x-ratelimit-reset", "12"}}, slow, 12.0},
       }) {
    const auto e = classify_error({429, r.headers}, r.body, {});
    EXPECT_EQ(e.error_class, provider_error_class::rate_limit) << r.name;
    ASSERT_EQ(e.retry_after_s.has_value(), r.expected.has_value()) << r.name;
    if (r.expected) {
      EXPECT_NEAR(*e.retry_after_s, *r.expected, 1e-9) << r.name;
    }
  }
}

TEST(retry_hint, S32_the_providers_word_on_a_resend_beats_the_class) {
  EXPECT_FALSE(may_retry_same(classify_error({500, {{"x-should-retry", "false"}}}, "", {})));
  EXPECT_TRUE(may_retry_same(classify_error({404, {{"x-should-retry", "true"}}}, "", {})));
  EXPECT_TRUE(may_retry_same(classify_error({500, {{"x-should-retry", "perhaps"}}}, "", {})));
}

TEST(retry_hint, S32_S33_what_never_clears_is_not_waited_for) {
  const std::vector<http_header> wait{{"retry-after", "5"}, {"x-should-retry", "true"}};
  for (const std::string words :
       {"Extra usage is required for long context requests.",
        "You exceeded your current quota, please check your plan and billing details.",
        "prompt is too long: 9 tokens > 5 maximum"}) {
    const auto e = classify_error({words.starts_with("prompt") ? 400 : 429, wait}, said(words), {});
    EXPECT_FALSE(may_retry_same(e)) << words;
    EXPECT_EQ(e.retry_after_s, std::nullopt) << words;
  }
  const auto alone = classify_error(
      {429, wait}, said("Request too large on tokens per min (TPM): Limit 30000, Requested 36278."),
      {});
  EXPECT_EQ(alone.error_class, provider_error_class::rate_limit);
  EXPECT_FALSE(may_retry_same(alone));
  EXPECT_EQ(alone.retry_after_s, std::nullopt);
}

} // namespace
} // namespace rind::provider
