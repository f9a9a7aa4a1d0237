// Every actor interface of a node: the architecture on one page. An alias each, a comment over each
// handler. Who owns what stands in the header of each actor; what is decided stands in runtime/.
#pragma once

#include <caf/typed_actor.hpp>

#include "actors/messages.hpp"
#include "messages/caf_types.hpp"

namespace rind::actors {

/// Puts a blocking store behind messages. One a store.
using journal_actor = caf::typed_actor<
    /// One atomic append; the answer comes when it is durable. Appends of one sender keep their
    /// order.
    asks<append_command, append_reply>,
    /// Take a session and read it.
    asks<claim_command, claim_reply>,
    /// Entries after a position.
    asks<read_command, read_reply>,
    /// A session at a glance.
    asks<find_session_command, find_session_reply>,
    /// A page of sessions.
    asks<list_sessions_command, list_sessions_reply>,
    /// What became of a client's input.
    asks<find_input_command, find_input_reply>,
    /// Remove a session.
    asks<remove_session_command, remove_session_reply>>;

/// Hears about a sampling; the turn runner and the compaction service are such.
using sampling_listener = caf::typed_actor<
    /// A piece of the answer.
    tells<sampling_progressed>,
    /// Once a request, last.
    tells<sampling_ended>>;

/// Asks for one sampling; `listener` hears of it.
struct start_sampling {
  sampling_request request;
  sampling_listener listener;
};

/// One a configured provider: bounds the requests in flight, first come first served.
using provider_actor = caf::typed_actor<
    /// Start a request, or let it wait for a place.
    tells<start_sampling>,
    /// End a request early; a listener that waits hears sampling_ended.
    tells<cancel_sampling>>;

/// Hears about a tool call.
using tool_listener = caf::typed_actor<
    /// A note of progress.
    tells<tool_progressed>,
    /// Once a call, last.
    tells<tool_ended>>;

struct run_tool {
  tools::invocation call;
  tool_listener listener;
};

/// One a node: runs tool calls in parallel, each with a deadline; a cancelled one ends within a
/// bounded grace.
using tool_runner_actor = caf::typed_actor<
    /// Run a call; an unknown tool ends at once as `unavailable`.
    tells<run_tool>,
    /// End a call early.
    tells<cancel_tool>,
    /// A note of a tool's progress, from its thread.
    tells<tool_progressed>,
    /// A tool's end, from its thread.
    tells<tool_ended>,
    /// internal: deadline or grace.
    tells<tool_overdue>>;

/// Hears that a compaction began or waits.
using compaction_listener = caf::typed_actor<
    /// The summary is asked for now, or (`waiting`) waits for a place.
    tells<compaction_begun>>;

/// One compaction: plan, summary, boundary (S17). The caller decides what follows.
struct compact_request {
  std::string compaction_id; // names it for cancel
  std::string session_id;
  std::string turn_id;
  std::uint64_t epoch = 0;
  compaction_reason reason = compaction_reason::manual;
  phase_detail detail = phase_detail::none;
  compaction::suffix_size suffix = compaction::suffix_size::normal;
  std::string focus;
  session::context_snapshot context;
  compaction_listener listener;
};

/// One a node, stateless between requests: bounds the summaries at once, fairly among sessions.
using compaction_service_actor = caf::typed_actor<
    /// The answer is the outcome; nothing is decided here about the operation.
    asks<compact_request, compaction_reply>,
    /// Before the commit: no boundary. After it: the boundary stays.
    tells<cancel_compaction>,
    /// The same for an operation whose runner is lost; see end_compaction_command.
    asks<end_compaction_command, done_reply>,
    /// A piece of a summary: only resets the silence.
    tells<sampling_progressed>,
    /// A summary's end.
    tells<sampling_ended>,
    /// internal: retry or deadline.
    tells<summary_tick>>;

/// Hears the events of a session, in their order.
using subscriber = caf::typed_actor<
    /// One event.
    tells<session_event_message>>;

struct subscribe_command {
  connection_id from = 0;
  subscriber listener;
};

/// One a live session: owns the execution slot, the queues, the projection and the subscribers.
using session_actor = caf::typed_actor<
    // -- a client's commands --
    /// Run a turn, or wait for the slot; answered when the operation has ended (S2, S3a, S10).
    asks<prompt_command, prompt_reply>,
    /// Take a waiting prompt back.
    asks<withdraw_prompt_command, done_reply>,
    /// A manual compaction; answered when the operation has ended (S27).
    asks<compact_command, compact_reply>,
    /// Stop the running operation, or settle an interrupted one; answered when its end is written
    /// (S4).
    asks<cancel_command, done_reply>,
    /// Steer or follow up (S3).
    asks<queue_input_command, queued_reply>,
    /// Take an input back.
    asks<take_back_command, queued_reply>,
    /// Follow-up to steering.
    asks<promote_command, queued_reply>,
    /// Another model from the next sampling on.
    asks<set_model_command, done_reply>,
    /// The session at a glance.
    asks<session_info_query, session_info_reply>,
    /// Why it did or did not compact (S15).
    asks<context_query, context_reply>,
    /// A page of the past; the last page joins the live events without a gap (S37).
    asks<replay_command, replay_reply>,
    /// Hear events from now on.
    asks<subscribe_command, done_reply>,
    /// Hear no more.
    tells<unsubscribe_command>,
    /// A connection ended.
    tells<connection_gone>,
    /// Remove the session and its journal.
    asks<delete_command, done_reply>,
    /// Stop in two steps.
    asks<stop_command, done_reply>,
    // -- its turn runner --
    /// The next queued input, or the end of the operation.
    asks<take_input_command, take_input_reply>,
    /// The context of the next sampling.
    asks<context_command, context_snapshot_reply>,
    /// Journal these, in one piece, and tell subscribers.
    asks<record_command, record_reply>,
    /// Write the terminal entry. Answered when it is written or refused; the runner ends then.
    asks<close_command, done_reply>,
    /// Tell subscribers.
    tells<publish_event>,
    /// Remember a decision (S15).
    tells<publish_decision>,
    /// Entries that the compaction service committed.
    tells<boundary_committed>,
    // -- internal --
    tells<grace_over>, tells<idle_tick>>;

/// One a running operation: carries the turn machine's inputs in and its effects out.
using turn_runner_actor =
    caf::typed_actor<tells<sampling_progressed>, tells<sampling_ended>, tells<tool_progressed>,
                     tells<tool_ended>, tells<compaction_begun>,
                     /// Stop as soon as possible; the terminal entry follows.
                     tells<cancel_operation>,
                     /// internal
                     tells<retry_tick>>;

struct open_session_reply {
  result<session_actor> value;
};

struct find_live_reply {
  std::optional<session_actor> handle;
};

/// One a node: session id → actor; activates on first use.
using directory_actor = caf::typed_actor<
    /// The session's actor; SessionNotFound, SessionExists, UnknownModel, ServerStopping.
    asks<open_session_command, open_session_reply>,
    /// The session's actor where it is live; activates nothing.
    asks<find_live_command, find_live_reply>,
    /// A session was deleted.
    tells<forget_session_command>,
    /// A session asks to be let go.
    asks<passivate_command, done_reply>,
    /// Stop every session in two steps; answered when all are idle.
    asks<stop_command, done_reply>,
    /// Give up those that are not; answered with who they are.
    asks<abandon_sessions_command, abandoned_sessions_reply>>;

/// One a client: parses, dispatches, and holds the bounded outgoing queue.
using connection_actor =
    caf::typed_actor<tells<session_event_message>, tells<bytes_received>, tells<bytes_written>,
                     tells<input_ended>, tells<connection_closed>,
                     /// End the connection after what is queued was written.
                     tells<close_connection>, tells<tokens_changed>, tells<quiet_tick>>;

} // namespace rind::actors

