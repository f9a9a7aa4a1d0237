// `rind replay`: plays a recorded conversation through a real session and checks what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rind::hosts::replay {

struct replay_options {
  std::string file;
  std::int64_t window_tokens = 0;
  std::optional<std::int64_t> percent; // of the window, for the threshold
  std::optional<std::int64_t>
      reject_above_tokens;        // the model refuses requests of a true size above it
  std::int64_t manual_every = 0;  // compacts after every so many prompts; 0: never
  std::string journal = "memory"; // or sqlite:PATH
  bool json = false;
};

/// Refuses a recording without a message, and a window below config::window_min_tokens. Prints the
/// findings on standard output, progress and trouble on standard error. Exit code 0 only
/// where the whole recording was played, nothing was lost or sent amiss, and nothing was over the
/// window.
int run_replay(const replay_options& options);

} // namespace rind::hosts::replay
