// Unix socket paths: making one to listen on without taking a live one away, and connecting to one.
// Blocking, and brief.
#pragma once

#include <string>

#include <sys/types.h>

#include "messages/result.hpp"

namespace rind::net {

/// A listening socket and the file that stands for it. The file is known by its numbers, so that a
/// later one is never removed.
struct bound_socket {
  int fd = -1;
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
};

/// Listens on the path, with mode 0600 from the start. A socket that nobody listens on is replaced.
/// Failures: invalid_request (too long, empty, or something that is no socket stands there: it is
/// not touched), unavailable (a live server has it, or the system refuses). The caller owns the
/// descriptor; it does not block and is closed on exec.
result<bound_socket> bind_unix(const std::string& path);

/// Removes the socket's file if it is still the one that was bound. Does not close the descriptor.
void remove_bound(const bound_socket& socket);

/// A connected, non-blocking descriptor that the caller owns. Failures: invalid_request (the path),
/// unavailable (nobody answers).
result<int> connect_unix_path(const std::string& path);

} // namespace rind::net
