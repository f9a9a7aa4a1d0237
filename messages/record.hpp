// The committed record of one compaction or rescue. Its JSON form is part of the wire and of the
// journal.
#pragma once

#include "messages/conversation.hpp"
#include "messages/errors.hpp"

namespace rind {

/// Which entrance asked for the compaction.
enum class compaction_reason : std::uint8_t { manual, automatic, context_length_error };

enum class compaction_phase : std::uint8_t { manual, mid_turn };

enum class phase_detail : std::uint8_t {
  none,
  before_first_sampling,
  between_samplings,
  hard_limit,
  context_length_recovery
};

enum class compaction_strategy : std::uint8_t {
  llm_inline,
  deterministic_fallback,
  context_rescue
};

enum class replacement_kind : std::uint8_t { body, units };

/// A range of journaled messages (indices from 0, end exclusive) that a boundary replaced in the
/// view: bodies shortened, or units left out.
struct replacement {
  std::int64_t start = 0;
  std::int64_t end_exclusive = 0;
  replacement_kind kind = replacement_kind::body;
  friend bool operator==(const replacement&, const replacement&) = default;
};

/// Why the handoff was built without a model.
struct fallback_cause {
  std::string type;
  std::string message;
  std::string status;
  friend bool operator==(const fallback_cause&, const fallback_cause&) = default;
};

/// One boundary. Indices count the session's journaled user, assistant and tool messages from 0;
/// the retained suffix starts at `message_end_index_exclusive`; tokens are estimates of the whole
/// request. Texts are empty (JSON null) for a rescue.
struct compaction_record {
  std::string id;
  std::int64_t created_at_ms = 0;
  compaction_reason reason = compaction_reason::manual;
  compaction_phase phase = compaction_phase::manual;
  phase_detail detail = phase_detail::none;
  compaction_strategy strategy = compaction_strategy::llm_inline;
  std::int64_t generation = 0; // 1 for the first boundary of a session
  std::int64_t message_start_index = 0;
  std::int64_t message_end_index_exclusive = 0;
  std::vector<std::string> tool_call_ids; // calls in the corpus
  std::string history_digest;             // SHA-256, hex
  std::optional<std::string> continuation_text;
  std::optional<std::string> handoff_text;
  std::vector<replacement> replaced;
  std::int64_t tokens_before = 0;
  std::int64_t tokens_after = 0;
  std::optional<token_usage> usage; // of the summary request
  std::optional<fallback_cause> fallback;
  std::string summary_model;         // empty where no model was asked
  std::int64_t shortened_bodies = 0; // tool results shortened to make the summary request fit
  friend bool operator==(const compaction_record&, const compaction_record&) = default;
};

const char* to_string(compaction_reason reason);
const char* to_string(phase_detail detail);
const char* to_string(compaction_strategy strategy);

} // namespace rind
