// Listens on Unix sockets and holds the accepted connections, on one thread of its own. Who may
// stay is the callback's decision.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "messages/result.hpp"
#include "runtime/net/connection_port.hpp"

namespace rind::net {

/// How long accepting pauses where the system has no descriptor or memory to give; a connection
/// that closes ends the pause.
inline constexpr int accept_pause_ms = 200;

struct server_options {
  std::size_t connections_max =
      10'000; // open at once, over all listeners; more are refused without asking the callback
  std::string full_line; // the last line (with its newline) for one that is refused so
  /// Told once for each pause of accepting, and when a listener had to give up. On the server's
  /// thread. May be empty.
  std::function<void(const failure&)> on_problem;
};

class asio_server {
public:
  explicit asio_server(server_options options = {});
  /// Stops.
  ~asio_server();
  asio_server(const asio_server&) = delete;
  asio_server& operator=(const asio_server&) = delete;

  /// Listens on a Unix socket with mode 0600; failures as of bind_unix. Clients can connect when it
  /// returns.
  result<done> listen_unix(const std::string& path, accept_callback on_accept);
  /// Accepts no more and removes the sockets' files; open connections stay.
  void stop_listening();
  /// Stops listening, closes every connection at once (each `on_closed` has been called when it
  /// returns) and ends the thread. Not from a callback.
  void stop();

  std::size_t open_connections() const;

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace rind::net
