// A session's life: activation, its journal, what it tells. The commands stand in the other
// session_*.cpp.
#include "actors/session.hpp"

#include <spdlog/spdlog.h>

#include "actors/append_surely.hpp"
#include "actors/new_entry.hpp"
#include "actors/session_handlers.hpp"
#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

namespace {

bool is_rescue(const entry_body& body) {
  const auto* boundary = std::get_if<entries::boundary>(&body);
  return boundary && boundary->record->strategy == compaction_strategy::context_rescue;
}

} // namespace

session::session(caf::actor_config& cfg, node_ptr n, directory_actor directory,
                 session_options options)
    : session_actor::base(cfg),
      node_(std::move(n)),
      directory_(std::move(directory)),
      options_(std::move(options)),
      projection_(view::projection_settings{rind::actors::host_system_messages(node_->settings),
                                            node_->tools}),
      queues_({node_->settings.session.queued_inputs_max,
               node_->settings.session.queued_characters_max}) {
  // nop
}

session::behavior_type session::make_behavior() {
  set_down_handler([this](const caf::down_msg& m) {
    if (running_ && running_->runner &&
        m.source == caf::actor_cast<caf::actor_addr>(running_->runner))
      on_runner_down(m.reason);
  });
  if (node_->metrics)
    node_->metrics->session_began();
  activate();
  return {
      ask(&session::prompt),
      ask(&session::withdraw_prompt),
      ask(&session::compact),
      ask(&session::cancel),
      ask(&session::queue_input),
      ask(&session::take_back),
      ask(&session::promote),
      ask(&session::set_model),
      ask(&session::info),
      ask(&session::context_report_of),
      ask(&session::replay),
      ask(&session::subscribe),
      tell(&session::on_unsubscribe),
      tell(&session::on_connection_gone),
      ask(&session::remove),
      ask(&session::stop),
      ask(&session::take_input),
      ask(&session::give_context),
      ask(&session::record),
      ask(&session::close),
      tell(&session::on_event),
      tell(&session::on_decision),
      tell(&session::on_boundary),
      tell(&session::on_grace_over),
      tell(&session::on_idle_tick),
  };
}

void session::on_exit() {
  if (node_->metrics)
    node_->metrics->session_ended();
  stash_.clear();
  waiting_.clear();
  opening_.reset();
  queue_retry_.clear();
  settled_.clear();
  running_.reset();
  listeners_.clear();
  stop_replies_.clear();
  destroy(directory_);
  node_.reset();
}

// -- activation and passivation ------------------------------------------------

void session::activate() {
  if (options_.mode == open_mode::create) {
    ready_ = true;
    schedule_idle_tick();
    return;
  }
  request(node_->journal, caf::infinite, claim_command{options_.session_id})
      .then([this](claim_reply& r) { loaded(std::move(r.value)); },
            [this](caf::error&) {
              loaded(make_failure(error_code::persistence_failed, "the journal is gone"));
            });
}

void session::loaded(rind::result<journal::loaded_session> loaded) {
  if (!loaded) {
    break_down(std::move(loaded.error()));
  } else {
    epoch_ = loaded->epoch;
    for (const auto& e : loaded->entries) {
      if (RIND_PLANTED(rescue_forgotten_at_restart) && is_rescue(e->body))
        continue;
      if (RIND_PLANTED(attempts_forgotten_at_restart) &&
          std::holds_alternative<entries::attempt_started>(e->body))
        continue;
      if (auto applied = projection_.apply(*e); !applied) {
        break_down(std::move(applied.error()));
        break;
      }
    }
  }
  ready_ = true;
  schedule_idle_tick();
  const auto& open = projection_.operation();
  if (broken_) {
    // The next one who asks for the session tries the journal again.
    run_stash();
    return leave();
  }
  if (open) {
    slot_.found_interrupted();
    // A manual compaction that a crash cut short cannot be gone on with; a turn can (S10).
    if (open->operation == operation_kind::compact)
      return settle(interrupted_end(), [this](auto) { run_stash(); });
    if (node_->settings.session.auto_resume)
      resume_turn({});
  }
  run_stash();
}

