// The execution slot of a session (S1, S2, S10): who holds it and what each command meets there, as
// one table. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rind::session {

enum class slot_state : std::uint8_t {
  idle,
  opening,     // the entry that starts an operation is being journaled
  running,     // an operation has a runner
  closing,     // its terminal entry is being journaled
  interrupted, // the journal shows an operation without an end, and nobody runs it
  settling,    // an interrupted operation is being ended in the journal
};
inline constexpr std::size_t slot_state_count = 6;

enum class slot_input : std::uint8_t {
  prompt,
  resume,
  compact,
  model_set,
  cancel,
  queue_input, // steer, follow-up, take back, promote
  opened,
  open_refused,
  close, // the runner, or the loss of the runner, ends the operation
  closed,
  close_refused,
  settled,
  settle_refused,
};
inline constexpr std::size_t slot_input_count = 13;

/// What the session does; `stash` keeps the command until the state has settled, `wait` queues a
/// prompt.
enum class slot_action : std::uint8_t {
  illegal,
  start,  // journal the start
  resume, // journal the resumed start
  settle, // end the interrupted operation first, then look again
  wait,
  stash,
  refuse_active,     // TurnActive
  refuse_not_active, // TurnNotActive
  run,               // spawn the runner
  give_up_start,     // the journal refused the start
  accept,            // take the command now
  write_end,
  finish,            // tell everybody, take the next prompt
  leave_interrupted, // the journal refused the end (S5)
};

struct slot_transition {
  slot_state next = slot_state::idle;
  slot_action action = slot_action::illegal;
};

const std::array<std::array<slot_transition, slot_input_count>, slot_state_count>& slot_table();

class execution_slot {
public:
  slot_state at() const { return state_; }
  /// A session was activated and its journal shows an operation without an end.
  void found_interrupted() { state_ = slot_state::interrupted; }
  /// Moves and answers what to do. An illegal pair leaves the state as it is.
  slot_action on(slot_input in);
  bool has_operation() const {
    return state_ == slot_state::running || state_ == slot_state::closing ||
           state_ == slot_state::opening;
  }

private:
  slot_state state_ = slot_state::idle;
};

} // namespace rind::session
