// Values that the tests of the protocol share.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "messages/events.hpp"
#include "runtime/protocol/session_updates.hpp"

namespace rind::protocol::samples {

inline constexpr std::int64_t new_year_ms = 1'767'225'600'000; // 2026-01-01T00:00:00.000Z

inline session_event live(live_event_body body) {
  return {"s-1", "t-1", "e-live", new_year_ms, std::move(body)};
}

inline session_event durable(entry_body body, std::int64_t position = 5) {
  auto e = std::make_shared<entry>();
  e->position = position;
  e->id = "e-5";
  e->time_ms = new_year_ms + 7;
  e->turn_id = "t-1";
  e->body = std::move(body);
  return {"s-1", "t-1", "e-5", new_year_ms + 7, entry_ptr(std::move(e))};
}

inline message_ptr share(message m) {
  return std::make_shared<const message>(std::move(m));
}

inline message_ptr user(const std::string& text, user_origin origin = user_origin::prompt,
                        const std::string& input_id = "") {
  message m;
  m.content = text;
  m.origin = origin;
  m.input_id = input_id;
  return share(std::move(m));
}

inline message_ptr assistant(const std::string& text) {
  message m;
  m.role = message_role::assistant;
  m.content = text;
  m.model = "m";
  return share(std::move(m));
}

inline message_ptr tool(const std::string& call_id, const std::string& body) {
  message m;
  m.role = message_role::tool;
  m.tool_call_id = call_id;
  m.name = "read";
  m.content = body;
  return share(std::move(m));
}

inline context_stats stats() {
  context_stats s;
  s.estimated_input_tokens = 9'000;
  s.fixed_tokens = 500;
  s.active_tokens = 10'001;
  s.source = token_source::assistant_usage_plus_local_delta;
  s.context_window_tokens = 64'000;
  s.context_window_origin = "settings";
  s.auto_compact_token_limit = 50'000;
  s.hard_limit_tokens = 62'976;
  s.output_limit_tokens = 16'000;
  s.generation = 1;
  s.message_count = 12;
  return s;
}

inline compaction_record record() {
  compaction_record r;
  r.id = "cmp-1";
  r.created_at_ms = new_year_ms;
  r.reason = compaction_reason::automatic;
  r.phase = compaction_phase::mid_turn;
  r.detail = phase_detail::before_first_sampling;
  r.generation = 1;
  r.message_end_index_exclusive = 8;
  r.tool_call_ids = {"c1"};
  r.history_digest = "d1";
  r.continuation_text = "go on";
  r.handoff_text = "so far";
  r.tokens_before = 900;
  r.tokens_after = 200;
  r.usage = token_usage{500, 20, std::nullopt, std::nullopt};
  r.summary_model = "m";
  return r;
}

/// The lines of a file below tests/data/protocol.
inline std::vector<std::string> golden_lines(const std::string& name) {
  std::ifstream in(std::string(RIND_TEST_DATA) + "/protocol/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

} // namespace rind::protocol::samples
