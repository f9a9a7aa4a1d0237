// What is told about a session to those who ask: its state, its list row, the pages of its replay.
// Values only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "messages/events.hpp"

namespace rind {

enum class turn_progress : std::uint8_t { running, interrupted };

/// The operation that holds a session's slot. An idle session has none.
struct turn_state {
  std::string turn_id;
  operation_kind operation = operation_kind::turn;
  turn_progress progress = turn_progress::running;
  std::int64_t waiting_prompts = 0;
  std::int64_t steering = 0;  // inputs in this queue
  std::int64_t follow_up = 0; // inputs in this queue
  friend bool operator==(const turn_state&, const turn_state&) = default;
};

/// A session as `initialize`, `session/new` and `session/switch` tell it.
struct session_info {
  std::string session_id;
  std::string model;
  std::optional<token_usage> usage; // of the last sampling
  std::string resume_preview;       // excerpt of how the conversation ended; empty for a new one
  std::optional<turn_state> turn;
};

/// A tool call that runs.
struct running_tool {
  std::string tool_call_id;
  std::string tool_name;
  friend bool operator==(const running_tool&, const running_tool&) = default;
};

/// What of the running operation is not journaled yet.
struct live_turn {
  std::string turn_id;
  operation_kind operation = operation_kind::turn;
  std::int64_t sampling = 0; // 1 for the operation's first
  std::string text;          // of the answer that streams
  std::string reasoning;
  std::vector<running_tool> tools;
  friend bool operator==(const live_turn&, const live_turn&) = default;
};

/// Whether the session compacted before a sampling, and why (or why not), with the numbers that it
/// was decided on (S15).
struct decision {
  std::int64_t time_ms = 0;
  std::string turn_id;
  std::string decision; // what was done
  std::string reason;   // for people
  context_stats stats;
};

/// Decisions that a session remembers.
inline constexpr std::size_t decisions_kept = 20;

/// Answer of `rind/context/inspect`.
struct context_report {
  std::string session_id;
  context_stats stats;             // of the next sampling
  std::vector<decision> decisions; // oldest first, at most decisions_kept
  std::vector<std::shared_ptr<const compaction_record>> boundaries; // oldest first
};

/// Answer of a queue method (S3).
struct input_receipt {
  std::string input_id;
  input_mode mode = input_mode::steering;
  std::int64_t pending = 0; // inputs that now wait in that queue
};

/// Answer of taking an input back.
struct returned_input {
  std::string input_id;
  std::string text;
  input_mode mode = input_mode::steering;
  std::int64_t pending = 0; // inputs that still wait in that queue
};

/// Answer of `session/prompt`, after the terminal event.
struct prompt_receipt {
  std::string session_id;
  std::string turn_id;
  entries::turn_outcome outcome = entries::turn_outcome::completed;
};

enum class replay_mode : std::uint8_t { messages, events };

const char* to_string(turn_progress value);
const char* to_string(replay_mode value);

} // namespace rind
