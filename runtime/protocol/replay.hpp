// One answer of `session/replay`: takes journal entries in order until it is full. Who reads the
// journal and asks the session for its state is the caller's.
#pragma once

#include <string>

#include "messages/session_info.hpp"
#include "runtime/protocol/requests.hpp"
#include "runtime/protocol/responses.hpp"

namespace rind::protocol {

/// Bytes of one answer; a single item or live turn that is larger goes alone.
inline constexpr std::size_t replay_answer_limit_bytes = std::size_t{4} * 1024 * 1024;

class replay_page {
public:
  /// `call.session_id` is the session that is replayed, no longer empty.
  explicit replay_page(calls::session_replay call,
                       std::size_t limit_bytes = replay_answer_limit_bytes);

  /// Takes the next entry after cursor(). False: the page is full and the entry belongs to the next
  /// one.
  bool take(const entry& e);

  bool is_full() const { return full_; }
  /// The last entry that was taken; entries that mode tells nothing of count too.
  std::int64_t cursor() const { return cursor_; }

  /// The response. `at_end`: the journal has no entry after cursor(); `turn` and `live` are the
  /// session's own, as of that end. The page is the last one where it is at the end and the live
  /// turn still fits, else has_more.
  response_text answer(const nlohmann::json& request_id, bool at_end,
                       const std::optional<turn_state>& turn,
                       const std::optional<live_turn>& live) const;

private:
  calls::session_replay call_;
  std::size_t limit_bytes_;
  std::string items_; // JSON values with commas between
  std::int64_t count_ = 0;
  std::int64_t cursor_;
  bool full_ = false;
};

} // namespace rind::protocol
