// What a session's journal is made of. Entries are appended and never changed; the view, the
// replay, the session list and the recovery after a crash are read from them. Their JSON form
// (messages/json.hpp) is the form on disk and is frozen by schema version.
#pragma once

#include <variant>

#include "messages/conversation.hpp"
#include "messages/errors.hpp"
#include "messages/record.hpp"

namespace rind {

enum class operation_kind : std::uint8_t { turn, compact };

enum class sampling_kind : std::uint8_t { assistant, compact };

enum class cancel_reason : std::uint8_t { user, interrupted, shutdown, handover };

/// An accepted input that no message of the journal carries; handed back with the terminal event.
struct undelivered_input {
  std::string input_id;
  input_mode mode = input_mode::steering;
  std::string text;
  friend bool operator==(const undelivered_input&, const undelivered_input&) = default;
};

namespace entries {

/// First entry of a session.
struct session_created {
  std::string model;
  std::string system_prompt;
  // What this session wants otherwise than its host (S14, S30); unset: as the host's settings say.
  std::optional<bool> auto_compact{};
  std::optional<bool> overflow_recovery{};
  friend bool operator==(const session_created&, const session_created&) = default;
};

/// An operation took the slot, or (`resumed`) goes on after an interruption. Durable event
/// `turn_started`.
struct turn_started {
  operation_kind operation = operation_kind::turn;
  std::int64_t user_message_chars = 0;
  bool resumed = false;
  bool handed_over = false; // a resume that follows a hand-over between nodes, not counted as one
                            // of the three (S10)
  std::string input_id;     // of the prompt, or empty
  friend bool operator==(const turn_started&, const turn_started&) = default;
};

/// The prompt's message. No event of its own.
struct user_message {
  message_ptr msg;
};

/// A successful sampling. Durable event `assistant_message_completed`. The estimates are those of
/// the request that it answers.
struct assistant_message {
  message_ptr msg;
  token_usage usage;
  std::int64_t request_local_tokens = 0;     // plain local estimate of the whole request
  std::int64_t request_estimated_tokens = 0; // the active estimate that the decision was made with
  std::int64_t request_generation = 0;       // boundaries that the request's view contained
  std::int64_t sampling = 0;                 // 1 for the operation's first
};

/// A call of the assistant message before it. Durable event `tool_requested`.
struct tool_requested {
  tool_call call;
};

/// What a tool answered. Durable event `tool_result`.
struct tool_result {
  message_ptr msg;
  tool_status status = tool_status::completed;
  std::string error_type;
  std::string error_source;
  std::int64_t duration_ms = 0;
};

/// A steering or follow-up input that was accepted.
struct input_accepted {
  std::string input_id;
  input_mode mode = input_mode::steering;
  std::string text;
  friend bool operator==(const input_accepted&, const input_accepted&) = default;
};

/// An accepted input became a message. Durable event `queued_input_delivered`.
struct input_delivered {
  message_ptr msg; // a user message with the input's id and origin
};

struct input_promoted {
  std::string input_id;
  friend bool operator==(const input_promoted&, const input_promoted&) = default;
};

struct input_taken_back {
  std::string input_id;
  friend bool operator==(const input_taken_back&, const input_taken_back&) = default;
};

/// A further attempt of a sampling is about to be made after a context-length error (S10, S30).
struct attempt_started {
  std::int64_t sampling = 0;
  std::int64_t context_errors = 0;          // counted over the operation, this one included
  std::int64_t rescues = 0;                 // counted over the operation
  std::int64_t refused_estimate_tokens = 0; // of the request that was refused
  std::int64_t limit_tokens = 0;            // that the refused request was held against
  std::optional<std::int64_t> tightened_limit_tokens;
  std::optional<std::int64_t> output_limit_tokens; // where the output limit was lowered instead
  friend bool operator==(const attempt_started&, const attempt_started&) = default;
};

/// Usage that belongs to no committed message: a thrown-away summary, a failed attempt (S23).
struct usage_recorded {
  sampling_kind kind = sampling_kind::assistant;
  std::string model;
  token_usage usage;
  friend bool operator==(const usage_recorded&, const usage_recorded&) = default;
};

/// A committed compaction or rescue. Durable event `context_compacted`.
struct boundary {
  std::shared_ptr<const compaction_record> record;
};

struct model_set {
  std::string model;
  friend bool operator==(const model_set&, const model_set&) = default;
};

/// A provider stated the true window of this model for this session (S16).
struct window_learned {
  std::string model;
  std::int64_t window_tokens = 0;
  friend bool operator==(const window_learned&, const window_learned&) = default;
};

enum class turn_outcome : std::uint8_t { completed, failed, cancelled };

/// The terminal state of an operation. Durable event `turn_completed`, `turn_failed` or
/// `turn_cancelled`.
struct turn_ended {
  turn_outcome outcome = turn_outcome::completed;
  std::int64_t duration_ms = 0;
  std::int64_t samplings = 0;
  std::int64_t compactions = 0;
  std::optional<failure> error;               // failed
  cancel_reason reason = cancel_reason::user; // cancelled
  std::vector<undelivered_input> undelivered;
  friend bool operator==(const turn_ended&, const turn_ended&) = default;
};

} // namespace entries

using entry_body =
    std::variant<entries::session_created, entries::turn_started, entries::user_message,
                 entries::assistant_message, entries::tool_requested, entries::tool_result,
                 entries::input_accepted, entries::input_delivered, entries::input_promoted,
                 entries::input_taken_back, entries::attempt_started, entries::usage_recorded,
                 entries::boundary, entries::model_set, entries::window_learned,
                 entries::turn_ended>;

/// One entry. `id` is unique in the store (an append that is tried twice is recognised by it) and
/// is the `event_id` of the event that the entry gives rise to; `position` counts the session's
/// entries from 1, is given by the journal and is the event's cursor.
struct entry {
  std::int64_t position = 0;
  std::string id;
  std::int64_t time_ms = 0; // since the Unix epoch
  std::string turn_id;      // empty outside of an operation
  entry_body body;
};

using entry_ptr = std::shared_ptr<const entry>;

/// The message that an entry adds to the conversation (counted by the message index), or null.
const message_ptr* message_of(const entry_body& body);

/// Whether an entry moves the session's view position (S24): it carries a message or a boundary.
bool moves_view(const entry_body& body);

} // namespace rind
