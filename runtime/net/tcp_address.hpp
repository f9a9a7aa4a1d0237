// Addresses of TCP servers as people write them, and sockets for them. Blocking, and brief but for
// connecting, which has a deadline.
#pragma once

#include <cstdint>
#include <string>

#include "messages/result.hpp"

namespace rind::net {

struct tcp_address {
  std::string host; // a name or an address, without brackets
  std::uint16_t port = 0;
};

/// "host:port", "127.0.0.1:7700" or "[::1]:7700". Fails with invalid_request.
result<tcp_address> read_tcp_address(const std::string& text);
std::string to_string(const tcp_address& address);

/// Whether only this machine can reach it: 127.0.0.0/8, ::1, or the name localhost.
bool is_loopback(const tcp_address& address);

struct bound_tcp {
  int fd = -1;    // listening, does not block, closed on exec; the caller owns it
  int family = 0; // AF_INET or AF_INET6
  std::uint16_t port = 0;
};

/// Listens. The port 0 takes any free one. Failures: invalid_request (no such host), unavailable
/// (the port is in use, or the system refuses).
result<bound_tcp> bind_tcp(const tcp_address& address);

/// The other end of a connected socket, "127.0.0.1 port 40000"; empty where it has no such address.
std::string address_of_peer(int fd);

/// A connected, non-blocking descriptor that the caller owns, after at most connect_timeout_ms.
/// Tries every address of the host in turn. Failures: invalid_request (no such host), unavailable.
result<int> connect_tcp_address(const tcp_address& address);

} // namespace rind::net
