// The pipeline's I/O: the summary request with its retries and deadlines, and the one conditional
// append.
#include "actors/compaction_service.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "actors/append_surely.hpp"
#include "actors/new_entry.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

using compaction::outcome_kind;

compaction_service::compaction_service(caf::actor_config& cfg,
                                       std::shared_ptr<const compaction_dependencies> dependencies)
    : compaction_service_actor::base(cfg), node_(std::move(dependencies)) {
  // nop
}

compaction_service::behavior_type compaction_service::make_behavior() {
  return {
      [this](compact_request& r) { return on_request(r); },
      [this](const cancel_compaction& c) { on_cancel(c); },
      [this](const end_compaction_command& c) { return on_end(c); },
      [this](const sampling_progressed& p) { on_progress(p); },
      [this](sampling_ended& e) { on_ended(e); },
      [this](const summary_tick& t) { on_tick(t); },
  };
}

void compaction_service::on_exit() {
  jobs_.clear();
  node_.reset();
}

// -- handlers ------------------------------------------------------------------------

caf::result<compaction_reply> compaction_service::on_request(compact_request& r) {
  const promise reply{make_response_promise<compaction_reply>()};
  const auto id = r.compaction_id;
  auto& j = jobs_[id];
  j.reply = reply;
  j.request = std::move(r);
  const auto& c = j.request.context;
  j.steps = {j.request.reason,
             j.request.detail,
             j.request.suffix,
             j.request.focus,
             c.view,
             c.corpus_messages,
             c.fixed_tokens,
             c.budget,
             {},
             {}};
  j.steps.active_of = [anchor = c.anchor, model = c.budget.model,
                       generation = c.view->generation](std::int64_t local) {
    return anchor.estimate(model, generation, local).tokens;
  };
  // No request to the summary model ever anchors: no generation has this number.
  j.steps.summary_active_of = [anchor = c.anchor,
                               model = c.budget.summary_model](std::int64_t local) {
    return anchor.estimate(model, -1, local).tokens;
  };
  auto planned = compaction::plan(j.steps);
  if (auto* outcome = std::get_if<compaction::outcome>(&planned)) {
    deliver(id, std::move(*outcome));
  } else if (auto* draft = std::get_if<compaction::boundary_draft>(&planned)) {
    commit(id, std::move(*draft));
  } else {
    j.summary = std::move(std::get<compaction::summary_plan>(planned));
    want_summary(j);
  }
  return reply.promise();
}

void compaction_service::on_cancel(const cancel_compaction& c) {
  auto i = jobs_.find(c.compaction_id);
  if (i == jobs_.end() || i->second.committing)
    return; // over, or the append decides
  auto& j = i->second;
  if (RIND_PLANTED(no_second_cancel_check) && !j.sampling_id.empty())
    return; // and nobody looks again when the summary has come
  give_up_summary(j);
  const auto before = j.summary ? j.summary->tokens_before : 0;
  deliver(c.compaction_id, compaction::rejected(outcome_kind::cancelled, before));
}

// An operation has one compaction at a time.
caf::result<done_reply> compaction_service::on_end(const end_compaction_command& c) {
  const auto i = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) {
    return j.second.request.session_id == c.session_id && j.second.request.turn_id == c.turn_id;
  });
  if (i == jobs_.end())
    return done_reply{rind::done{}};
  const answer<done_reply> reply{make_response_promise<done_reply>()};
  i->second.ended = reply;
  on_cancel({i->first});
  return reply.promise();
}

void compaction_service::on_progress(const sampling_progressed& p) {
  if (auto i = by_sampling_.find(p.request_id); i != by_sampling_.end())
    jobs_.at(i->second).last_data_ms = node_->env->now_ms();
}

void compaction_service::on_ended(sampling_ended& e) {
  auto i = by_sampling_.find(e.request_id);
  if (i == by_sampling_.end())
    return;
  if (RIND_PLANTED(summary_of_another))
    i = by_sampling_.begin();
  const auto id = i->second;
  by_sampling_.erase(i);
  auto& j = jobs_.at(id);
  j.sampling_id.clear();
  if (const auto* error = std::get_if<provider_error>(&e.outcome)) {
    recovery::request_facts facts;
    facts.estimated_tokens = j.summary->summary.estimated_tokens;
    facts.overflow_recovery = false;
    facts.chance = node_->env->chance();
    const auto d = j.retries.on_error(*error, facts);
    if (d.action == recovery::action::retry && node_->env->now_ms() + d.delay_ms < j.deadline_ms) {
      j.waiting_for_retry = true;
      return arm(j, d.delay_ms);
    }
  }
  answered(id, std::move(e.outcome));
}

