// A provider's actor: bounds the requests in flight, refuses them while nobody is there (circuit
// breaker) and hands them to a model_provider, whose callbacks become messages to the listener.
// Owns the model_provider. Past the bound it is first come, first served, which is fair: a session
// has one request at a time.
#pragma once

#include <deque>
#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/actors.hpp"
#include "runtime/host/environment.hpp"
#include "runtime/metrics/host_metrics.hpp"
#include "runtime/provider/circuit_breaker.hpp"
#include "runtime/provider/port.hpp"

namespace rind::actors {

/// Requests that may wait for a place; the next one ends as overloaded.
inline constexpr std::size_t waiting_requests_max = 65'536;

/// Beyond a request's total deadline, which its backend keeps: then the backend is taken for lost,
/// the request ends as a timeout and its place is free (S43).
inline constexpr std::int64_t overdue_grace_ms = 10'000;
/// How often requests in flight are looked at for that.
inline constexpr std::int64_t overdue_look_ms = 5'000;

/// The provider's own interface: what others may ask, and the end of a request, told by its thread.
using provider_self = provider_actor::extend<
    /// internal: a request ended; its place is free.
    tells<sampling_ended>,
    /// internal: look for requests that never end.
    tells<overdue_tick>>;

struct provider_parts {
  std::string name; // for people
  std::shared_ptr<rind::provider::model_provider> backend;
  std::shared_ptr<host::environment> env;
  std::size_t in_flight_max = 1;
  std::int64_t total_deadline_ms = 0;               // of a request that names none
  std::shared_ptr<metrics::host_metrics> metrics{}; // null: nobody counts
};

class provider final : public provider_self::base {
public:
  provider(caf::actor_config& cfg, provider_parts parts);

  const char* name() const override { return "provider"; }
  behavior_type make_behavior() override;

private:
  void on_start(start_sampling& s);
  void on_cancel(const cancel_sampling& c);
  void on_ended(const sampling_ended& e);
  void on_tick(const overdue_tick&);

  void start(start_sampling s);
  void refuse(const start_sampling& s, provider_error error);
  void serve_waiting();
  void look_later();
  /// Handles a message, and tells how many requests there are after it.
  template <class Message>
  void counted(void (provider::*handle)(Message&), Message& m) {
    (this->*handle)(m);
    tell_load();
  }
  void tell_load() const;

  struct open_request {
    std::string session_id;
    sampling_listener listener;
    std::int64_t overdue_at_ms = 0;
  };
  const provider_parts parts_;
  rind::provider::circuit_breaker breaker_;
  std::map<std::string, open_request> in_flight_; // by request id
  bool looks_later_ = false;
  std::deque<start_sampling> waiting_;
};

} // namespace rind::actors
