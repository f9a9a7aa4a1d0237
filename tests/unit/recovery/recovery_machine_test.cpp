// What a provider's error does to an operation: the numbers, the stages, the words.
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "runtime/recovery/recovery_machine.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::recovery {
namespace {

using enum provider_error_class;

provider_error error_of(provider_error_class c) {
  provider_error e;
  e.error_class = c;
  e.message = "their words";
  e.status = 400;
  return e;
}

request_facts facts_of(std::int64_t estimated) {
  request_facts f;
  f.estimated_tokens = estimated;
  f.output_limit_tokens = 16'000;
  f.fixed_tokens = 1'000;
  f.window_tokens = 100'000;
  f.hard_limit_tokens = 98'976;
  return f;
}

sampling_answer answer_of(std::string text, finish_reason finish,
                          std::optional<std::int64_t> input = {},
                          std::optional<std::int64_t> output = {}) {
  sampling_answer a;
  a.msg = kit::make_message(message_role::assistant, std::move(text));
  a.usage.input_tokens = input;
  a.usage.output_tokens = output;
  a.finish = finish;
  return a;
}

TEST(recovery_machine, S31a_a_retry_is_announced_with_the_first_words_of_the_provider) {
  auto refused = error_of(provider_error_class::server_error);
  refused.message = "connection refused\n" + std::string(500, 'x');
  recovery_machine m;
  const auto again = m.on_error(refused, facts_of(1'000));
  EXPECT_EQ(again.action, action::retry);
  EXPECT_EQ(again.reason, "server_error");
  EXPECT_TRUE(again.detail.starts_with("connection refused xx")) << again.detail;
  EXPECT_EQ(rind::first_characters(again.detail, retry_detail_characters_max), again.detail);
  refused.error_class = provider_error_class::context_length;
  EXPECT_EQ(m.on_error(refused, facts_of(90'000)).detail, again.detail);
}

// -- the table -----------------------------------------------------------------

TEST(recovery_machine, S30_every_stage_meets_every_trigger) {
  // Written out a second time: '-' is illegal, else the first letter pair of the next stage.
  const std::array<const char*, stage_count> expected{
      "compacting - - - -",      "- compacted rescuing - -", "rescuing - - - -",
      "- - - rescued exhausted", "rescuing - - - -",         "- - - - -"};
  for (std::size_t s = 0; s < stage_count; ++s) {
    std::string row;
    for (std::size_t t = 0; t < trigger_count; ++t) {
      const auto& cell = stage_table()[s][t];
      row += (t ? " " : "") + std::string{cell.legal ? to_string(cell.next) : "-"};
    }
    EXPECT_EQ(row, expected[s]) << to_string(static_cast<stage>(s));
  }
}

TEST(recovery_machine, S30_what_the_table_forbids_is_named_and_ends_the_operation) {
  recovery_machine m;
  for (const auto& d : {m.on_compaction(true, facts_of(1)), m.on_compaction(false, facts_of(1)),
                        m.on_rescue(true), m.on_rescue(false)}) {
    EXPECT_EQ(d.action, action::fail);
    EXPECT_EQ(d.error->code, error_code::internal_error);
    EXPECT_NE(d.error->message.find("steady"), std::string::npos);
  }
  (void)m.on_error(error_of(context_length), facts_of(50'000));
  const auto d =
      m.on_error(error_of(context_length), facts_of(50'000)); // while a compaction is being made
  EXPECT_EQ(d.error->code, error_code::internal_error);
}

// -- S30 -----------------------------------------------------------------------

TEST(recovery_machine, S30_compaction_then_four_rescues_then_the_numbers_tried) {
  recovery_machine m;
  auto d = m.on_error(error_of(context_length), facts_of(90'000));
  EXPECT_EQ(d.action, action::compact);
  d = m.on_compaction(true, facts_of(80'000));
  EXPECT_EQ(d.action, action::retry);
  EXPECT_EQ(d.delay_ms, 0);
  std::int64_t estimate = 80'000;
  const std::array<std::int64_t, 4> limits{64'000, 51'200, 40'960, 32'768};
  for (int rescue = 0; rescue < rescues_max; ++rescue) {
    d = m.on_error(error_of(context_length), facts_of(estimate));
    ASSERT_EQ(d.action, action::rescue) << rescue;
    EXPECT_EQ(d.limit_tokens, limits[static_cast<std::size_t>(rescue)]);
    EXPECT_EQ(m.tightened_limit_tokens(), d.limit_tokens);
    estimate = d.limit_tokens;
    d = m.on_rescue(true);
    EXPECT_EQ(d.action, action::retry);
    EXPECT_EQ(d.attempt, rescue + 2);
  }
  d = m.on_error(error_of(context_length), facts_of(estimate));
  ASSERT_EQ(d.action, action::fail);
  EXPECT_EQ(d.error->code, error_code::context_length_exhausted);
  EXPECT_EQ(d.error->details.attempts, (std::vector<refused_attempt>{{90'000, 98'976},
                                                                     {80'000, 98'976},
                                                                     {64'000, 64'000},
                                                                     {51'200, 51'200},
                                                                     {40'960, 40'960},
                                                                     {32'768, 32'768}}));
  EXPECT_NE(d.error->message.find("their words"), std::string::npos);
}

TEST(recovery_machine, S30_the_tightened_limit_follows_the_smaller_of_limit_and_estimate) {
  for (const auto& [estimated, expected] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {98'976, 79'180}, {50'000, 40'000}, {200'000, 79'180}, {3'000, 3'048}}) {
    recovery_machine m;
    (void)m.on_error(error_of(context_length), facts_of(estimated));
    const auto d = m.on_compaction(false, facts_of(estimated));
    EXPECT_EQ(d.action, action::rescue);
    EXPECT_EQ(d.limit_tokens, expected) << estimated; // the floor: fixed part + 2,048
  }
}

TEST(recovery_machine, S30_a_rescue_that_changes_nothing_is_the_end) {
  recovery_machine m;
  (void)m.on_error(error_of(context_length), facts_of(50'000));
  (void)m.on_compaction(false, facts_of(50'000));
  const auto d = m.on_rescue(false);
  EXPECT_EQ(d.error->code, error_code::context_length_exhausted);
  EXPECT_EQ(d.error->details.attempts.size(), 1u);
}

TEST(recovery_machine, S30_the_count_goes_on_over_the_samplings_of_an_operation) {
  recovery_machine m;
  (void)m.on_error(error_of(context_length), facts_of(50'000));
  (void)m.on_compaction(true, facts_of(20'000));
  m.sampling_succeeded();
  m.begin_sampling();
  EXPECT_EQ(m.on_error(error_of(context_length), facts_of(40'000)).action, action::rescue);
  EXPECT_EQ(m.context_errors(), 2);
}

TEST(recovery_machine, S30_without_recovery_the_error_names_the_command) {
  recovery_machine m;
  auto f = facts_of(50'000);
  f.overflow_recovery = false;
  const auto d = m.on_error(error_of(context_length), f);
  EXPECT_EQ(d.error->code, error_code::context_length_exceeded);
  EXPECT_NE(d.error->message.find("/compact"), std::string::npos);
  EXPECT_NE(d.error->message.find("their words"), std::string::npos);
}

TEST(recovery_machine, S30_the_output_limit_is_lowered_once_a_sampling_and_counts_as_no_rescue) {
  auto over = error_of(context_length);
  over.shrink_output_first = true;
  over.limit_tokens = 100'000;
  over.requested_tokens = 106'000; // 90,000 + 16,000
  recovery_machine m;
  auto d = m.on_error(over, facts_of(88'000));
  EXPECT_EQ(d.action, action::lower_output);
  EXPECT_EQ(d.output_limit_tokens, 10'000);
  EXPECT_EQ(m.context_errors(), 0);
  EXPECT_EQ(m.at(), stage::steady);
  d = m.on_error(over, facts_of(88'000));
  EXPECT_EQ(d.action, action::compact);
  recovery_machine next;
  (void)next.on_error(over, facts_of(88'000));
  next.sampling_succeeded();
  next.begin_sampling();
  EXPECT_EQ(next.on_error(over, facts_of(88'000)).action, action::lower_output);
}

TEST(recovery_machine, S30_the_output_limit_is_not_lowered_where_too_little_would_be_left) {
  auto over = error_of(context_length);
  over.shrink_output_first = true;
  over.limit_tokens = 100'000;
  over.requested_tokens = 115'500; // room for 500
  recovery_machine m;
  EXPECT_EQ(m.on_error(over, facts_of(99'000)).action, action::compact);
}

TEST(recovery_machine, S30_the_tightened_limit_ends_with_the_model) {
  recovery_machine m;
  (void)m.on_error(error_of(context_length), facts_of(50'000));
  (void)m.on_compaction(false, facts_of(50'000));
  ASSERT_TRUE(m.tightened_limit_tokens());
  m.end_tightened_limit();
  EXPECT_FALSE(m.tightened_limit_tokens());
}

TEST(recovery_machine, S10_a_resumed_operation_stands_where_the_journal_says) {
  const std::vector<std::pair<resume_state, stage>> rows{
      {{0, 0, 0, {}, {}, {}}, stage::steady},    {{1, 0, 900, {}, {}, {}}, stage::compacting},
      {{1, 0, 0, {}, {}, {}}, stage::compacted}, {{1, 1, 900, 720, {}, {}}, stage::rescuing},
      {{2, 1, 0, 720, {}, {}}, stage::rescued},
  };
  for (const auto& [before, expected] : rows)
    EXPECT_EQ(recovery_machine{before}.at(), expected);
  recovery_machine last{{5, 4, 0, 720, {}, {}}};
  EXPECT_EQ(last.on_error(error_of(context_length), facts_of(700)).error->code,
            error_code::context_length_exhausted);
  recovery_machine lowered{{0, 0, 0, {}, {}, 4'000}};
  auto over = error_of(context_length);
  over.shrink_output_first = true;
  over.limit_tokens = 100'000;
  over.requested_tokens = 106'000;
  EXPECT_EQ(lowered.on_error(over, facts_of(88'000)).action,
            action::compact); // once a sampling, over the crash too
}

// -- S16 -----------------------------------------------------------------------

TEST(recovery_machine, S16_only_a_stated_window_that_is_not_above_what_was_refused_is_learned) {
  struct row {
    const char* name;
    std::optional<std::int64_t> limit, requested;
    bool output_counted;
    std::optional<std::int64_t> learned;
  };
  for (const auto& r :
       std::vector<row>{{"nothing stated", {}, 60'000, false, {}},
                        {"stated and below", 50'000, 60'000, false, 50'000},
                        {"stated and equal", 60'000, 60'000, false, 60'000},
                        {"stated, above the provider's count", 70'000, 60'000, false, {}},
                        {"stated, below the estimate", 40'000, {}, false, 40'000},
                        {"stated, above the estimate", 55'000, {}, false, {}},
                        {"above the estimate, the output was counted", 55'000, {}, true, 55'000},
                        {"the window that was known", 100'000, 120'000, false, {}},
                        {"too small for any session", 2'047, 60'000, false, {}},
                        {"nonsense", 0, 60'000, false, {}}}) {
    auto e = error_of(context_length);
    e.limit_tokens = r.limit;
    e.requested_tokens = r.requested;
    e.shrink_output_first = r.output_counted;
    EXPECT_EQ(learned_window(e, facts_of(50'000)), r.learned) << r.name;
    recovery_machine m;
    EXPECT_EQ(m.on_error(e, facts_of(50'000)).learned_window_tokens, r.learned) << r.name;
  }
  auto other = error_of(rate_limit);
  other.limit_tokens = 40'000;
  EXPECT_FALSE(learned_window(other, facts_of(50'000)));
}

TEST(recovery_machine, S16_a_window_learned_with_a_rescue_bounds_its_limit) {
  recovery_machine m;
  (void)m.on_error(error_of(context_length), facts_of(90'000));
  (void)m.on_compaction(true, facts_of(80'000));
  auto e = error_of(context_length);
  e.limit_tokens = 20'000;
  const auto d = m.on_error(e, facts_of(80'000));
  EXPECT_EQ(d.limit_tokens, (20'000 - 1'024) * 8 / 10);
  EXPECT_EQ(d.learned_window_tokens, 20'000);
}

// -- S32 -----------------------------------------------------------------------

TEST(recovery_machine, S32_each_class_has_its_number_of_retries_a_sampling) {
  const std::vector<std::pair<provider_error_class, int>> rows{{stream_interrupted, 3},
                                                               {server_error, 3},
                                                               {provider_error_class::timeout, 3},
                                                               {rate_limit, 5},
                                                               {overloaded, 5}};
  for (const auto& [error_class, max] : rows) {
    recovery_machine m;
    for (int sampling = 0; sampling < 2; ++sampling) {
      m.begin_sampling();
      for (int i = 1; i <= max; ++i) {
        const auto d = m.on_error(error_of(error_class), facts_of(1'000));
        ASSERT_EQ(d.action, action::retry) << to_string(error_class) << i;
        EXPECT_EQ(d.attempt, i);
        EXPECT_EQ(d.delay_ms, std::min<std::int64_t>(1'000 << i, 10'000));
      }
      EXPECT_EQ(m.on_error(error_of(error_class), facts_of(1'000)).action, action::fail);
    }
  }
}

TEST(recovery_machine, S32_server_errors_and_timeouts_share_one_count) {
  recovery_machine m;
  m.begin_sampling();
  for (const auto c : {server_error, provider_error_class::timeout, server_error})
    EXPECT_EQ(m.on_error(error_of(c), facts_of(1)).action, action::retry);
  const auto d = m.on_error(error_of(provider_error_class::timeout), facts_of(1));
  EXPECT_EQ(d.error->code, error_code::provider_timeout);
}

TEST(recovery_machine, S32_retry_after_is_honoured_up_to_a_minute) {
  for (const auto& [after, retried] : std::vector<std::pair<double, bool>>{
           {0.5, true}, {60.0, true}, {60.5, false}, {3'600.0, false}}) {
    auto e = error_of(rate_limit);
    e.retry_after_s = after;
    recovery_machine m;
    const auto d = m.on_error(e, facts_of(1));
    EXPECT_EQ(d.action == action::retry, retried) << after;
    if (retried) {
      EXPECT_GE(d.delay_ms, static_cast<std::int64_t>(after * 1'000));
      continue;
    }
    EXPECT_EQ(d.error->code, error_code::rate_limited);
    EXPECT_EQ(d.error->details.retry_after_s, after);
    EXPECT_NE(d.error->message.find("come back in"), std::string::npos);
  }
}

TEST(recovery_machine, S32_a_provider_that_says_not_to_try_again_is_believed) {
  auto e = error_of(server_error);
  e.retry_same = false;
  recovery_machine m;
  EXPECT_EQ(m.on_error(e, facts_of(1)).action, action::fail);
}

RC_GTEST_PROP(recovery_machine, S32_a_delay_stays_in_its_bounds, ()) {
  const auto attempt = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto chance = *rc::gen::inRange(0, 1'000) / 1'000.0;
  const auto delay = retry_delay_ms(attempt, {}, chance);
  RC_ASSERT(delay >= 1'500);
  RC_ASSERT(delay <= retry_delay_max_ms);
  const auto after = *rc::gen::inRange(0, 60);
  RC_ASSERT(retry_delay_ms(attempt, after, chance) >= after * 1'000);
  RC_ASSERT(retry_delay_ms(attempt, after, chance) <= after * 1'250 + 1);
}

TEST(recovery_machine, S32_the_delays_of_many_sessions_are_spread_at_the_bound_too) {
  constexpr int sessions = 1'000;
  for (const std::int64_t attempt : {1, 2, 3, 4, 9}) {
    std::map<std::int64_t, int> together; // sessions within one tenth of a second
    for (int i = 0; i < sessions; ++i)
      ++together[retry_delay_ms(attempt, {}, static_cast<double>(i) / sessions) / 100];
    for (const auto& [tenth, count] : together)
      EXPECT_LE(count, sessions / 5) << "attempt " << attempt << ", " << tenth;
  }
}

// -- S33, S33a, S34 --------------------------------------------------------------

TEST(recovery_machine, S33_a_cut_answer_is_truncated_or_an_overflow) {
  struct row {
    const char* name;
    std::optional<std::int64_t> input, output;
    std::int64_t estimated;
    bool lowered;
    provider_error_class expected;
  };
  for (const auto& r : std::vector<row>{
           {"far from the window", 50'000, 16'000, 50'000, false, output_limit},
           {"up to the window, as reported", 84'000, 15'000, 50'000, false, context_length},
           {"up to the window, as estimated", {}, 15'000, 84'500, false, context_length},
           {"just below", 84'000, 14'900, 84'000, false, output_limit},
           {"an output limit that was lowered", 50'000, 2'000, 50'000, true, context_length}}) {
    auto f = facts_of(r.estimated);
    f.output_limit_lowered = r.lowered;
    const auto e =
        judge_answer(answer_of("half an ans", finish_reason::length, r.input, r.output), f);
    ASSERT_TRUE(e) << r.name;
    EXPECT_EQ(e->error_class, r.expected) << r.name;
    EXPECT_EQ(e->usage.input_tokens, r.input) << r.name;
  }
  EXPECT_EQ(failure_of(*judge_answer(answer_of("x", finish_reason::length), facts_of(100))).code,
            error_code::output_truncated);
}

TEST(recovery_machine, S33_whole_answers_pass_and_broken_ones_do_not) {
  EXPECT_FALSE(judge_answer(answer_of("fine", finish_reason::stop), facts_of(100)));
  EXPECT_FALSE(judge_answer(answer_of("fine", finish_reason::tool_calls), facts_of(100)));
  auto asks = answer_of("", finish_reason::tool_calls);
  asks.msg = kit::make_message(message_role::assistant, "", {kit::make_call("a")});
  EXPECT_FALSE(judge_answer(asks, facts_of(100)));
  EXPECT_EQ(judge_answer(answer_of("x", finish_reason::content_filter), facts_of(100))->error_class,
            content_filter);
  EXPECT_EQ(judge_answer(answer_of("x", finish_reason::other), facts_of(100))->error_class,
            stream_interrupted);
  for (const char* blank : {"", "  \n"})
    EXPECT_EQ(judge_answer(answer_of(blank, finish_reason::stop), facts_of(100))->code,
              "empty_response");
  sampling_answer none;
  EXPECT_EQ(judge_answer(none, facts_of(100))->code, "empty_response");
}

TEST(recovery_machine, S33a_an_unrecognised_400_near_the_window_is_one_overflow_an_operation) {
  recovery_machine m;
  EXPECT_EQ(m.on_error(error_of(unrecognised), facts_of(60'000)).action,
            action::fail); // not above 60 %
  EXPECT_EQ(m.on_error(error_of(unrecognised), facts_of(60'001)).action, action::compact);
  (void)m.on_compaction(true, facts_of(20'000));
  m.sampling_succeeded();
  m.begin_sampling();
  const auto d = m.on_error(error_of(unrecognised), facts_of(90'000));
  EXPECT_EQ(d.action, action::fail);
  EXPECT_EQ(d.error->code, error_code::provider_invalid_request);
  EXPECT_EQ(d.error->message, "their words");
}

TEST(recovery_machine, S33a_nor_is_it_one_with_recovery_off) {
  recovery_machine m;
  auto f = facts_of(90'000);
  f.overflow_recovery = false;
  EXPECT_EQ(m.on_error(error_of(unrecognised), f).error->message, "their words");
}

TEST(recovery_machine, S34_F59_an_answer_that_hides_an_overflow_is_one) {
  struct row {
    const char* name;
    sampling_answer answer;
    std::int64_t estimated;
  };
  using enum finish_reason;
  for (const auto& r :
       std::vector<row>{{"a stop reason that says so", answer_of("part", window_exceeded), 50'000},
                        {"input above the window", answer_of("fine", stop, 100'001), 90'000},
                        {"half of the window of a prompt that filled it",
                         answer_of("fine", stop, 50'000), 95'000},
                        {"an empty stop near the window", answer_of("", stop, {}), 95'000}}) {
    const auto e = judge_answer(r.answer, facts_of(r.estimated));
    ASSERT_TRUE(e) << r.name;
    EXPECT_EQ(e->error_class, context_length) << r.name;
    recovery_machine m;
    EXPECT_EQ(m.on_error(*e, facts_of(r.estimated)).action, action::compact) << r.name;
  }
  // Output 0, much reasoning, far from the window: the output limit.
  EXPECT_EQ(judge_answer(answer_of("", length, 11'000, 15'000), facts_of(11'000))->error_class,
            output_limit);
  EXPECT_FALSE(judge_answer(answer_of("fine", stop, 50'000), facts_of(52'000)));
}

// -- bounds, for any order of errors ----------------------------------------------

RC_GTEST_PROP(recovery_machine,
              S30_S32_no_order_of_errors_makes_more_attempts_than_the_numbers_allow, ()) {
  recovery_machine m;
  m.begin_sampling();
  std::int64_t estimate = 90'000;
  int attempts = 1;
  for (;;) {
    auto e = error_of(static_cast<provider_error_class>(
        *rc::gen::inRange<int>(0, static_cast<int>(provider_error_class_count))));
    if (*rc::gen::inRange(0, 3) == 0)
      e.error_class = context_length;
    if (*rc::gen::inRange(0, 4) == 0) {
      e.limit_tokens = 100'000;
      e.requested_tokens = 106'000;
      e.shrink_output_first = true;
    }
    auto d = m.on_error(e, facts_of(estimate));
    while (d.action == action::compact || d.action == action::rescue) {
      const bool helped = *rc::gen::inRange(0, 3) > 0;
      if (helped)
        estimate = estimate * 9 / 10;
      d = d.action == action::compact ? m.on_compaction(helped, facts_of(estimate))
                                      : m.on_rescue(helped);
    }
    if (d.action == action::fail) {
      RC_ASSERT(d.error->code != error_code::internal_error);
      break;
    }
    ++attempts;
  }
  // The request, its retries, one with less output, one after the compaction, four after rescues.
  RC_ASSERT(attempts <=
            1 + stream_retries_max + server_retries_max + rate_retries_max + 1 + 1 + rescues_max);
  RC_ASSERT(m.rescues() <= rescues_max);
}

} // namespace
} // namespace rind::recovery
