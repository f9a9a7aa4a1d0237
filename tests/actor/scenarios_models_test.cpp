// Faults in what is known of a model: its window, its cap, what it refuses (F04, F05, F17).
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::refuses;
using kit::says;
using kit::text_of_tokens;

/// A world whose default model is as the test says, with a fallback for all.
kit::world_options with_model(const context::model_limits& own,
                              const context::model_limits& fallback = {}) {
  kit::world_options o;
  o.settings.fallback.limits = fallback;
  o.settings.providers.front().models.front().limits = own;
  return o;
}

context_stats stats_of(kit::world& w, kit::scripted_client& c) {
  auto report = c.inspect();
  w.run();
  return report.value().stats;
}

TEST(scenario, F04_one_resolver_says_the_window_to_everybody_and_where_it_comes_from) {
  struct row {
    std::optional<std::int64_t> own, fallback;
    std::int64_t window;
    const char* origin;
  };
  for (const auto& r : std::vector<row>{
           {32'768, 1'000'000, 32'768, "settings"},
           {{}, 48'000, 48'000, "fallback"},
           {{}, {}, context::default_window_tokens, "default"},
       }) {
    SCOPED_TRACE(r.origin);
    context::model_limits own;
    own.window_tokens = r.own;
    context::model_limits fallback;
    fallback.window_tokens = r.fallback;
    kit::world w{with_model(own, fallback)};
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 100);
    const auto stats = stats_of(w, ann);
    EXPECT_EQ(stats.context_window_tokens, r.window);
    EXPECT_EQ(stats.context_window_origin, r.origin);
    EXPECT_EQ(stats.hard_limit_tokens, r.window - context::hard_limit_margin_tokens);
    EXPECT_EQ(w.model().requests().back().request.window_tokens, r.window);
    EXPECT_LE(w.model().requests().back().request.output_limit_tokens, r.window / 4);
  }
}

TEST(scenario, F05_S14_an_input_cap_below_the_window_is_what_compaction_keeps_to) {
  context::model_limits own;
  own.window_tokens = 40'000;
  own.input_cap_tokens = 8'000;
  kit::world w{with_model(own)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 1'500, 8);
  EXPECT_FALSE(kit::boundaries_of(w, "s1").empty());
  for (const auto* r : w.model().requests_of(sampling_kind::assistant))
    EXPECT_LE(r->estimated_tokens, 8'000 - context::hard_limit_margin_tokens);
}

/// What nobody knows, with a status that says nothing.
kit::scripted_reply refuses_strangely() {
  return refuses(provider_error_class::unrecognised, "the frobnicator declined");
}

TEST(scenario, F05_S33a_an_unknown_refusal_near_the_window_is_one_overflow_and_then_shown) {
  struct row {
    std::int64_t tokens; // of history, in a window of 12,000
    std::size_t refusals;
    std::size_t boundaries;
    bool fails;
  };
  for (const auto& r : std::vector<row>{
           {8'000, 1, 1, false},
           {8'000, 2, 1, true},
           {3'000, 1, 0, true},
       }) {
    SCOPED_TRACE(std::to_string(r.tokens) + " tokens, refused " + std::to_string(r.refusals));
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, r.tokens / 4, 4);
    w.model().expect(refuses_strangely(), r.refusals);
    auto answer = ann.prompt("Go on.");
    w.advance(1'000);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(kit::boundaries_of(w, "s1").size(), r.boundaries);
    ASSERT_EQ(answer.value().outcome,
              r.fails ? entries::turn_outcome::failed : entries::turn_outcome::completed);
    if (r.fails) {
      EXPECT_EQ(kit::failure_of(ann.events()).code, error_code::provider_invalid_request);
      EXPECT_NE(kit::failure_of(ann.events()).message.find("the frobnicator declined"),
                std::string::npos);
    }
  }
}

TEST(scenario, F17_S19_an_output_limit_that_a_model_refuses_is_no_overflow) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 4);
  provider_error illegal;
  illegal.error_class = provider_error_class::output_limit;
  illegal.code = "invalid_max_tokens";
  illegal.message = "max_tokens must be at most 1024";
  illegal.status = 400;
  w.model().expect(refuses(illegal));
  auto answer = ann.prompt("Go on.");
  w.advance(1'000);
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
  EXPECT_NE(kit::failure_of(ann.events()).message.find("max_tokens must be at most 1024"),
            std::string::npos);
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
  // The summary request with that fault: a handoff without a model, and its reason in the record.
  w.model().expect_summary(refuses(illegal));
  auto compacted = ann.compact();
  w.advance(1'000);
  ASSERT_TRUE(compacted.ok());
  EXPECT_EQ(compacted.value()->strategy, compaction_strategy::deterministic_fallback);
  EXPECT_NE(to_json(*compacted.value()).dump().find("max_tokens must be at most 1024"),
            std::string::npos);
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 1);
}

TEST(scenario, S14_a_smaller_model_compacts_before_its_first_sampling) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1", "model-big");
  kit::fill(w, ann, 2'250, 4);
  kit::fill(w, ann, 700); // above the threshold of model-a, which can summarise it
  auto set = ann.set_model("model-a");
  w.run();
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty()) << "nothing before it is sampled";
  kit::fill(w, ann, 20);
  ASSERT_EQ(kit::boundaries_of(w, "s1").size(), 1u);
  const auto& last = w.model().requests().back().request;
  EXPECT_EQ(last.model, "model-a");
  EXPECT_LE(last.estimated_tokens, kit::world_window_tokens - context::hard_limit_margin_tokens);
}

TEST(scenario, a_model_is_found_by_its_providers_name_too_and_sent_under_its_own) {
  kit::world_options o;
  o.settings.default_model = "scripted/model-big";
  o.settings.compaction.model = "scripted/model-a";
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'500, 3);
  EXPECT_EQ(w.model().requests().back().request.model, "model-big");
  auto compacted = ann.compact();
  w.run();
  ASSERT_TRUE(compacted.ok()) << compacted.said();
  EXPECT_EQ(w.model().requests_of(sampling_kind::compact).back()->model, "model-a");
}

} // namespace
} // namespace rind
