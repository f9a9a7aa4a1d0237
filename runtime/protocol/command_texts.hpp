// What slash commands answer, as text for people.
#pragma once

#include <span>
#include <string>

#include "messages/session_info.hpp"
#include "runtime/journal/port.hpp"

namespace rind::protocol {

std::string compacted_text(const compaction_record& record);
std::string status_text(const session_info& session, const context_stats& stats);
std::string sessions_text(std::span<const journal::session_summary> sessions,
                          const std::string& current_session_id);
/// How full the window is and what was compacted, for people.
std::string context_text(const context_report& report);
/// Every number of the report, for those who look for a cause.
std::string whole_context_text(const context_report& report);

} // namespace rind::protocol
