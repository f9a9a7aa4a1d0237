// Places and callbacks.
#include "actors/provider.hpp"

#include <algorithm>

#include <caf/send.hpp>

#include "runtime/canary/canary.hpp"

namespace rind::actors {

provider::provider(caf::actor_config& cfg, provider_parts parts)
    : provider_self::base(cfg), parts_(std::move(parts)) {
  // nop
}

provider::behavior_type provider::make_behavior() {
  return {
      [this](start_sampling& s) { counted(&provider::on_start, s); },
      [this](const cancel_sampling& c) { counted(&provider::on_cancel, c); },
      [this](const sampling_ended& e) { counted(&provider::on_ended, e); },
      [this](const overdue_tick& t) { counted(&provider::on_tick, t); },
  };
}

void provider::on_start(start_sampling& s) {
  if (waiting_.size() < waiting_requests_max) {
    waiting_.push_back(std::move(s));
    return serve_waiting();
  }
  provider_error full;
  full.error_class = provider_error_class::overloaded;
  full.message = "too many requests wait for a place with this provider";
  full.sent = false;
  refuse(s, std::move(full));
}

void provider::serve_waiting() {
  while (!waiting_.empty()) {
    const auto now_ms = parts_.env->now_ms();
    const auto admitted = breaker_.admits(now_ms);
    if (admitted && in_flight_.size() >= parts_.in_flight_max)
      return;
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    if (admitted)
      start(std::move(next));
    else
      refuse(next, breaker_.refusal(parts_.name, now_ms));
  }
}

void provider::refuse(const start_sampling& s, provider_error error) {
  send(s.listener, sampling_ended{s.request.request_id, std::move(error)});
}

void provider::start(start_sampling s) {
  const auto id = s.request.request_id;
  breaker_.sent(id);
  const auto total_ms =
      s.request.total_deadline_ms > 0 ? s.request.total_deadline_ms : parts_.total_deadline_ms;
  in_flight_.emplace(id, open_request{s.request.session_id, s.listener,
                                      parts_.env->now_ms() + total_ms + overdue_grace_ms});
  look_later();
  rind::provider::sampling_sink sink;
  // The callbacks come from the provider's thread: a message to the listener, and one here for the
  // free place.
  const auto& [heard_as, heard_by] =
      RIND_PLANTED(delta_of_another) ? *in_flight_.begin() : *in_flight_.find(id);
  sink.on_delta = [listener = heard_by.listener, heard_as = heard_as](sampling_delta d) {
    caf::anon_send(listener, sampling_progressed{heard_as, std::move(d)});
  };
  sink.on_end = [listener = s.listener, self = provider_self{this}, id](sampling_outcome o) {
    caf::anon_send(self, sampling_ended{id, o});
    caf::anon_send(listener, sampling_ended{id, std::move(o)});
  };
  parts_.backend->start(std::move(s.request), std::move(sink));
}

void provider::on_cancel(const cancel_sampling& c) {
  auto i = std::find_if(waiting_.begin(), waiting_.end(), [&](const start_sampling& s) {
    return s.request.request_id == c.request_id;
  });
  if (i != waiting_.end()) {
    send(i->listener, sampling_ended{c.request_id, sampling_cancelled{}});
    waiting_.erase(i);
    return;
  }
  if (in_flight_.count(c.request_id))
    parts_.backend->cancel(c.request_id);
}

void provider::on_ended(const sampling_ended& e) {
  const auto request = in_flight_.find(e.request_id);
  if (request == in_flight_.end())
    return;
  breaker_.ended(request->first, request->second.session_id, e.outcome, parts_.env->now_ms(),
                 parts_.env->chance());
  in_flight_.erase(request);
  serve_waiting();
}

// A backend that keeps its deadlines never gets here. What it says of the request later is not
// heard any more: neither here nor by the listener, who has forgotten the id.
void provider::on_tick(const overdue_tick&) {
  looks_later_ = false;
  const auto now_ms = parts_.env->now_ms();
  std::vector<std::pair<std::string, sampling_listener>> overdue;
  for (const auto& [id, request] : in_flight_)
    if (now_ms >= request.overdue_at_ms)
      overdue.emplace_back(id, request.listener);
  for (const auto& [id, listener] : overdue) {
    provider_error late;
    late.error_class = provider_error_class::timeout;
    late.code = "deadline";
    late.message = "the provider did not end the request within its deadline";
    send(listener, sampling_ended{id, late});
    parts_.backend->cancel(id);
    on_ended({id, std::move(late)});
  }
  look_later();
}

void provider::tell_load() const {
  if (parts_.metrics)
    parts_.metrics->provider_load(parts_.name, static_cast<std::int64_t>(in_flight_.size()),
                                  static_cast<std::int64_t>(waiting_.size()));
}

void provider::look_later() {
  if (in_flight_.empty() || std::exchange(looks_later_, true))
    return;
  delayed_send(provider_self{this}, std::chrono::milliseconds(overdue_look_ms), overdue_tick{});
}

} // namespace rind::actors