void compaction_service::on_tick(const summary_tick& t) {
  auto i = jobs_.find(t.compaction_id);
  if (i == jobs_.end() || i->second.serial != t.serial || i->second.committing)
    return;
  auto& j = i->second;
  const auto now = node_->env->now_ms();
  if (std::exchange(j.waiting_for_retry, false))
    return ask(j);
  if (j.sampling_id.empty())
    return;
  const auto silent_until = j.last_data_ms + node_->settings.silence_ms;
  if (now < j.deadline_ms && now < silent_until)
    return arm(j, std::min(j.deadline_ms, silent_until) - now);
  provider_error late;
  late.error_class = provider_error_class::timeout;
  late.code = "deadline";
  late.message = now >= j.deadline_ms ? "the summary was not ready within " +
                                            std::to_string(node_->settings.deadline_ms) + " ms"
                                      : "the summary stood still for " +
                                            std::to_string(node_->settings.silence_ms) + " ms";
  give_up_summary(j);
  answered(t.compaction_id, std::move(late));
}

// -- steps -----------------------------------------------------------------------------

void compaction_service::want_summary(job& j) {
  const bool waiting = places_taken_ >= node_->settings.summaries_at_once_max;
  send(j.request.listener, compaction_begun{j.request.compaction_id, waiting});
  waiting_.push_back(j.request.compaction_id);
  give_places();
}

void compaction_service::give_places() {
  while (!waiting_.empty() && places_taken_ < node_->settings.summaries_at_once_max) {
    auto i = jobs_.find(waiting_.front());
    waiting_.pop_front();
    if (i == jobs_.end())
      continue;
    ++places_taken_;
    i->second.has_place = true;
    i->second.deadline_ms = node_->env->now_ms() + node_->settings.deadline_ms;
    ask(i->second);
  }
}

void compaction_service::ask(job& j) {
  const auto& model = j.request.context.budget.summary_model;
  const auto now = node_->env->now_ms();
  auto route = node_->models.find(model);
  if (route == node_->models.end()) {
    provider_error gone;
    gone.error_class = provider_error_class::not_found;
    gone.message = "no provider of this host serves the summary model " + model;
    gone.sent = false;
    return answered(j.request.compaction_id, std::move(gone));
  }
  j.sampling_id = node_->env->new_id("request");
  j.last_data_ms = now;
  by_sampling_[j.sampling_id] = j.request.compaction_id;
  sampling_request r;
  r.request_id = j.sampling_id;
  r.session_id = j.request.session_id;
  r.turn_id = j.request.turn_id;
  r.model = route->second.wire_name;
  r.kind = sampling_kind::compact;
  r.messages = j.summary->summary.messages;
  r.output_limit_tokens = j.summary->summary.output_limit_tokens;
  r.estimated_tokens = j.summary->summary.estimated_tokens;
  r.window_tokens = route->second.limits.window_tokens.value_or(context::default_window_tokens);
  r.byte_limit = route->second.request_limit_bytes;
  r.total_deadline_ms = std::max<std::int64_t>(j.deadline_ms - now, 1);
  r.silence_deadline_ms = node_->settings.silence_ms;
  send(route->second.provider,
       start_sampling{std::move(r), sampling_listener{compaction_service_actor{this}}});
  arm(j, std::min(node_->settings.silence_ms, j.deadline_ms - now));
}

void compaction_service::arm(job& j, std::int64_t delay_ms) {
  delayed_send(compaction_service_actor{this},
               std::chrono::milliseconds(std::max<std::int64_t>(delay_ms, 1)),
               summary_tick{j.request.compaction_id, ++j.serial});
}

void compaction_service::answered(const std::string& id, sampling_outcome outcome) {
  auto& j = jobs_.at(id);
  if (std::exchange(j.has_place, false))
    --places_taken_;
  if (std::holds_alternative<sampling_cancelled>(outcome)) {
    // Nobody here cancelled it: the provider gave it up.
    provider_error lost;
    lost.error_class = provider_error_class::stream_interrupted;
    lost.message = "the summary request was given up by its provider";
    outcome = std::move(lost);
  }
  auto concluded = compaction::conclude(j.steps, *j.summary, outcome);
  if (auto* draft = std::get_if<compaction::boundary_draft>(&concluded))
    commit(id, std::move(*draft));
  else
    finish(id, std::move(std::get<compaction::outcome>(concluded)));
  give_places();
}

