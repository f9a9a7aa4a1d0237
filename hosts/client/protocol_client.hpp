// A client of the session protocol (docs/protocol.md) over one connection. Requests get their
// answers, events go to a callback, and `follow` joins replay and live events. Reconnecting and the
// meaning of the methods are left to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "messages/result.hpp"
#include "runtime/net/asio_client.hpp"

namespace rind::hosts::client {

/// Bytes of one frame from the server.
inline constexpr std::size_t frame_limit_bytes = 256 * 1024 * 1024;
/// Bytes of requests that the server has not taken yet.
inline constexpr std::size_t unsent_limit_bytes = 64 * 1024 * 1024;

/// `error_type` of answers that no server gave.
inline constexpr const char* connection_closed = "ConnectionClosed";
inline constexpr const char* no_answer_in_time = "NoAnswerInTime";
inline constexpr const char* requests_pile_up = "RequestsPileUp";

/// The answer to one request.
struct response {
  std::string error_type; // empty: it succeeded
  std::string error_message;
  std::shared_ptr<const nlohmann::json> body; // the result, or the error object; never null
  explicit operator bool() const { return error_type.empty(); }
  const nlohmann::json& operator*() const { return *body; }
  const nlohmann::json* operator->() const { return body.get(); }
};

using response_callback = std::function<void(const response&)>;

/// Makes the connection: asio_client::connect_unix with its path bound, or one end of a pair inside
/// the process.
using connector = std::function<result<net::connection_ptr>(net::connect_callback)>;

/// Callbacks run one at a time on the connection's thread: do not block in them, do not wait for an
/// answer there.
struct client_events {
  std::function<void(const nlohmann::json& frame)>
      on_event;                    // whole event frames of sessions that are not followed
  std::function<void()> on_closed; // once, and last; open requests were answered before
};

/// What `follow` asks for.
struct follow_request {
  std::string session_id;
  std::int64_t after_cursor = 0;
  bool messages = false; // the page items are messages instead of events
};

/// What a followed session tells, in this order: items, at most one live turn, ready, then frames.
/// Any may be empty.
struct follow_events {
  std::function<void(const nlohmann::json& item)>
      on_item; // a durable event (as in the frame's `event`), or a message
  std::function<void(const nlohmann::json& live_turn)> on_live_turn;
  std::function<void()> on_ready;
  std::function<void(const nlohmann::json& frame)> on_event;
  std::function<void(const response& error)>
      on_failed; // instead of ready; the session is not followed any more
};

class protocol_client {
public:
  /// Connects; `initialize` is the caller's first request.
  static result<std::unique_ptr<protocol_client>> open(const connector& connect,
                                                       client_events events);
  /// Closes and waits until no callback runs any more. Not from a callback.
  ~protocol_client();
  protocol_client(const protocol_client&) = delete;
  protocol_client& operator=(const protocol_client&) = delete;

  /// Sends a request and returns its id (for `session/cancel` with `request_id`). The callback is
  /// called exactly once; where the connection is closed already, before this returns.
  std::int64_t request(const std::string& method, const nlohmann::json& params,
                       response_callback on_response);
  std::future<response> request(const std::string& method, const nlohmann::json& params);
  /// Sends and waits. Not from a callback.
  response call(const std::string& method, const nlohmann::json& params,
                std::int64_t timeout_ms = 60'000);

  /// Subscribes to the session, replays it after the cursor, and goes on with its live events: each
  /// durable event once, in order.
  void follow(const follow_request& what, follow_events events);
  /// Its frames go to `client_events::on_event` again. Does not unsubscribe.
  void unfollow(const std::string& session_id);
  /// The newest durable event of a followed session that was told, or 0: where to follow from after
  /// a reconnect.
  std::int64_t followed_cursor(const std::string& session_id) const;

  bool is_open() const;
  /// Sends what waits and closes.
  void close();
  /// Closes at once, as a crash of this client would.
  void drop();

private:
  class state;
  explicit protocol_client(std::shared_ptr<state> shared);
  std::shared_ptr<state> state_;
};

} // namespace rind::hosts::client
