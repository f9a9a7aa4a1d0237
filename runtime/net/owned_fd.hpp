// A descriptor that is closed with its scope unless released.
#pragma once

#include <utility>

#include <unistd.h>

namespace rind::net {

class owned_fd {
public:
  explicit owned_fd(int fd) : fd_(fd) {}
  ~owned_fd() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  owned_fd(const owned_fd&) = delete;
  owned_fd& operator=(const owned_fd&) = delete;

  /// Below 0: none.
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

private:
  int fd_;
};

} // namespace rind::net
