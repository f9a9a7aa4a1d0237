// What all runs of a command came to, and how that is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kit/scenario/player.hpp"

namespace rind::hosts::sim {

/// A run that broke something.
struct failed_run {
  std::uint64_t seed = 0;
  kit::breach breach;
};

struct tally {
  std::uint64_t runs = 0;
  std::vector<failed_run> failed;
  kit::counters total;     // by name, over all runs
  kit::counters runs_with; // runs in which it happened at least once
  std::int64_t deliveries = 0;
  std::uint64_t trace_hash = 0; // of one run: its own; of several: of theirs, in order
  double seconds = 0;

  void add(const kit::run_report& r);
};

/// One object, on a line.
std::string to_json_text(const tally& t);
/// For people.
std::string to_text(const tally& t);

} // namespace rind::hosts::sim
