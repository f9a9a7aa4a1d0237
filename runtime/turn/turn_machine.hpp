// One operation (a turn or a manual compaction) as states, inputs and effects (S7, S17, S25,
// S27–S34). Pure: the turn runner carries inputs in and effects out. The table of reactions stands
// at the top of turn_machine.cpp.
#pragma once

#include <array>
#include <variant>

#include "messages/events.hpp"
#include "messages/sampling.hpp"
#include "runtime/compaction/corpus.hpp"
#include "runtime/compaction/outcome.hpp"
#include "runtime/context/rescue.hpp"
#include "runtime/recovery/recovery_machine.hpp"
#include "runtime/session/context_snapshot.hpp"

namespace rind::turn {

enum class state : std::uint8_t {
  taking,     // asked the session for a queued input
  building,   // asked the session for the context
  compacting, // a compaction runs
  recording,  // an attempt is being journaled before it is made
  waiting,    // the delay before a retry
  sampling,   // a request is with the provider
  committing, // the assistant's message is being journaled
  tools,      // tool calls run, their results are being journaled
  closing,    // the session writes the terminal entry
  ended,
};
inline constexpr std::size_t state_count = 10;

namespace inputs {

struct input_taken {
  enum class kind : std::uint8_t {
    none,
    delivered, // a steering input
    follow_up_delivered,
    ended, // nothing was left and the operation is closed
  } what = kind::none;
};
struct context_ready {
  session::context_snapshot snapshot;
};
struct compaction_finished {
  compaction::outcome outcome;
};
struct recorded {};
struct refused { // the journal refused what was to be recorded, committed or delivered
  failure error;
};
struct retry_due {};
struct sampling_finished {
  sampling_outcome outcome;
  bool deltas_sent = false;
  double chance = 0.5; // [0, 1)
};
struct tool_finished {
  std::string tool_call_id;
  std::string tool_name;
  tool_status status = tool_status::completed;
  std::string text;
  std::string error_type;
  std::int64_t duration_ms = 0;
};
struct cancel_requested {};
struct closed {};

} // namespace inputs

using input =
    std::variant<inputs::input_taken, inputs::context_ready, inputs::compaction_finished,
                 inputs::recorded, inputs::refused, inputs::retry_due, inputs::sampling_finished,
                 inputs::tool_finished, inputs::cancel_requested, inputs::closed>;
inline constexpr std::size_t input_count = std::variant_size_v<input>;

namespace effects {

/// Ask the session for the next input. `before_sampling`: one steering item or none. Otherwise:
/// steering, else a follow-up, else the session ends the operation as completed.
struct take_input {
  bool before_sampling = true;
};
struct build_context {};
struct compact {
  compaction_reason reason = compaction_reason::automatic;
  phase_detail detail = phase_detail::none;
  compaction::suffix_size suffix = compaction::suffix_size::normal;
  session::context_snapshot snapshot;
};
/// Append to the journal in one piece; answered by recorded or refused.
struct record {
  std::vector<entry_body> entries;
};
struct wait {
  std::int64_t delay_ms = 0;
};
struct sample {
  std::vector<message_ptr> messages;
  tool_definitions tools;
  std::string model;
  std::int64_t output_limit_tokens = 0;
  std::int64_t estimated_tokens = 0;
  std::int64_t window_tokens = 0;
};
struct run_tools {
  std::vector<tool_call> calls;
};
struct announce {
  live_event_body event;
};
/// A decision to remember for `rind/context/inspect` (S15).
struct note_decision {
  std::string decision;
  std::string reason;
  context_stats stats;
};
/// Stop whatever runs: the stream, the compaction, the tools, the delay.
struct stop_work {};
/// Have the session write the terminal entry (after `extra`, in the same append).
struct close {
  entries::turn_outcome outcome = entries::turn_outcome::failed;
  std::optional<failure> error;
  std::vector<entry_body> extra;
};

} // namespace effects

using effect =
    std::variant<effects::take_input, effects::build_context, effects::compact, effects::record,
                 effects::wait, effects::sample, effects::run_tools, effects::announce,
                 effects::note_decision, effects::stop_work, effects::close>;
using effect_list = std::vector<effect>;

/// What the machine does with an input in a state.
enum class reaction : std::uint8_t {
  illegal, // cannot happen; ends the operation with internal_error
  ignore,  // late or without meaning there
  go_on,   // the next step of the loop; the state's own function
  fail,    // the journal refused: end as failed
  stop,    // cancel: stop what runs and close as soon as it stands still
  finish,  // the terminal entry is written, or was refused: nothing follows
};
const std::array<std::array<reaction, input_count>, state_count>& reaction_table();

const char* to_string(state value);
/// The name of an input, by its place in the variant.
const char* name_of(const input& in);

struct options {
  operation_kind operation = operation_kind::turn;
  std::int64_t samplings_max = 500;
  std::int64_t samplings_before = 0; // a resumed turn: those that the journal knows
  bool goes_on = false;              // a turn that was interrupted
  recovery::resume_state resumed;
};

class turn_machine {
public:
  explicit turn_machine(options o);

