// Who gets a session's execution slot: prompts, compactions, cancel, settling, stopping (S1, S2,
// S3a, S4, S10).
#include <algorithm>

#include <spdlog/spdlog.h>

#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "messages/json.hpp"
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

namespace {

failure stopping() {
  return make_failure(error_code::server_stopping, "the host is stopping");
}

failure not_active() {
  return make_failure(error_code::turn_not_active, "no operation runs");
}

} // namespace

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

// -- prompts -----------------------------------------------------------------------

/// One without an id asks the journal for nothing, but it must not overtake those that do: first
/// come, first served.
bool session::must_look_up(const std::string& input_id) const {
  return projection_.exists() && (!input_id.empty() || lookups_ > 0);
}

void session::prompt(const prompt_command& c, promise<prompt_reply> reply) {
  if (stopping_)
    return reply.deliver(prompt_reply{stopping()});
  if (c.resume)
    return resume_turn(std::move(reply));
  if (auto why = too_large(c.input))
    return reply.deliver(prompt_reply{std::move(*why)});
  waiting_prompt p{c, std::move(reply)};
  if (!must_look_up(c.input_id))
    return admit(std::move(p));
  ++lookups_;
  request(node_->journal, caf::infinite, find_input_command{options_.session_id, c.input_id})
      .then(
          [this, p](find_input_reply& r) mutable {
            --lookups_;
            if (p.command.input_id.empty())
              return admit(std::move(p));
            if (!r.value)
              return p.reply.deliver(prompt_reply{journal_refusal(r.value.error())});
            if (*r.value)
              return answer_known_input(std::move(p), **r.value);
            admit(std::move(p));
          },
          [this, p](caf::error&) mutable {
            --lookups_;
            p.reply.deliver(prompt_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
          });
}

void session::admit(waiting_prompt p) {
  if (stopping_)
    return p.reply.deliver(prompt_reply{stopping()});
  // First come, first served: a free slot belongs to those who wait before it belongs to a
  // newcomer.
  if (!waiting_.empty() && slot_.at() == slot_state::idle) {
    waiting_.push_back(std::move(p));
    return start_next();
  }
  switch (slot_.on(slot_input::prompt)) {
  case slot_action::start:
    return open_turn(std::move(p));
  case slot_action::settle:
    waiting_.push_back(std::move(p));
    return settle(interrupted_end(), {});
  default:
    break;
  }
  if (static_cast<std::int64_t>(waiting_.size()) >= node_->settings.session.waiting_prompts_max)
    return p.reply.deliver(prompt_reply{
        make_failure(error_code::session_busy,
                     std::to_string(waiting_.size()) + " prompts wait already, as many as may")});
  waiting_.push_back(std::move(p));
}

void session::answer_known_input(waiting_prompt p, const journal::input_trace& trace) {
  if (trace.mode || trace.text != p.command.input)
    return p.reply.deliver(
        prompt_reply{make_failure(error_code::invalid_request, "input_id " + p.command.input_id +
                                                                   " was used for another input")});
  if (trace.ended)
    return p.reply.deliver(prompt_reply{prompt_outcome{trace.turn_id, *trace.ended}});
  if (running_ && running_->turn_id == trace.turn_id) {
    running_->prompts.push_back(std::move(p.reply));
    return;
  }
  switch (slot_.at()) {
  case slot_state::interrupted:
    return resume_turn(std::move(p.reply));
  case slot_state::idle:
  case slot_state::running:
    return prompt(p.command, std::move(p.reply)); // it has ended since the journal was read
  case slot_state::opening:
  case slot_state::closing:
  case slot_state::settling:
    break; // it is being started again or ended at this moment: look again when that is done
  }
  settled_.push_back([this, p]() mutable { prompt(p.command, std::move(p.reply)); });
}

void session::resume_turn(promise<prompt_reply> reply) {
  const auto& open = projection_.operation();
  if (slot_.at() == slot_state::interrupted && open) {
    if (open->operation == operation_kind::compact) {
      slot_.on(slot_input::cancel);
      return settle(interrupted_end(),
                    [reply](auto) mutable { reply.deliver(prompt_reply{not_active()}); });
    }
    if (open->resumes >= node_->settings.session.resumes_max) {
      slot_.on(slot_input::cancel);
      entries::turn_ended end;
      end.outcome = entries::turn_outcome::failed;
      end.error = make_failure(error_code::resume_limit,
                               "the turn was resumed " + std::to_string(open->resumes) + " times");
      const auto turn_id = open->turn_id;
      return settle(std::move(end), [reply, turn_id](std::optional<failure> why) mutable {
        if (why)
          reply.deliver(prompt_reply{journal_refusal(*why)});
        else
          reply.deliver(prompt_reply{prompt_outcome{turn_id, entries::turn_outcome::failed}});
      });
    }
  }
  switch (slot_.on(slot_input::resume)) {
  case slot_action::refuse_not_active:
    return reply.deliver(prompt_reply{make_failure(
        error_code::turn_not_active, "nothing is interrupted, there is nothing to resume")});
  case slot_action::resume:
    break;
  default:
    settled_.push_back([this, reply]() mutable { resume_turn(std::move(reply)); });
    return;
  }
  const auto turn_id = projection_.operation()->turn_id;
  append(turn_id,
         {entries::turn_started{operation_kind::turn, 0, true, false,
                                projection_.operation()->input_id}},
         [this, turn_id, reply](auto r) mutable {
           if (!r)
             return refuse_start(std::move(reply), journal_refusal(r.error()));
           slot_.on(slot_input::opened);
           const auto& op = *projection_.operation();
           std::vector<rind::session::queued_input> inputs;
           for (const auto& in : projection_.pending())
             inputs.push_back({in.input_id, in.mode, in.text});
           queues_.restore(std::move(inputs));
           turn::options o;
           o.samplings_max = node_->settings.session.samplings_max;
           o.samplings_before = op.samplings;
           o.goes_on = true;
           o.resumed = {op.context_errors,         op.rescues,  op.refused_estimate_tokens,
                        op.tightened_limit_tokens, op.attempts, op.output_limit_tokens};
           run_operation(turn_id, operation_kind::turn, std::move(o));
           running_->prompts.push_back(std::move(reply));
         });
}

void session::open_turn(waiting_prompt p) {
  if (p.command.input_id.empty() || !projection_.exists())
    return journal_turn(std::move(p));
  // Its turn has come: by now the input may stand in the journal by another way (S3a).
  request(node_->journal, caf::infinite,
          find_input_command{options_.session_id, p.command.input_id})
      .then(
          [this, p](find_input_reply& r) mutable {
            if (!r.value)
              return refuse_start(std::move(p.reply), journal_refusal(r.value.error()));
            if (!*r.value)
              return journal_turn(std::move(p));
            slot_.on(slot_input::open_refused);
            answer_known_input(std::move(p), **r.value);
            slot_free();
          },
          [this, p](caf::error&) mutable {
            refuse_start(
                std::move(p.reply),
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone"));
          });
}

void session::journal_turn(waiting_prompt p) {
  if (auto why = too_large(p.command.input))
    return refuse_start(std::move(p.reply), std::move(*why));
  const auto turn_id = node_->env->new_id("turn");
  auto m = std::make_shared<message>();
  m->role = message_role::user;
  m->content = p.command.input;
  m->origin = user_origin::prompt;
  m->input_id = p.command.input_id;
  entries::turn_started started;
  started.user_message_chars = count_characters(m->content);
  started.input_id = p.command.input_id;
  append(turn_id, {std::move(started), entries::user_message{std::move(m)}},
         [this, turn_id, p](auto r) mutable {
           if (!r)
             return refuse_start(std::move(p.reply), journal_refusal(r.error()));
           slot_.on(slot_input::opened);
           queues_.clear();
           turn::options o;
           o.samplings_max = node_->settings.session.samplings_max;
           run_operation(turn_id, operation_kind::turn, std::move(o));
           running_->prompts.push_back(std::move(p.reply));
         });
}

void session::refuse_start(promise<prompt_reply> reply, failure why) {
  slot_.on(slot_input::open_refused);
  if (projection_.operation())
    slot_.found_interrupted();
  reply.deliver(prompt_reply{std::move(why)});
  slot_free();
}

void session::withdraw_prompt(const withdraw_prompt_command& c, promise<done_reply> reply) {
  auto i = std::find_if(waiting_.begin(), waiting_.end(), [&](const waiting_prompt& p) {
    return p.command.from == c.from && p.command.request_key == c.request_key;
  });
  if (i == waiting_.end())
    return reply.deliver(done_reply{
        make_failure(error_code::turn_not_active, "no prompt of that request_id waits")});
  i->reply.deliver(prompt_reply{
      make_failure(error_code::cancelled, "the prompt was taken back before it started")});
  waiting_.erase(i);
  reply.deliver(done_reply{rind::done{}});
}

void session::on_connection_gone(const connection_gone& c) {
  std::erase_if(listeners_, [&](const listener& l) { return l.from == c.from; });
  for (auto& p : waiting_)
    if (p.command.from == c.from)
      p.reply.deliver(prompt_reply{
          make_failure(error_code::cancelled, "the connection ended before the prompt started")});
  std::erase_if(waiting_, [&](const waiting_prompt& p) { return p.command.from == c.from; });
  schedule_idle_tick();
}

// -- manual compaction ---------------------------------------------------------------

void session::compact(const compact_command& c, promise<compact_reply> reply) {
  if (stopping_)
    return reply.deliver(compact_reply{stopping()});
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
    return reply.deliver(done_reply{rind::done{}});
  case slot_action::settle:
    return settle(interrupted_end(), [reply](std::optional<failure> why) mutable {
      reply.deliver(why ? done_reply{journal_refusal(*why)} : done_reply{rind::done{}});
    });
  case slot_action::stash:
    settled_.push_back([this, c, reply]() mutable { cancel(c, std::move(reply)); });
    return;
  default:
    return reply.deliver(done_reply{not_active()});
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
    if (!r) {
      const auto why = journal_refusal(r.error());
      for (auto& p : std::exchange(waiting_, {}))
        p.reply.deliver(prompt_reply{why});
    }
    slot_free();
  });
}

void session::slot_free() {
  // Commands that met a state between two: each looks again, in order.
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
  request(node_->journal, caf::infinite, remove_session_command{options_.session_id, epoch_})
      .then(
          [leave_for_good, reply](remove_session_reply& r) mutable {
            if (!r.value)
              return reply.deliver(done_reply{journal_refusal(r.value.error())});
            leave_for_good();
          },
          [reply](caf::error&) mutable {
            reply.deliver(done_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
          });
}

void session::stop(const stop_command& c, promise<done_reply> reply) {
  stopping_ = c;
  stop_replies_.push_back(std::move(reply));
  for (auto& p : std::exchange(waiting_, {}))
    p.reply.deliver(prompt_reply{stopping()});
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