void session::when_ready(std::function<void()> work, std::function<void(const failure&)> refuse) {
  ++activity_;
  if (ready_) {
    if (broken_)
      return refuse(*broken_);
    return work();
  }
  if (stash_.size() >= stash_limit)
    return refuse(make_failure(error_code::unavailable, "too many commands wait for the session"));
  stash_.emplace_back(std::move(work), std::move(refuse));
}

void session::run_stash() {
  auto stash = std::exchange(stash_, {});
  for (auto& [work, refuse] : stash) {
    if (broken_)
      refuse(*broken_);
    else
      work();
  }
}

void session::break_down(failure why) {
  spdlog::error("event=session_unreadable session={} reason=\"{}\"", options_.session_id,
                why.message);
  if (why.code != error_code::session_not_found && why.code != error_code::not_owner) {
    auto text = "persistence_failed: " + why.message;
    why = make_failure(error_code::unavailable, std::move(text));
  }
  broken_ = std::move(why);
}

bool session::is_idle() const {
  return ready_ && !slot_.has_operation() && slot_.at() != rind::session::slot_state::settling &&
         waiting_.empty() && stash_.empty();
}

void session::schedule_idle_tick() {
  if (std::exchange(tick_scheduled_, true))
    return;
  activity_at_tick_ = activity_;
  delayed_send(session_actor{this},
               std::chrono::milliseconds(node_->settings.session.idle_passivate_ms), idle_tick{});
}

void session::on_idle_tick(const idle_tick&) {
  tick_scheduled_ = false;
  if (!is_idle() || !listeners_.empty() || activity_ != activity_at_tick_ || stopping_)
    return schedule_idle_tick();
  // Once the directory has let this actor go, whoever still holds its handle is told by the end of
  // the actor and asks again.
  leave();
}

void session::leave() {
  request(directory_, caf::infinite, passivate_command{options_.session_id})
      .then([this](done_reply&) { quit(); }, [this](caf::error&) { quit(); });
}

// -- journal ---------------------------------------------------------------------

void session::append(const std::string& turn_id, std::vector<entry_body> bodies, appended then) {
  rind::journal::append_request r;
  r.session_id = options_.session_id;
  r.epoch = epoch_;
  if (!projection_.exists()) {
    r.create = true;
    bodies.insert(bodies.begin(), first_entry());
  }
  const auto now = node_->env->now_ms();
  for (auto& body : bodies)
    r.entries.push_back(new_entry(*node_->env, turn_id, now, std::move(body)));
  if (auto position = projection_.last_position(); RIND_PLANTED(told_before_commit))
    for (auto told : r.entries) {
      told.position = ++position;
      publish(std::make_shared<const entry>(std::move(told)));
    }
  append_surely(this, node_->journal, std::move(r), projection_.last_position(),
                [this, then](append_end end) {
                  if (!end.value) {
                    if (!end.is_certain)
                      return lose_sight(end.value.error(), then);
                    return then(std::move(end.value.error()));
                  }
                  epoch_ = end.value->epoch;
                  draft_.reset();
                  for (const auto& e : end.value->entries)
                    take(e);
                  then(std::move(end.value->entries));
                });
}

// Whether the append stands is not known, so neither is the state of the session: its next
// activation reads it from the journal.
void session::lose_sight(const failure& why, const appended& then) {
  if (!broken_)
    break_down(why);
  then(why);
  break_down_live(why);
}

// Entries come from two sides, this session's appends and the compaction service's, each answered
// on its own way: an input that is accepted while a boundary is committed may be heard of first.
// The order of the journal is the one that counts.
void session::take(const entry_ptr& e) {
  if (broken_ || e->position <= projection_.last_position())
    return; // read from the journal before
  if (e->position > projection_.last_position() + 1) {
    ahead_.emplace(e->position, e);
    return read_missing();
  }
  take_next(e);
  while (!broken_ && !ahead_.empty() && ahead_.begin()->first <= projection_.last_position() + 1) {
    const auto next = ahead_.extract(ahead_.begin()).mapped();
    if (next->position > projection_.last_position())
      take_next(next);
  }
}

