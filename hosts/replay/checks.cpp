// One walk over the journal beside the requests that it answers.
#include "hosts/replay/checks.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/compaction/handoff.hpp"
#include "runtime/session/context_snapshot.hpp"
#include "runtime/tools/output_cap.hpp"
#include "runtime/view/projection.hpp"

namespace rind::hosts::replay {

namespace {

/// Whether a journaled message is the recorded one, word for word; a tool's output as far as a host
/// takes it.
bool is_same(const message& journaled, const message& recorded) {
  if (journaled.role != recorded.role)
    return false;
  if (recorded.role == message_role::tool)
    return journaled.tool_call_id == recorded.tool_call_id &&
           journaled.is_error == recorded.is_error &&
           journaled.content == tools::cap_output(recorded.content);
  return journaled.content == recorded.content && journaled.tool_calls == recorded.tool_calls &&
         journaled.reasoning == recorded.reasoning;
}

bool are_same(const std::vector<message_ptr>& a, const std::vector<message_ptr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const message_ptr& x, const message_ptr& y) { return x == y || *x == *y; });
}

error_spread spread_of(std::vector<double> errors) {
  error_spread s;
  s.count = errors.size();
  if (errors.empty())
    return s;
  std::sort(errors.begin(), errors.end());
  const auto n = errors.size();
  s.median = (errors[(n - 1) / 2] + errors[n / 2]) / 2;
  s.p99 = errors[static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(n))) - 1];
  s.max = errors.back();
  return s;
}

class examiner {
public:
  examiner(const recording& r, const plan& p, const played_session& s,
           const std::vector<seen_request>& requests)
      : recording_(r), plan_(p), session_(s), projection_(view::projection_settings{{}, s.tools}) {
    out_.messages = r.size();
    out_.discarded_messages = p.discarded;
    out_.skipped_messages = p.skipped;
    take_requests(requests);
  }

  findings run(const std::vector<entry_ptr>& entries) {
    for (const auto& e : entries)
      take(*e);
    compare_messages();
    if (!entries.empty())
      out_.final_view_tokens =
          estimate(projection_.fixed_tokens() + projection_.view().tokens).tokens;
    out_.anchored = spread_of(std::move(anchored_));
    out_.unanchored = spread_of(std::move(unanchored_));
    return std::move(out_);
  }

private:
  void note(std::string what) {
    if (out_.notes.size() < note_limit)
      out_.notes.push_back(std::move(what));
  }
  void violation(std::string what) {
    ++out_.boundary_violations;
    note(std::move(what));
  }

  void take_requests(const std::vector<seen_request>& requests) {
    for (const auto& r : requests) {
      if (auto fault = view::boundary_fault(r.messages))
        violation("a request that must not be sent: " + *fault);
      if (r.true_tokens > session_.window_tokens) {
        ++out_.requests_over_window;
        note("a request of " + std::to_string(r.true_tokens) + " tokens");
      }
      if (r.kind != sampling_kind::assistant)
        continue;
      out_.max_view_tokens = std::max(out_.max_view_tokens, r.estimated_tokens);
      if (r.refused)
        continue;
      if (r.repeated && !answered_.empty())
        answered_.pop_back();
      else
        ++out_.samplings;
      if (r.answered)
        answered_.push_back(&r);
    }
  }

  context::active_estimate estimate(std::int64_t local) const {
    return projection_.anchor().estimate(session_.model, projection_.view().generation, local);
  }

  void take(const entry& e) {
    if (const auto* t = std::get_if<entries::turn_started>(&e.body))
      operation_ = t->operation;
    if (const auto* t = std::get_if<entries::turn_ended>(&e.body))
      count_end(*t);
    if (const auto* b = std::get_if<entries::boundary>(&e.body))
      check_record(*b->record);
    if (const auto* a = std::get_if<entries::assistant_message>(&e.body))
      check_sampling(*a);
    if (auto applied = projection_.apply(e); !applied)
      violation("entry " + std::to_string(e.position) + ": " + applied.error().message);
    if (const auto* m = message_of(e.body))
      journaled_.push_back(*m);
    if (std::holds_alternative<entries::boundary>(e.body))
      check_view();
  }

  /// A compaction that failed lost nothing and is no turn.
  void count_end(const entries::turn_ended& t) {
    if (t.outcome == entries::turn_outcome::failed && operation_ == operation_kind::turn)
      ++out_.failed_turns;
  }

