// The mock provider's server: HTTP or HTTPS on a socket, answers from a script. It carries bytes
// and waits; what is said is decided in script.hpp and in the formats. Its header names no Boost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hosts/mock_provider/script.hpp"
#include "messages/result.hpp"

namespace rind::hosts::mock_provider {

/// Bounds on what the server takes, in bytes.
inline constexpr std::size_t request_head_bytes_max = 256u << 10;
inline constexpr std::size_t request_body_bytes_max = 64u << 20;

/// Bounds on the requests kept for inspection; the oldest go first.
inline constexpr std::size_t kept_requests_max = 1024;
inline constexpr std::size_t kept_request_bytes_max = 64u << 20;

/// One request as it arrived.
struct recorded_request {
  std::uint64_t number = 0; ///< from 1, over the life of the server
  std::string method;
  std::string target;
  std::string conversation;
  /// Names in lower case. The value of `authorization` is never kept: it reads "(present)".
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::int64_t prompt_tokens = 0;
  /// The line of the rule that answered; 0: the default answer, or none.
  std::size_t rule_line = 0;
};

struct mock_server_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any free one
  /// PEM files; both or none. With them the server speaks HTTPS.
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::size_t threads = 1;
  script rules;
  /// For answers that set none of their own.
  std::optional<std::int64_t> window_tokens;
  std::optional<std::int64_t> reject_above_tokens;
  /// Sees every request that `requests` would list, before it is answered and has a number: for who
  /// needs more of them than are kept. Called on the server's threads, so it must not block.
  std::function<void(const recorded_request&)> on_request;
};

/// All functions may be called from any thread.
class mock_server {
public:
  explicit mock_server(mock_server_options options);
  mock_server(const mock_server&) = delete;
  mock_server& operator=(const mock_server&) = delete;
  /// As `stop`.
  ~mock_server();

  /// Listens and serves; the value is the port. Call it once. Fails with `unavailable` where the
  /// address is in use or a certificate cannot be read.
  result<std::uint16_t> start();

  /// Closes all connections and ends the threads. A second call does nothing.
  void stop();

  /// "http://127.0.0.1:PORT"; empty before `start`.
  std::string url() const;
  /// 0 before `start`.
  std::uint16_t port() const;

  /// Oldest first.
  std::vector<recorded_request> requests() const;

  /// Requests that have arrived over the life of the server.
  std::uint64_t request_count() const;

  std::size_t open_connections() const;

  /// Lets the streams go on that wait at this gate, and all that will come to it.
  void open_gate(const std::string& name);
  /// Streams that have come to a gate while it is closed.
  std::size_t waiting_at_gate(const std::string& name) const;

  /// Blocks until at least `count` streams have come to a gate that is closed; false after
  /// `timeout_ms`.
  bool wait_at_gate(const std::string& name, std::size_t count, std::int64_t timeout_ms) const;

  /// Blocks until at least `count` requests have arrived; false after `timeout_ms`.
  bool wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const;

  /// Blocks until at most `count` connections are open; false after `timeout_ms`.
  bool wait_for_connections(std::size_t count, std::int64_t timeout_ms) const;

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace rind::hosts::mock_provider
