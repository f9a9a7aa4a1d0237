// Runs programs for command tools: one thread for all of them, output read
// while they run, each in a process group of its own that is gone when its run ends. It knows
// nothing of tools and leaves the meaning of exit codes to its callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tools/port.hpp"

namespace rind::tools {

inline constexpr std::size_t processes_max = 32;            // run at once; further ones wait
inline constexpr std::size_t processes_waiting_max = 1'024; // further ones are refused
inline constexpr std::int64_t kill_grace_ms = 1'000;        // from SIGTERM to SIGKILL
inline constexpr std::int64_t leftover_output_ms =
    250; // how long output is read that others still hold when the program has ended
inline constexpr std::int64_t unkillable_wait_ms =
    2'000; // after SIGKILL; then the run ends although the kernel still holds the program
inline constexpr std::int64_t error_output_limit_chars = 4'000;

struct process_pool_options {
  std::vector<std::string> environment; // of the programs, "NAME=value"
  std::size_t running_max = processes_max;
  std::size_t waiting_max = processes_waiting_max;
  std::int64_t grace_ms = kill_grace_ms;
  std::int64_t leftover_ms = leftover_output_ms;
};

struct process_request {
  std::string id;                   // unique among the runs that have not ended
  std::vector<std::string> command; // program, looked up in PATH, and its arguments; no shell
  std::string input;                // its whole standard input, there before it starts
  std::int64_t deadline_ms = default_deadline_ms; // from `start`, the wait for a place included
  std::int64_t output_limit_chars = tools::output_limit_chars;
};

enum class process_fate : std::uint8_t {
  exited,    // by itself, `code` is its exit code
  signalled, // by a signal that the pool did not send, `code` is its number
  timed_out,
  cancelled,
  not_started, // `reason` says why; nothing ran
};

struct process_end {
  process_fate fate = process_fate::not_started;
  int code = 0;
  std::string output;       // head and tail, see output_cap.hpp
  std::string error_output; // of the standard error, likewise
  std::string reason;
};

using process_handler = std::function<void(process_end)>;

/// Owns its thread and its processes. All members may be called from any thread, from handlers too,
/// but for `stop` and the destructor.
class process_pool {
public:
  explicit process_pool(process_pool_options options = {});
  process_pool(const process_pool&) = delete;
  process_pool& operator=(const process_pool&) = delete;
  /// As `stop`.
  ~process_pool();

  /// Runs a program. `on_end` is called exactly once, on the pool's thread or, for what is refused
  /// at once, before this returns. When it is called, every process of the group has ended or was
  /// sent SIGKILL. A program that leaves its group by itself is not followed.
  void start(process_request request, process_handler on_end);

  /// Ends a run: SIGTERM to its group, SIGKILL after the grace. Unknown ids and runs that ended are
  /// ignored.
  void cancel(const std::string& id);

  /// Cancels everything, waits for it and joins the thread. Later requests are refused. A second
  /// call does nothing.
  void stop();

  /// Runs that have not ended, those that wait for a place included.
  std::size_t in_flight() const;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

/// The variables of this process without those named, for process_pool_options. Call it in `main`,
/// before there are threads.
std::vector<std::string> environment_without(const std::vector<std::string>& names);

} // namespace rind::tools
