// What waits to be written to one client, bounded (S38). A client that reads too slowly loses
// stream deltas first, then its connection; it never slows a session down. Not thread-safe: one
// owner pushes and pops.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "runtime/protocol/responses.hpp"
#include "runtime/protocol/session_updates.hpp"

namespace rind::protocol {

inline constexpr std::size_t unsent_limit_bytes = std::size_t{1} * 1024 * 1024;
inline constexpr std::size_t unsent_limit_frames = 1'000;

struct outgoing_limits {
  std::size_t bytes = unsent_limit_bytes;
  std::size_t frames = unsent_limit_frames;
};

/// Frames leave in the order in which they came; event frames get their sequence number when they
/// leave, without gaps. Pop only what is about to be written: what was popped no longer counts as
/// unsent.
///
/// Past a limit, until within both again: neighbouring deltas of one stream are merged; then deltas
/// are dropped, oldest first, and the next delta of the stream tells how many characters; then tool
/// progress is dropped; then the client is too slow. A gap is no longer told once the text is moot:
/// the whole message was sent, the attempt was discarded, the turn ended, or a replay covered it.
/// Responses and one event frame that is larger than the byte limit do not count.
class outgoing_queue {
public:
  explicit outgoing_queue(outgoing_limits limits = {}) : limits_(limits) {}

  /// False: the client is too slow. Its connection is to be closed with SlowConsumer; nothing is
  /// taken from then on.
  [[nodiscard]] bool push(update_ptr update);
  void push(response_text response);

  /// The next frame with its newline.
  std::optional<std::string> pop();

  bool empty() const { return items_.empty(); }
  bool is_too_slow() const { return too_slow_; }
  /// Sequence number of the last event frame that left; 0 before the first.
  std::int64_t last_sequence() const { return sequence_; }
  /// What counts against the limits.
  std::size_t unsent_frames() const;
  std::size_t unsent_bytes() const;
  /// Responses have no limit here: who reads requests should stop while this is large.
  std::size_t response_bytes() const { return response_bytes_; }

private:
  /// A stream of deltas: session, turn, and which of the two kinds.
  using stream = std::tuple<std::string, std::string, std::size_t>;

  struct event_item {
    update_ptr update;
    std::size_t bytes = 0;
    std::optional<std::string> merged_text; // where neighbours were merged into this one
    std::int64_t dropped_characters = 0;    // before this delta

    const std::string* text() const;
  };
  using item = std::variant<event_item, response_text>;

  static stream stream_of(const session_event& event);
  static bool makes_gaps_moot(const session_event& event);

  bool is_over() const {
    return unsent_frames() > limits_.frames || unsent_bytes() > limits_.bytes;
  }
  bool is_oversized(const event_item& e) const { return e.bytes > limits_.bytes; }
  void count(const event_item& e);
  void uncount(const event_item& e);
  void merge_deltas();
  bool merge_into(event_item& left, const event_item& right);
  void drop_deltas();
  void drop_tool_progress();

  outgoing_limits limits_;
  std::deque<item> items_;
  std::map<stream, std::int64_t> gaps_; // characters dropped that no delta has told yet
  std::deque<std::size_t>
      oversized_; // sizes of unsent oversized frames, oldest first; the first one does not count
  std::size_t frames_ = 0; // event frames but the oversized
  std::size_t bytes_ = 0;  // of those
  std::size_t oversized_bytes_ = 0;
  std::size_t response_bytes_ = 0;
  std::int64_t sequence_ = 0;
  bool too_slow_ = false;
};

} // namespace rind::protocol
