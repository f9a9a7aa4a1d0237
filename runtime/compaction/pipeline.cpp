// Plan and conclusion of one compaction.
#include "runtime/compaction/pipeline.hpp"

#include <algorithm>

#include "runtime/canary/canary.hpp"
#include "runtime/compaction/handoff.hpp"
#include "runtime/context/token_estimator.hpp"
#include "runtime/recovery/recovery_machine.hpp"

namespace rind::compaction {

namespace {

std::int64_t local_tokens(const request& r) {
  return r.fixed_tokens + r.view->tokens;
}

/// Active tokens for one plain local token of this view.
double ratio_of(const request& r, std::int64_t active) {
  return static_cast<double>(active) /
         static_cast<double>(std::max<std::int64_t>(local_tokens(r), 1));
}

view::item pair_item(const view::message_view& v, message_role role, const std::string& content) {
  auto m = std::make_shared<message>();
  m->role = role;
  m->content = content;
  m->origin = role == message_role::user ? user_origin::continuation : user_origin::prompt;
  view::item i;
  i.kind = role == message_role::user ? view::item_kind::continuation : view::item_kind::handoff;
  i.start = i.end_exclusive = v.message_count;
  i.tokens = context::estimate_message(*m);
  i.msg = std::move(m);
  return i;
}

/// The view as the boundary will make it: system messages, the pair, the suffix.
view::message_view compacted(const view::message_view& v, const cut& c,
                             const std::string& handoff) {
  auto after = v;
  after.items.resize(v.system_items);
  after.items.push_back(pair_item(v, message_role::user, continuation_text()));
  after.items.push_back(pair_item(v, message_role::assistant, handoff));
  after.tokens = after.items[v.system_items].tokens + after.items.back().tokens + c.suffix_tokens;
  after.items.insert(after.items.end(), c.suffix.begin(), c.suffix.end());
  return after;
}

/// Tokens after, on the basis of tokens before: what an anchor says of the old view and what a
/// ratio says of the new one differ where the ratio is clamped, and a view that became smaller must
/// not be recorded as a larger one.
std::int64_t tokens_after(const request& r, std::int64_t before, std::int64_t local_after) {
  const auto in_proportion =
      static_cast<std::int64_t>(ratio_of(r, before) * static_cast<double>(local_after));
  return std::max<std::int64_t>(std::min(r.active_of(local_after), in_proportion), 1);
}

std::optional<token_usage> known(const token_usage& usage) {
  const bool any =
      usage.input_tokens || usage.output_tokens || usage.cached_tokens || usage.reasoning_tokens;
  return any ? std::optional(usage) : std::nullopt;
}

std::optional<token_usage> usage_of(const sampling_outcome& answer) {
  if (const auto* a = std::get_if<sampling_answer>(&answer))
    return known(a->usage);
  if (const auto* e = std::get_if<provider_error>(&answer))
    return known(e->usage);
  return std::nullopt;
}

fallback_cause cause_of(const provider_error& e) {
  const auto why = recovery::failure_of(e); // as the same error would end a turn
  return {to_string(e.error_class), why.message, to_string(why.status)};
}

std::optional<fallback_cause> fault_of(const request& r, const summary_plan& p,
                                       const sampling_outcome& answer) {
  if (const auto* e = std::get_if<provider_error>(&answer))
    return cause_of(*e);
  return summary_fault(std::get<sampling_answer>(answer), p.parts, r.budget);
}

std::vector<message_ptr> journaled_corpus(const request& r, const cut& c) {
  const auto size = static_cast<std::ptrdiff_t>(r.corpus_messages.size());
  const auto end = std::min<std::ptrdiff_t>(c.end_index_exclusive - c.start_index, size);
  return {r.corpus_messages.begin(), r.corpus_messages.begin() + end};
}

std::vector<std::string> call_ids(const std::vector<message_ptr>& messages) {
  std::vector<std::string> ids;
  for (const auto& m : messages)
    for (const auto& call : m->tool_calls)
      ids.push_back(call.id);
  return ids;
}

compaction_phase phase_of(compaction_reason reason) {
  return reason == compaction_reason::manual ? compaction_phase::manual
                                             : compaction_phase::mid_turn;
}

compaction_record summary_record(const request& r, const summary_plan& p) {
  const auto corpus = journaled_corpus(r, p.parts);
  compaction_record record;
  record.reason = r.reason;
  record.phase = phase_of(r.reason);
  record.detail = r.detail;
  record.generation = r.view->generation + 1;
  record.message_start_index = p.parts.start_index;
  record.message_end_index_exclusive = p.parts.end_index_exclusive;
  record.tool_call_ids = call_ids(corpus);
  record.history_digest = history_digest(corpus);
  record.continuation_text = continuation_text();
  record.tokens_before = p.tokens_before;
  record.summary_model = r.budget.summary_model;
  record.shortened_bodies = p.summary.shortened_bodies;
  return record;
}

} // namespace

planned plan(const request& r) {
  const auto before = r.active_of(local_tokens(r));
  auto parts = cut_view(*r.view, r.budget, r.size, ratio_of(r, before));
  if (parts.nothing_to_compact) {
    if (r.reason == compaction_reason::automatic)
      if (auto draft = shorten_only(r))
        return std::move(*draft);
    return rejected(outcome_kind::nothing_to_compact, before);
  }
  auto summary = make_summary_request(parts, r.budget, r.focus, r.summary_active_of);
  if (!summary && RIND_PLANTED(too_large_falls_back))
    return std::visit([](auto&& concluded) -> planned { return std::move(concluded); },
                      conclude(r, {std::move(parts), {}, before}, provider_error{}));
  if (!summary)
    return rejected(outcome_kind::compact_input_too_large, std::move(summary.error()), before);
  return summary_plan{std::move(parts), std::move(*summary), before};
}

std::optional<boundary_draft> shorten_only(const request& r) {
  const auto before = r.active_of(local_tokens(r));
  if (before <= r.budget.hard_limit_tokens)
    return std::nullopt;
  const auto shortened =
      context::shorten_unread(*r.view, r.fixed_tokens, r.budget.hard_limit_tokens, r.active_of);
  if (!shortened.changed || !shortened.fits)
    return std::nullopt;
  auto record = rescue_record(*r.view, shortened, r.reason, r.detail, before);
  record.tokens_after = tokens_after(r, before, r.fixed_tokens + shortened.after.tokens);
  return boundary_draft{std::move(record), true};
}

std::variant<boundary_draft, outcome> conclude(const request& r, const summary_plan& p,
                                               const sampling_outcome& answer) {
  const auto usage = usage_of(answer);
  if (std::holds_alternative<sampling_cancelled>(answer))
    return rejected(outcome_kind::cancelled, p.tokens_before);
  if (!check_cut(*r.view, p.parts))
    return rejected(outcome_kind::persistence_conflict, p.tokens_before, usage);
  const auto user = newest_user_words(*r.view, p.parts);
  auto record = summary_record(r, p);
  record.usage = usage;
  record.fallback = fault_of(r, p, answer);
  record.strategy = record.fallback ? compaction_strategy::deterministic_fallback
                                    : compaction_strategy::llm_inline;
  record.handoff_text =
      record.fallback ? deterministic_handoff(p.parts, r.budget, user)
                      : handoff_from_summary(std::get<sampling_answer>(answer).msg->content, user);
  auto after = compacted(*r.view, p.parts, *record.handoff_text);
  if (r.active_of(r.fixed_tokens + after.tokens) > r.budget.hard_limit_tokens) {
    auto shortened =
        context::shorten_unread(after, r.fixed_tokens, r.budget.hard_limit_tokens, r.active_of);
    record.replaced = std::move(shortened.replaced);
    after = std::move(shortened.after);
  }
  const auto local_after = r.fixed_tokens + after.tokens;
  record.tokens_after = tokens_after(r, p.tokens_before, local_after);
  if (local_after >= local_tokens(r) || record.tokens_after >= p.tokens_before) {
    if (r.reason == compaction_reason::automatic)
      if (auto draft = shorten_only(r)) {
        draft->record.usage = usage;
        return std::move(*draft);
      }
    auto o = rejected(outcome_kind::no_gain, p.tokens_before, usage);
    o.tokens_after = record.tokens_after;
    return o;
  }
  return boundary_draft{std::move(record), r.active_of(local_after) <= r.budget.hard_limit_tokens};
}

compaction_record rescue_record(const view::message_view& v, const context::rescue_plan& plan,
                                compaction_reason reason, phase_detail detail,
                                std::int64_t tokens_before) {
  compaction_record record;
  record.reason = reason;
  record.phase = phase_of(reason);
  record.detail = detail;
  record.strategy = compaction_strategy::context_rescue;
  record.generation = v.generation + 1;
  record.message_start_index = v.corpus_start;
  record.message_end_index_exclusive = v.corpus_start;
  record.history_digest = history_digest({});
  record.replaced = plan.replaced;
  record.tokens_before = tokens_before;
  record.tokens_after = plan.active_tokens;
  return record;
}

} // namespace rind::compaction
