// What a store keeps of a session beside its entries, derived entry by entry. Pure; every store
// uses it, so that a session list says the same whatever is behind the port. It checks nothing:
// what may be appended is decided in append_rules.hpp.
#pragma once

#include <string>
#include <string_view>

#include "runtime/journal/port.hpp"

namespace rind::journal {

inline constexpr std::int64_t title_limit_characters = 80;

/// Folds entries into the summary and the view position of their session.
class summary_tracker {
public:
  /// A session without entries.
  explicit summary_tracker(std::string session_id);
  /// A session as a store kept it.
  summary_tracker(session_summary summary, std::int64_t view_position);

  /// Takes the next entry, which has its position already.
  void apply(const entry& e);

  const session_summary& summary() const { return summary_; }
  /// Position of the newest entry that carries a message or a boundary; 0: none (S24).
  std::int64_t view_position() const { return view_position_; }

private:
  session_summary summary_;
  std::int64_t view_position_ = 0;
};

/// The input id under which find_input finds this entry: that of a prompt's message or of an
/// accepted input. Empty: none.
std::string input_id_of(const entry_body& body);

/// What that entry says of its input, `ended` left out. The entry has an input id.
input_trace trace_of(const entry& e);

/// The text on one line, runs of white space as one space, at most `limit_characters` code points,
/// the last an ellipsis where cut.
std::string excerpt(std::string_view text, std::int64_t limit_characters);

} // namespace rind::journal
