// A pair of descriptors, such as standard input and output, as one connection with a thread of its
// own. Works on what Asio cannot watch (files) and changes no flag of a descriptor that other
// processes share (terminals).
#pragma once

#include <memory>

#include "messages/result.hpp"
#include "runtime/net/asio_client.hpp"

namespace rind::net {

class stdio_server {
public:
  stdio_server();
  /// Stops.
  ~stdio_server();
  stdio_server(const stdio_server&) = delete;
  stdio_server& operator=(const stdio_server&) = delete;

  /// Serves one connection; call it once. The descriptors (pipes, files, terminals, sockets; both
  /// may be the same) stay the caller's and are never closed: "closed" means that they are not
  /// touched any more. `on_end` tells the end of the input. The callback runs on the new thread.
  /// Failure: unavailable (the system has no descriptor to give).
  result<connection_ptr> open(int in_fd, int out_fd, connect_callback on_connect);
  /// Closes at once (`on_closed` has been called when it returns) and ends the thread. Not from a
  /// callback.
  void stop();

private:
  class channel;
  std::shared_ptr<channel> channel_;
};

} // namespace rind::net
