// Who gets a session's execution slot: compactions, cancel, settling, stopping (S1, S4, S10).
// Prompts have a file of their own, session_prompts.cpp.
#include <algorithm>

#include <spdlog/spdlog.h>

#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"
#include "runtime/compaction/corpus.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::actors {

using rind::session::slot_action;
using rind::session::slot_input;
using rind::session::slot_state;

failure journal_refusal(const failure& why) {
  if (why.code == error_code::not_owner)
    return why;
  if (why.code == error_code::unavailable)
    return why;
  return make_failure(error_code::unavailable, "persistence_failed: " + why.message);
}

std::optional<failure> session::too_large(const std::string& input) const {
  auto& p = const_cast<session*>(this)->known();
  const auto b = budget_of(p);
  message m;
  m.content = input;
  const auto estimate = context::estimate_message(m);
  const auto room = b.threshold_tokens - p.fixed_tokens();
  if (room <= 0 || estimate <= room)
    return std::nullopt;
  failure_details details;
  details.estimated_tokens = estimate;
  details.limit_tokens = room;
  return make_failure(error_code::invalid_request,
                      "the input is estimated at " + std::to_string(estimate) +
                          " tokens, a session of this model has room for " + std::to_string(room),
                      std::move(details));
}

// -- manual compaction ---------------------------------------------------------------

void session::compact(const compact_command& c, promise<compact_reply> reply) {
  if (stopping_)
    return reply.deliver(compact_reply{host_stopping()});
  if (!waiting_.empty())
    return reply.deliver(
        compact_reply{make_failure(error_code::turn_active, "prompts wait for the session")});
  const auto at = slot_.at();
  if (at == slot_state::idle) {
    // The same cut as the service will make.
    const auto s = snapshot();
    if (compaction::cut_view(*s.view, s.budget, compaction::suffix_size::normal, s.ratio())
            .nothing_to_compact)
      return reply.deliver(compact_reply{
          make_failure(error_code::nothing_to_compact, "there is nothing to summarise yet")});
  }
  switch (slot_.on(slot_input::compact)) {
  case slot_action::start:
    break;
  case slot_action::settle:
    return settle(interrupted_end(), [this, c, reply](std::optional<failure> why) mutable {
      if (why)
        reply.deliver(compact_reply{journal_refusal(*why)});
      else
        compact(c, std::move(reply));
    });
  default:
    return reply.deliver(compact_reply{make_failure(error_code::turn_active, "an operation runs")});
  }
  const auto turn_id = node_->env->new_id("turn");
  append(turn_id, {entries::turn_started{operation_kind::compact, 0, false, false, {}}},
         [this, turn_id, c, reply](auto r) mutable {
           if (!r) {
             slot_.on(slot_input::open_refused);
             reply.deliver(compact_reply{journal_refusal(r.error())});
             return slot_free();
           }
           slot_.on(slot_input::opened);
           queues_.clear();
           turn::options o;
           o.operation = operation_kind::compact;
           o.samplings_max = node_->settings.session.samplings_max;
           run_operation(turn_id, operation_kind::compact, std::move(o));
           running_->focus = c.focus;
           running_->compact = std::move(reply);
         });
}

// -- cancel, settle, model -------------------------------------------------------------

void session::cancel(const cancel_command& c, promise<done_reply> reply) {
  const auto& open = projection_.operation();
  if (!c.turn_id.empty() && (!open || open->turn_id != c.turn_id) &&
      slot_.at() != slot_state::opening)
    return reply.deliver(done_reply{
        make_failure(error_code::turn_not_active, "turn " + c.turn_id + " does not run")});
  switch (slot_.on(slot_input::cancel)) {
  case slot_action::accept:
    if (!running_->cancel)
      running_->cancel = cancel_reason::user;
    send(running_->runner, cancel_operation{});
    running_->cancels.push_back(std::move(reply));
    return;
  case slot_action::settle:
    return settle(interrupted_end(), [reply](std::optional<failure> why) mutable {
      reply.deliver(why ? done_reply{journal_refusal(*why)} : done_reply{rind::done{}});
    });
  case slot_action::stash:
    settled_.push_back([this, c, reply]() mutable { cancel(c, std::move(reply)); });
    return;
  default:
    return reply.deliver(done_reply{no_operation()});
  }
}

