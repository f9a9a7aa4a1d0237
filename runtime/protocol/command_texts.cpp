// Short texts, a fact a line.
#include "runtime/protocol/command_texts.hpp"

#include <algorithm>
#include <sstream>

#include "messages/json.hpp"
#include "runtime/protocol/number_text.hpp"

namespace rind::protocol {

namespace {

std::int64_t percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? part * 100 / whole : 0;
}

std::string_view strategy_text(const compaction_record& r) {
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

/// Compactions that the short text names, the newest ones.
constexpr std::size_t compactions_shown_max = 3;

std::string_view cause_text(compaction_reason reason) {
  switch (reason) {
  case compaction_reason::manual:
    return "you asked for it";
  case compaction_reason::automatic:
    return "the context had grown long";
  case compaction_reason::context_length_error:
    return "the model refused the length";
  }
  return "";
}

/// Where the size of the window comes from (S14, S16).
std::string origin_text(const std::string& origin) {
  if (origin == "default")
    return "assumed; set --context-window";
  if (origin == "provider")
    return "learned from the model's provider";
  if (origin == "fallback")
    return "from the settings for all models";
  return origin == "settings" ? "from the settings" : origin;
}

std::string compactions_text(const context_report& r) {
  if (r.boundaries.empty())
    return "Nothing was compacted so far.";
  const auto count = r.boundaries.size();
  std::ostringstream out;
  out << "Compacted " << (count == 1 ? "once" : grouped(std::ssize(r.boundaries)) + " times")
      << (count > compactions_shown_max ? ", lately:" : ":");
  for (auto i = count - std::min(count, compactions_shown_max); i < count; ++i) {
    const auto& b = *r.boundaries[i];
    out << "\n  " << grouped(b.tokens_before) << " -> " << grouped(b.tokens_after)
        << " tokens, because " << cause_text(b.reason) << " (" << strategy_text(b) << ", "
        << format_time(b.created_at_ms) << ")";
  }
  return out.str();
}

} // namespace

std::string compacted_text(const compaction_record& r) {
  std::ostringstream out;
  out << "Context compacted: " << r.tokens_before << " -> " << r.tokens_after
      << " tokens, generation " << r.generation << " (" << strategy_text(r);
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
  const auto room = s.auto_compact_token_limit - s.active_tokens;
  std::ostringstream out;
  out << "Used: about " << grouped(s.active_tokens) << " of " << grouped(s.context_window_tokens)
      << " tokens (" << percent(s.active_tokens, s.context_window_tokens)
      << " %)\nWindow: " << grouped(s.context_window_tokens) << " tokens, "
      << origin_text(s.context_window_origin) << "\nCompaction is due at "
      << grouped(s.auto_compact_token_limit) << " tokens ("
      << percent(s.auto_compact_token_limit, s.context_window_tokens) << " % of the window), "
      << (room > 0 ? grouped(room) + " from here" : std::string("that is now")) << "\n"
      << compactions_text(r) << "\n/context all shows every number.";
  return out.str();
}

std::string whole_context_text(const context_report& r) {
  const auto& s = r.stats;
  std::ostringstream out;
  out << "Next sampling: " << s.active_tokens << " tokens (" << to_string(s.source);
  if (!s.anchor_fallback_reason.empty())
    out << ", " << s.anchor_fallback_reason;
  out << "), fixed part " << s.fixed_tokens << "\nWindow " << s.context_window_tokens << " ("
      << s.context_window_origin << "), threshold " << s.auto_compact_token_limit << ", hard limit "
      << s.hard_limit_tokens << "\nBoundaries: " << r.boundaries.size();
  for (const auto& b : r.boundaries)
    out << "\n  " << b->generation << ". " << to_string(b->reason) << ", " << strategy_text(*b)
        << ": " << b->tokens_before << " -> " << b->tokens_after;
  if (!r.decisions.empty())
    out << "\nLast decisions:";
  for (const auto& d : r.decisions)
    out << "\n  " << format_time(d.time_ms) << " " << d.decision << ": " << d.reason << " ("
        << d.stats.active_tokens << " tokens)";
  return out.str();
}

} // namespace rind::protocol
