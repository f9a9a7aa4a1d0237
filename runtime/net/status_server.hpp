// A few pages over HTTP for whoever watches a host: GET and HEAD of fixed paths, one request a
// connection. On loopback anybody may ask; elsewhere over TLS, with a token.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/net/tcp_address.hpp"
#include "runtime/net/tls.hpp"

namespace rind::net {

inline constexpr std::size_t status_connections_max = 64;
inline constexpr std::size_t status_request_bytes_max = 16 * 1024;
/// From the connection to the end of the answer.
inline constexpr int status_lifetime_ms = 10'000;

struct status_page {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct status_options {
  /// The page of a path; status 404 for one that is none. Called on the server's thread: what it
  /// waits for keeps the other askers waiting.
  std::function<status_page(const std::string& path)> page;
  /// Whether this token lets in; empty: none is asked for.
  std::function<bool(const std::string& token)> lets_in;
};

class status_server {
public:
  explicit status_server(status_options options);
  /// Stops.
  ~status_server();
  status_server(const status_server&) = delete;
  status_server& operator=(const status_server&) = delete;

  /// Answers the port. `tls` null: none is spoken. Failures as of bind_tcp.
  result<std::uint16_t> listen(const tcp_address& address, tls_side_ptr tls);
  void renew_tls(tls_side_ptr tls);
  void stop();

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace rind::net
