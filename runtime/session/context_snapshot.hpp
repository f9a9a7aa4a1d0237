// What a session tells its running operation about the context of the next sampling: the view and every number that a decision needs.
// A value, taken at one moment; the view is shared, not copied again.
#pragma once

#include "runtime/context/anchor.hpp"
#include "runtime/context/budget.hpp"
#include "runtime/view/view.hpp"

#include <memory>

namespace rind::session {

struct context_snapshot {
  std::shared_ptr<const view::message_view> view;
  std::int64_t fixed_tokens = 0;
  tool_definitions tools;
  context::budget budget;
  context::usage_anchor anchor;
  std::optional<std::int64_t> tightened_limit_tokens; // of the running operation, as journaled
  bool auto_compact = true;
  bool overflow_recovery = true;
  std::uint64_t epoch = 0;  // of the session's owner; an append carries it
  std::string focus;        // of the manual compaction that runs
  std::vector<message_ptr> corpus_messages; // journaled messages from view->corpus_start on, word for word

  std::int64_t local_tokens() const { return fixed_tokens + view->tokens; }
  context::active_estimate active(std::int64_t local) const { return anchor.estimate(budget.model, view->generation, local); }
  /// The statistics of a request with this view (or of `v`, a rescued form of it).
  context_stats stats(const view::message_view& v) const;
  context_stats stats() const { return stats(*view); }
};

/// The messages of a view in order.
std::vector<message_ptr> messages_of(const view::message_view& v);

} // namespace rind::session
