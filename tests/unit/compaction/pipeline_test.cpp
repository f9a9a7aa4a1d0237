// The pipeline between the service's I/O, through all three entrances.
#include <gtest/gtest.h>

#include "runtime/compaction/handoff.hpp"
#include "runtime/compaction/pipeline.hpp"
#include "runtime/context/token_estimator.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::compaction {
namespace {

using kit::make_call;
using kit::text_of_tokens;

constexpr compaction_reason entrances[]{compaction_reason::manual, compaction_reason::automatic,
                                        compaction_reason::context_length_error};

context::active_of times(double ratio) {
  return [ratio](std::int64_t local) {
    return static_cast<std::int64_t>(static_cast<double>(local) * ratio);
  };
}

request request_of(const kit::journal_builder& j, compaction_reason reason,
                   std::int64_t window = 20'000) {
  const auto p = j.project();
  context::model_limits limits;
  limits.window_tokens = window;
  request r;
  r.reason = reason;
  r.detail =
      reason == compaction_reason::automatic ? phase_detail::between_samplings : phase_detail::none;
  r.view = std::make_shared<view::message_view>(p.view());
  r.corpus_messages = p.messages(p.view().corpus_start, p.view().message_count);
  r.fixed_tokens = p.fixed_tokens();
  r.budget = context::resolve_budget("m", limits, {}, "m", limits, {});
  r.active_of = times(1.0);
  r.summary_active_of = times(1.0);
  return r;
}

/// Answered turns of about 12,000 tokens, then an unread prompt.
kit::journal_builder session() {
  kit::journal_builder j;
  for (int i = 0; i < 6; ++i) {
    const auto id = "c" + std::to_string(i);
    j.turn("t" + std::to_string(i))
        .user("Question " + std::to_string(i))
        .assistant("", {make_call(id)});
    j.result(id, text_of_tokens(1'500)).assistant(text_of_tokens(500)).ended();
  }
  j.turn("last").user("And now?");
  return j;
}

sampling_answer summary(std::string text = "Goal: answer the questions.") {
  sampling_answer a;
  a.msg = kit::make_message(message_role::assistant, std::move(text));
  a.usage.input_tokens = 9'000;
  a.usage.output_tokens = 50;
  return a;
}

provider_error broken(provider_error_class error_class, std::string text) {
  provider_error e;
  e.error_class = error_class;
  e.message = std::move(text);
  return e;
}

summary_plan planned_summary(const request& r) {
  auto p = plan(r);
  EXPECT_TRUE(std::holds_alternative<summary_plan>(p));
  return std::get<summary_plan>(std::move(p));
}

/// The view that the journal gives once the draft is appended.
view::projection committed(kit::journal_builder j, const boundary_draft& d) {
  j.add(entries::boundary{std::make_shared<compaction_record>(d.record)});
  return j.project();
}

TEST(pipeline, S17_a_summary_becomes_a_boundary_at_each_entrance) {
  const auto j = session();
  for (const auto reason : entrances) {
    const auto r = request_of(j, reason);
    const auto p = planned_summary(r);
    EXPECT_EQ(p.tokens_before, r.fixed_tokens + r.view->tokens);
    const auto c = conclude(r, p, summary());
    ASSERT_TRUE(std::holds_alternative<boundary_draft>(c)) << to_string(reason);
    const auto& record = std::get<boundary_draft>(c).record;
    EXPECT_EQ(record.reason, reason);
    EXPECT_EQ(record.phase, reason == compaction_reason::manual ? compaction_phase::manual
                                                                : compaction_phase::mid_turn);
    EXPECT_EQ(record.strategy, compaction_strategy::llm_inline);
    EXPECT_EQ(record.generation, 1);
    EXPECT_EQ(record.message_start_index, 0);
    EXPECT_EQ(record.message_end_index_exclusive, p.parts.end_index_exclusive);
    EXPECT_EQ(record.tool_call_ids, p.parts.tool_call_ids);
    EXPECT_EQ(record.history_digest,
              history_digest(j.project().messages(record.message_start_index,
                                                  record.message_end_index_exclusive)));
    EXPECT_EQ(record.continuation_text, continuation_text());
    EXPECT_NE(record.handoff_text->find("Goal: answer the questions."), std::string::npos);
    EXPECT_EQ(record.usage->input_tokens, 9'000);
    EXPECT_EQ(record.summary_model, "m");
    EXPECT_FALSE(record.fallback);
    EXPECT_LT(record.tokens_after, record.tokens_before);
    EXPECT_TRUE(std::get<boundary_draft>(c).fits_hard_limit);
    // What the record promises is what the journal gives.
    const auto after = committed(j, std::get<boundary_draft>(c));
    EXPECT_EQ(after.fixed_tokens() + after.view().tokens, record.tokens_after);
    EXPECT_FALSE(after.fault()) << *after.fault();
  }
}

TEST(pipeline, S18_nothing_to_compact_asks_no_model) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").ended().compacted(2, "What was.");
  j.turn("t2").user("two");
  for (const auto reason : entrances) {
    const auto p = plan(request_of(j, reason));
    ASSERT_TRUE(std::holds_alternative<outcome>(p)) << to_string(reason);
    EXPECT_EQ(std::get<outcome>(p).kind, outcome_kind::nothing_to_compact);
  }
}

TEST(pipeline, S19_what_does_not_fit_is_never_a_fallback) {
  kit::journal_builder j;
  j.turn().user(text_of_tokens(30'000)).assistant(text_of_tokens(6'000)).ended();
  j.turn("t2").user("go on");
  for (const auto reason : entrances) {
    const auto p = plan(request_of(j, reason));
    ASSERT_TRUE(std::holds_alternative<outcome>(p));
    const auto& o = std::get<outcome>(p);
    EXPECT_EQ(o.kind, outcome_kind::compact_input_too_large);
    EXPECT_EQ(o.error->code, error_code::compact_input_too_large);
    EXPECT_TRUE(o.error->details.estimated_tokens && o.error->details.limit_tokens);
  }
}

struct failing_case {
  const char* name;
  sampling_outcome answer;
  const char* type;
  const char* status;
};

TEST(pipeline, S21_a_failed_summary_is_replaced_by_one_without_a_model) {
  auto no_text = summary("");
  auto cut_off = summary("half a summ");
  cut_off.finish = finish_reason::length;
  const std::vector<failing_case> cases{
      {"F28_rate_limit", broken(provider_error_class::rate_limit, "slow down"), "rate_limit",
       "unavailable"},
      {"F28_stream", broken(provider_error_class::stream_interrupted, "closed"),
       "stream_interrupted", "unavailable"},
      {"F27_provider_overflow", broken(provider_error_class::context_length, "too long"),
       "context_length", "rejected"},
      {"too_large", broken(provider_error_class::request_too_large, "413"), "request_too_large",
       to_string(make_failure(error_code::request_too_large, "").status)},
      {"auth", broken(provider_error_class::auth, "who?"), "auth",
       to_string(make_failure(error_code::auth, "").status)},
      {"deadline", broken(provider_error_class::timeout, "120 s"), "timeout", "timed_out"},
      {"F29_empty", no_text, "empty", "rejected"},
      {"F31_length", cut_off, "finish", "rejected"},
  };
  const auto j = session();
  for (const auto reason : entrances) {
    const auto r = request_of(j, reason);
    const auto p = planned_summary(r);
    for (const auto& tried : cases) {
      const auto c = conclude(r, p, tried.answer);
      ASSERT_TRUE(std::holds_alternative<boundary_draft>(c)) << tried.name;
      const auto& record = std::get<boundary_draft>(c).record;
      EXPECT_EQ(record.strategy, compaction_strategy::deterministic_fallback) << tried.name;
      ASSERT_TRUE(record.fallback) << tried.name;
      EXPECT_EQ(record.fallback->type, tried.type);
      EXPECT_EQ(record.fallback->status, tried.status);
      EXPECT_NE(record.handoff_text->find("Question 0"), std::string::npos);
      EXPECT_EQ(record.handoff_text->find("half a summ"), std::string::npos);
    }
  }
}

TEST(pipeline, S21_S32_a_summary_that_must_wait_too_long_says_when_to_come_back) {
  const auto r = request_of(session(), compaction_reason::manual);
  const auto p = planned_summary(r);
  auto limited = broken(provider_error_class::rate_limit, "slow down");
  limited.retry_after_s = 89.5;
  const auto later = conclude(r, p, limited);
  EXPECT_EQ(std::get<boundary_draft>(later).record.fallback->message,
            "slow down (come back in 90 s)");
  limited.retry_after_s = 60;
  const auto soon = conclude(r, p, limited);
  EXPECT_EQ(std::get<boundary_draft>(soon).record.fallback->message, "slow down");
}

TEST(pipeline, S23_usage_of_a_summary_that_was_thrown_away_is_kept) {
  const auto r = request_of(session(), compaction_reason::manual);
  const auto p = planned_summary(r);
  const auto thrown_away = conclude(r, p, summary(""));
  EXPECT_EQ(std::get<boundary_draft>(thrown_away).record.usage->input_tokens, 9'000);
  auto error = broken(provider_error_class::server_error, "x");
  error.usage.input_tokens = 77;
  EXPECT_EQ(std::get<boundary_draft>(conclude(r, p, error)).record.usage->input_tokens, 77);
  EXPECT_FALSE(
      std::get<boundary_draft>(conclude(r, p, broken(provider_error_class::server_error, "x")))
          .record.usage);
}

TEST(pipeline, S22_cancelled_is_no_boundary) {
  const auto r = request_of(session(), compaction_reason::automatic);
  const auto c = conclude(r, planned_summary(r), sampling_cancelled{});
  ASSERT_TRUE(std::holds_alternative<outcome>(c));
  EXPECT_EQ(std::get<outcome>(c).kind, outcome_kind::cancelled);
}

TEST(pipeline, F53_S24_what_does_not_get_smaller_is_not_committed) {
  kit::journal_builder j;
  j.turn().user("Short question.").assistant("Short.").ended();
  j.turn("t2").user("And this?").assistant(text_of_tokens(200)).ended();
  for (const auto reason : entrances) {
    auto r = request_of(j, reason);
    r.budget.threshold_tokens = 2'500; // room for the answer only
    const auto p = planned_summary(r);
    for (const auto& text : {text_of_tokens(40), text_of_tokens(5)}) {
      const auto c = conclude(r, p, summary(text));
      ASSERT_TRUE(std::holds_alternative<outcome>(c)) << to_string(reason);
      const auto& o = std::get<outcome>(c);
      EXPECT_EQ(o.kind, outcome_kind::no_gain);
      EXPECT_EQ(o.usage->input_tokens, 9'000);
      EXPECT_GE(o.tokens_after.value_or(0), 1);
    }
  }
}

TEST(pipeline, S24_gain_is_judged_on_one_basis) {
  // A provider that counts a tenth: the anchor says 0.1, the clamped ratio says 0.2 of the new
  // view.
  const auto j = session();
  auto r = request_of(j, compaction_reason::automatic, 16'000);
  r.budget.threshold_tokens = 1'200;
  const auto local = r.fixed_tokens + r.view->tokens;
  r.active_of = [local](std::int64_t tokens) { return tokens >= local ? tokens / 10 : tokens / 5; };
  const auto p = planned_summary(r);
  const auto c = conclude(r, p, summary());
  ASSERT_TRUE(std::holds_alternative<boundary_draft>(c));
  const auto& record = std::get<boundary_draft>(c).record;
  EXPECT_EQ(record.tokens_before, local / 10);
  EXPECT_LT(record.tokens_after, record.tokens_before);
}

TEST(pipeline, S18a_unread_results_are_shortened_in_the_same_boundary) {
  auto j = session();
  j.assistant("", {make_call("big")}).result("big", text_of_tokens(25'000));
  for (const auto reason : entrances) {
    const auto r = request_of(j, reason);
    const auto c = conclude(r, planned_summary(r), summary());
    ASSERT_TRUE(std::holds_alternative<boundary_draft>(c));
    const auto& draft = std::get<boundary_draft>(c);
    EXPECT_EQ(draft.record.replaced, (std::vector<replacement>{{26, 27, replacement_kind::body}}));
    EXPECT_TRUE(draft.fits_hard_limit);
    const auto after = committed(j, draft);
    EXPECT_TRUE(after.view().items.back().shortened);
    EXPECT_EQ(after.fixed_tokens() + after.view().tokens, draft.record.tokens_after);
    EXPECT_FALSE(after.fault());
  }
}

TEST(pipeline, S18a_with_nothing_to_compact_in_a_boundary_of_its_own) {
  kit::journal_builder j;
  j.turn().user("Read.").assistant("", {make_call("1")}).result("1", text_of_tokens(25'000));
  const auto r = request_of(j, compaction_reason::automatic);
  const auto before = cut_view(*r.view, r.budget, suffix_size::normal);
  ASSERT_TRUE(before.nothing_to_compact);
  auto p = plan(r);
  ASSERT_TRUE(std::holds_alternative<boundary_draft>(p));
  const auto& record = std::get<boundary_draft>(p).record;
  EXPECT_EQ(record.strategy, compaction_strategy::context_rescue);
  EXPECT_EQ(record.message_start_index, 0);
  EXPECT_EQ(record.message_end_index_exclusive, 0);
  EXPECT_EQ(record.history_digest, history_digest({}));
  EXPECT_FALSE(record.handoff_text);
  EXPECT_LT(record.tokens_after, record.tokens_before);
  const auto after = committed(j, std::get<boundary_draft>(p));
  EXPECT_FALSE(after.fault());
  EXPECT_EQ(after.fixed_tokens() + after.view().tokens, record.tokens_after);
  // The other entrances leave it to their callers.
  for (const auto reason : {compaction_reason::manual, compaction_reason::context_length_error})
    EXPECT_TRUE(std::holds_alternative<outcome>(plan(request_of(j, reason))));
}

TEST(pipeline, S18a_is_not_done_where_it_is_not_needed_or_not_enough) {
  kit::journal_builder fits;
  fits.turn().user("Read.").assistant("", {make_call("1")}).result("1", text_of_tokens(10'000));
  EXPECT_FALSE(shorten_only(request_of(fits, compaction_reason::automatic)));
  kit::journal_builder too_much;
  too_much.turn()
      .user(text_of_tokens(22'000))
      .assistant("", {make_call("1")})
      .result("1", text_of_tokens(10'000));
  EXPECT_FALSE(shorten_only(request_of(too_much, compaction_reason::automatic)));
}

TEST(pipeline, S20_the_newest_words_are_added_to_whatever_the_model_wrote) {
  auto j = session();
  j.assistant(text_of_tokens(3'000)).ended();
  const auto r = request_of(j, compaction_reason::manual, 14'000);
  const auto p = planned_summary(r);
  for (const auto& answer : {sampling_outcome(summary()),
                             sampling_outcome(broken(provider_error_class::server_error, "x"))}) {
    const auto c = conclude(r, p, answer);
    ASSERT_TRUE(std::holds_alternative<boundary_draft>(c));
    EXPECT_TRUE(std::get<boundary_draft>(c).record.handoff_text->ends_with("\nAnd now?"));
  }
}

TEST(pipeline, F44_the_order_is_summary_then_suffix_then_the_pending_prompt_once) {
  const auto j = session();
  const auto r = request_of(j, compaction_reason::automatic);
  const auto c = conclude(r, planned_summary(r), summary());
  const auto after = committed(j, std::get<boundary_draft>(c)).view();
  int pending = 0;
  for (const auto& i : after.items)
    pending += i.msg->content.find("And now?") != std::string::npos ? 1 : 0;
  EXPECT_EQ(pending, 1);
  EXPECT_EQ(after.items.back().msg->content, "And now?");
  EXPECT_EQ(after.items[after.system_items].kind, view::item_kind::continuation);
  EXPECT_EQ(after.items[after.system_items + 1].kind, view::item_kind::handoff);
}

TEST(pipeline, S25_a_second_compaction_with_a_smaller_suffix_takes_the_earlier_handoff_along) {
  auto j = session();
  const auto r = request_of(j, compaction_reason::automatic);
  const auto first = conclude(r, planned_summary(r), summary("Goal: the first summary."));
  j.add(entries::boundary{
      std::make_shared<compaction_record>(std::get<boundary_draft>(first).record)});
  auto again = request_of(j, compaction_reason::automatic);
  again.size = suffix_size::small;
  const auto p = planned_summary(again);
  EXPECT_NE(p.summary.messages.back()->content.find("Goal: the first summary."), std::string::npos);
  const auto second = conclude(again, p, summary("Goal: the second summary."));
  ASSERT_TRUE(std::holds_alternative<boundary_draft>(second));
  const auto& record = std::get<boundary_draft>(second).record;
  EXPECT_EQ(record.generation, 2);
  EXPECT_EQ(record.message_start_index,
            std::get<boundary_draft>(first).record.message_end_index_exclusive);
  EXPECT_FALSE(committed(j, std::get<boundary_draft>(second)).fault());
}

TEST(pipeline, S31_messages_that_a_rescue_left_out_count_as_corpus_of_the_next) {
  auto j = session();
  j.rescued({{0, 8, replacement_kind::units}});
  const auto r = request_of(j, compaction_reason::automatic);
  const auto c = conclude(r, planned_summary(r), summary());
  ASSERT_TRUE(std::holds_alternative<boundary_draft>(c));
  const auto& record = std::get<boundary_draft>(c).record;
  EXPECT_EQ(record.message_start_index, 0);
  EXPECT_EQ(record.tool_call_ids.front(), "c0");
  EXPECT_EQ(record.history_digest,
            history_digest(j.project().messages(0, record.message_end_index_exclusive)));
}

TEST(pipeline, S24_a_cut_that_is_not_the_views_is_not_committed) {
  const auto r = request_of(session(), compaction_reason::manual);
  auto p = planned_summary(r);
  p.parts.corpus.pop_back();
  const auto c = conclude(r, p, summary());
  ASSERT_TRUE(std::holds_alternative<outcome>(c));
  EXPECT_EQ(std::get<outcome>(c).kind, outcome_kind::persistence_conflict);
}

TEST(pipeline, S14_windows_of_2000_tokens_still_work) {
  kit::journal_builder j("m", "");
  for (int i = 0; i < 12; ++i)
    j.turn("t" + std::to_string(i))
        .user("Question number " + std::to_string(i))
        .assistant(text_of_tokens(50))
        .ended();
  j.turn("last").user("And now?");
  for (const auto& answer : {sampling_outcome(summary()),
                             sampling_outcome(broken(provider_error_class::server_error, "x"))}) {
    const auto r = request_of(j, compaction_reason::automatic, 2'000);
    const auto c = conclude(r, planned_summary(r), answer);
    ASSERT_TRUE(std::holds_alternative<boundary_draft>(c));
    EXPECT_LT(std::get<boundary_draft>(c).record.tokens_after, r.budget.threshold_tokens);
  }
}

} // namespace
} // namespace rind::compaction
