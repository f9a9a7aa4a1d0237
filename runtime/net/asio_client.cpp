// Connections that this process opens itself.
#include "runtime/net/asio_client.hpp"

#include <future>
#include <optional>

#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/socket_connection.hpp"
#include "runtime/net/unix_path.hpp"

namespace rind::net {

namespace {

int family_of(int fd) {
  int family = AF_UNIX;
  socklen_t size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size); // refused: assigning it fails, too
  return family;
}

} // namespace

struct asio_client::state {
  std::shared_ptr<io_loop> loop = std::make_shared<io_loop>();
  std::shared_ptr<connection_set> set = std::make_shared<connection_set>();
};

asio_client::asio_client() : state_(std::make_shared<state>()) {}

asio_client::~asio_client() {
  stop();
}

result<connection_ptr> asio_client::connect_unix(const std::string& path,
                                                 connect_callback on_connect) {
  const auto fd = connect_unix_path(path);
  if (!fd)
    return fd.error();
  return adopt(*fd, std::move(on_connect));
}

result<connection_ptr> asio_client::connect_tcp(const tcp_address& address, tls_side_ptr tls,
                                                connect_callback on_connect) {
  const auto fd = connect_tcp_address(address);
  if (!fd)
    return fd.error();
  auto made = adopt(*fd, std::move(tls), std::move(on_connect));
  if (!made)
    return make_failure(made.error().code, to_string(address) + ": " + made.error().message);
  return made;
}

result<connection_ptr> asio_client::adopt(int fd, connect_callback on_connect) {
  return adopt(fd, nullptr, std::move(on_connect));
}

// Without TLS there is nothing to wait for, so that may be asked for from a callback, too.
result<connection_ptr> asio_client::adopt(int fd, tls_side_ptr tls, connect_callback on_connect) {
  socket_connection::socket bare(state_->loop->context());
  boost::system::error_code error;
  bare.assign(boost::asio::generic::stream_protocol(family_of(fd), 0), fd, error);
  if (error) {
    ::close(fd);
    return make_failure(error_code::unavailable, "no usable socket: " + error.message());
  }
  const bool waits = tls != nullptr;
  const auto made = std::make_shared<socket_connection>(state_->loop, state_->set, std::move(bare),
                                                        std::move(tls));
  const auto outcome = std::make_shared<std::promise<std::optional<failure>>>();
  const bool taken = state_->loop->post([made, outcome, callback = std::move(on_connect)] {
    made->agree(tls_handshake_default_ms, [made, outcome, callback](std::optional<failure> why) {
      if (!why)
        made->start(callback(made));
      outcome->set_value(std::move(why));
    });
  });
  if (!taken)
    return make_failure(error_code::unavailable, "the client has stopped");
  if (!waits)
    return connection_ptr(made);
  if (auto why = outcome->get_future().get())
    return *why;
  return connection_ptr(made);
}

void asio_client::stop() {
  state_->loop->finish([set = state_->set] {
    set->stopping = true;
    for (const auto open = set->open; const auto& one : open)
      one->close();
  });
}

} // namespace rind::net
