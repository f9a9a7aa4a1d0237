// A promise of docs/semantics.md that holds at every moment of a simulated run. Each stands in a
// file of its own, watches the run through the hooks of observer, and keeps its own account of what
// it saw: it never asks the code under test whether that code is right.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

class world;

class invariant : public observer {
public:
  /// As failures and canaries name it: "S5_one_terminal_event".
  virtual std::string_view name() const = 0;
  /// Where the time of the run comes from, in ms since the epoch; set before it begins.
  void read_time_from(std::function<std::int64_t()> now_ms) { clock_ = std::move(now_ms); }
  /// What the run is, before it begins.
  virtual void on_start(const scenario& /*s*/) {}
  /// Everything that ran came to its end; the nodes still run. Faults are over. The world may be
  /// asked.
  virtual void at_rest(world& /*w*/) {}
  /// The first breach, in words for a person; nullopt: none so far.
  const std::optional<std::string>& breach() const { return breach_; }
  /// Of several breaches the one with the lowest number came first.
  std::uint64_t breach_number() const { return breach_number_; }

protected:
  /// Time moves only when every message that was sent before is delivered.
  std::int64_t now_ms() const { return clock_ ? clock_() : 0; }
  void broken(std::string what) {
    if (breach_)
      return;
    breach_ = std::move(what);
    breach_number_ = ++breaches_;
  }

private:
  static inline thread_local std::uint64_t breaches_ = 0; // of all runs
  std::uint64_t breach_number_ = 0;
  std::function<std::int64_t()> clock_;
  std::optional<std::string> breach_;
};

using invariant_ptr = std::unique_ptr<invariant>;

/// One of each.
std::vector<invariant_ptr> all_invariants();

// One a file, in the order of the rules.
invariant_ptr one_operation_at_a_time();           // S1
invariant_ptr inputs_have_one_fate();              // S3
invariant_ptr repeated_inputs_run_once();          // S3a
invariant_ptr cancelled_means_cancelled();         // S4, S22
invariant_ptr one_terminal_event();                // S5
invariant_ptr journaled_before_it_runs();          // S6, S7, S9
invariant_ptr calls_are_bounded();                 // S7, S30, S32
invariant_ptr messages_keep_the_boundary();        // S8, S9
invariant_ptr view_survives_restart();             // S11, S24, S31
invariant_ptr estimates_follow_usage();            // S13
invariant_ptr requests_fit();                      // S14, S14b, S14c, S16
invariant_ptr nothing_is_lost_in_compaction();     // S18, S20
invariant_ptr too_large_calls_nothing();           // S17, S19
invariant_ptr boundaries_are_conditional();        // S24
invariant_ptr manual_compaction_samples_nothing(); // S27
invariant_ptr compaction_keeps_the_turn();         // S28
invariant_ptr retries_shrink();                    // S30
invariant_ptr failures_leave_nothing();            // S31a
invariant_ptr acknowledged_is_durable();           // S35
invariant_ptr history_is_told_once_in_order();     // S36, S37
invariant_ptr sessions_are_apart();                // S1, S16
invariant_ptr queues_are_bounded();                // S2, S3
invariant_ptr ends_at_rest();                      // S2, S5, S43

} // namespace rind::kit