  /// The first effects. Once.
  effect_list start();
  effect_list on(const input& in);

  state at() const { return state_; }
  bool cancelled() const { return cancelled_; }
  const recovery::recovery_machine& recovery() const { return recovery_; }

private:
  /// What a context is being built for.
  enum class purpose : std::uint8_t {
    sampling,
    resuming, // where an interrupted turn goes on is seen from its view
    manual_compaction,
    after_compaction,
    error_compaction,
    after_error_compaction,
    rescue,
  };

  void on_input(const inputs::input_taken& in);
  void on_input(const inputs::context_ready& in);
  void on_input(const inputs::compaction_finished& in);
  void on_input(const inputs::recorded& in);
  void on_input(const inputs::refused& in);
  void on_input(const inputs::retry_due& in);
  void on_input(const inputs::sampling_finished& in);
  void on_input(const inputs::tool_finished& in);
  void on_input(const inputs::cancel_requested& in);
  void on_input(const inputs::closed& in);

  bool count_sampling();
  void begin_sampling(bool take_steering);
  void take_next();
  void build(purpose p);
  void go_on_from(const session::context_snapshot& s);
  void judge(const session::context_snapshot& s);
  bool must_compact_small(const session::context_snapshot& s, std::int64_t active) const;
  void start_compaction(const session::context_snapshot& s, compaction_reason reason,
                        phase_detail detail, compaction::suffix_size suffix);
  void settle_compaction(const session::context_snapshot& s);
  void overflow_without_call(const session::context_snapshot& s);
  void compact_refused(const session::context_snapshot& s);
  void settle_error_compaction(const session::context_snapshot& s);
  void rescue(const session::context_snapshot& s);
  void send(const session::context_snapshot& s, const view::message_view& v, std::int64_t rescued);
  void resend();
  void handle_error(const provider_error& error);
  void carry_out(const recovery::decision& d, std::vector<entry_body> to_record);
  void accept(const sampling_answer& answer);
  void after_tool();
  void announce_retry(const recovery::decision& d);
  entry_body attempt_entry(std::optional<std::int64_t> output_limit) const;
  void announce_context(const session::context_snapshot& s, context_stats stats,
                        bool compact_required, std::int64_t rescued);
  void note(const char* decision, std::string reason, const context_stats& stats);
  void fail_illegal(const std::string& what);
  void close(entries::turn_outcome outcome, std::optional<failure> error = std::nullopt,
             std::vector<entry_body> extra = {});
  recovery::request_facts facts_of(const session::context_snapshot& s,
                                   std::int64_t estimated) const;

  options options_;
  state state_ = state::taking;
  effect_list out_;
  recovery::recovery_machine recovery_;
  bool cancelled_ = false;

  purpose purpose_ = purpose::sampling;
  std::int64_t samplings_ = 0;
  bool taking_next_ = false; // the input is asked for after the task's end, not before a sampling
  bool steering_taken_ = false; // for the sampling that is being prepared

  // compaction of the running sampling
  compaction_reason compaction_reason_ = compaction_reason::automatic;
  phase_detail compaction_detail_ = phase_detail::none;
  std::int64_t compacted_position_ =
      -1; // view position at which no further compaction of this view starts by itself
  bool small_tried_ = false;
  bool last_committed_ = false;
  bool conflict_retried_ = false;
  bool resumed_refusal_ = false; // what was refused before the interruption is still to be answered
                                 // by something smaller

  // the request that is out, or will be sent again
  effects::sample request_;
  recovery::request_facts facts_;
  std::int64_t request_local_tokens_ = 0;
  std::int64_t request_generation_ = 0;
  std::int64_t output_override_ = 0; // lowered output limit of this sampling; 0: none
  std::optional<context::rescue_plan> rescue_;
  std::int64_t rescue_limit_tokens_ = 0;
  std::int64_t rescue_tokens_before_ = 0;
  session::context_snapshot rescue_base_;
  std::string model_;
  bool discard_partial_ = false;
  bool not_sent_ = false; // the overflow that is recovered was found here, without a call
  std::optional<recovery::decision> pending_; // announced when the attempt is really made
  enum class after_record : std::uint8_t {
    error_compaction,
    rescue,
    resend,
    wait
  } after_record_ = after_record::resend;

  // the answer that is being committed, and its tools
  std::vector<tool_call> calls_; // without a result yet, once they run
  std::optional<token_usage> answer_usage_;
  std::size_t results_committing_ = 0;
};

} // namespace rind::turn
