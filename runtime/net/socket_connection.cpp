// Reading with a bounded read-ahead, gathered writing, and the ways in which a connection ends.
#include "runtime/net/socket_connection.hpp"

#include <algorithm>
#include <chrono>

#include <boost/asio/error.hpp>
#include <poll.h>

#include "runtime/net/tcp_address.hpp"

namespace rind::net {

namespace {

// A read starts small, so that thousands of idle connections cost little, and grows while a peer
// sends much.
constexpr std::size_t read_min_bytes = 4 * 1024;
constexpr std::size_t read_max_bytes = 64 * 1024;
constexpr std::size_t gathered_writes_max = 16;

using boost::system::error_code;

failure no_tls(const std::string& why) {
  return make_failure(rind::error_code::unavailable, "TLS was not agreed on: " + why);
}

} // namespace

socket_connection::socket_connection(std::shared_ptr<io_loop> loop,
                                     std::shared_ptr<connection_set> set, socket bare,
                                     tls_side_ptr tls)
    : loop_(std::move(loop)),
      set_(std::move(set)),
      peer_(address_of_peer(bare.native_handle())),
      stream_(make_byte_stream(std::move(bare), std::move(tls))),
      deadline_(loop_->context()),
      read_bytes_(read_min_bytes) {}

void socket_connection::send(std::string bytes) {
  loop_->post([self = shared_from_this(), text = std::move(bytes)]() mutable {
    self->enqueue(std::move(text));
  });
}

void socket_connection::consumed(std::size_t bytes) {
  loop_->post([self = shared_from_this(), bytes] {
    self->unconsumed_bytes_ -= std::min(bytes, self->unconsumed_bytes_);
    self->read();
  });
}

void socket_connection::close_after_writes() {
  loop_->post([self = shared_from_this()] { self->begin_closing(); });
}

void socket_connection::close_now() {
  loop_->post([self = shared_from_this()] { self->close(); });
}

void socket_connection::enter() {
  set_->open.insert(shared_from_this());
  set_->count = set_->open.size();
}

void socket_connection::agree(int deadline_ms, agreed_callback then) {
  if (!stream_->needs_handshake())
    return then(std::nullopt);
  agreed_ = std::move(then);
  phase_ = phase::agreeing;
  enter();
  if (set_->stopping)
    return close();
  deadline_.expires_after(std::chrono::milliseconds(deadline_ms));
  deadline_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error)
      self->agreed(boost::asio::error::timed_out);
  });
  stream_->handshake([self = shared_from_this()](const error_code& error) { self->agreed(error); });
}

void socket_connection::agreed(const error_code& error) {
  if (phase_ != phase::agreeing)
    return; // closed, which has told so
  deadline_.cancel();
  const auto then = std::exchange(agreed_, nullptr);
  if (error) {
    close();
    return then(no_tls(error.message()));
  }
  phase_ = phase::open;
  then(std::nullopt);
}

void socket_connection::start(connection_events events) {
  events_ = std::move(events);
  enter();
  if (set_->stopping)
    return close();
  read();
}

void socket_connection::refuse(std::string final_line) {
  enter();
  if (set_->stopping)
    return close();
  if (!final_line.empty())
    enqueue(std::move(final_line));
  begin_closing();
}

void socket_connection::read() {
  const bool held_back = phase_ == phase::open && unconsumed_bytes_ >= read_ahead_limit_bytes;
  if (reading_ || ended_ || held_back || phase_ == phase::closed)
    return;
  reading_ = true;
  read_buffer_.resize(read_bytes_);
  stream_->read(boost::asio::buffer(read_buffer_),
                [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                  self->reading_ = false;
                  if (self->phase_ == phase::closed)
                    return;
                  if (error == boost::asio::error::eof)
                    self->end_of_input();
                  else if (error)
                    self->close();
                  else
                    self->take(bytes);
                });
}

void socket_connection::take(std::size_t bytes) {
  if (bytes == read_bytes_)
    read_bytes_ = std::min(read_bytes_ * 2, read_max_bytes);
  else if (bytes < read_bytes_ / 4)
    read_bytes_ = std::max(read_bytes_ / 2, read_min_bytes);
  if (phase_ == phase::open) {
    unconsumed_bytes_ += bytes;
    if (events_.on_bytes)
      events_.on_bytes(read_buffer_.substr(0, bytes));
  }
  read_buffer_.resize(std::min(read_buffer_.size(), read_bytes_));
  read_buffer_.shrink_to_fit();
  read();
}

void socket_connection::end_of_input() {
  ended_ = true;
  if (phase_ == phase::lingering)
    return close();
  if (phase_ == phase::closing)
    return;
  // Registered first and looked at second, so that a hang-up in between is not missed.
  watch_for_hangup();
  if (hung_up())
    return close();
  if (events_.on_end)
    events_.on_end();
  else
    begin_closing();
}

void socket_connection::watch_for_hangup() {
  stream_->bare().async_wait(socket::wait_error,
                             [self = shared_from_this()](const error_code& error) {
                               if (!error && self->phase_ == phase::open && self->hung_up())
                                 self->close();
                             });
}

bool socket_connection::hung_up() {
  pollfd state{stream_->bare().native_handle(), 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

void socket_connection::enqueue(std::string bytes) {
  if (phase_ != phase::open)
    return;
  if (waiting_.size() >= waiting_sends_max)
    return close();
  waiting_.push_back(std::move(bytes));
  write();
}

void socket_connection::write() {
  if (!in_flight_.empty() || waiting_.empty())
    return;
  const auto count = std::min(waiting_.size(), gathered_writes_max);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  in_flight_.assign(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  std::vector<boost::asio::const_buffer> parts;
  parts.reserve(count);
  for (const auto& piece : in_flight_)
    parts.push_back(boost::asio::buffer(piece));
  stream_->write(parts, [self = shared_from_this()](const error_code& error, std::size_t bytes) {
    self->in_flight_.clear();
    if (self->phase_ == phase::closed)
      return;
    if (error)
      return self->close();
    if (self->events_.on_written)
      self->events_.on_written(bytes);
    self->write();
    if (self->phase_ == phase::closing && self->in_flight_.empty())
      self->linger();
  });
}

void socket_connection::begin_closing() {
  if (phase_ != phase::open)
    return;
  phase_ = phase::closing;
  if (in_flight_.empty())
    return linger();
  close_after(close_write_ms);
  read();
}

void socket_connection::linger() {
  phase_ = phase::lingering;
  stream_->end_writing();
  if (ended_)
    return close();
  close_after(close_linger_ms);
  read();
}

void socket_connection::close_after(int delay_ms) {
  deadline_.expires_after(std::chrono::milliseconds(delay_ms));
  deadline_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error)
      self->close();
  });
}

void socket_connection::close() {
  if (phase_ == phase::closed)
    return;
  phase_ = phase::closed;
  deadline_.cancel();
  stream_->close();
  waiting_.clear();
  const auto self = shared_from_this(); // the set may hold the last reference
  set_->open.erase(self);
  set_->count = set_->open.size();
  const auto events = std::exchange(events_, {});
  if (events.on_closed)
    events.on_closed();
  if (const auto then = std::exchange(agreed_, nullptr))
    then(no_tls("the connection was closed"));
  if (set_->on_removed)
    set_->on_removed();
}

} // namespace rind::net
