// A connection over a stream socket of any family. Knows Asio, so only the .cpp files of this
// folder include it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "runtime/net/byte_stream.hpp"
#include "runtime/net/connection_port.hpp"
#include "runtime/net/io_loop.hpp"

namespace rind::net {

class socket_connection;

/// The open connections of one loop. The set belongs to the loop's thread, the count may be read
/// anywhere.
struct connection_set {
  std::unordered_set<std::shared_ptr<socket_connection>> open;
  std::atomic<std::size_t> count = 0;
  std::function<void()> on_removed; // a place became free
  bool stopping = false;
};

/// All private members belong to the loop's thread; the public functions only post to it.
class socket_connection final : public connection,
                                public std::enable_shared_from_this<socket_connection> {
public:
  using socket = byte_stream::socket;
  /// Null: the peers agreed. Else why they did not; the connection is closed then.
  using agreed_callback = std::function<void(std::optional<failure>)>;

  /// `tls` null: the bytes go as they are.
  socket_connection(std::shared_ptr<io_loop> loop, std::shared_ptr<connection_set> set, socket bare,
                    tls_side_ptr tls = nullptr);

  void send(std::string bytes) override;
  void consumed(std::size_t bytes) override;
  void close_after_writes() override;
  void close_now() override;
  std::string peer() const override { return peer_; }

  // On the loop's thread only.
  /// Once, before the next two: agrees with the peer on TLS, where there is any, within the
  /// deadline. May call back before it returns.
  void agree(int deadline_ms, agreed_callback then);
  // One of the two, once.
  void start(connection_events events);
  void refuse(std::string final_line);
  /// On the loop's thread only.
  void close();
  /// Closes after that time; a close that is under way by then sets its own.
  void close_after(int delay_ms);

private:
  enum class phase : std::uint8_t { agreeing, open, closing, lingering, closed };

  void enter();
  void agreed(const byte_stream::error_code& error);
  void read();
  void take(std::size_t bytes);
  void end_of_input();
  void watch_for_hangup();
  bool hung_up();
  void enqueue(std::string bytes);
  void write();
  void begin_closing();
  void linger();

  std::shared_ptr<io_loop> loop_;
  std::shared_ptr<connection_set> set_;
  const std::string peer_;
  std::unique_ptr<byte_stream> stream_;
  boost::asio::steady_timer deadline_;
  connection_events events_;
  agreed_callback agreed_; // while agreeing
  phase phase_ = phase::open;
  bool reading_ = false;
  bool ended_ = false; // the peer sends no more
  std::string read_buffer_;
  std::size_t read_bytes_; // size of the next read
  std::size_t unconsumed_bytes_ = 0;
  std::deque<std::string> waiting_;
  std::vector<std::string> in_flight_; // one gathered write; empty: none
};

} // namespace rind::net