journal::append_request compaction_service::append_of(const job& j, entry_body body) const {
  journal::append_request a;
  a.session_id = j.request.session_id;
  a.epoch = j.request.epoch;
  a.entries.push_back(
      new_entry(*node_->env, j.request.turn_id, node_->env->now_ms(), std::move(body)));
  return a;
}

void compaction_service::commit(const std::string& id, compaction::boundary_draft draft) {
  auto& j = jobs_.at(id);
  // A cancel before this has ended the job, so that no summary could come to it (S22); from here on
  // the append decides.
  j.committing = true;
  auto record = std::make_shared<const compaction_record>(std::move(draft.record));
  auto a = append_of(j, entries::boundary{record});
  if (!RIND_PLANTED(commit_without_condition))
    a.expected_view_position = j.request.context.view->view_position;
  append_surely(this, node_->journal, std::move(a), j.request.context.view->view_position,
                [this, id, record](append_end end) {
                  if (end.value)
                    committed(id, std::move(end.value->entries));
                  else
                    not_committed(id, std::move(end.value.error()), *record);
                });
}

void compaction_service::committed(const std::string& id, std::vector<entry_ptr> entries) {
  compaction::outcome o;
  o.kind = outcome_kind::committed;
  o.entries = std::move(entries);
  o.record = std::get<entries::boundary>(o.entries.back()->body).record;
  o.usage = o.record->usage;
  o.tokens_before = o.record->tokens_before;
  o.tokens_after = o.record->tokens_after;
  deliver(id, std::move(o));
}

void compaction_service::not_committed(const std::string& id, failure why,
                                       const compaction_record& record) {
  if (RIND_PLANTED(refused_boundary_stands) && why.code == error_code::persistence_failed) {
    auto told = append_of(jobs_.at(id),
                          entries::boundary{std::make_shared<const compaction_record>(record)});
    return committed(id, {std::make_shared<const entry>(std::move(told.entries.front()))});
  }
  auto kind = outcome_kind::persistence_failed;
  if (why.code == error_code::persistence_conflict)
    kind = outcome_kind::persistence_conflict;
  else if (why.code == error_code::not_owner)
    kind = outcome_kind::not_owner;
  finish(id, compaction::rejected(kind, std::move(why), record.tokens_before, record.usage));
}

void compaction_service::give_up_summary(job& j) {
  ++j.serial;
  j.waiting_for_retry = false;
  if (!j.sampling_id.empty()) {
    by_sampling_.erase(j.sampling_id);
    if (auto route = node_->models.find(j.request.context.budget.summary_model);
        route != node_->models.end() && !RIND_PLANTED(summary_left_open))
      send(route->second.provider, cancel_sampling{j.sampling_id});
    j.sampling_id.clear();
  }
}

// A summary that is thrown away was paid for all the same: its usage is journaled before the
// outcome is told (S23).
void compaction_service::finish(const std::string& id, compaction::outcome outcome) {
  auto& j = jobs_.at(id);
  const bool journal_works =
      outcome.kind != outcome_kind::persistence_failed && outcome.kind != outcome_kind::not_owner;
  if (!outcome.usage || !journal_works)
    return deliver(id, std::move(outcome));
  j.committing = true;
  auto a =
      append_of(j, entries::usage_recorded{sampling_kind::compact,
                                           j.request.context.budget.summary_model, *outcome.usage});
  append_surely(this, node_->journal, std::move(a), j.request.context.view->view_position,
                [this, id, outcome](append_end end) mutable {
                  if (end.value)
                    outcome.entries = std::move(end.value->entries);
                  else
                    spdlog::warn("event=usage_not_recorded reason=\"{}\"",
                                 end.value.error().message);
                  deliver(id, std::move(outcome));
                });
}

void compaction_service::deliver(const std::string& id, compaction::outcome outcome) {
  auto i = jobs_.find(id);
  if (i == jobs_.end())
    return;
  if (i->second.has_place)
    --places_taken_;
  auto reply = std::move(i->second.reply);
  if (const auto& ended = i->second.ended)
    ended->deliver(done_reply{rind::done{}});
  std::erase(waiting_, id);
  jobs_.erase(i);
  reply.deliver(compaction_reply{std::move(outcome)});
  give_places();
}

} // namespace rind::actors
