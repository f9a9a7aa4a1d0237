// `rind demo`: a real host, many sessions, every kind of compaction, a SIGKILL in the middle, and
// the checks that nothing was lost. Everything it needs it starts and removes itself.
#pragma once

namespace rind::hosts::demo {

inline constexpr int sessions_max = 1'024;

struct demo_options {
  int sessions = 64; // 1 to sessions_max
  bool json = false; // one object on standard output instead of progress, timeline and table
};

/// Runs it and answers the exit code: 0 only if every check held, 1 if one did not or the run could
/// not be made, 128 + the signal after SIGINT or SIGTERM. Call it on the main thread before other
/// threads exist: it takes over both signals. Needs a folder for temporary files and a port of the
/// loopback; leaves no process, file or socket behind.
int run_demo(const demo_options& options);

} // namespace rind::hosts::demo
