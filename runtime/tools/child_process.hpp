// One program that runs: its input, its pipes, its process group and its exit. Blocks nowhere; who
// waits and for how long is process_pool's matter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/tools/output_cap.hpp"
#include "runtime/tools/process_pool.hpp"

namespace rind::tools {

/// Owns a file descriptor.
class descriptor {
public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset();

private:
  int fd_ = -1;
};

inline constexpr int exit_code_unknown = -1;

struct process_exit {
  bool by_signal = false;
  int code = 0; // exit code or signal
};

/// Used by one thread.
class child_process {
public:
  /// Starts the program of `request` with `environment`; what went wrong stands in `start_error`,
  /// empty if it runs. Its standard input is a file in memory that holds all of the input before it
  /// starts: a host that is killed leaves no program behind that runs on half of its arguments, or
  /// on none.
  child_process(const process_request& request, const std::vector<std::string>& environment);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  /// As `reap`.
  ~child_process();

  const std::string& start_error() const { return start_error_; }

  /// For poll; negative where there is nothing to wait for. Readable: the program has ended; there
  /// is output.
  int exit_fd() const { return exited_ ? -1 : pidfd_.get(); }
  int output_fd() const { return output_.get(); }
  int error_fd() const { return error_.get(); }

  void read_output() { read_into(output_, collected_output_); }
  void read_error() { read_into(error_, collected_error_); }

  /// Looks whether the program has ended. It stays a zombie until `reap`, so that its group's
  /// number names no other group meanwhile.
  void look_for_exit();
  bool has_exited() const { return exited_; }
  bool output_is_closed() const { return !output_.is_open() && !error_.is_open(); }
  const process_exit& exit() const { return exit_; }

  /// Sends a signal to the whole group, as long as the program is not reaped.
  void signal_group(int signal_number);
  /// Closes all pipes, kills what is left of the group and collects the program if it has ended. A
  /// second call does nothing.
  void reap();

  std::string output() const { return collected_output_.text(); }
  std::string error_output() const { return collected_error_.text(); }

private:
  void spawn(const process_request& request, const std::vector<std::string>& environment);
  static void read_into(descriptor& from, output_collector& to);

  std::string start_error_;
  pid_t pid_ = -1;
  bool exited_ = false;
  process_exit exit_;
  descriptor pidfd_;
  descriptor output_;
  descriptor error_;
  output_collector collected_output_;
  output_collector collected_error_;
};

} // namespace rind::tools
