// The provider's count as the anchor of the estimate.
#include <gtest/gtest.h>

#include "runtime/context/anchor.hpp"

namespace rind::context {
namespace {

using enum token_source;

struct anchor_case {
  const char* name;
  std::int64_t reported;
  std::int64_t local;
  std::int64_t request_local;
  std::int64_t active;
  token_source source;
};

TEST(anchor, S13_local_growth_is_scaled_by_the_clamped_ratio) {
  const std::vector<anchor_case> cases{
      {"example", 10'000, 8'000, 8'800, 11'000, assistant_usage_plus_local_delta},
      {"no_growth", 10'000, 8'000, 8'000, 10'000, assistant_usage_plus_local_delta},
      {"ratio_below_1", 4'000, 8'000, 9'000, 4'500, assistant_usage_plus_local_delta},
      {"ratio_clamped_above", 30'000, 10'000, 11'000, 32'000, assistant_usage_plus_local_delta},
      {"ratio_clamped_below", 1'000, 10'000, 11'000, 1'200, assistant_usage_plus_local_delta},
      {"below_the_anchor", 10'000, 8'000, 4'000, 5'000, local_estimate},
      {"below_the_anchor_clamped", 30'000, 10'000, 4'000, 8'000, local_estimate},
  };
  for (const auto& c : cases) {
    usage_anchor anchor;
    EXPECT_EQ(anchor.offer({"m", 0, c.reported, c.local}, true), "") << c.name;
    const auto estimate = anchor.estimate("m", 0, c.request_local);
    EXPECT_EQ(estimate.tokens, c.active) << c.name;
    EXPECT_EQ(estimate.source, c.source) << c.name;
    EXPECT_EQ(estimate.fallback_reason.empty(), c.source == assistant_usage_plus_local_delta)
        << c.name;
  }
}

TEST(anchor, S13_without_any_report_the_local_estimate_stands) {
  const usage_anchor anchor;
  const auto estimate = anchor.estimate("m", 0, 1'234);
  EXPECT_EQ(estimate.tokens, 1'234);
  EXPECT_EQ(estimate.source, local_estimate);
  EXPECT_FALSE(estimate.fallback_reason.empty());
  EXPECT_EQ(anchor.ratio_of("m"), 1.0);
}

TEST(anchor, F08_missing_and_zero_usage_are_unknown) {
  usage_anchor anchor;
  EXPECT_NE(anchor.offer({"m", 0, 9'000, 8'000}, false), "");
  EXPECT_NE(anchor.offer({"m", 0, 0, 8'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 0, 8'800).tokens, 8'800);
  EXPECT_EQ(anchor.offer({"m", 0, 10'000, 8'000}, true), "");
  EXPECT_NE(anchor.offer({"m", 0, 0, 8'400}, true), "");
  EXPECT_EQ(anchor.estimate("m", 0, 8'800).tokens, 11'000); // the anchor before stands
}

TEST(anchor, S13_another_generation_or_model_uses_the_last_ratio) {
  usage_anchor anchor;
  ASSERT_EQ(anchor.offer({"m", 0, 10'000, 8'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 1, 8'000).tokens, 10'000);
  EXPECT_EQ(anchor.estimate("m", 1, 8'000).source, local_estimate);
  EXPECT_EQ(anchor.estimate("n", 0, 8'000).tokens, 8'000); // nothing known of n
  EXPECT_EQ(anchor.ratio_of("m"), 1.25);
  ASSERT_EQ(anchor.offer({"n", 0, 4'000, 8'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 0, 8'000).tokens, 10'000);
  EXPECT_EQ(anchor.estimate("n", 5, 8'000).tokens, 4'000);
}

TEST(anchor, S13_a_late_report_of_an_earlier_generation_is_dropped) {
  usage_anchor anchor;
  ASSERT_EQ(anchor.offer({"m", 2, 10'000, 8'000}, true), "");
  EXPECT_NE(anchor.offer({"m", 1, 90'000, 80'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 2, 8'000).tokens, 10'000);
}

TEST(anchor, F11_a_jump_that_nothing_explains_is_not_believed) {
  usage_anchor anchor;
  ASSERT_EQ(anchor.offer({"m", 0, 318'000, 300'000}, true), "");
  const auto why = anchor.offer({"m", 0, 641'000, 301'000}, true);
  EXPECT_NE(why.find("641000"), std::string::npos);
  EXPECT_EQ(anchor.estimate("m", 0, 300'000).tokens, 318'000);
  EXPECT_EQ(anchor.offer({"m", 0, 321'000, 302'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 0, 302'000).tokens, 321'000);
}

TEST(anchor, F11_twice_the_prediction_is_still_believed) {
  usage_anchor anchor;
  ASSERT_EQ(anchor.offer({"m", 0, 10'000, 10'000}, true), "");
  EXPECT_EQ(anchor.offer({"m", 0, 22'000, 11'000}, true), "");
  EXPECT_NE(anchor.offer({"m", 0, 44'003, 11'000}, true), "");
}

TEST(anchor, F11_a_new_generation_takes_any_report) {
  usage_anchor anchor;
  ASSERT_EQ(anchor.offer({"m", 0, 10'000, 10'000}, true), "");
  EXPECT_EQ(anchor.offer({"m", 1, 90'000, 10'000}, true), "");
}

TEST(anchor, F10_a_report_is_one_request_never_a_sum) {
  usage_anchor anchor;
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(anchor.offer({"m", 0, 150'000, 140'000}, true), "");
  EXPECT_EQ(anchor.estimate("m", 0, 140'000).tokens, 150'000);
}

TEST(anchor, S13_the_ratios_of_a_session_are_bounded) {
  usage_anchor anchor;
  for (std::size_t i = 0; i <= anchor_models_max; ++i)
    ASSERT_EQ(anchor.offer({"m" + std::to_string(i), 0, 10'000, 8'000}, true), "");
  EXPECT_EQ(anchor.ratio_of("m0"), 1.0); // forgotten
  EXPECT_EQ(anchor.ratio_of("m1"), 1.25);
}

} // namespace
} // namespace rind::context
