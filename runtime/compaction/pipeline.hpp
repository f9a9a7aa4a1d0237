// The pure steps of a compaction between the service's I/O: plan, (the summary is made elsewhere),
// conclude, (the journal appends). The same for all three entrances (S17–S24). Nothing here knows
// who asked or what follows.
#pragma once

#include <variant>

#include "messages/sampling.hpp"
#include "runtime/compaction/corpus.hpp"
#include "runtime/compaction/outcome.hpp"
#include "runtime/compaction/summary_request.hpp"
#include "runtime/context/rescue.hpp"

namespace rind::compaction {

/// What is to be compacted, and by which numbers.
struct request {
  compaction_reason reason = compaction_reason::manual;
  phase_detail detail = phase_detail::none;
  suffix_size size = suffix_size::normal;
  std::string focus;
  std::shared_ptr<const view::message_view> view;
  std::vector<message_ptr>
      corpus_messages; // journaled messages from view->corpus_start on, word for word
  std::int64_t fixed_tokens = 0;
  context::budget budget;
  context::active_of
      active_of; // active estimate of a request of the session, from its plain local estimate
  context::active_of
      summary_active_of; // the same for a request to the summary model, which has no anchor
};

/// A summary has to be made before the boundary can be.
struct summary_plan {
  cut parts;
  summary_request summary;
  std::int64_t tokens_before = 0; // active estimate of the whole request
};

/// A boundary that is ready to be appended; `id` and `created_at_ms` of the record are the caller's
/// to fill.
struct boundary_draft {
  compaction_record record;
  bool fits_hard_limit = false; // the view after it, by the active estimate
};

using planned = std::variant<summary_plan, boundary_draft, outcome>;

/// S18, S19: cut, check that the summary request fits. Nothing to summarise: a boundary that only
/// shortens unread results where the view is over the hard limit because of them (S18a, automatic
/// entrance), else the outcome nothing_to_compact.
planned plan(const request& r);

/// S18a by itself: the boundary that shortens unread results so that the view comes under the hard
/// limit; nullopt where that is not needed or not enough.
std::optional<boundary_draft> shorten_only(const request& r);

/// S20–S24: handoff from the answer, or without a model where the summary failed; unread results
/// shortened where the new view would be over the hard limit; the boundary, or no_gain or
/// cancelled. For the automatic entrance no_gain ends as nothing_to_compact does in plan.
std::variant<boundary_draft, outcome> conclude(const request& r, const summary_plan& p,
                                               const sampling_outcome& answer);

/// The record of a boundary that replaces parts of a view and asks no model (S18a, S31).
compaction_record rescue_record(const view::message_view& v, const context::rescue_plan& plan,
                                compaction_reason reason, phase_detail detail,
                                std::int64_t tokens_before);

} // namespace rind::compaction