RIND_BEGIN_LOCAL_MESSAGES()
#define RIND_ACTOR_MESSAGE(name) RIND_LOCAL_MESSAGE(rind::actors::name)
RIND_ACTOR_MESSAGE(append_command)
RIND_ACTOR_MESSAGE(append_reply)
RIND_ACTOR_MESSAGE(claim_command)
RIND_ACTOR_MESSAGE(claim_reply)
RIND_ACTOR_MESSAGE(read_command)
RIND_ACTOR_MESSAGE(read_reply)
RIND_ACTOR_MESSAGE(find_session_command)
RIND_ACTOR_MESSAGE(find_session_reply)
RIND_ACTOR_MESSAGE(list_sessions_command)
RIND_ACTOR_MESSAGE(list_sessions_reply)
RIND_ACTOR_MESSAGE(find_input_command)
RIND_ACTOR_MESSAGE(find_input_reply)
RIND_ACTOR_MESSAGE(remove_session_command)
RIND_ACTOR_MESSAGE(remove_session_reply)
RIND_ACTOR_MESSAGE(cancel_sampling)
RIND_ACTOR_MESSAGE(sampling_progressed)
RIND_ACTOR_MESSAGE(sampling_ended)
RIND_ACTOR_MESSAGE(start_sampling)
RIND_ACTOR_MESSAGE(overdue_tick)
RIND_ACTOR_MESSAGE(cancel_tool)
RIND_ACTOR_MESSAGE(tool_progressed)
RIND_ACTOR_MESSAGE(tool_ended)
RIND_ACTOR_MESSAGE(tool_overdue)
RIND_ACTOR_MESSAGE(run_tool)
RIND_ACTOR_MESSAGE(cancel_compaction)
RIND_ACTOR_MESSAGE(end_compaction_command)
RIND_ACTOR_MESSAGE(compaction_begun)
RIND_ACTOR_MESSAGE(compact_request)
RIND_ACTOR_MESSAGE(compaction_reply)
RIND_ACTOR_MESSAGE(summary_tick)
RIND_ACTOR_MESSAGE(prompt_command)
RIND_ACTOR_MESSAGE(prompt_reply)
RIND_ACTOR_MESSAGE(withdraw_prompt_command)
RIND_ACTOR_MESSAGE(compact_command)
RIND_ACTOR_MESSAGE(compact_reply)
RIND_ACTOR_MESSAGE(cancel_command)
RIND_ACTOR_MESSAGE(done_reply)
RIND_ACTOR_MESSAGE(queue_input_command)
RIND_ACTOR_MESSAGE(take_back_command)
RIND_ACTOR_MESSAGE(promote_command)
RIND_ACTOR_MESSAGE(queued_reply)
RIND_ACTOR_MESSAGE(set_model_command)
RIND_ACTOR_MESSAGE(session_info_query)
RIND_ACTOR_MESSAGE(session_info_reply)
RIND_ACTOR_MESSAGE(context_query)
RIND_ACTOR_MESSAGE(context_reply)
RIND_ACTOR_MESSAGE(replay_command)
RIND_ACTOR_MESSAGE(replay_reply)
RIND_ACTOR_MESSAGE(subscribe_command)
RIND_ACTOR_MESSAGE(unsubscribe_command)
RIND_ACTOR_MESSAGE(connection_gone)
RIND_ACTOR_MESSAGE(delete_command)
RIND_ACTOR_MESSAGE(stop_command)
RIND_ACTOR_MESSAGE(grace_over)
RIND_ACTOR_MESSAGE(idle_tick)
RIND_ACTOR_MESSAGE(take_input_command)
RIND_ACTOR_MESSAGE(take_input_reply)
RIND_ACTOR_MESSAGE(context_command)
RIND_ACTOR_MESSAGE(context_snapshot_reply)
RIND_ACTOR_MESSAGE(record_command)
RIND_ACTOR_MESSAGE(record_reply)
RIND_ACTOR_MESSAGE(close_command)
RIND_ACTOR_MESSAGE(publish_event)
RIND_ACTOR_MESSAGE(publish_decision)
RIND_ACTOR_MESSAGE(boundary_committed)
RIND_ACTOR_MESSAGE(cancel_operation)
RIND_ACTOR_MESSAGE(retry_tick)
RIND_ACTOR_MESSAGE(open_session_command)
RIND_ACTOR_MESSAGE(open_session_reply)
RIND_ACTOR_MESSAGE(find_live_command)
RIND_ACTOR_MESSAGE(find_live_reply)
RIND_ACTOR_MESSAGE(forget_session_command)
RIND_ACTOR_MESSAGE(passivate_command)
RIND_ACTOR_MESSAGE(abandon_sessions_command)
RIND_ACTOR_MESSAGE(abandoned_sessions_reply)
RIND_ACTOR_MESSAGE(session_event_message)
RIND_ACTOR_MESSAGE(bytes_received)
RIND_ACTOR_MESSAGE(bytes_written)
RIND_ACTOR_MESSAGE(input_ended)
RIND_ACTOR_MESSAGE(connection_closed)
RIND_ACTOR_MESSAGE(close_connection)
RIND_ACTOR_MESSAGE(tokens_changed)
RIND_ACTOR_MESSAGE(quiet_tick)
#undef RIND_ACTOR_MESSAGE
RIND_END_LOCAL_MESSAGES()
