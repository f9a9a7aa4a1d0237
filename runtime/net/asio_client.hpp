// Connects to servers: the other side of asio_server for our own programs and tests. All its
// connections share one thread.
#pragma once

#include <memory>
#include <string>

#include "messages/result.hpp"
#include "runtime/net/connection_port.hpp"
#include "runtime/net/tcp_address.hpp"
#include "runtime/net/tls.hpp"

namespace rind::net {

/// Answers what a new connection shall tell; called before anything is read, on the client's
/// thread.
using connect_callback = std::function<connection_events(connection_ptr)>;

class asio_client {
public:
  asio_client();
  /// Stops.
  ~asio_client();
  asio_client(const asio_client&) = delete;
  asio_client& operator=(const asio_client&) = delete;

  /// Connects to a Unix socket; waits at most connect_timeout_ms. Failures as of connect_unix_path,
  /// and unavailable after `stop`.
  result<connection_ptr> connect_unix(const std::string& path, connect_callback on_connect);
  /// Connects over TCP, and agrees on TLS where `tls` is given; waits at most connect_timeout_ms
  /// and tls_handshake_default_ms. The callback is called after that. Failures as of
  /// connect_tcp_address, and unavailable where TLS is not agreed on (it says why the server is not
  /// trusted) or after `stop`. Not from a callback.
  result<connection_ptr> connect_tcp(const tcp_address& address, tls_side_ptr tls,
                                     connect_callback on_connect);
  /// Takes a connected stream socket (one end of a socketpair) and owns it from here, also where it
  /// fails.
  result<connection_ptr> adopt(int fd, connect_callback on_connect);
  /// Closes every connection at once (each `on_closed` has been called when it returns) and ends
  /// the thread. Not from a callback.
  void stop();

private:
  result<connection_ptr> adopt(int fd, tls_side_ptr tls, connect_callback on_connect);

  struct state;
  std::shared_ptr<state> state_;
};

} // namespace rind::net
