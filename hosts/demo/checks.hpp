// The verdict over a finished run: pure functions over what the clients saw, what the journal holds
// and what reached the model. Nothing here asks the host.
#pragma once

#include "hosts/demo/session_driver.hpp"
#include "messages/journal_entry.hpp"

namespace rind::hosts::demo {

struct fault {
  std::string session_id;
  std::string text;
};

/// The numbers of the report. Compactions do not count rescues.
struct tally {
  std::int64_t sessions = 0;
  std::int64_t turns = 0; // operations that are no manual compaction
  std::int64_t samplings = 0;
  std::int64_t manual = 0;
  std::int64_t automatic = 0;
  std::int64_t context_length_error = 0;
  std::int64_t rescues = 0;
  std::int64_t retries = 0;
  std::int64_t inputs_accepted = 0;
  std::int64_t inputs_delivered = 0;
  std::int64_t inputs_returned = 0;
  std::int64_t inputs_dropped_by_cancel = 0;
  std::int64_t boundary_violations = 0;
  std::int64_t terminal_events_missing_or_double = 0;
  std::int64_t resumed = 0;  // operations that went on after the restart
  std::vector<fault> faults; // of whatever kind; the run is good without one
};

/// Holds one session's evidence against its journal and adds it up.
void check_session(const session_evidence& seen, const std::vector<entry>& journal,
                   const request_faults& requests, tally& to);

/// What must hold of the sums: each entrance once a session, a rescue, each accepted input
/// accounted for.
void check_sums(tally& sums);

} // namespace rind::hosts::demo
