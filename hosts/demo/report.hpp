// How the demo shows itself: a timeline with gauges, a table, or one JSON object. Pure text.
#pragma once

#include "hosts/demo/checks.hpp"

namespace rind::hosts::demo {

/// What the run as a whole adds to the sums.
struct run_facts {
  std::int64_t restarts = 0;
  double wall_s = 0;
};

std::string json_report(const tally& sums, const run_facts& run);
std::string table(const tally& sums, const run_facts& run);

/// One session from its first turn to its last, with a gauge for each sampling and before and after
/// each boundary. The journal gives the words of the prompts.
std::string timeline(const session_evidence& session, const std::vector<entry>& journal);

/// "12,345".
std::string grouped(std::int64_t number);

} // namespace rind::hosts::demo
