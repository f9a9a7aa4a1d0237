// What slash commands tell people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/protocol/command_texts.hpp"
#include "runtime/protocol/number_text.hpp"
#include "tests/unit/protocol/samples.hpp"

namespace rind::protocol {
namespace {

using testing::HasSubstr;
using testing::Not;

context_report report(std::size_t compactions) {
  context_report r;
  r.session_id = "s-1";
  r.stats = samples::stats();
  for (std::size_t i = 0; i < compactions; ++i) {
    auto one = samples::record();
    one.generation = static_cast<std::int64_t>(i) + 1;
    one.tokens_before = 40'000 + one.generation;
    r.boundaries.push_back(std::make_shared<const compaction_record>(std::move(one)));
  }
  decision d;
  d.decision = "sample";
  d.reason = "below the threshold";
  d.stats = r.stats;
  r.decisions.push_back(std::move(d));
  return r;
}

TEST(context_text, S15_tells_people_how_full_it_is_and_when_it_will_be_compacted) {
  const auto text = context_text(report(0));
  EXPECT_EQ(text, "Used: about 10,001 of 64,000 tokens (15 %)\n"
                  "Window: 64,000 tokens, from the settings\n"
                  "Compaction is due at 50,000 tokens (78 % of the window), 39,999 from here\n"
                  "Nothing was compacted so far.\n"
                  "/context all shows every number.");
}

TEST(context_text, S14_a_window_that_is_a_guess_says_how_to_set_it) {
  const std::pair<const char*, const char*> origins[]{
      {"default", "assumed; set --context-window"},
      {"provider", "learned from the model's provider"},
      {"settings", "from the settings"},
  };
  for (const auto& [origin, words] : origins) {
    auto r = report(0);
    r.stats.context_window_origin = origin;
    EXPECT_THAT(context_text(r), HasSubstr(std::string("Window: 64,000 tokens, ") + words));
  }
}

TEST(context_text, S15_names_the_newest_compactions_and_why) {
  EXPECT_THAT(context_text(report(1)),
              HasSubstr("Compacted once:\n  40,001 -> 200 tokens, because the context had grown "
                        "long (summary by the model, 2026-01-01T00:00:00.000Z)"));
  const auto many = context_text(report(5));
  EXPECT_THAT(many, HasSubstr("Compacted 5 times, lately:\n  40,003 -> "));
  EXPECT_THAT(many, HasSubstr("40,005 -> "));
  EXPECT_THAT(many, Not(HasSubstr("40,002 -> ")));
}

TEST(context_text, a_compaction_that_is_overdue_is_not_said_to_lie_below_nothing) {
  auto r = report(0);
  r.stats.active_tokens = r.stats.auto_compact_token_limit;
  EXPECT_THAT(context_text(r), HasSubstr("that is now"));
}

TEST(context_text, S15_the_whole_one_has_every_number_and_the_decisions) {
  const auto text = whole_context_text(report(5));
  for (const auto* part : {"10001", "assistant_usage_plus_local_delta", "fixed part 500", "62976",
                           "Boundaries: 5", "1. auto", "sample: below the threshold"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(number_text, digits_stand_in_groups_of_three) {
  const std::pair<std::int64_t, const char*> rows[]{{0, "0"},         {999, "999"},
                                                    {1'000, "1,000"}, {-1'000, "-1,000"},
                                                    {-123, "-123"},   {1'234'567, "1,234,567"}};
  for (const auto& [number, text] : rows)
    EXPECT_EQ(grouped(number), text);
}

} // namespace
} // namespace rind::protocol
