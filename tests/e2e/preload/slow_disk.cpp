// A disk that takes its time, for tests that kill a program in the middle of a commit: preloaded
// into the program under test, it holds back the first write to a write-ahead log after a sync, and
// each sync, for SLOW_DISK_US microseconds. Between a commit's begin and its end there is then
// always a gap wide enough to be hit.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int files_max = 1024; // descriptors above are not slowed down

std::array<std::atomic<bool>, files_max> written_since_sync;

bool is_log(int fd) {
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const auto length = ::readlink(link.data(), path.data(), path.size() - 1);
  return length > 4 && std::strcmp(path.data() + length - 4, "-wal") == 0;
}

void take_time() {
  static const long us = [] {
    const char* text = std::getenv("SLOW_DISK_US");
    return text == nullptr ? 0L : std::atol(text);
  }();
  if (us <= 0)
    return;
  const timespec pause{us / 1'000'000, us % 1'000'000 * 1'000};
  ::nanosleep(&pause, nullptr);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  if (fd >= 0 && fd < files_max && is_log(fd) &&
      !written_since_sync[static_cast<std::size_t>(fd)].exchange(true))
    take_time();
  return real(fd, bytes, count, offset);
}

extern "C" int fdatasync(int fd) {
  static const auto real = next<int (*)(int)>("fdatasync");
  if (fd >= 0 && fd < files_max && is_log(fd)) {
    written_since_sync[static_cast<std::size_t>(fd)] = false;
    take_time();
  }
  return real(fd);
}
