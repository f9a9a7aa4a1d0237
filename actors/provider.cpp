// Places and callbacks.
#include "actors/provider.hpp"

#include <algorithm>

#include <caf/send.hpp>

namespace rind::actors {

provider::provider(caf::actor_config& cfg, std::shared_ptr<rind::provider::model_provider> backend,
                   std::size_t in_flight_max)
    : provider_self::base(cfg), backend_(std::move(backend)), in_flight_max_(in_flight_max) {
  // nop
}

provider::behavior_type provider::make_behavior() {
  return {
      [this](start_sampling& s) { on_start(s); },
      [this](const cancel_sampling& c) { on_cancel(c); },
      [this](const sampling_ended& e) { on_ended(e); },
  };
}

void provider::on_start(start_sampling& s) {
  if (in_flight_.size() < in_flight_max_)
    return start(std::move(s));
  if (waiting_.size() >= waiting_requests_max) {
    provider_error full;
    full.error_class = provider_error_class::overloaded;
    full.message = "too many requests wait for a place with this provider";
    full.sent = false;
    return send(s.listener, sampling_ended{s.request.request_id, std::move(full)});
  }
  waiting_.push_back(std::move(s));
}

void provider::start(start_sampling s) {
  const auto id = s.request.request_id;
  in_flight_.insert(id);
  rind::provider::sampling_sink sink;
  // The callbacks come from the provider's thread: a message to the listener, and one here for the
  // free place.
  sink.on_delta = [listener = s.listener, id](sampling_delta d) {
    caf::anon_send(listener, sampling_progressed{id, std::move(d)});
  };
  sink.on_end = [listener = s.listener, self = provider_self{this}, id](sampling_outcome o) {
    caf::anon_send(listener, sampling_ended{id, std::move(o)});
    caf::anon_send(self, sampling_ended{id, sampling_cancelled{}});
  };
  backend_->start(std::move(s.request), std::move(sink));
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
    backend_->cancel(c.request_id);
}

void provider::on_ended(const sampling_ended& e) {
  in_flight_.erase(e.request_id);
  while (!waiting_.empty() && in_flight_.size() < in_flight_max_) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(next));
  }
}

} // namespace rind::actors
