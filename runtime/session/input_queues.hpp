// Steering and follow-up inputs of the running operation (S3). Pure. An input is counted from the
// moment it is asked for, so that limits hold while its entry is on the way to the journal; it can
// be delivered or taken back only once it is journaled.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "messages/journal_entry.hpp"
#include "messages/result.hpp"

namespace rind::session {

struct queue_limits {
  std::int64_t inputs_max = 4;         // a queue
  std::int64_t characters_max = 8'000; // a queue
};

struct queued_input {
  std::string input_id;
  input_mode mode = input_mode::steering;
  std::string text;
  friend bool operator==(const queued_input&, const queued_input&) = default;
};

class input_queues {
public:
  explicit input_queues(queue_limits limits) : limits_(limits) {}

  /// A resumed operation keeps its queues: oldest first.
  void restore(std::vector<queued_input> inputs);
  void clear() { items_.clear(); }

  /// Reserves a place for an input whose entry is about to be journaled; InputQueueFull past either
  /// limit.
  result<done> begin_accept(queued_input in);
  /// Journaled at this position: queues are in the journal's order, in which a restart finds them.
  void accepted(const std::string& input_id, std::int64_t position);
  void accept_refused(const std::string& input_id);

  /// The next to be delivered: oldest of steering, else (unless `steering_only`) oldest of the
  /// follow-ups. It is on its way out until left() or leave_refused().
  std::optional<queued_input> begin_deliver(bool steering_only);
  /// Takes an input back: the newest of the mode, or the one with the id; InputNotPending.
  result<queued_input> begin_take_back(input_mode mode, const std::string& input_id);
  void left(const std::string& input_id);
  void leave_refused(const std::string& input_id);

  /// Follow-up to steering: to the end of that queue. InputNotPending, InputQueueFull. Until
  /// promoted() it stays where it is.
  result<done> begin_promote(const std::string& input_id);
  void promoted(const std::string& input_id, std::int64_t position);
  void promote_refused(const std::string& input_id);

  /// Whether something is on its way into the journal or out: the end of the operation waits for
  /// it.
  bool unsettled() const;
  bool has(input_mode mode) const; // journaled and not on its way out
  std::int64_t count(input_mode mode) const;
  const queued_input* find(const std::string& input_id) const; // in any state
  /// What would be handed back now, oldest first.
  std::vector<undelivered_input> rest() const;

private:
  enum class place : std::uint8_t { arriving, waiting, leaving, promoting };
  struct slot {
    queued_input in;
    place at = place::arriving;
    std::int64_t position = 0; // of its acceptance or promotion; while it arrives: behind all
  };
  slot* lookup(const std::string& input_id);
  void stay(const std::string& input_id);
  void wait_in_order(const std::string& input_id, input_mode mode, std::int64_t position);
  result<done> room(input_mode mode, const std::string& text) const;

  queue_limits limits_;
  std::deque<slot> items_; // by position, oldest first
};

} // namespace rind::session
