// The terminal's modes, size and signals. Whoever owns one of these objects has the terminal; its
// end gives everything back.
#pragma once

#include <array>
#include <csignal>
#include <string_view>
#include <vector>

#include <termios.h>

#include "hosts/chat/screen.hpp"

namespace rind::hosts::chat {

/// Keys come one by one and unechoed, Ctrl-C as a byte, pastes are marked, while it is entered.
class raw_mode {
public:
  raw_mode(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {}
  ~raw_mode() { leave(); }
  raw_mode(const raw_mode&) = delete;
  raw_mode& operator=(const raw_mode&) = delete;

  /// False: the terminal refuses.
  bool enter();
  void leave();

private:
  int in_fd_;
  int out_fd_;
  bool entered_ = false;
  termios before_{};
};

/// Turns SIGINT, SIGTERM, SIGHUP and SIGWINCH into bytes (their numbers) that poll can wait for.
/// One at a time in a process.
class signal_watch {
public:
  signal_watch();
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  /// Readable when a signal came; -1: the system has no descriptor to give.
  int fd() const { return pipe_[0]; }
  std::vector<int> take();

private:
  static constexpr std::array watched{SIGINT, SIGTERM, SIGHUP, SIGWINCH};
  std::array<int, 2> pipe_{-1, -1};
  std::array<struct sigaction, watched.size()> before_{};
};

terminal_size size_of(int out_fd);
/// Writes all; false: nobody reads any more. Never raises SIGPIPE.
bool write_all(int fd, std::string_view bytes);

} // namespace rind::hosts::chat