// What stands between is on its way, or its bearer was lost: the journal has it.
void session::read_missing() {
  if (std::exchange(reads_missing_, true))
    return;
  request(node_->journal, caf::infinite,
          read_command{options_.session_id, projection_.last_position(), journal::read_limit_max})
      .then(
          [this](const read_reply& r) {
            reads_missing_ = false;
            if (!r.value)
              return break_down_live(r.value.error());
            for (const auto& e : *r.value)
              take(e);
          },
          [this](caf::error&) {
            break_down_live(make_failure(error_code::persistence_failed, "the journal is gone"));
          });
}

void session::break_down_live(failure why) {
  if (!broken_)
    break_down(std::move(why));
  if (running_)
    operation_interrupted(*broken_);
  refuse_waiting(*broken_);
  leave();
}

/// Those who wait find the same journal; each is told rather than kept.
void session::refuse_waiting(const failure& why) {
  for (auto& p : std::exchange(waiting_, {}))
    refuse_prompt(p, why);
}

void session::take_next(const entry_ptr& e) {
  if (auto applied = projection_.apply(*e); !applied)
    return break_down_live(std::move(applied.error()));
  follow_live(*e);
  if (node_->metrics)
    node_->metrics->took(e->body);
  if (!RIND_PLANTED(told_before_commit) || std::holds_alternative<entries::boundary>(e->body))
    publish(e);
}

void session::publish(const entry_ptr& e) {
  if (listeners_.empty() || !is_durable_event(e->body))
    return;
  auto event = std::make_shared<session_event>();
  event->session_id = options_.session_id;
  event->turn_id = e->turn_id;
  event->event_id = e->id;
  event->time_ms = e->time_ms;
  event->body = e;
  if (RIND_PLANTED(two_terminal_events) && std::holds_alternative<entries::turn_ended>(e->body))
    tell_listeners(event);
  tell_listeners(std::move(event));
}

void session::tell_listeners(std::shared_ptr<session_event> event) {
  const auto update = std::make_shared<const protocol::session_update>(std::move(event));
  for (const auto& l : listeners_)
    send(l.handle, session_event_message{update});
}

void session::publish(live_event_body body) {
  follow_live(body);
  if (node_->metrics)
    node_->metrics->took(body);
  if (listeners_.empty())
    return;
  auto event = std::make_shared<session_event>();
  event->session_id = options_.session_id;
  event->turn_id = running_ ? running_->turn_id : std::string{};
  event->event_id = node_->env->new_id("evt");
  event->time_ms = node_->env->now_ms();
  event->body = std::move(body);
  tell_listeners(std::move(event));
}

void session::follow_live(const live_event_body& body) {
  if (!live_)
    return;
  if (const auto* d = std::get_if<events::assistant_delta>(&body)) {
    live_->text += d->text;
  } else if (const auto* r = std::get_if<events::reasoning_delta>(&body)) {
    live_->reasoning += r->text;
  } else if (std::holds_alternative<events::context_built>(body)) {
    const auto& op = projection_.operation();
    live_->sampling = op ? op->samplings + 1 : 1;
    live_->text.clear();
    live_->reasoning.clear();
  } else if (std::holds_alternative<events::turn_step_retry>(body)) {
    live_->text.clear();
    live_->reasoning.clear();
  }
}

void session::follow_live(const entry& e) {
  if (const auto* started = std::get_if<entries::turn_started>(&e.body)) {
    live_ = live_turn{};
    live_->turn_id = e.turn_id;
    live_->operation = started->operation;
  } else if (!live_) {
    return;
  } else if (std::holds_alternative<entries::assistant_message>(e.body)) {
    live_->text.clear();
    live_->reasoning.clear();
  } else if (const auto* asked = std::get_if<entries::tool_requested>(&e.body)) {
    live_->tools.push_back({asked->call.id, asked->call.name});
  } else if (const auto* r = std::get_if<entries::tool_result>(&e.body)) {
    std::erase_if(live_->tools,
                  [&](const running_tool& t) { return t.tool_call_id == r->msg->tool_call_id; });
  } else if (std::holds_alternative<entries::turn_ended>(e.body)) {
    live_.reset();
  }
}

} // namespace rind::actors
