// Short texts, a fact a line.
#include "runtime/protocol/command_texts.hpp"

#include <sstream>

#include "messages/json.hpp"

namespace rind::protocol {

namespace {

std::int64_t percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? part * 100 / whole : 0;
}

std::string_view reason_text(const compaction_record& r) {
  switch (r.strategy) {
  case compaction_strategy::llm_inline:
    return "summary by the model";
  case compaction_strategy::deterministic_fallback:
    return "handoff without the model";
  case compaction_strategy::context_rescue:
    return "context rescue";
  }
  return "";
}

} // namespace

std::string compacted_text(const compaction_record& r) {
  std::ostringstream out;
  out << "Context compacted: " << r.tokens_before << " -> " << r.tokens_after
      << " tokens, generation " << r.generation << " (" << reason_text(r);
  if (r.fallback)
    out << ", because the summary failed: " << r.fallback->type << " " << r.fallback->message;
  out << ").";
  return out.str();
}

std::string status_text(const session_info& s, const context_stats& stats) {
  std::ostringstream out;
  out << "Session: " << s.session_id << "\nModel: " << s.model
      << "\nContext: " << stats.active_tokens << " of " << stats.context_window_tokens
      << " tokens (" << percent(stats.active_tokens, stats.context_window_tokens)
      << " %), compacts at " << stats.auto_compact_token_limit
      << "\nGeneration: " << stats.generation << "\nOperation: ";
  if (!s.turn)
    out << "none";
  else
    out << to_string(s.turn->operation) << " " << s.turn->turn_id << ", "
        << to_string(s.turn->progress) << "; waiting prompts " << s.turn->waiting_prompts
        << ", steering " << s.turn->steering << ", follow-ups " << s.turn->follow_up;
  return out.str();
}

std::string sessions_text(std::span<const journal::session_summary> sessions,
                          const std::string& current_session_id) {
  if (sessions.empty())
    return "No session was prompted yet.";
  std::ostringstream out;
  for (const auto& s : sessions)
    out << (s.session_id == current_session_id ? "* " : "  ") << s.session_id << "  "
        << format_time(s.updated_at_ms) << "  " << s.message_count << " messages  " << s.title
        << "\n";
  auto text = out.str();
  text.pop_back();
  return text;
}

std::string context_text(const context_report& r) {
  const auto& s = r.stats;
  std::ostringstream out;
  out << "Next sampling: " << s.active_tokens << " tokens (" << to_string(s.source);
  if (!s.anchor_fallback_reason.empty())
    out << ", " << s.anchor_fallback_reason;
  out << "), fixed part " << s.fixed_tokens << "\nWindow " << s.context_window_tokens << " ("
      << s.context_window_origin << "), threshold " << s.auto_compact_token_limit << ", hard limit "
      << s.hard_limit_tokens << "\nBoundaries: " << r.boundaries.size();
  for (const auto& b : r.boundaries)
    out << "\n  " << b->generation << ". " << to_string(b->reason) << ", " << reason_text(*b)
        << ": " << b->tokens_before << " -> " << b->tokens_after;
  if (!r.decisions.empty())
    out << "\nLast decisions:";
  for (const auto& d : r.decisions)
    out << "\n  " << format_time(d.time_ms) << " " << d.decision << ": " << d.reason << " ("
        << d.stats.active_tokens << " tokens)";
  return out.str();
}

} // namespace rind::protocol
