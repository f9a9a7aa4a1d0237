// The view: the list of messages that the next sampling sends, and what is known of each. A value;
// copies share the messages. How it comes out of the journal stands in projection.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/conversation.hpp"

namespace rind::view {

enum class item_kind : std::uint8_t {
  system,       // a system message; part of the fixed part of a request
  continuation, // the fixed user text that opens a compacted view
  handoff,      // the summary, as an assistant message
  message,      // a journaled message, whole or with a shortened body
  placeholder,  // stands for the result of a call that has none (S9)
  left_out,     // a user message that stands for whole units which a rescue left out (S31)
};

/// One message of the view. `start`/`end_exclusive` are the journaled messages that it stands for:
/// one for a message, a range for `left_out`; equal (an empty range at that place) for what stands
/// for none.
struct item {
  message_ptr msg;
  item_kind kind = item_kind::message;
  std::int64_t start = 0;
  std::int64_t end_exclusive = 0;
  std::int64_t tokens = 0;            // plain local estimate of this message in a request
  bool shortened = false;             // the body is an excerpt; the journal holds it whole
  std::int64_t left_out_messages = 0; // left_out: how many journaled messages
};

/// The view and the running sum over it. `tokens` is the sum of the items' tokens without the
/// system items (those are in the fixed part).
struct message_view {
  std::vector<item> items; // system items first
  std::size_t system_items = 0;
  std::int64_t tokens = 0; // plain local estimate of all items but the system items
  std::int64_t first_unread =
      0; // journaled messages from this index on have been in no successful sampling
  std::int64_t corpus_start = 0; // end of the summary boundary before (record: message_start_index)
  std::int64_t message_count = 0;  // journaled user, assistant and tool messages so far
  std::int64_t generation = 0;     // boundaries so far
  std::int64_t view_position = 0;  // newest message or boundary entry (S24); 0: none
  message_ptr newest_user_message; // newest message that the person wrote (prompt, steering,
                                   // follow-up), whole; null: none
  std::int64_t newest_user_index = -1;
};

/// A unit is never split: a user message, or an assistant message with all of its results. [begin,
/// end) are positions in `items`.
struct unit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t tokens = 0;
  bool unread = false; // holds a journaled message from `first_unread` on
};

/// Units of a view in order, system items left out; the continuation and the handoff of an earlier
/// compaction make one unit together.
std::vector<unit> units_of(const message_view& v);

/// Whether items[u.begin] opens the pair of an earlier handoff.
bool is_handoff_unit(const message_view& v, const unit& u);

/// Why a list of messages must not be sent (S8), or nullopt: system first; the first other message
/// is the user's; each call is followed by exactly its results before any other message; no result
/// without its call; no empty assistant message; the last is the user's or a result; well-formed
/// UTF-8.
std::optional<std::string> boundary_fault(const std::vector<message_ptr>& messages);

/// The same check in the cost of what is new: feed the messages one after the other. A rebuilt view
/// starts a new checker.
class boundary_checker {
public:
  /// Takes the next message; the first fault sticks.
  void add(const message& m);
  /// The fault of the list so far, if it were sent now.
  std::optional<std::string> fault() const;
  /// The same without the rule for the last message: what a view that waits for its next input has
  /// to keep.
  std::optional<std::string> structure_fault() const;

private:
  std::optional<std::string> fault_;
  std::vector<std::string>
      open_calls_;          // calls of the newest assistant message without a result yet
  bool seen_other_ = false; // a message that is no system message
  message_role last_ = message_role::system;
};

} // namespace rind::view