void session::settle(entries::turn_ended how, std::function<void(std::optional<failure>)> then) {
  if (slot_.at() == slot_state::interrupted)
    slot_.on(slot_input::cancel);
  const auto& open = *projection_.operation();
  how.duration_ms = std::max<std::int64_t>(node_->env->now_ms() - open.started_at_ms, 0);
  how.samplings = open.samplings;
  how.compactions = open.compactions;
  for (const auto& in : projection_.pending())
    how.undelivered.push_back({in.input_id, in.mode, in.text});
  append(open.turn_id, {std::move(how)}, [this, then](auto r) {
    queues_.clear();
    slot_.on(r ? slot_input::settled : slot_input::settle_refused);
    if (then)
      then(r ? std::nullopt : std::optional{r.error()});
    if (!r)
      refuse_waiting(journal_refusal(r.error()));
    slot_free();
  });
}

void session::slot_free() {
  // Commands that met a state between two: each looks again, in order.
  if (!RIND_PLANTED(stashed_request_forgotten))
    for (auto& work : std::exchange(settled_, {}))
      work();
  start_next();
  if (stopping_ && is_idle()) {
    for (auto& reply : std::exchange(stop_replies_, {}))
      reply.deliver(done_reply{rind::done{}});
    return quit();
  }
  if (is_idle())
    schedule_idle_tick();
}

void session::start_next() {
  if (broken_)
    return refuse_waiting(*broken_);
  if (stopping_ || waiting_.empty() || slot_.at() != slot_state::idle)
    return;
  auto p = std::move(waiting_.front());
  waiting_.pop_front();
  slot_.on(slot_input::prompt);
  open_turn(std::move(p));
}

void session::set_model(const set_model_command& c, promise<done_reply> reply) {
  if (!node_->find_model(c.model))
    return reply.deliver(
        done_reply{make_failure(error_code::unknown_model, "no model is called " + c.model)});
  switch (slot_.on(slot_input::model_set)) {
  case slot_action::accept:
    break;
  case slot_action::settle:
    return settle(interrupted_end(), [this, c, reply](std::optional<failure> why) mutable {
      if (why)
        reply.deliver(done_reply{journal_refusal(*why)});
      else
        set_model(c, std::move(reply));
    });
  default:
    settled_.push_back([this, c, reply]() mutable { set_model(c, std::move(reply)); });
    return;
  }
  // The first append, which makes the session, is on its way: what comes after it waits for it.
  if (!projection_.exists() && slot_.at() == slot_state::opening) {
    settled_.push_back([this, c, reply] { set_model(c, reply); });
    return;
  }
  if (!projection_.exists()) {
    options_.created.model = c.model;
    draft_.reset();
    return reply.deliver(done_reply{rind::done{}});
  }
  ++model_sets_;
  append({}, {entries::model_set{c.model}}, [reply](auto r) mutable {
    reply.deliver(r ? done_reply{rind::done{}} : done_reply{journal_refusal(r.error())});
  });
}

// -- the end of a session and of the host ------------------------------------------------

void session::remove(const delete_command&, promise<done_reply> reply) {
  if (slot_.has_operation() || slot_.at() == slot_state::settling || !waiting_.empty())
    return reply.deliver(done_reply{make_failure(error_code::turn_active, "an operation runs")});
  const auto leave_for_good = [this, reply] {
    send(directory_, forget_session_command{options_.session_id});
    reply.deliver(done_reply{rind::done{}});
    quit();
  };
  if (!projection_.exists())
    return leave_for_good();
  ready_ = false; // what comes meanwhile waits, and is told when it is decided
  request(node_->journal, caf::infinite, remove_session_command{options_.session_id, epoch_})
      .then(
          [this, leave_for_good, reply](remove_session_reply& r) {
            if (!r.value)
              reply.deliver(done_reply{journal_refusal(r.value.error())});
            else
              broken_ = make_failure(error_code::session_not_found,
                                     "session " + options_.session_id + " was deleted");
            ready_ = true;
            run_stash();
            if (broken_)
              leave_for_good();
          },
          [this, reply](caf::error&) {
            reply.deliver(done_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
            ready_ = true;
            run_stash();
          });
}

void session::stop(const stop_command& c, promise<done_reply> reply) {
  stopping_ = c;
  stop_replies_.push_back(std::move(reply));
  refuse_waiting(host_stopping());
  if (!slot_.has_operation())
    return slot_free();
  if (c.grace_ms > 0)
    delayed_send(session_actor{this}, std::chrono::milliseconds(c.grace_ms), grace_over{});
  else
    on_grace_over({});
}

void session::on_grace_over(const grace_over&) {
  if (!stopping_)
    return;
  stopping_->grace_ms = 0;
  if (!running_ || slot_.at() != slot_state::running)
    return;
  if (!running_->cancel)
    running_->cancel = stopping_->reason;
  send(running_->runner, cancel_operation{});
}

} // namespace rind::actors
