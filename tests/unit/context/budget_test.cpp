// The limits of a session and the judgement of a request.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/context/budget.hpp"

namespace rind::context {
namespace {

model_limits with_window(std::int64_t window) {
  model_limits limits;
  limits.window_tokens = window;
  return limits;
}

budget resolve(const model_limits& limits, std::optional<std::int64_t> learned = {}) {
  return resolve_budget("m", limits, learned, "m", limits, learned);
}

TEST(budget, S14_defaults_are_those_of_an_unknown_model) {
  const auto b = resolve({});
  EXPECT_EQ(b.window_tokens, 256'000);
  EXPECT_EQ(b.window_origin, "default");
  EXPECT_EQ(b.input_cap_tokens, 256'000);
  EXPECT_EQ(b.hard_limit_tokens, 254'976);
  EXPECT_EQ(b.output_limit_tokens, 16'384);
  EXPECT_EQ(b.summary_limit_tokens, 8'192);
  EXPECT_EQ(b.summary_input_limit_tokens, 256'000 - 8'192 - 12'800);
  EXPECT_EQ(b.threshold_tokens, 223'257); // 0.95 of what the summary request holds
}

struct threshold_case {
  const char* name;
  model_limits limits;
  std::int64_t threshold;
};

model_limits limits_of(std::int64_t window, std::int64_t percent,
                       std::optional<std::int64_t> cap = {},
                       std::optional<std::int64_t> absolute = {}) {
  model_limits limits;
  limits.window_tokens = window;
  limits.threshold_percent = percent;
  limits.input_cap_tokens = cap;
  limits.auto_compact_limit_tokens = absolute;
  return limits;
}

TEST(budget, S14_threshold_is_the_lowest_of_all) {
  const std::vector<threshold_case> cases{
      {"percent", limits_of(100'000, 50), 50'000},
      {"hard_limit", limits_of(100'000, 100, 60'000),
       52'250}, // 0.95 x (min(91808, 60000) - 5000) is lower than 0.95 x 58976
      {"small_window_hard_limit", limits_of(2'000, 90), 927},
      {"summary_request", limits_of(100'000, 100), 82'467}, // 0.95 x (91808 - 5000)
      {"absolute_lower", limits_of(100'000, 90, {}, 30'000), 30'000},
      {"absolute_higher_is_ignored", limits_of(100'000, 50, {}, 90'000), 50'000},
  };
  for (const auto& c : cases)
    EXPECT_EQ(resolve(c.limits).threshold_tokens, c.threshold) << c.name;
}

TEST(budget, S14_a_smaller_summary_model_lowers_the_threshold) {
  const auto b = resolve_budget("m", with_window(200'000), {}, "small", with_window(32'000), {});
  EXPECT_EQ(b.summary_model, "small");
  EXPECT_EQ(b.summary_limit_tokens, 3'200);
  EXPECT_EQ(b.summary_input_limit_tokens, 32'000 - 3'200 - 1'600);
  EXPECT_EQ(b.threshold_tokens, 25'840);
  EXPECT_EQ(b.hard_limit_tokens, 198'976);
}

TEST(budget, F17_the_summary_limit_is_legal_for_its_model) {
  auto limits = with_window(100'000);
  limits.max_output_tokens = 4'096;
  const auto b = resolve(limits);
  EXPECT_EQ(b.summary_limit_tokens, 4'096);
  EXPECT_EQ(b.output_limit_tokens, 4'096);
}

TEST(budget, F04_the_settings_window_wins_over_the_default_and_a_learned_one_over_both) {
  EXPECT_EQ(resolve(with_window(32'768)).window_tokens, 32'768);
  EXPECT_EQ(resolve(with_window(32'768)).window_origin, "settings");
  EXPECT_EQ(resolve(with_window(32'768), 16'000).window_tokens, 16'000);
  EXPECT_EQ(resolve(with_window(32'768), 16'000).window_origin, "provider");
}

TEST(budget, S14_output_limit_is_at_most_a_quarter_of_the_window) {
  EXPECT_EQ(resolve(with_window(8'000)).output_limit_tokens, 2'000);
}

TEST(budget, S14c_output_limit_is_lowered_to_what_is_left) {
  const auto b = resolve(with_window(100'000)); // output limit 16,384
  EXPECT_EQ(output_limit_for(b, 10'000), 16'384);
  EXPECT_EQ(output_limit_for(b, 90'000), 10'000);
  EXPECT_EQ(output_limit_for(b, 98'976), 1'024);
  EXPECT_EQ(output_limit_for(b, 99'900), 1'024);
  EXPECT_EQ(output_limit_for(resolve(with_window(2'000)), 900), 500); // never above the model's own
}

struct judge_case {
  const char* name;
  std::int64_t fixed;
  std::int64_t active;
  std::optional<std::int64_t> tightened;
  verdict expected;
};

TEST(budget, S14_requests_are_judged_in_order) {
  budget b;
  b.threshold_tokens = 1'000;
  b.hard_limit_tokens = 2'000;
  const std::vector<judge_case> cases{
      {"fits", 100, 999, {}, verdict::fits},
      {"at_the_threshold", 100, 1'000, {}, verdict::over_threshold},
      {"at_the_hard_limit", 100, 2'000, {}, verdict::over_threshold},
      {"above_the_hard_limit", 100, 2'001, {}, verdict::over_hard_limit},
      {"S14a_fixed_part_alone", 1'000, 1'200, {}, verdict::fixed_too_large},
      {"S14a_comes_first", 1'000, 9'999, {}, verdict::fixed_too_large},
      {"S30_tightened_lowers_the_threshold", 100, 600, 500, verdict::over_threshold},
      {"S30_tightened_never_raises_it", 100, 1'000, 5'000, verdict::over_threshold},
      {"S30_tightened_is_no_hard_limit", 100, 1'999, 500, verdict::over_threshold},
      {"S30_fixed_part_is_judged_by_the_threshold", 600, 700, 500, verdict::over_threshold},
  };
  for (const auto& c : cases)
    EXPECT_EQ(judge(b, c.fixed, c.active, c.tightened), c.expected) << c.name;
}

RC_GTEST_PROP(budget, S14_any_settings_give_consistent_numbers,
              (std::int64_t window, std::int64_t cap, std::int64_t output)) {
  model_limits limits;
  limits.window_tokens = window % 3'000'000;
  limits.input_cap_tokens = cap % 3'000'000;
  limits.max_output_tokens = output % 200'000;
  const auto b = resolve(limits);
  RC_ASSERT(b.window_tokens >= 1);
  RC_ASSERT(b.hard_limit_tokens >= 1);
  RC_ASSERT(b.threshold_tokens >= 1);
  RC_ASSERT(b.threshold_tokens <= b.hard_limit_tokens);
  RC_ASSERT(b.output_limit_tokens >= 1);
  RC_ASSERT(b.summary_limit_tokens >= 1);
  RC_ASSERT(b.summary_input_limit_tokens >= 1);
  RC_ASSERT(output_limit_for(b, b.threshold_tokens) >= 1);
}

} // namespace
} // namespace rind::context
