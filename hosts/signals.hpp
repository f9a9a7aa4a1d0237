// Signals as values: blocked in every thread, waited for in one.
#pragma once

#include <initializer_list>

namespace rind::hosts {

/// A host lives on when a file grows too large or a peer goes away. Call it first in `main`.
void ignore_fatal_io_signals();

/// Blocks these signals in this thread and those that it starts from now on. Call it before there
/// are threads.
class signal_waiter {
public:
  explicit signal_waiter(std::initializer_list<int> signals);
  ~signal_waiter();
  signal_waiter(const signal_waiter&) = delete;
  signal_waiter& operator=(const signal_waiter&) = delete;

  /// Waits for one of them and answers its number; wake() answers 0.
  int wait();
  /// Ends one wait. May be called on any thread.
  void wake();

private:
  int signal_fd_ = -1;
  int wake_fd_ = -1;
};

/// Ends the process at once with this code when one of these signals comes; for the second SIGTERM.
/// The signals are unblocked.
void exit_on(std::initializer_list<int> signals, int code);

/// Raises the limit of open files to the hard limit; answers the limit that holds now.
unsigned long raise_file_limit();

} // namespace rind::hosts
