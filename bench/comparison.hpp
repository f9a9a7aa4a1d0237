// A benchmark here is a comparison: a piece of rind, and beside it what no implementation could do
// without (its floor), both measured in one run. The ratio of the two says more than either number:
// it is much the same on a slow machine and on a fast one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace rind::bench {

/// A measured body. It says how much it did by `SetItemsProcessed`.
using body = std::function<void(benchmark::State&)>;

struct comparison {
  std::string name;
  std::string unit; // of the numbers: "ns/message"
  double goal = 1;  // the highest ratio (value ÷ floor) that is fine
  body value;
  body floor;
  /// Times that a body runs its loop; 0: as often as the measuring takes. For bodies whose cost
  /// depends on how often they ran before.
  std::int64_t iterations = 0;
  /// The time on the wall counts, for bodies that wait for a disk; else the processor's.
  bool waits = false;
};

// A group for each part of rind; the files bear these names.
std::vector<comparison> context_comparisons();
std::vector<comparison> compaction_comparisons();
std::vector<comparison> codec_comparisons();
std::vector<comparison> journal_comparisons();

} // namespace rind::bench
