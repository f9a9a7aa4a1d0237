// What the actors of a node say to one another: commands ask, events are past tense, replies are
// values. Plain structs; those that carry an actor's handle stand in actors.hpp. Nothing here
// leaves the process.
#pragma once

#include "messages/result.hpp"
#include "messages/session_info.hpp"
#include "runtime/journal/port.hpp"
#include "runtime/protocol/replay.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "runtime/tools/port.hpp"
#include "runtime/turn/turn_machine.hpp"

namespace rind::actors {

// -- journal -------------------------------------------------------------------

struct append_command {
  journal::append_request request;
};
struct append_reply {
  result<journal::append_receipt> value;
};
struct claim_command {
  std::string session_id;
};
struct claim_reply {
  result<journal::loaded_session> value;
};
struct read_command {
  std::string session_id;
  std::int64_t after_position = 0; // that entry is not read again
  std::int64_t limit = 0;          // entries, 1 to journal::read_limit_max
};
struct read_reply {
  result<std::vector<entry_ptr>> value;
};
struct find_session_command {
  std::string session_id;
};
struct find_session_reply {
  result<std::optional<journal::session_summary>> value;
};
struct list_sessions_command {
  std::int64_t limit = 0; // sessions, 1 to journal::list_limit_max
  std::string after;      // `next` of the page before; empty: from the newest
};
struct list_sessions_reply {
  result<journal::session_page> value;
};
struct find_input_command {
  std::string session_id;
  std::string input_id;
};
struct find_input_reply {
  result<std::optional<journal::input_trace>> value;
};
struct remove_session_command {
  std::string session_id;
  std::uint64_t epoch = 0;
};
struct remove_session_reply {
  result<done> value;
};

// -- provider ------------------------------------------------------------------

struct cancel_sampling {
  std::string request_id;
};
struct sampling_progressed {
  std::string request_id;
  sampling_delta delta;
};
struct sampling_ended {
  std::string request_id;
  sampling_outcome outcome;
};

/// internal: look for requests whose provider never ends them
struct overdue_tick {};

// -- tools ---------------------------------------------------------------------

struct cancel_tool {
  std::string invocation_id;
};
struct tool_progressed {
  std::string invocation_id;
  std::string text;
};
struct tool_ended {
  std::string invocation_id;
  tools::outcome outcome;
};
/// internal: the deadline of a call, or the grace after its cancel, is over
struct tool_overdue {
  std::string invocation_id;
};

// -- compaction ----------------------------------------------------------------

struct cancel_compaction {
  std::string compaction_id;
};
struct compaction_begun {
  std::string compaction_id;
  bool waiting = false; // for a place among the summaries of the host
};
struct compaction_reply {
  compaction::outcome outcome;
};
/// An operation has lost its runner: its compaction is to end. Answered when no append of it can
/// come any more; what it committed stands in the journal.
struct end_compaction_command {
  std::string session_id;
  std::string turn_id;
};
/// internal: a retry of the summary request is due, or its deadline is over
struct summary_tick {
  std::string compaction_id;
  std::int64_t serial = 0;
};

// -- a client's commands to a session --------------------------------------------

/// Who asks: unique per connection, so that what belongs to a connection can go with it.
using connection_id = std::uint64_t;

struct prompt_command {
  connection_id from = 0;
  std::string request_key; // names the waiting prompt for its withdrawal
  std::string input;
  std::string input_id; // empty: none
  bool resume = false;  // no input: go on with the interrupted turn
};
struct prompt_outcome {
  std::string turn_id;
  entries::turn_outcome outcome = entries::turn_outcome::completed;
};
struct prompt_reply {
  result<prompt_outcome> value;
};
struct withdraw_prompt_command {
  connection_id from = 0;
  std::string request_key;
};
struct compact_command {
  std::string focus; // what the summary should keep in mind; may be empty
};
struct compact_reply {
  result<std::shared_ptr<const compaction_record>> value;
};
struct cancel_command {
  std::string turn_id; // empty: whatever runs
};
struct done_reply {
  result<done> value;
};
struct queue_input_command {
  input_mode mode = input_mode::steering;
  std::string input;
  std::string input_id; // empty: one is made
  std::string turn_id;  // empty: the running operation
};
struct take_back_command {
  input_mode mode = input_mode::steering;
  std::string input_id; // empty: the newest
};
struct promote_command {
  std::string input_id;
};
struct queued_answer {
  std::string input_id;
  std::string input;
  input_mode mode = input_mode::steering; // the queue that it is in, or was taken from
  std::int64_t pending = 0;               // inputs in that queue now
};
struct queued_reply {
  result<queued_answer> value;
};
struct set_model_command {
  std::string model;
};
struct session_info_query {};
struct session_info_reply {
  result<session_info> value;
};
struct context_query {};
struct context_reply {
  result<context_report> value;
};
struct replay_command {
  protocol::calls::session_replay call;
};
/// A page of the past and, where it reaches the end, what of the running operation is not journaled
/// yet; both as of one moment.
struct replay_answer {
  std::shared_ptr<const protocol::replay_page> page;
  bool at_end = false;
  std::optional<turn_state> turn;
  std::optional<live_turn> live;
};
struct replay_reply {
  result<replay_answer> value;
};
/// A connection ended: its subscription and its waiting prompts go with it.
struct connection_gone {
  connection_id from = 0;
};
struct unsubscribe_command {
  connection_id from = 0;
};
/// The host stops: refuse what is new, let what runs end within `grace_ms`, then cancel it with
/// this reason. Answered when idle.
struct stop_command {
  std::int64_t grace_ms = 0;
  cancel_reason reason = cancel_reason::shutdown;
};
/// A session is to be deleted; TurnActive while an operation holds the slot.
struct delete_command {};
/// internal: the grace of a stop is over
struct grace_over {};
/// internal: look whether the session may be passivated
struct idle_tick {};

// -- session and turn runner -----------------------------------------------------

/// See turn::effects::take_input.
struct take_input_command {
  bool before_sampling = true;
};
struct take_input_reply {
  turn::inputs::input_taken::kind what = turn::inputs::input_taken::kind::none;
  std::optional<failure> refused;
};
struct context_command {};
struct context_snapshot_reply {
  session::context_snapshot snapshot;
};
struct record_command {
  std::vector<entry_body> entries;
};
struct record_reply {
  std::optional<failure> refused; // unset: durable and told
};
struct close_command {
  turn::effects::close how;
};
struct publish_event {
  live_event_body event;
};
struct publish_decision {
  turn::effects::note_decision note;
};
/// What a compaction committed, so that the session's projection takes it.
struct boundary_committed {
  std::vector<entry_ptr> entries;
};
struct cancel_operation {};
/// internal: a retry's delay is over
struct retry_tick {
  std::int64_t serial = 0;
};

// -- directory -------------------------------------------------------------------

/// How a session is to be found or made.
enum class open_mode : std::uint8_t { existing, create };

struct open_session_command {
  std::string session_id;
  open_mode mode = open_mode::existing;
  std::string model;                       // create: the first model; empty: the default
  std::string system_prompt;               // create
  std::optional<bool> auto_compact{};      // create; unset: as the settings say
  std::optional<bool> overflow_recovery{}; // create; the same
};
struct find_live_command {
  std::string session_id;
};
struct forget_session_command {
  std::string session_id;
};
/// A session asks to be let go: nothing runs, nobody listens.
struct passivate_command {
  std::string session_id;
};

/// The host ends although some sessions did not come to rest: they are given up, with what runs in
/// them.
struct abandon_sessions_command {};
struct abandoned_sessions_reply {
  std::vector<std::string> session_ids;
};

// -- connection --------------------------------------------------------------------

struct session_event_message {
  protocol::update_ptr update;
};
/// internal: bytes of the client arrived
struct bytes_received {
  std::string bytes;
};
/// internal: so many bytes of what was sent are with the system
struct bytes_written {
  std::size_t bytes = 0;
};
/// internal: the client sends no more, it may still read
struct input_ended {};
struct connection_closed {};
struct close_connection {};
/// The tokens changed: who came with one that is gone, has to leave.
struct tokens_changed {};
/// internal: whether the client has said anything lately
struct quiet_tick {};

} // namespace rind::actors
