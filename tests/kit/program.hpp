// Child processes of tests: the built program and what it is driven with. A child that is still
// there when its owner goes is killed. What is said over the pipes is left to line_channel.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/kit/line_channel.hpp"

namespace rind::kit {

/// How a child ended.
struct child_end {
  int exit_code = -1;     // where it left by itself
  int signal = 0;         // that ended it, or 0
  bool is_in_time = true; // false: it had to be killed at the deadline
};

struct program_options {
  std::vector<std::string> arguments; // without the program
  std::map<std::string, std::string>
      variables;           // set over the test's own environment; an empty value removes one
  std::string folder;      // working folder; empty: the test's
  std::string errors_file; // standard error is appended there; empty: the test's own
};

class program {
public:
  /// Starts `path`. Throws std::system_error.
  program(const std::string& path, const program_options& options);
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  pid_t pid() const { return pid_; }
  /// Its standard input and output.
  line_channel& pipes() { return *pipes_; }
  void signal(int number) const;
  /// Waits for the end, at most `deadline_ms`; then it is killed.
  child_end wait(std::int64_t deadline_ms = 30'000);
  /// SIGKILL, and waits: afterwards nothing of it runs.
  void kill();

private:
  pid_t pid_ = -1; // -1 once it was waited for
  int pid_fd_ = -1;
  std::unique_ptr<line_channel> pipes_;
};

} // namespace rind::kit
