// What a replay has to show, found from what reached the model and from the journal; nothing is
// taken from what the host says of itself. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hosts/replay/plan.hpp"
#include "hosts/replay/script.hpp"
#include "messages/journal_entry.hpp"

namespace rind::hosts::replay {

/// Errors of the estimate as parts of what was reported: 0.01 is 1 %. All 0 where `count` is.
struct error_spread {
  double median = 0;
  double p99 = 0;
  double max = 0;
  std::size_t count = 0;
};

struct findings {
  std::size_t messages = 0; // of the recording
  std::size_t samplings = 0;
  std::size_t manual = 0; // compactions by entrance, rescues left out
  std::size_t automatic = 0;
  std::size_t context_length_error = 0;
  std::size_t rescues = 0;
  std::int64_t max_view_tokens = 0; // active estimate of the largest conversation request
  std::int64_t final_view_tokens = 0;
  std::size_t boundary_violations = 0;
  std::size_t requests_over_window = 0;
  error_spread anchored;
  error_spread unanchored;
  std::size_t journal_messages = 0;
  std::size_t discarded_messages = 0;
  std::size_t skipped_messages = 0;
  std::size_t lost_messages = 0;
  std::size_t foreign_messages = 0; // in the journal and not in the recording
  std::size_t failed_turns = 0;
  std::vector<std::string> notes; // what is wrong in words, the first note_limit of them

  /// No violation, nothing lost or made up, nothing over the window, no turn that failed.
  bool clean() const {
    return boundary_violations == 0 && requests_over_window == 0 && lost_messages == 0 &&
           foreign_messages == 0 && failed_turns == 0;
  }
};

inline constexpr std::size_t note_limit = 20;

/// What the session ran with.
struct played_session {
  std::string model;
  std::int64_t window_tokens = 0;
  tool_definitions tools;
};

findings examine(const recording& r, const plan& p, const played_session& s,
                 const std::vector<seen_request>& requests, const std::vector<entry_ptr>& entries);

/// One JSON object, without a line break.
std::string to_json_text(const findings& f);
/// A table for people.
std::string to_table(const findings& f);

} // namespace rind::hosts::replay
