// Connections that this process opens itself.
#include "runtime/net/asio_client.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/socket_connection.hpp"
#include "runtime/net/unix_path.hpp"

namespace rind::net {

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

result<connection_ptr> asio_client::adopt(int fd, connect_callback on_connect) {
  socket_connection::socket stream(state_->loop->context());
  boost::system::error_code error;
  stream.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), fd, error);
  if (error) {
    ::close(fd);
    return make_failure(error_code::unavailable, "no usable socket: " + error.message());
  }
  const auto made =
      std::make_shared<socket_connection>(state_->loop, state_->set, std::move(stream));
  if (!state_->loop->post(
          [made, callback = std::move(on_connect)] { made->start(callback(made)); }))
    return make_failure(error_code::unavailable, "the client has stopped");
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
