// Who may stay: the token of a client, what it may hold, and how long it may be quiet (S42).
#include <spdlog/spdlog.h>

#include "actors/connection.hpp"

namespace rind::actors {

bool connection::enter(serial s, const std::string& token) {
  if (!options_.access)
    return true;
  if (initialized_ && options_.access->is_of(pass_, token))
    return true;
  auto entered =
      initialized_ ? result<protocol::access_pass>(make_failure(
                         error_code::unauthorized, "this connection was opened with another token"))
                   : options_.access->enter(token);
  if (entered) {
    pass_ = std::move(*entered);
    return true;
  }
  spdlog::warn("event=client_refused connection={} peer=\"{}\" reason=\"{}\"", options_.id,
               wire_->peer(), entered.error().message);
  if (node_->metrics)
    node_->metrics->client_refused(to_string(entered.error().code));
  refuse(s, entered.error());
  if (++wrong_tokens_ == token_tries_max)
    leave();
  return false;
}

bool connection::may_follow(serial s, const std::string& session_id, bool in_place_of_current) {
  auto follows = explicit_;
  follows.insert(session_id);
  if (!in_place_of_current && !current_.empty())
    follows.insert(current_);
  auto counted = pass_.follow(static_cast<std::int64_t>(follows.size()));
  if (!counted)
    refuse(s, counted.error());
  return bool(counted);
}

void connection::count_followed() {
  // Never more than may_follow allowed, so it cannot fail.
  (void)pass_.follow(static_cast<std::int64_t>(subscribed().size()));
}

void connection::on_tokens_changed() {
  if (closing_ || gone_ || !pass_.is_withdrawn())
    return;
  spdlog::warn("event=token_withdrawn connection={} peer=\"{}\" token=\"{}\"", options_.id,
               wire_->peer(), pass_.name());
  leave_with(make_failure(error_code::unauthorized, "the token of this client was withdrawn"));
}

void connection::look_again_in(std::int64_t delay_ms) {
  delayed_send(connection_actor{this}, std::chrono::milliseconds(delay_ms), quiet_tick{});
}

void connection::on_quiet_tick() {
  if (closing_ || gone_)
    return;
  const auto& server = node_->settings.server;
  if (!initialized_)
    return leave_with(make_failure(error_code::not_initialized,
                                   "initialize did not come within " +
                                       std::to_string(server.initialize_timeout_ms) + " ms"));
  if (server.idle_timeout_ms == 0)
    return;
  if (std::exchange(activity_at_tick_, activity_) != activity_ || !open_.empty())
    return look_again_in(server.idle_timeout_ms);
  leave_with(make_failure(error_code::unavailable, "nothing was said for " +
                                                       std::to_string(server.idle_timeout_ms) +
                                                       " ms: the connection is idle and ends"));
}

} // namespace rind::actors
