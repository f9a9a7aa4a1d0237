// The session's side of a running operation: what its turn runner asks for, and how it ends (S5).
#include <algorithm>

#include <spdlog/spdlog.h>

#include "actors/append_surely.hpp"
#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "actors/turn_runner.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

using rind::session::slot_input;
using rind::session::slot_state;
using taken = turn::inputs::input_taken::kind;

namespace {

/// The tightened limit of a request that was built before the model was set: it ended with that
/// (S30).
void drop_tightened_limit(std::vector<entry_body>& bodies) {
  for (auto& body : bodies)
    if (auto* attempt = std::get_if<entries::attempt_started>(&body))
      attempt->tightened_limit_tokens.reset();
}

} // namespace

void session::run_operation(std::string turn_id, operation_kind kind, turn::options options) {
  running_.emplace();
  running_->turn_id = turn_id;
  running_->kind = kind;
  options.operation = kind;
  running_->runner = spawn<turn_runner>(
      node_, session_actor{this},
      runner_options{options_.session_id, std::move(turn_id), std::move(options)});
  monitor(running_->runner);
  if (stopping_ && stopping_->grace_ms <= 0)
    on_grace_over({});
  if (!RIND_PLANTED(stashed_request_forgotten))
    for (auto& work : std::exchange(settled_, {}))
      work();
}

void session::take_input(const take_input_command& c, promise<take_input_reply> reply) {
  if (!running_)
    return reply.deliver(take_input_reply{
        taken::none, make_failure(error_code::internal_error, "no operation runs")});
  // An input that arrives in this moment still counts: its entry is awaited.
  if (queues_.unsettled()) {
    running_->take = std::move(reply);
    running_->take_before_sampling = c.before_sampling;
    return;
  }
  if (running_->cancel)
    return reply.deliver(take_input_reply{taken::none, std::nullopt});
  auto in = queues_.begin_deliver(c.before_sampling);
  if (!in) {
    if (c.before_sampling)
      return reply.deliver(take_input_reply{taken::none, std::nullopt});
    reply.deliver(take_input_reply{taken::ended, std::nullopt});
    running_->close =
        close_command{turn::effects::close{entries::turn_outcome::completed, std::nullopt, {}}};
    return write_end();
  }
  auto m = std::make_shared<message>();
  m->role = message_role::user;
  m->content = in->text;
  m->origin = in->mode == input_mode::steering ? user_origin::steering : user_origin::follow_up;
  m->input_id = in->input_id;
  const auto what =
      in->mode == input_mode::steering ? taken::delivered : taken::follow_up_delivered;
  append(running_->turn_id, {entries::input_delivered{std::move(m)}},
         [this, what, id = in->input_id, reply](auto r) mutable {
           if (r) {
             queues_.left(id);
             reply.deliver(take_input_reply{what, std::nullopt});
           } else {
             queues_.leave_refused(id);
             reply.deliver(take_input_reply{taken::none, r.error()});
           }
           queues_settled();
         });
}

void session::give_context(const context_command&, promise<context_snapshot_reply> reply) {
  auto s = snapshot();
  if (running_) {
    s.focus = running_->focus;
    running_->model_sets_at_context = model_sets_;
  }
  reply.deliver(context_snapshot_reply{std::move(s)});
}

void session::record(const record_command& c, promise<record_reply> reply) {
  auto bodies = c.entries;
  if (running_ && running_->model_sets_at_context != model_sets_)
    drop_tightened_limit(bodies);
  auto turn_id = running_ ? running_->turn_id : std::string{};
  if (RIND_PLANTED(new_turn_id_after_compaction) && running_ && running_->boundary)
    turn_id = running_->boundary->id;
  append(turn_id, std::move(bodies), [reply](auto r) mutable {
    reply.deliver(record_reply{r ? std::nullopt : std::optional{r.error()}});
  });
}

void session::close(const close_command& c, promise<done_reply> reply) {
  if (!running_ || running_->close)
    return reply.deliver(done_reply{rind::done{}});
  running_->close = c;
  running_->closed = std::move(reply);
  write_end_when_settled();
}

// Nothing of the operation may come after its terminal entry (S5): neither an input whose entry is
// on its way nor a boundary.
void session::write_end_when_settled() {
  if (running_ && running_->close && !running_->ends_compaction && !queues_.unsettled() &&
      slot_.at() == slot_state::running)
    write_end();
}

void session::write_end() {
  auto& op = *running_;
  slot_.on(slot_input::close);
  auto& how = op.close->how;
  entries::turn_ended end;
  end.outcome = how.outcome;
  end.error = how.error;
  if (op.cancel) {
    end.outcome = entries::turn_outcome::cancelled;
    end.error.reset();
    end.reason = *op.cancel;
  }
  if (const auto& open = projection_.operation()) {
    end.samplings = open->samplings;
    end.compactions = open->compactions;
    end.duration_ms = std::max<std::int64_t>(node_->env->now_ms() - open->started_at_ms, 0);
  }
  end.undelivered = queues_.rest();
  auto bodies = std::move(how.extra);
  bodies.push_back(end);
  if (RIND_PLANTED(prompt_answered_before_end))
    for (auto& p : op.prompts)
      p.reply.deliver(prompt_reply{prompt_outcome{op.turn_id, end.outcome}});
  append(op.turn_id, std::move(bodies), [this, end](auto r) {
    if (!running_)
      return; // the session broke down meanwhile and has told so
    if (r)
      operation_ended(end);
    else
      operation_interrupted(r.error());
  });
}

