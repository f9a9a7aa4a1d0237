// Modes, signals and writes of a terminal.
#include "hosts/chat/terminal.hpp"

#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rind::hosts::chat {

namespace {

constexpr std::string_view paste_marks_on = "\x1B[?2004h";
constexpr std::string_view paste_marks_off = "\x1B[?2004l";

std::atomic<int> signal_pipe{-1};

void forward_signal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  // Full means that signals wait already: this one may be lost then.
  [[maybe_unused]] const auto written = ::write(signal_pipe, &byte, 1);
  errno = error;
}

} // namespace

bool raw_mode::enter() {
  if (entered_)
    return true;
  if (::tcgetattr(in_fd_, &before_) != 0)
    return false;
  auto raw = before_;
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON | ISTRIP);
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(in_fd_, TCSADRAIN, &raw) != 0)
    return false;
  entered_ = true;
  return write_all(out_fd_, paste_marks_on);
}

void raw_mode::leave() {
  if (!std::exchange(entered_, false))
    return;
  write_all(out_fd_, paste_marks_off);
  ::tcsetattr(in_fd_, TCSADRAIN, &before_);
}

signal_watch::signal_watch() {
  if (::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return;
  signal_pipe = pipe_[1];
  struct sigaction action {};
  action.sa_handler = forward_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t index = 0; index < watched.size(); ++index)
    ::sigaction(watched[index], &action, &before_[index]);
}

signal_watch::~signal_watch() {
  if (pipe_[0] < 0)
    return;
  for (std::size_t index = 0; index < watched.size(); ++index)
    ::sigaction(watched[index], &before_[index], nullptr);
  signal_pipe = -1;
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

std::vector<int> signal_watch::take() {
  std::vector<int> signals;
  unsigned char byte = 0;
  while (pipe_[0] >= 0 && ::read(pipe_[0], &byte, 1) == 1)
    signals.push_back(byte);
  return signals;
}

terminal_size size_of(int out_fd) {
  winsize size{};
  if (::ioctl(out_fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

bool write_all(int fd, std::string_view bytes) {
  sigset_t only_pipe;
  sigset_t before;
  sigemptyset(&only_pipe);
  sigaddset(&only_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &only_pipe, &before);
  bool good = true;
  while (good && !bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      // The signal waits at this thread: taken here, so that it does not strike when the mask is
      // given back.
      const timespec now{0, 0};
      if (sigismember(&before, SIGPIPE) == 0)
        ::sigtimedwait(&only_pipe, nullptr, &now);
      good = false;
    } else
      good = errno == EINTR;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return good;
}

} // namespace rind::hosts::chat
