// Connections as the rest of the program sees them: bytes in, bytes out, closed. Sockets, pipes and
// threads stand behind it; lines, JSON and sessions are left to others.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace rind::net {

/// Bytes that a connection reads ahead of what its owner has consumed. Past it, it stops reading
/// until `consumed` is called.
inline constexpr std::size_t read_ahead_limit_bytes = 256 * 1024;
/// Sends that may wait on one connection. Its owner keeps the true queue and sends one piece at a
/// time; one who does not is cut off.
inline constexpr std::size_t waiting_sends_max = 64;
/// How long `close_after_writes` waits for a peer that does not read.
inline constexpr int close_write_ms = 5'000;
/// How long a connection whose writes are done waits for the peer to close, so that the last bytes
/// are not lost by a reset.
inline constexpr int close_linger_ms = 500;

/// How long connecting may wait for a server that does not accept.
inline constexpr int connect_timeout_ms = 5'000;
/// Connections that wait for the server in the system.
inline constexpr int listen_backlog = 1'024;

/// What a connection tells its owner. Called on the thread of the connection, one at a time: do not
/// block in it, do not throw. The functions are released after `on_closed`; what they hold lives no
/// longer than that.
struct connection_events {
  /// Any number of bytes, at most 64 KiB, cut anywhere. They count against the read-ahead until
  /// `connection::consumed`.
  std::function<void(std::string bytes)> on_bytes;
  /// So many bytes of what was sent are with the operating system now; the sum of all calls is the
  /// sum of what was sent.
  std::function<void(std::size_t bytes)> on_written;
  /// The peer sends no more but may still read. May be empty: then the connection closes after its
  /// writes.
  std::function<void()> on_end;
  /// Exactly once, and last.
  std::function<void()> on_closed;
};

/// One connection. Every function may be called on any thread at any time, also after the
/// connection was closed or its server stopped (then it does nothing). None of them blocks or calls
/// back before it returns.
class connection {
public:
  virtual ~connection() = default;
  /// Writes the bytes whole and in order. Wait for `on_written` before the next: see
  /// waiting_sends_max.
  virtual void send(std::string bytes) = 0;
  /// So many bytes given to `on_bytes` are done with; reading goes on. To hold a peer back, call it
  /// later.
  virtual void consumed(std::size_t bytes) = 0;
  /// Reads no more, writes what waits, and closes; a peer that does not read is given up after
  /// close_write_ms.
  virtual void close_after_writes() = 0;
  /// Closes; what waits is lost.
  virtual void close_now() = 0;
  /// The other end for logs, "127.0.0.1 port 40000"; empty where it has no address.
  virtual std::string peer() const { return {}; }
};

using connection_ptr = std::shared_ptr<connection>;

/// The answer to a new connection that is not wanted: one last line (with its newline, or empty),
/// then it is closed.
struct refusal {
  std::string final_line;
};

/// Decides on a new connection, on the thread of the server. Nothing is read before it returns.
using accept_callback = std::function<std::variant<connection_events, refusal>(connection_ptr)>;

} // namespace rind::net
