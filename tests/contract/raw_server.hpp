// A server that says bytes as they are: for answers that no HTTP library would give.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace rind::test {

/// Listens on a free port of 127.0.0.1. Each connection gets `answer` once a whole request has
/// come, and is closed. With `mute` it accepts nothing: a client connects and hears nothing.
class raw_server {
public:
  explicit raw_server(std::string answer);
  struct mute {};
  explicit raw_server(mute);
  raw_server(const raw_server&) = delete;
  raw_server& operator=(const raw_server&) = delete;
  ~raw_server();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
  void listen_on_free_port();
  void serve();

  std::string answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace rind::test
