// A provider's actor: bounds the requests in flight and hands them to a model_provider, whose
// callbacks become messages to the listener. Owns the model_provider; first come, first served past
// the bound.
#pragma once

#include <deque>
#include <set>

#include <caf/typed_event_based_actor.hpp>

#include "actors/actors.hpp"
#include "runtime/provider/port.hpp"

namespace rind::actors {

/// Requests that may wait for a place; the next one ends as overloaded.
inline constexpr std::size_t waiting_requests_max = 65'536;

/// The provider's own interface: what others may ask, and the end of a request, told by its thread.
using provider_self = provider_actor::extend<
    /// internal: a request ended; its place is free.
    tells<sampling_ended>>;

class provider final : public provider_self::base {
public:
  provider(caf::actor_config& cfg, std::shared_ptr<rind::provider::model_provider> backend,
           std::size_t in_flight_max);

  const char* name() const override { return "provider"; }
  behavior_type make_behavior() override;

private:
  void start(start_sampling s);
  void on_start(start_sampling& s);
  void on_cancel(const cancel_sampling& c);
  void on_ended(const sampling_ended& e);

  std::shared_ptr<rind::provider::model_provider> backend_;
  std::size_t in_flight_max_;
  std::set<std::string> in_flight_;
  std::deque<start_sampling> waiting_;
};

} // namespace rind::actors
