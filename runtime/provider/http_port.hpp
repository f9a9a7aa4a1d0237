// The HTTP port: what a provider needs of an HTTP client, and nothing of how it is done. It leaves
// the meaning of status and body to codecs, and retries to the recovery machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rind::provider {

/// Chosen by the caller, unique among the requests in flight on one transport.
using http_request_id = std::uint64_t;

/// Default bounds on what a response may bring, in bytes.
inline constexpr std::size_t http_head_bytes_max = 64u << 10;
inline constexpr std::size_t http_body_bytes_max = 64u << 20;

enum class http_method { get, post };

struct http_header {
  std::string name;
  std::string value;

  friend bool operator==(const http_header&, const http_header&) = default;
};

/// Limits on waiting, in milliseconds; 0 turns one off. There are two clocks on a running
/// response: one that every byte resets, and one that only data resets (see `body_progress`), so
/// that keep-alive comments cannot hold a dead stream open.
struct http_timeouts {
  /// From the start until the request can be sent: name resolution, TCP, proxy and TLS.
  std::int64_t connect_ms = 0;
  /// From the last byte of the request that was sent until the head of the response is complete.
  std::int64_t first_byte_ms = 0;
  /// Between two bytes, once the head is there.
  std::int64_t idle_ms = 0;
  /// From the head until the first data.
  std::int64_t first_data_ms = 0;
  /// Between two pieces of data.
  std::int64_t data_idle_ms = 0;
  /// From the start to the end.
  std::int64_t total_ms = 0;
};

struct http_request {
  http_request_id id = 0;
  http_method method = http_method::post;
  /// http or https. Redirects are never followed: a key must not go to another place.
  std::string url;
  std::vector<http_header> headers;
  /// The bytes to send with `post`; null is an empty body. Shared, never copied.
  std::shared_ptr<const std::string> body;
  http_timeouts timeouts;
  /// Absent: as the environment says (`https_proxy` and so on). Empty: none.
  std::optional<std::string> proxy;
  /// Certificates to trust in PEM form instead of the system's; empty: the system's.
  std::string ca_file;
  /// Offer HTTP/2 in the TLS handshake.
  bool http2 = true;
  std::size_t head_bytes_max = http_head_bytes_max;
  std::size_t body_bytes_max = http_body_bytes_max;
};

enum class http_error {
  none,            ///< the response came to its formal end
  invalid_request, ///< the request cannot be sent as it is: URL, header, an id in use
  overloaded,      ///< too many requests are in flight on this transport
  connect_failed,  ///< no connection: name not found, refused, unreachable
  proxy,           ///< the proxy was not found or refused
  tls,             ///< no trusted secure connection, or a bad CA file
  timeout_connect,
  timeout_first_byte,
  timeout_idle,
  timeout_first_data,
  timeout_data_idle,
  timeout_total,
  partial,            ///< the connection broke before the response was complete
  protocol,           ///< what came is not HTTP
  too_large,          ///< head or body passed its bound
  stopped_by_handler, ///< the handler answered `body_progress::stop`
  cancelled,          ///< `cancel`, or the transport stopped
  internal,           ///< the client library failed in itself; the text says how
};

const char* to_string(http_error error) noexcept;

/// Whether the request ran into one of its `http_timeouts`.
bool is_timeout(http_error error) noexcept;

struct http_result {
  http_error error = http_error::none;
  /// For people and logs; empty on success. Holds no header and no body.
  std::string text;
};

/// What a handler says of a piece of the body.
enum class body_progress {
  data,       ///< it held data: both clocks start anew
  keep_alive, ///< it held nothing but signs of life: only the byte clock starts anew
  stop,       ///< enough: end the transfer
};

/// Takes one response. A transport calls it from one thread at a time, in the order
/// `on_head`, `on_body` (any number), `on_end`; `on_end` comes exactly once and last, the others
/// may be missing. It must be quick and must not throw. The transport drops its share in it after
/// `on_end`.
class http_handler {
public:
  virtual ~http_handler() = default;

  /// The final head (informational ones are skipped). Names are in lower case; repeated headers
  /// stay apart, in their order.
  virtual void on_head(int status, const std::vector<http_header>& headers) noexcept = 0;

  /// The next bytes of the body; they live only for the call.
  virtual body_progress on_body(std::string_view bytes) noexcept = 0;

  virtual void on_end(const http_result& result) noexcept = 0;
};

/// Runs requests. All functions may be called from any thread, also from a handler.
class http_transport {
public:
  virtual ~http_transport() = default;

  /// Begins a request and returns at once. What becomes of it is told to the handler alone, on the
  /// transport's thread; only a refusal at the door (stopped, overloaded, an id in use) calls
  /// `on_end` on the caller's thread before this returns.
  virtual void start(http_request request, std::shared_ptr<http_handler> handler) = 0;

  /// Ends a request and closes its transfer; its handler gets `on_end(cancelled)` unless it has
  /// ended by then. An unknown id is ignored.
  virtual void cancel(http_request_id id) = 0;
};

} // namespace rind::provider
