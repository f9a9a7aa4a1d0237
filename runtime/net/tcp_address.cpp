// Names are looked up by the system; of several addresses the first that works is taken.
#include "runtime/net/tcp_address.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/connection_port.hpp"
#include "runtime/net/owned_fd.hpp"

namespace rind::net {

namespace {

using found_addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

failure refused(const tcp_address& address, const std::string& why) {
  return make_failure(error_code::unavailable, to_string(address) + ": " + why);
}

result<found_addresses> look_up(const tcp_address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0)
    return make_failure(error_code::invalid_request,
                        to_string(address) + ": no such host (" + ::gai_strerror(error) + ")");
  return found_addresses(found, &::freeaddrinfo);
}

// After how long a peer that fell silent is asked whether it is there, and when it is given up.
constexpr int keep_alive_idle_s = 60;
constexpr int keep_alive_interval_s = 10;
constexpr int keep_alive_tries = 3;
constexpr int unacknowledged_max_ms = 30'000;

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value); // where it is refused, it was a wish
}

/// Small frames leave at once, and a machine that went away without a word is noticed.
void tune(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_idle_s);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive_interval_s);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, keep_alive_tries);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_max_ms);
}

int bind_one(const addrinfo& one) {
  owned_fd fd(::socket(one.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), one.ai_addr, one.ai_addrlen) != 0 || ::listen(fd.get(), listen_backlog) != 0)
    return -1;
  tune(fd.get()); // accepted sockets inherit it
  return fd.release();
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return 0;
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(storage).sin_port);
}

using clock = std::chrono::steady_clock;

/// The error of connecting, 0 for none.
int wait_connected(int fd, clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd state{fd, POLLOUT, 0};
    const int ready = ::poll(&state, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0)
      return ETIMEDOUT;
    if (ready < 0 && errno != EINTR)
      return errno;
    if (ready > 0)
      break;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

} // namespace

result<tcp_address> read_tcp_address(const std::string& text) {
  const auto faulty = make_failure(error_code::invalid_request,
                                   "`" + text + "` is no address: host:port or [address]:port");
  const auto colon = text.rfind(':');
  if (colon == std::string::npos)
    return faulty;
  tcp_address out;
  out.host = text.substr(0, colon);
  const bool bracketed = out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']';
  if (bracketed)
    out.host = out.host.substr(1, out.host.size() - 2);
  else if (out.host.find(':') != std::string::npos)
    return faulty;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, out.port);
  if (out.host.empty() || out.host.find_first_of(" \t\r\n[]") != std::string::npos ||
      read.ec != std::errc() || read.ptr != end)
    return faulty;
  return out;
}

std::string to_string(const tcp_address& address) {
  const bool six = address.host.find(':') != std::string::npos;
  return (six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool is_loopback(const tcp_address& address) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, address.host.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24) == IN_LOOPBACKNET;
  if (::inet_pton(AF_INET6, address.host.c_str(), &six) == 1)
    return IN6_IS_ADDR_LOOPBACK(&six);
  return address.host == "localhost";
}

result<bound_tcp> bind_tcp(const tcp_address& address) {
  const auto found = look_up(address, AI_PASSIVE);
  if (!found)
    return found.error();
  int error = 0;
  for (const auto* one = found->get(); one != nullptr; one = one->ai_next) {
    if (const int fd = bind_one(*one); fd >= 0)
      return bound_tcp{fd, one->ai_family, port_of(fd)};
    error = errno;
  }
  return refused(address, std::strerror(error));
}

std::string address_of_peer(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(fd, address, &size) != 0 || storage.ss_family == AF_UNIX ||
      ::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return std::string(host.data()) + " port " + port.data();
}

result<int> connect_tcp_address(const tcp_address& address) {
  const auto found = look_up(address, 0);
  if (!found)
    return found.error();
  const auto deadline = clock::now() + std::chrono::milliseconds(connect_timeout_ms);
  int error = 0;
  for (const auto* one = found->get(); one != nullptr; one = one->ai_next) {
    owned_fd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = fd.get() < 0 ? errno : 0;
    if (error == 0 && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) != 0)
      error = errno == EINPROGRESS ? wait_connected(fd.get(), deadline) : errno;
    if (error != 0)
      continue;
    tune(fd.get());
    return fd.release();
  }
  return refused(address, std::strerror(error));
}

} // namespace rind::net
