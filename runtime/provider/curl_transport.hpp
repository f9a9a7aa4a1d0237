// The HTTP port over libcurl's multi interface, on a thread of its own. It carries requests and
// bytes and leaves every decision about them to its callers; it knows nothing of actors.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/provider/http_port.hpp"

namespace rind::provider {

/// Default bound on the requests of one transport that have not ended; further ones are refused
/// with `overloaded`.
inline constexpr std::size_t http_in_flight_max = 4096;

/// Default bound on the connections, those in use counted, up to which a connection is kept for
/// reuse when its response has ended; above it, it is closed.
inline constexpr std::size_t http_kept_connections_max = 1024;

struct curl_transport_options {
  std::size_t in_flight_max = http_in_flight_max;
  std::size_t kept_connections_max = http_kept_connections_max;
};

/// Owns one thread, which runs all transfers and calls all handlers. Connections are reused;
/// HTTP/2 is used where a server offers it under TLS. Neither signals nor a closed connection
/// (SIGPIPE) reach the process through that thread.
class curl_transport final : public http_transport {
public:
  explicit curl_transport(curl_transport_options options = {});
  curl_transport(const curl_transport&) = delete;
  curl_transport& operator=(const curl_transport&) = delete;
  /// As `stop`.
  ~curl_transport() override;

  void start(http_request request, std::shared_ptr<http_handler> handler) override;
  void cancel(http_request_id id) override;

  /// Ends all requests with `cancelled` and joins the thread. Later requests are refused with
  /// `cancelled`. Must not be called from a handler. A second call does nothing.
  void stop();

  /// Requests that have not ended yet.
  std::size_t in_flight() const;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

} // namespace rind::provider
