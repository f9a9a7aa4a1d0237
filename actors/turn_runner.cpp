// Inputs in, effects out.
#include "actors/turn_runner.hpp"

namespace rind::actors {

turn_runner::turn_runner(caf::actor_config& cfg, node_ptr n, session_actor owner,
                         runner_options options)
    : turn_runner_actor::base(cfg),
      node_(std::move(n)),
      owner_(std::move(owner)),
      options_(std::move(options)),
      machine_(options_.turn) {
  // nop
}

turn_runner::behavior_type turn_runner::make_behavior() {
  monitor(owner_);
  set_down_handler([this](const caf::down_msg&) { quit(); });
  perform(machine_.start());
  return {
      [this](const sampling_progressed& p) { on_progress(p); },
      [this](sampling_ended& e) { on_sampling_ended(e); },
      [this](const tool_progressed& p) { on_tool_progress(p); },
      [this](const tool_ended& e) { on_tool_ended(e); },
      [this](const compaction_begun& b) { on_compaction_begun(b); },
      [this](const cancel_operation& c) { on_cancel(c); },
      [this](const retry_tick& t) { on_retry(t); },
  };
}

// However it ends, nothing that it began goes on: neither a stream nor a tool has anybody to hear
// of.
void turn_runner::on_exit() {
  turn::effects::stop_work stop;
  carry_out(stop);
  destroy(owner_);
  destroy(provider_);
  tools_.clear();
  node_.reset();
}

// -- what comes in -----------------------------------------------------------------

void turn_runner::feed(turn::input in) {
  perform(machine_.on(in));
}

void turn_runner::perform(turn::effect_list effects) {
  for (auto& e : effects)
    std::visit([this](auto& effect) { carry_out(effect); }, e);
  if (machine_.at() == turn::state::ended)
    quit();
}

void turn_runner::on_progress(const sampling_progressed& p) {
  if (p.request_id != request_id_)
    return;
  deltas_sent_ = true;
  if (!p.delta.reasoning.empty())
    send(owner_, publish_event{events::reasoning_delta{p.delta.reasoning}});
  if (!p.delta.text.empty())
    send(owner_, publish_event{events::assistant_delta{p.delta.text}});
}

void turn_runner::on_sampling_ended(sampling_ended& e) {
  if (e.request_id != request_id_)
    return;
  request_id_.clear();
  feed(turn::inputs::sampling_finished{std::move(e.outcome), deltas_sent_, node_->env->chance()});
}

void turn_runner::on_tool_progress(const tool_progressed& p) {
  if (auto i = tools_.find(p.invocation_id); i != tools_.end())
    send(owner_,
         publish_event{events::tool_progress{i->second.tool_call_id, i->second.tool_name, p.text}});
}

void turn_runner::on_tool_ended(const tool_ended& e) {
  auto i = tools_.find(e.invocation_id);
  if (i == tools_.end())
    return;
  auto t = std::move(i->second);
  tools_.erase(i);
  const auto duration = std::max<std::int64_t>(node_->env->now_ms() - t.started_at_ms, 0);
  feed(turn::inputs::tool_finished{t.tool_call_id, t.tool_name, e.outcome.status, e.outcome.text,
                                   e.outcome.error_type, duration});
}

void turn_runner::on_compaction_begun(const compaction_begun& b) {
  if (b.compaction_id != compaction_id_)
    return;
  compaction_announced_ = true;
  send(owner_, publish_event{
                   events::compaction_started{compaction_reason_, compaction_detail_, b.waiting}});
}

void turn_runner::on_cancel(const cancel_operation&) {
  feed(turn::inputs::cancel_requested{});
}

void turn_runner::on_retry(const retry_tick& t) {
  if (t.serial == retry_serial_)
    feed(turn::inputs::retry_due{});
}

failure turn_runner::session_gone() const {
  return make_failure(error_code::internal_error, "the session of the operation is gone");
}

// -- what goes out -----------------------------------------------------------------

void turn_runner::carry_out(turn::effects::take_input& e) {
  request(owner_, caf::infinite, take_input_command{e.before_sampling})
      .then(
          [this](const take_input_reply& r) {
            if (r.refused)
              feed(turn::inputs::refused{*r.refused});
            else
              feed(turn::inputs::input_taken{r.what});
          },
          [this](const caf::error&) { feed(turn::inputs::refused{session_gone()}); });
}

void turn_runner::carry_out(turn::effects::build_context&) {
  request(owner_, caf::infinite, context_command{})
      .then(
          [this](context_snapshot_reply& r) {
            feed(turn::inputs::context_ready{std::move(r.snapshot)});
          },
          [this](const caf::error&) { quit(); });
}

void turn_runner::carry_out(turn::effects::compact& e) {
  compaction_id_ = node_->env->new_id("compaction");
  compaction_reason_ = e.reason;
  compaction_detail_ = e.detail;
  compaction_started_ms_ = node_->env->now_ms();
  compaction_announced_ = false;
  compact_request r;
  r.compaction_id = compaction_id_;
  r.session_id = options_.session_id;
  r.turn_id = options_.turn_id;
  r.epoch = e.snapshot.epoch;
  r.reason = e.reason;
  r.detail = e.detail;
  r.suffix = e.suffix;
  if (e.reason == compaction_reason::manual)
    r.focus = e.snapshot.focus;
  r.context = std::move(e.snapshot);
  r.listener = compaction_listener{turn_runner_actor{this}};
  request(node_->compaction, caf::infinite, std::move(r))
      .then([this](const compaction_reply& reply) { compacted(reply.outcome); },
            [this](const caf::error&) {
              compacted(compaction::rejected(
                  compaction::outcome_kind::persistence_failed,
                  make_failure(error_code::internal_error, "the compaction service is gone"), 0));
            });
}

void turn_runner::compacted(const compaction::outcome& outcome) {
  compaction_id_.clear();
  // Where no model was asked, nothing told that it began.
  if (!compaction_announced_)
    send(owner_,
         publish_event{events::compaction_started{compaction_reason_, compaction_detail_, false}});
  // First the session's own state, then how it ended.
  if (!outcome.entries.empty())
    send(owner_, boundary_committed{outcome.entries});
  events::compaction_ended ended;
  ended.outcome = compaction::to_string(outcome.kind);
  ended.tokens_before = outcome.tokens_before;
  ended.tokens_after = outcome.tokens_after;
  ended.duration_ms = std::max<std::int64_t>(node_->env->now_ms() - compaction_started_ms_, 0);
  send(owner_, publish_event{std::move(ended)});
  feed(turn::inputs::compaction_finished{outcome});
}

void turn_runner::carry_out(turn::effects::record& e) {
  request(owner_, caf::infinite, record_command{std::move(e.entries)})
      .then(
          [this](const record_reply& r) {
            if (r.refused)
              feed(turn::inputs::refused{*r.refused});
            else
              feed(turn::inputs::recorded{});
          },
          [this](const caf::error&) { feed(turn::inputs::refused{session_gone()}); });
}

void turn_runner::carry_out(turn::effects::wait& e) {
  delayed_send(turn_runner_actor{this}, std::chrono::milliseconds(e.delay_ms),
               retry_tick{++retry_serial_});
}

void turn_runner::carry_out(turn::effects::sample& e) {
  request_id_ = node_->env->new_id("request");
  deltas_sent_ = false;
  const auto* route = node_->find_model(e.model);
  if (!route) {
    // The settings changed between two starts of the host: the journal names a model that nobody
    // serves any more.
    provider_error gone;
    gone.error_class = provider_error_class::not_found;
    gone.message =
        "no provider of this host serves the model " + e.model + "; choose another with model/set";
    gone.sent = false;
    request_id_.clear();
    return feed(turn::inputs::sampling_finished{std::move(gone), false, 0.5});
  }
  provider_ = route->provider;
  sampling_request r;
  r.request_id = request_id_;
  r.session_id = options_.session_id;
  r.turn_id = options_.turn_id;
  r.model = route->wire_name;
  r.kind = sampling_kind::assistant;
  r.messages = e.messages;
  r.tools = e.tools;
  r.output_limit_tokens = e.output_limit_tokens;
  r.estimated_tokens = e.estimated_tokens;
  r.window_tokens = e.window_tokens;
  r.byte_limit = route->request_limit_bytes;
  send(provider_, start_sampling{std::move(r), sampling_listener{turn_runner_actor{this}}});
}

void turn_runner::carry_out(turn::effects::run_tools& e) {
  for (const auto& call : e.calls) {
    tools::invocation i;
    i.invocation_id = node_->env->new_id("call");
    i.session_id = options_.session_id;
    i.turn_id = options_.turn_id;
    i.call = call;
    tools_[i.invocation_id] = {call.id, call.name, node_->env->now_ms()};
    send(owner_, publish_event{events::tool_call_started{call.id, call.name}});
    send(node_->tool_runner, run_tool{std::move(i), tool_listener{turn_runner_actor{this}}});
  }
}

void turn_runner::carry_out(turn::effects::announce& e) {
  send(owner_, publish_event{std::move(e.event)});
}

void turn_runner::carry_out(turn::effects::note_decision& e) {
  send(owner_, publish_decision{std::move(e)});
}

void turn_runner::carry_out(turn::effects::stop_work&) {
  ++retry_serial_;
  if (!request_id_.empty())
    send(provider_, cancel_sampling{std::exchange(request_id_, {})});
  if (!compaction_id_.empty())
    send(node_->compaction, cancel_compaction{compaction_id_});
  for (const auto& [id, t] : tools_)
    send(node_->tool_runner, cancel_tool{id});
}

void turn_runner::carry_out(turn::effects::close& e) {
  request(owner_, caf::infinite, close_command{std::move(e)})
      .then([this](const done_reply&) { feed(turn::inputs::closed{}); },
            [this](const caf::error&) { quit(); });
}

} // namespace rind::actors
