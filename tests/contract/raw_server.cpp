// Plain sockets, one connection after the other.
#include "tests/contract/raw_server.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rind::test {

namespace {

std::size_t announced_body_bytes(const std::string& head) {
  constexpr std::string_view name = "Content-Length: ";
  const auto at = head.find(name);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
}

/// The whole request is read: closing with unread bytes would reset the connection.
void answer_one(int connection, const std::string& answer) {
  std::string request;
  std::size_t wanted = std::string::npos;
  char byte = 0;
  while (request.size() < wanted && ::recv(connection, &byte, 1, 0) == 1) {
    request.push_back(byte);
    if (request.ends_with("\r\n\r\n") && wanted == std::string::npos)
      wanted = request.size() + announced_body_bytes(request);
  }
  ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  ::close(connection);
}

} // namespace

raw_server::raw_server(std::string answer) : answer_(std::move(answer)) {
  listen_on_free_port();
  thread_ = std::thread{[this] { serve(); }};
}

raw_server::raw_server(mute) {
  listen_on_free_port();
}

raw_server::~raw_server() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR); // wakes a thread that accepts
  if (thread_.joinable())
    thread_.join();
  ::close(listener_);
}

void raw_server::listen_on_free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, generic, &size) != 0)
    throw std::runtime_error{"raw_server: cannot listen"};
  port_ = ntohs(address.sin_port);
}

void raw_server::serve() {
  while (!stopping_) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0)
      answer_one(connection, answer_);
  }
}

} // namespace rind::test
