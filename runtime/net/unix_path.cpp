// Binding under a lock of the folder: who finds a stale socket removes it and binds before another
// one may look.
#include "runtime/net/unix_path.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/net/connection_port.hpp"
#include "runtime/net/owned_fd.hpp"

namespace rind::net {

namespace {

constexpr mode_t socket_mode = 0600;
constexpr int folder_lock_tries = 100;
constexpr auto folder_lock_wait = std::chrono::milliseconds(10);

failure unavailable(const std::string& path, const std::string& what, int error) {
  return make_failure(error_code::unavailable,
                      "socket " + path + ": " + what + ": " + std::strerror(error));
}

failure bad_path(const std::string& path, const std::string& what) {
  return make_failure(error_code::invalid_request, "socket path '" + path + "' " + what);
}

result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr auto limit_bytes = sizeof(address.sun_path) - 1;
  if (path.empty() || path.find('\0') != std::string::npos)
    return bad_path(path, "is empty or holds a zero byte");
  if (path.size() > limit_bytes)
    return bad_path(path, "is too long: " + std::to_string(path.size()) +
                              " bytes, the system allows " + std::to_string(limit_bytes));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_to(int fd, const sockaddr_un& address) {
  int outcome = 0;
  do
    outcome = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  while (outcome != 0 && errno == EINTR);
  return outcome == 0 ? 0 : errno;
}

/// Removes a stale socket; anything else that stands at the path is a failure.
result<done> clear_path(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? result<done>(done{}) : unavailable(path, "cannot look at it", errno);
  if (!S_ISSOCK(found.st_mode))
    return bad_path(path, "is taken by a file that is no socket; it was left as it is");
  const owned_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0)
    return unavailable(path, "no socket", errno);
  const int error = connect_to(probe.get(), address);
  if (error == 0 || error == EAGAIN)
    return make_failure(error_code::unavailable,
                        "socket " + path + " is in use: a server listens on it");
  if (error == ENOENT)
    return done{};
  if (error != ECONNREFUSED)
    return unavailable(path, "cannot tell whether a server listens on it", error);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return unavailable(path, "cannot replace the stale socket", errno);
  return done{};
}

/// Locks the folder of the path, so that two servers that start at once cannot take each other's
/// socket away. The wait is short: the lock is held for a few system calls.
result<int> lock_folder(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  owned_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0)
    return unavailable(path, "cannot open its folder", errno);
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == folder_lock_tries || (errno != EWOULDBLOCK && errno != EINTR))
      return unavailable(path, "cannot lock its folder", errno);
    std::this_thread::sleep_for(folder_lock_wait);
  }
  return fd.release();
}

} // namespace

result<bound_socket> bind_unix(const std::string& path) {
  const auto address = address_of(path);
  if (!address)
    return address.error();
  const auto lock = lock_folder(path);
  if (!lock)
    return lock.error();
  const owned_fd folder(*lock);
  if (const auto cleared = clear_path(path, *address); !cleared)
    return cleared.error();
  owned_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0)
    return unavailable(path, "no socket", errno);
  // The file takes its mode from the descriptor; where a system does not do so, chmod follows
  // before anybody can connect, for that needs listen.
  if (::fchmod(fd.get(), socket_mode) != 0)
    return unavailable(path, "cannot set the mode", errno);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return unavailable(path, "cannot bind", errno);
  bound_socket bound{-1, path, 0, 0};
  struct stat made {};
  if (::chmod(path.c_str(), socket_mode) != 0 || ::lstat(path.c_str(), &made) != 0)
    return unavailable(path, "cannot set the mode", errno);
  bound.device = made.st_dev;
  bound.inode = made.st_ino;
  if (::listen(fd.get(), listen_backlog) != 0) {
    const int error = errno;
    remove_bound(bound);
    return unavailable(path, "cannot listen", error);
  }
  bound.fd = fd.release();
  return bound;
}

void remove_bound(const bound_socket& socket) {
  struct stat found {};
  if (::lstat(socket.path.c_str(), &found) == 0 && found.st_dev == socket.device &&
      found.st_ino == socket.inode)
    ::unlink(socket.path.c_str());
}

result<int> connect_unix_path(const std::string& path) {
  const auto address = address_of(path);
  if (!address)
    return address.error();
  owned_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0)
    return unavailable(path, "no socket", errno);
  // For this family the send timeout bounds connect, too.
  const timeval timeout{connect_timeout_ms / 1000, connect_timeout_ms % 1000 * 1000};
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0)
    return unavailable(path, "cannot set a timeout", errno);
  if (const int error = connect_to(fd.get(), *address); error != 0)
    return unavailable(path, "cannot connect", error);
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0)
    return unavailable(path, "cannot make it non-blocking", errno);
  return fd.release();
}

} // namespace rind::net
