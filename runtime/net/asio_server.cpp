// Listeners: accept, ask the callback, and survive a system that has nothing left to give.
#include "runtime/net/asio_server.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/socket_connection.hpp"
#include "runtime/net/unix_path.hpp"

namespace rind::net {

namespace {

using protocol = boost::asio::generic::stream_protocol;
using boost::system::error_code;

bool is_shortage(const error_code& error) {
  namespace errc = boost::system::errc;
  return error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
         error == errc::no_buffer_space || error == errc::not_enough_memory;
}

bool is_of_one_peer(const error_code& error) {
  namespace errc = boost::system::errc;
  return error == errc::connection_aborted || error == errc::interrupted ||
         error == errc::protocol_error || error == errc::connection_reset ||
         error == errc::operation_would_block;
}

} // namespace

/// A socket to listen on, and what stands for it.
struct asio_server::listening {
  int fd = -1; // the listener's to close
  int family = AF_UNIX;
  std::string name;
  tls_side_ptr tls; // null: none is spoken
  std::function<void()> on_close;
};

/// One listening socket; everything but construction happens on the loop's thread.
class asio_server::listener : public std::enable_shared_from_this<listener> {
public:
  listener(std::shared_ptr<io_loop> loop, std::shared_ptr<connection_set> set,
           const server_options& options, listening bound, accept_callback on_accept)
      : loop_(std::move(loop)),
        set_(std::move(set)),
        options_(options),
        bound_(std::move(bound)),
        on_accept_(std::move(on_accept)),
        acceptor_(loop_->context()),
        pause_(loop_->context()) {}

  /// Takes the descriptor over.
  error_code open() {
    error_code error;
    acceptor_.assign(protocol(bound_.family, 0), bound_.fd, error);
    return error;
  }

  void renew_tls(const tls_side_ptr& tls) {
    if (bound_.tls)
      bound_.tls = tls;
  }

  void accept() {
    acceptor_.async_accept(
        [self = shared_from_this()](const error_code& error, protocol::socket stream) {
          if (!self->acceptor_.is_open())
            return;
          if (!error)
            self->admit(std::move(stream));
          else if (is_shortage(error))
            return self->pause(error);
          else if (!is_of_one_peer(error))
            return self->give_up(error);
          self->accept();
        });
  }

  void wake() { pause_.cancel(); }

  void close() {
    if (const auto last = std::exchange(bound_.on_close, nullptr))
      last();
    error_code ignored; // closed either way
    acceptor_.close(ignored);
    pause_.cancel();
    on_accept_ = nullptr;
  }

private:
  void admit(protocol::socket stream) {
    const auto taken = set_->open.size();
    if (taken >= options_.connections_max + refusals_at_once_max)
      return;
    const bool full = taken >= options_.connections_max;
    const auto made =
        std::make_shared<socket_connection>(loop_, set_, std::move(stream), bound_.tls);
    made->agree(options_.tls_handshake_ms,
                [self = shared_from_this(), made, full](const std::optional<failure>& why) {
                  if (why)
                    self->report(made->peer() + " is refused: " + why->message);
                  else if (full)
                    made->refuse(self->options_.full_line);
                  else
                    self->decide(made);
                });
  }

  void decide(const std::shared_ptr<socket_connection>& made) {
    if (!on_accept_)
      return made->close(); // nobody listens any more
    auto decision = on_accept_(made);
    if (auto* events = std::get_if<connection_events>(&decision)) {
      made->start(std::move(*events));
      if (options_.lifetime_ms > 0)
        made->close_after(options_.lifetime_ms);
    } else {
      made->refuse(std::move(std::get<refusal>(decision).final_line));
    }
  }

  void pause(const error_code& error) {
    report("accepting pauses: " + error.message());
    pause_.expires_after(std::chrono::milliseconds(accept_pause_ms));
    pause_.async_wait([self = shared_from_this()](const error_code&) {
      if (self->acceptor_.is_open())
        self->accept();
    });
  }

  void give_up(const error_code& error) {
    report("no longer listening: " + error.message());
    close();
  }

  void report(const std::string& what) {
    if (options_.on_problem)
      options_.on_problem(make_failure(rind::error_code::unavailable, bound_.name + ": " + what));
  }

  std::shared_ptr<io_loop> loop_;
  std::shared_ptr<connection_set> set_;
  const server_options& options_;
  listening bound_;
  accept_callback on_accept_;
  boost::asio::basic_socket_acceptor<protocol> acceptor_;
  boost::asio::steady_timer pause_;
};

struct asio_server::state {
  server_options options;
  std::shared_ptr<io_loop> loop = std::make_shared<io_loop>();
  std::shared_ptr<connection_set> set = std::make_shared<connection_set>();
  std::vector<std::shared_ptr<listener>> listeners; // the loop's thread

  void close_listeners() {
    for (const auto& one : listeners)
      one->close();
    listeners.clear();
  }

  void close_all() {
    set->stopping = true;
    close_listeners();
    for (const auto open = set->open; const auto& one : open)
      one->close();
  }
};

asio_server::asio_server(server_options options) : state_(std::make_shared<state>()) {
  state_->options = std::move(options);
  state_->set->on_removed = [state = state_.get()] {
    for (const auto& one : state->listeners)
      one->wake();
  };
}

asio_server::~asio_server() {
  stop();
}

result<done> asio_server::listen_unix(const std::string& path, accept_callback on_accept) {
  const auto bound = bind_unix(path);
  if (!bound)
    return bound.error();
  return listen(
      {bound->fd, AF_UNIX, "socket " + path, nullptr, [socket = *bound] { remove_bound(socket); }},
      std::move(on_accept));
}

result<std::uint16_t> asio_server::listen_tcp(const tcp_address& address, tls_side_ptr tls,
                                              accept_callback on_accept) {
  const auto bound = bind_tcp(address);
  if (!bound)
    return bound.error();
  const auto name = to_string(tcp_address{address.host, bound->port});
  if (auto heard =
          listen({bound->fd, bound->family, name, std::move(tls), nullptr}, std::move(on_accept));
      !heard)
    return heard.error();
  return bound->port;
}

result<done> asio_server::listen(listening socket, accept_callback on_accept) {
  const auto name = socket.name;
  const auto fd = socket.fd;
  const auto made = std::make_shared<listener>(state_->loop, state_->set, state_->options,
                                               std::move(socket), std::move(on_accept));
  if (const auto error = made->open()) {
    made->close();
    ::close(fd);
    return make_failure(rind::error_code::unavailable, name + ": " + error.message());
  }
  const bool taken = state_->loop->post([state = state_, made] {
    state->listeners.push_back(made);
    made->accept();
  });
  if (taken)
    return done{};
  made->close();
  return make_failure(rind::error_code::server_stopping, name + ": the server has stopped");
}

void asio_server::renew_tls(tls_side_ptr tls) {
  state_->loop->post([state = state_, tls = std::move(tls)] {
    for (const auto& one : state->listeners)
      one->renew_tls(tls);
  });
}

void asio_server::stop_listening() {
  state_->loop->post([state = state_] { state->close_listeners(); });
}

void asio_server::stop() {
  state_->loop->finish([state = state_] { state->close_all(); });
}

std::size_t asio_server::open_connections() const {
  return state_->set->count;
}

} // namespace rind::net
