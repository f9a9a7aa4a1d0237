// `rind sim`: many runs of the simulated world, each drawn from its seed, or one from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/kit/scenario/draw.hpp"

namespace rind::hosts::sim {

inline constexpr std::uint64_t seeds_max = 100'000'000;
inline constexpr std::size_t sessions_max = 64;
inline constexpr std::size_t steps_max = 10'000;
/// Failures after which no more seeds are tried.
inline constexpr std::size_t failures_max = 10;
/// Seeds within which a planted bug has to be found.
inline constexpr std::uint64_t canary_seeds_max = 20'000;

struct sim_options {
  std::string seeds = "1..100";             // "A..B" or "A"
  kit::draw_options draw;                   // its seed is left alone
  std::optional<std::string> scenario_file; // in place of seeds
  std::string failures_folder = ".";        // where --minimize writes the scenario of a failure
  bool minimize = false;
  bool timeline = false; // of a single run
  bool canaries = false;
  bool json = false;
  bool progress = false; // tell how far it is; at a terminal it does so anyhow
};

/// Runs and prints. 0: nothing broke (and, with canaries, every one was found); 1: something did;
/// 2: the options are wrong; 130: it was interrupted, and printed what it had until then. 1 also
/// where the answer could not be printed.
int run_sim(const sim_options& options);

} // namespace rind::hosts::sim
