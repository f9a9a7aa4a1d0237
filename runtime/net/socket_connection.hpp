// A connection over a stream socket of any family. Knows Asio, so only the .cpp files of this
// folder include it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

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
  using socket = boost::asio::generic::stream_protocol::socket;

  socket_connection(std::shared_ptr<io_loop> loop, std::shared_ptr<connection_set> set,
                    socket stream);

  void send(std::string bytes) override;
  void consumed(std::size_t bytes) override;
  void close_after_writes() override;
  void close_now() override;

  // On the loop's thread only; one of the two, once.
  void start(connection_events events);
  void refuse(std::string final_line);
  /// On the loop's thread only.
  void close();

private:
  enum class phase : std::uint8_t { open, closing, lingering, closed };

  void enter();
  void read();
  void take(std::size_t bytes);
  void end_of_input();
  void watch_for_hangup();
  bool hung_up();
  void enqueue(std::string bytes);
  void write();
  void begin_closing();
  void linger();
  void close_after(int delay_ms);

  std::shared_ptr<io_loop> loop_;
  std::shared_ptr<connection_set> set_;
  socket stream_;
  boost::asio::steady_timer deadline_;
  connection_events events_;
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
