// The listening socket is opened here and handed to nghttpx in the way in which it hands its own to
// its successor: no port has to be guessed, and a client that comes early waits in the queue.
#include "tests/contract/http2_front.hpp"

#include <cerrno>
#include <csignal>
#include <sstream>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/kit/running_host.hpp"

namespace rind::test {

namespace {

constexpr int waiting_connections_max = 128;
constexpr const char* from_the_path = "/usr/bin/env";

void check(bool worked, const char* what) {
  if (!worked)
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

http2_front::http2_front(std::uint16_t server_port) {
  listen_on_free_port();
  kit::program_options options;
  options.arguments = {"nghttpx",
                       "--conf=/dev/null",
                       "--single-process",
                       "--frontend=127.0.0.1," + std::to_string(port_),
                       "--backend=127.0.0.1," + std::to_string(server_port),
                       "--accesslog-file=" + folder_.file("access"),
                       "--accesslog-format=$protocol_version $remote_port $status",
                       "--accesslog-write-early", // before the client hears of it
                       "--errorlog-file=" + folder_.file("errors"),
                       tls_.key_file(),
                       tls_.certificate_file()};
  options.variables["NGHTTPX_ACCEPT_1"] = "tcp," + std::to_string(listener_);
  options.errors_file = folder_.file("errors");
  child_ = std::make_unique<kit::program>(from_the_path, options);
  ::close(listener_); // from here on it is the front's: should that end, clients are refused
  listener_ = -1;
}

http2_front::~http2_front() {
  if (listener_ >= 0)
    ::close(listener_);
}

/// Without SOCK_CLOEXEC: it is to be inherited.
void http2_front::listen_on_free_port() {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  check(listener_ >= 0, "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  check(::bind(listener_, plain, size) == 0, "bind");
  check(::listen(listener_, waiting_connections_max) == 0, "listen");
  check(::getsockname(listener_, plain, &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
}

std::vector<front_request> http2_front::stop() {
  child_->signal(SIGTERM);
  child_->wait();
  std::vector<front_request> seen;
  std::istringstream lines(kit::read_file(folder_.file("access")));
  for (front_request r; lines >> r.protocol >> r.client_port >> r.status;)
    seen.push_back(r);
  return seen;
}

std::string http2_front::complaints() const {
  return kit::read_file(folder_.file("errors"));
}

} // namespace rind::test
