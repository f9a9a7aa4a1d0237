// nghttpx before a server that speaks HTTP/1.1: it brings TLS and HTTP/2, and writes down what it
// saw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/contract/self_signed.hpp"
#include "tests/kit/program.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::test {

/// A request as the front saw it.
struct front_request {
  std::string protocol;    // "HTTP/2"
  std::string client_port; // one a connection
  std::string status;
};

class http2_front {
public:
  /// Before the server at this port of 127.0.0.1. Throws where it cannot be started.
  explicit http2_front(std::uint16_t server_port);
  http2_front(const http2_front&) = delete;
  http2_front& operator=(const http2_front&) = delete;
  ~http2_front();

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  std::string certificate_file() const { return tls_.certificate_file(); }

  /// Ends the front and tells what it saw.
  std::vector<front_request> stop();
  /// What it said of trouble.
  std::string complaints() const;

private:
  void listen_on_free_port();

  self_signed tls_;
  kit::temp_folder folder_;
  int listener_ = -1; // open before the front starts, so that nobody has to wait for it
  std::uint16_t port_ = 0;
  std::unique_ptr<kit::program> child_;
};

} // namespace rind::test
