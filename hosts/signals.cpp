// signalfd and eventfd.
#include "hosts/signals.hpp"

#include <csignal>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace rind::hosts {

namespace {

volatile std::sig_atomic_t exit_code = 0;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int s : signals)
    sigaddset(&set, s);
  return set;
}

} // namespace

void ignore_fatal_io_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

signal_waiter::signal_waiter(std::initializer_list<int> signals) {
  const auto set = set_of(signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
}

signal_waiter::~signal_waiter() {
  ::close(signal_fd_);
  ::close(wake_fd_);
}

int signal_waiter::wait() {
  pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  for (;;) {
    if (::poll(fds, 2, -1) < 0)
      continue; // interrupted
    if (fds[0].revents & POLLIN) {
      signalfd_siginfo info{};
      if (::read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
        return static_cast<int>(info.ssi_signo);
    }
    if (fds[1].revents & POLLIN) {
      std::uint64_t count = 0;
      if (::read(wake_fd_, &count, sizeof count) == static_cast<ssize_t>(sizeof count))
        return 0;
    }
  }
}

void signal_waiter::wake() {
  const std::uint64_t one = 1;
  // The counter cannot be full: it is read after each wake.
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void exit_on(std::initializer_list<int> signals, int code) {
  exit_code = code;
  for (int s : signals)
    std::signal(s, [](int) { ::_exit(exit_code); });
  const auto set = set_of(signals);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

unsigned long raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 0;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

} // namespace rind::hosts