  /// The request that this entry answers was the view of the journal at that moment.
  void check_sampling(const entries::assistant_message& a) {
    if (next_answered_ == answered_.size())
      return violation("an answer in the journal that no request led to");
    const auto& request = *answered_[next_answered_++];
    if (!are_same(request.messages, session::messages_of(projection_.view())))
      violation("sampling " + std::to_string(next_answered_) + " was not sent the journal's view");
    if (!a.usage.input_tokens)
      return;
    const auto reported = static_cast<double>(*a.usage.input_tokens);
    const auto error =
        std::abs(static_cast<double>(request.estimated_tokens) - reported) / reported;
    const bool is_anchored =
        estimate(a.request_local_tokens).source == token_source::assistant_usage_plus_local_delta;
    (is_anchored ? anchored_ : unanchored_).push_back(error);
  }

  void check_record(const compaction_record& r) {
    const bool is_rescue = r.strategy == compaction_strategy::context_rescue;
    if (is_rescue)
      ++out_.rescues;
    else if (r.reason == compaction_reason::manual)
      ++out_.manual;
    else
      ++(r.reason == compaction_reason::automatic ? out_.automatic : out_.context_length_error);
    const auto fault = fault_of(r, is_rescue);
    if (!fault.empty())
      violation("boundary " + std::to_string(r.generation) + ": " + fault);
    ++generation_;
    corpus_end_ = std::max(corpus_end_, r.message_end_index_exclusive);
  }

  std::string fault_of(const compaction_record& r, bool is_rescue) const {
    const auto count = static_cast<std::int64_t>(journaled_.size());
    if (r.generation != generation_ + 1)
      return "its generation is not the next one";
    if (r.message_start_index != corpus_end_)
      return "its range does not start where the one before ends";
    const auto end = r.message_end_index_exclusive;
    if (end > count || end < corpus_end_ || (is_rescue && end != corpus_end_))
      return "its range ends at " + std::to_string(end) + " of " + std::to_string(count);
    const std::vector<message_ptr> corpus(journaled_.begin() + corpus_end_,
                                          journaled_.begin() + end);
    if (r.history_digest != compaction::history_digest(corpus))
      return "its digest is not that of its range";
    std::vector<std::string> calls;
    for (const auto& m : corpus)
      for (const auto& call : m->tool_calls)
        calls.push_back(call.id);
    if (r.tool_call_ids != calls)
      return "its calls are not those of its range";
    if (is_rescue != !r.handoff_text)
      return is_rescue ? "a rescue with a handoff" : "no handoff";
    return {};
  }

  /// After a boundary the view holds every message that no boundary replaced, once and in order.
  void check_view() {
    auto next = corpus_end_;
    for (const auto& item : projection_.view().items) {
      if (item.start == item.end_exclusive)
        continue;
      if (item.start != next)
        return violation("the view skips or repeats message " + std::to_string(next));
      next = item.end_exclusive;
      const auto& whole = *journaled_[static_cast<std::size_t>(item.start)];
      if (item.kind == view::item_kind::message && !item.shortened &&
          item.msg->content != whole.content)
        violation("message " + std::to_string(item.start) + " is another one in the view");
    }
    if (next != static_cast<std::int64_t>(journaled_.size()))
      violation("the view ends before message " + std::to_string(next));
  }

  /// Both lists in order: what the journal lacks is lost, what it has beyond is foreign.
  void compare_messages() {
    out_.journal_messages = journaled_.size();
    std::size_t at = 0;
    std::size_t found = 0;
    for (const auto i : plan_.journaled) {
      const auto& wanted = recording_[i];
      const auto match =
          std::find_if(journaled_.begin() + static_cast<std::ptrdiff_t>(at), journaled_.end(),
                       [&](const message_ptr& m) { return is_same(*m, wanted.msg); });
      if (match == journaled_.end()) {
        ++out_.lost_messages;
        note("line " + std::to_string(wanted.line) + " is not in the journal, or not in its place");
        continue;
      }
      at = static_cast<std::size_t>(match - journaled_.begin()) + 1;
      ++found;
    }
    out_.foreign_messages = journaled_.size() - found;
    if (out_.foreign_messages > 0)
      note(std::to_string(out_.foreign_messages) +
           " messages of the journal are not the recording's");
  }

  const recording& recording_;
  const plan& plan_;
  const played_session& session_;
  view::projection projection_;
  std::vector<const seen_request*> answered_;
  std::size_t next_answered_ = 0;
  std::vector<message_ptr> journaled_;
  operation_kind operation_ = operation_kind::turn; // that is open
  std::int64_t generation_ = 0;
  std::int64_t corpus_end_ = 0;
  std::vector<double> anchored_;
  std::vector<double> unanchored_;
  findings out_;
};

} // namespace

findings examine(const recording& r, const plan& p, const played_session& s,
                 const std::vector<seen_request>& requests, const std::vector<entry_ptr>& entries) {
  return examiner(r, p, s, requests).run(entries);
}

} // namespace rind::hosts::replay
