// What a session tells its subscribers. Durable events are journal entries seen from outside; the
// others live only while they are sent.
#pragma once

#include "messages/journal_entry.hpp"
#include "messages/sampling.hpp"

namespace rind {

/// Where the active estimate comes from (S13).
enum class token_source : std::uint8_t { assistant_usage_plus_local_delta, local_estimate };

/// The numbers behind a decision about the context (S15). Tokens, unless the name says otherwise.
struct context_stats {
  std::int64_t estimated_input_tokens = 0; // plain local estimate of the request
  std::int64_t fixed_tokens = 0;           // system messages and tool schemas
  std::int64_t active_tokens = 0;          // what decisions use
  token_source source = token_source::local_estimate;
  std::string anchor_fallback_reason; // why there is no usable anchor; empty with one
  std::int64_t context_window_tokens = 0;
  std::string context_window_origin;
  std::int64_t auto_compact_token_limit = 0; // the threshold
  std::int64_t hard_limit_tokens = 0;
  std::int64_t output_limit_tokens = 0;
  std::int64_t generation = 0;
  std::int64_t message_count = 0; // messages of the view, system messages included
};

namespace events {

struct context_built {
  context_stats stats;
  bool auto_compact_limit_reached = false;
  bool compact_required = false;
  std::int64_t rescued_messages = 0; // replaced in this request, beyond what the journal says
};

struct assistant_delta {
  std::string text;
};

struct reasoning_delta {
  std::string text;
};

struct tool_call_started {
  std::string tool_call_id;
  std::string tool_name;
};

struct tool_progress {
  std::string tool_call_id;
  std::string tool_name;
  std::string text;
};

struct compaction_started {
  compaction_reason reason = compaction_reason::manual;
  phase_detail detail = phase_detail::none;
  bool waiting = false; // for a place among the summaries of the host
};

struct compaction_ended {
  std::string outcome; // the names of the outcome table, see runtime/compaction/outcome.hpp
  std::int64_t tokens_before = 0;
  std::optional<std::int64_t> tokens_after;
  std::int64_t duration_ms = 0;
};

struct turn_step_retry {
  std::int64_t attempt = 0; // 1 for the first retry of the sampling
  std::string reason;       // class of the error
  std::int64_t delay_ms = 0;
  bool discard_partial = false;
  std::string detail{}; // the error in the provider's words, for people; empty: it said none
};

struct token_stats_updated {
  token_usage usage;
  sampling_kind kind = sampling_kind::assistant;
};

} // namespace events

using live_event_body =
    std::variant<events::context_built, events::assistant_delta, events::reasoning_delta,
                 events::tool_call_started, events::tool_progress, events::compaction_started,
                 events::compaction_ended, events::turn_step_retry, events::token_stats_updated>;

/// One event of a session, shared by all that it is sent to. Either a journal entry (durable) or a
/// live body.
struct session_event {
  std::string session_id;
  std::string turn_id;
  std::string event_id;
  std::int64_t time_ms = 0;
  std::variant<live_event_body, entry_ptr> body;
};

using event_ptr = std::shared_ptr<const session_event>;

/// Whether an entry is told to subscribers as a durable event.
bool is_durable_event(const entry_body& body);

} // namespace rind
