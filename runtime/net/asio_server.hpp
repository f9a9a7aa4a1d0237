// Listens on Unix sockets and TCP and holds the accepted connections, on one thread of its own. Who
// may stay is the callback's decision.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "messages/result.hpp"
#include "runtime/net/connection_port.hpp"
#include "runtime/net/tcp_address.hpp"
#include "runtime/net/tls.hpp"

namespace rind::net {

/// How long accepting pauses where the system has no descriptor or memory to give; a connection
/// that closes ends the pause.
inline constexpr int accept_pause_ms = 200;

/// Connections that may be on their way out with a last line while the server is full; one more is
/// closed without a word.
inline constexpr std::size_t refusals_at_once_max = 64;

struct server_options {
  std::size_t connections_max =
      10'000; // open at once, over all listeners; more are refused without asking the callback
  std::string full_line; // the last line (with its newline) for one that is refused so
  /// Told once for each pause of accepting, when a listener had to give up, and once for each peer
  /// that TLS was not agreed on with. On the server's thread. May be empty.
  std::function<void(const failure&)> on_problem;
  int lifetime_ms = 0; // after which a connection is closed, whatever it does; 0: none
  int tls_handshake_ms = tls_handshake_default_ms; // for a peer to agree on TLS
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
  /// Listens on a TCP address and answers the port; failures as of bind_tcp. With `tls` the
  /// callback is asked once a peer has agreed on it.
  result<std::uint16_t> listen_tcp(const tcp_address& address, tls_side_ptr tls,
                                   accept_callback on_accept);
  /// What TLS listeners show to new connections from here on.
  void renew_tls(tls_side_ptr tls);
  /// Accepts no more and removes the sockets' files; open connections stay.
  void stop_listening();
  /// Stops listening, closes every connection at once (each `on_closed` has been called when it
  /// returns) and ends the thread. Not from a callback.
  void stop();

  std::size_t open_connections() const;

private:
  class listener;
  struct listening;
  struct state;
  result<done> listen(listening socket, accept_callback on_accept);

  std::shared_ptr<state> state_;
};

} // namespace rind::net
