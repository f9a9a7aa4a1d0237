// Context rescue (S31) and shortening of unread results (S18a): which parts of a view to replace so
// that its estimate falls below a limit. Pure: a view in, replacements out; nothing is committed
// here and the journal keeps everything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/record.hpp"
#include "runtime/view/view.hpp"

namespace rind::context {

/// Active estimate of a view whose plain local estimate (fixed part included) is given; see
/// usage_anchor.
using active_of = std::function<std::int64_t(std::int64_t local_tokens)>;

struct rescue_plan {
  std::vector<replacement> replaced; // new ones only, ascending, merged
  view::message_view after;          // the view with them
  std::int64_t active_tokens = 0;    // its active estimate
  bool changed = false;              // false: nothing could be replaced
  bool fits = false;                 // at or below the limit
};

/// S31: bodies of read tool results (oldest first), whole units (oldest first), last the bodies of
/// unread tool results, until the active estimate is at most `limit_tokens`. Touches neither system
/// messages, the handoff, the newest message that the person wrote, the unread part (but for
/// bodies, last) nor the last two units.
rescue_plan plan_rescue(const view::message_view& v, std::int64_t fixed_tokens,
                        std::int64_t limit_tokens, const active_of& active);

/// S18a: bodies of unread tool results only, oldest first.
rescue_plan shorten_unread(const view::message_view& v, std::int64_t fixed_tokens,
                           std::int64_t limit_tokens, const active_of& active);

/// Sorted; ranges of one kind that overlap or touch become one; bodies inside left-out ranges go.
std::vector<replacement> merge_replacements(std::vector<replacement> replaced);

/// The view with replacements applied (any order). What is replaced already stays; a run of
/// left-out items becomes one note. Applying them one after the other or all at once gives the same
/// view.
view::message_view with_replaced(const view::message_view& v,
                                 const std::vector<replacement>& replaced);

/// A message with its body shortened, or null where that would not be shorter.
message_ptr shortened_message(const message& m);

/// A body cut to its first and last characters with the number left out between; unchanged
/// (nullopt) where that would not be shorter.
std::optional<std::string> shortened_body(std::string_view body);

/// The message that stands for a run of units left out: how many messages of which journal range.
message_ptr left_out_note(std::int64_t start, std::int64_t end_exclusive, std::int64_t messages);

} // namespace rind::context
