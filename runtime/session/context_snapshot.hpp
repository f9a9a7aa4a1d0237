// What a session tells its running operation about the context of the next sampling: the view and
// every number that a decision needs. A value, taken at one moment; the view is shared, not copied
// again.
#pragma once

#include <memory>

#include "runtime/context/anchor.hpp"
#include "runtime/context/budget.hpp"
#include "runtime/view/view.hpp"

namespace rind::session {

struct context_snapshot {
  std::shared_ptr<const view::message_view> view;
  std::int64_t fixed_tokens = 0;
  tool_definitions tools;
  context::budget budget;
  context::usage_anchor anchor;
  std::optional<std::int64_t> tightened_limit_tokens; // of the running operation, as journaled
  std::optional<std::string> fault;                   // why the view must not be sent (S8)
  bool auto_compact = true;
  bool overflow_recovery = true;
  std::uint64_t epoch = 0; // of the session's owner; an append carries it
  std::string focus;       // of the manual compaction that runs
  std::vector<message_ptr>
      corpus_messages; // journaled messages from view->corpus_start on, word for word

  /// The threshold in force: a tightened limit lowers it until the operation ends (S30).
  std::int64_t threshold_tokens() const;
  std::int64_t local_tokens() const { return fixed_tokens + view->tokens; }
  /// Active tokens for one plain local token of the view.
  double ratio() const;
  context::active_estimate active(std::int64_t local) const {
    return anchor.estimate(budget.model, view->generation, local);
  }
  /// The statistics of a request with this view (or of `v`, a rescued form of it).
  context_stats stats(const view::message_view& v) const;
  context_stats stats() const { return stats(*view); }
};

/// The messages of a view in order.
std::vector<message_ptr> messages_of(const view::message_view& v);

} // namespace rind::session
