// Plays a scenario on a simulated world and watches every invariant. The same scenario gives the
// same run, in every process and every build.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kit/invariants/invariant.hpp"
#include "tests/kit/scenario/exercise.hpp"
#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/simulation/scripted_model.hpp"
#include "tests/kit/simulation/scripted_tool.hpp"

namespace rind::kit {

/// The breach of what a scenario expects.
inline constexpr const char* expectation_breach = "expectation";
/// The breach of a scenario that makes no sense, see `fault_of`.
inline constexpr const char* scenario_breach = "scenario";

/// What a run broke first.
struct breach {
  std::string invariant; // its name, or one of the two above
  std::string what;
  std::size_t line = 0;   // of the script, from 1, after which it showed; past the last: at the end
  std::int64_t at_ms = 0; // since the beginning of the run
};

struct run_report {
  std::optional<breach> failure;
  std::uint64_t trace_hash = 0;
  counters counts;
  std::int64_t deliveries = 0;
  std::vector<std::string> timeline; // where it was asked for
};

/// What a user brings along to simulate an agent of their own. Made anew for each run, so that no
/// run knows of another.
struct agent {
  /// Answers what no line of the scenario does; empty: polite answers. Requests above the window
  /// are refused before it is asked.
  std::function<scripted_reply(const sampling_request&)> model{};
  std::vector<std::shared_ptr<tools::tool>> tools{}; // beside the scripted tool "look"
  std::vector<invariant_ptr> invariants{};           // beside all_invariants()
};

struct play_options {
  bool timeline = false;
  /// `at` calls back in virtual time. Empty: the scenario's lines alone.
  std::function<agent(scripted_tool::timer at)> make_agent{};
};

/// Virtual time within which everything that runs has to come to its end.
inline constexpr std::int64_t settle_limit_ms = 4 * 3'600'000;

run_report play(const scenario& s, play_options options = {});

} // namespace rind::kit