void session::operation_ended(const entries::turn_ended& end) {
  auto op = std::move(*running_);
  running_.reset();
  queues_.clear();
  if (!RIND_PLANTED(session_stuck_after_cancel) || !op.cancel)
    slot_.on(slot_input::closed);
  demonitor(caf::actor_cast<caf::actor_addr>(op.runner));
  if (op.closed)
    op.closed->deliver(done_reply{rind::done{}});
  for (auto& c : op.cancels)
    c.deliver(end.outcome == entries::turn_outcome::cancelled ? done_reply{rind::done{}}
                                                              : done_reply{no_operation()});
  for (auto& p : op.prompts)
    p.reply.deliver(prompt_reply{prompt_outcome{op.turn_id, end.outcome}});
  if (op.compact) {
    // After a committed boundary the answer is the record, whatever the end says (S27).
    if (op.boundary)
      op.compact->deliver(compact_reply{op.boundary});
    else if (end.error)
      op.compact->deliver(compact_reply{*end.error});
    else
      op.compact->deliver(
          compact_reply{make_failure(error_code::cancelled, "the compaction was cancelled")});
  }
  slot_free();
}

void session::operation_interrupted(const failure& why) {
  auto op = std::move(*running_);
  running_.reset();
  spdlog::error("event=operation_interrupted session={} turn={} reason=\"{}\"", options_.session_id,
                op.turn_id, why.message);
  if (slot_.at() == slot_state::running)
    slot_.on(slot_input::close);
  slot_.on(slot_input::close_refused);
  demonitor(caf::actor_cast<caf::actor_addr>(op.runner));
  if (op.closed)
    op.closed->deliver(done_reply{why});
  else
    send_exit(op.runner, caf::exit_reason::user_shutdown);
  const auto refusal = journal_refusal(why);
  for (auto& c : op.cancels)
    c.deliver(done_reply{refusal});
  for (auto& p : op.prompts)
    p.reply.deliver(prompt_reply{refusal});
  if (op.compact) {
    if (op.boundary)
      op.compact->deliver(compact_reply{op.boundary});
    else
      op.compact->deliver(compact_reply{refusal});
  }
  live_.reset();
  slot_free();
  if (why.code == error_code::not_owner && !broken_) {
    broken_ = why;
    refuse_waiting(why);
    leave();
  }
}

void session::on_event(const publish_event& e) {
  publish(e.event);
}

void session::on_decision(const publish_decision& d) {
  decisions_.push_back({node_->env->now_ms(), running_ ? running_->turn_id : std::string{},
                        d.note.decision, d.note.reason, d.note.stats});
  if (decisions_.size() > decisions_kept)
    decisions_.pop_front();
}

void session::on_boundary(const boundary_committed& b) {
  if (RIND_PLANTED(lose_input_at_compaction_end))
    queues_.clear();
  for (const auto& e : b.entries) {
    take(e);
    if (const auto* boundary = std::get_if<entries::boundary>(&e->body); boundary && running_)
      running_->boundary = boundary->record;
  }
}

void session::on_runner_down(const caf::error& reason) {
  if (running_->close)
    return; // it has said how it ends, and may be gone before that is written
  spdlog::error("event=runner_lost session={} turn={} reason=\"{}\"", options_.session_id,
                running_->turn_id, system().render(reason));
  running_->close = close_command{turn::effects::close{
      entries::turn_outcome::failed,
      make_failure(error_code::internal_error, "the operation's runner was lost"),
      {}}};
  running_->take.reset(); // nobody is left to whom an input could be given
  end_compaction();
}

// The compaction service does not know the runner: it would commit the boundary of an operation
// that has ended. What it told the runner went with that.
void session::end_compaction() {
  running_->ends_compaction = true;
  request(node_->compaction, caf::infinite,
          end_compaction_command{options_.session_id, running_->turn_id})
      .then([this](const done_reply&) { read_boundary(); },
            [this](const caf::error&) { read_boundary(); });
}

void session::read_boundary() {
  request(node_->journal, caf::infinite,
          read_command{options_.session_id, projection_.last_position(), journal::read_limit_max})
      .then(
          [this](const read_reply& r) {
            if (!r.value)
              return break_down_live(r.value.error());
            on_boundary({*r.value});
            if (!running_)
              return;
            running_->ends_compaction = false;
            write_end_when_settled();
          },
          [this](const caf::error&) { break_down_live(journal_gone()); });
}

} // namespace rind::actors
