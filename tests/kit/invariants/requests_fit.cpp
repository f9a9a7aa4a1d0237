// S14, S14c, S16, S19: no request is larger than the window that its model declared, or stated to
// this session; a compaction comes when the budget says so, not earlier and not later. The formulas
// are written out again.
#include <algorithm>
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

constexpr std::int64_t max_output_tokens = 16'384;
constexpr std::int64_t margin_tokens = 1'024;
constexpr std::int64_t output_min_tokens = 1'024;
constexpr std::int64_t default_percent = 90;

/// Of the window of the model that makes the summary.
std::int64_t summary_limit_of(std::int64_t window) {
  return std::min<std::int64_t>({8'192, window / 10, max_output_tokens});
}
std::int64_t summary_room_of(std::int64_t window) {
  return window - summary_limit_of(window) - window * 5 / 100;
}
std::int64_t threshold_of(std::int64_t window, std::int64_t percent) {
  return std::min({window * percent / 100, (window - margin_tokens) * 95 / 100,
                   summary_room_of(window) * 95 / 100});
}

class fit final : public invariant {
public:
  std::string_view name() const override { return "S14_requests_fit"; }

  void on_start(const scenario& s) override {
    declared_ = s.world;
    percent_ = s.world.threshold_percent.value_or(default_percent);
    by_hand_.insert(s.world.no_auto_compact.begin(), s.world.no_auto_compact.end());
  }

  void on_append(const journal::append_request& r) override {
    auto& s = sessions_[r.session_id];
    s.owner.on_append(r, s.open.turn_id);
  }
  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost)
      sessions_[id].owner.on_crash();
  }

  void on_asked(const client_request& r) override {
    sessions_[r.session_id].model_sets_open += r.kind == request_kind::set_model;
  }
  void on_answered(const client_request& r, const client_answer&) override {
    sessions_[r.session_id].model_sets_open -= r.kind == request_kind::set_model;
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      take(id, s, *e);
      s.open.take(*e);
    }
  }

  void on_request(const sampling_request& r) override {
    auto& s = sessions_[r.session_id];
    if (r.turn_id != s.open.turn_id || s.owner.is_orphan(r.turn_id))
      return; // its operation ended while it was on its way
    if (r.kind == sampling_kind::compact)
      return judge_summary(s, r);
    const auto is_of = [&](const limits& l) {
      return l.model == r.model && l.window == r.window_tokens;
    };
    if (std::none_of(s.current.begin(), s.current.end(), is_of))
      return broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " goes to ",
                          r.model, " with a window of ", r.window_tokens, "; the session has ",
                          s.current.back().model, " with ", s.current.back().window));
    const auto room = r.window_tokens;
    if (r.estimated_tokens > room - margin_tokens)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " of ",
                   r.estimated_tokens, " tokens is above the hard limit of ",
                   room - margin_tokens));
    if (r.estimated_tokens + r.output_limit_tokens > room)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " of ",
                   r.estimated_tokens, " tokens with an output limit of ", r.output_limit_tokens,
                   " is above the window of ", room));
    const auto most = std::min(max_output_tokens, room / 4);
    if (r.output_limit_tokens > most || r.output_limit_tokens < std::min(output_min_tokens, most))
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " has an output limit of ", r.output_limit_tokens, "; it may be ",
                   std::min(output_min_tokens, most), " to ", most));
    judge_threshold(s, r);
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    const auto* e = std::get_if<provider_error>(&outcome);
    if (e && e->limit_tokens)
      sessions_[r.session_id].stated.push_back(
          {r.model, *e->limit_tokens,
           e->requested_tokens.value_or(r.estimated_tokens + r.output_limit_tokens)});
  }

private:
  struct limits {
    std::string model;
    std::int64_t window = 0;
  };
  struct statement {
    std::string model;
    std::int64_t window = 0;
    std::int64_t refused = 0; // the size that was refused
  };
  struct session {
    open_operation open;
    ownership owner;
    std::string model;
    std::map<std::string, std::int64_t> learned; // by model
    std::vector<statement> stated;               // by providers, to this session
    // That a request which reaches the model now may have been built with; the newest last.
    std::vector<limits> current;
    std::int64_t model_sets_open = 0; // not answered yet: either model may be the next request's
    bool has_attempts = false;        // after context-length errors, in this operation
    bool compaction_tried = false;    // since the view moved
    bool is_compacted = false;        // the view moved last by a boundary
    bool has_handoff = false;
  };

  std::int64_t window_of(const session& s, const std::string& model) const {
    const auto known = s.learned.find(model);
    if (known != s.learned.end())
      return known->second;
    return declared_window_tokens(model, declared_);
  }

  void take(const std::string& id, session& s, const entry& e) {
    bool builds_anew = as<entries::turn_started>(e) != nullptr || moves_view(e.body);
    if (const auto* created = as<entries::session_created>(e)) {
      s.model = created->model;
    } else if (const auto* set = as<entries::model_set>(e)) {
      s.model = set->model;
      s.learned.clear();
    } else if (const auto* w = as<entries::window_learned>(e)) {
      learn(id, e, s, *w);
    } else if (const auto* a = as<entries::attempt_started>(e)) {
      builds_anew = !a->output_limit_tokens;
      s.has_attempts = true;
    } else if (const auto* b = as<entries::boundary>(e)) {
      judge_boundary(id, e, s, *b->record);
      s.has_handoff = s.has_handoff || b->record->handoff_text.has_value();
    } else if (as<entries::turn_started>(e)) {
      s.has_attempts = s.has_attempts && e.turn_id == s.open.turn_id;
    }
    if (moves_view(e.body)) {
      s.is_compacted = as<entries::boundary>(e) != nullptr;
      s.compaction_tried = false;
    }
    if (builds_anew && s.model_sets_open == 0)
      s.current.clear();
    s.current.push_back({s.model, window_of(s, s.model)});
  }

  void learn(const std::string& id, const entry& e, session& s, const entries::window_learned& w) {
    const bool was_stated =
        std::any_of(s.stated.begin(), s.stated.end(), [&](const statement& said) {
          return said.model == w.model && said.window == w.window_tokens &&
                 said.window <= said.refused;
        });
    if (!was_stated)
      broken(words(at(id, e.turn_id), "learned a window of ", w.window_tokens, " for ", w.model,
                   " that no provider stated to it"));
    s.learned[w.model] = w.window_tokens;
  }

  void judge_boundary(const std::string& id, const entry& e, const session& s,
                      const compaction_record& r) {
    if (r.reason != compaction_reason::automatic || s.has_attempts || s.current.empty())
      return;
    auto least = threshold_of(s.current.front().window, percent_);
    for (const auto& l : s.current)
      least = std::min(least, threshold_of(l.window, percent_));
    if (r.tokens_before < least)
      broken(words(at(id, e.turn_id), "was compacted by itself at ", r.tokens_before,
                   " tokens; the threshold is ", least));
  }

  void judge_summary(session& s, const sampling_request& r) {
    s.compaction_tried = true;
    std::int64_t most = 0;
    std::int64_t output_most = 0;
    for (const auto& l : s.current) {
      const auto window =
          declared_.compaction_model.empty() ? l.window : window_of(s, declared_.compaction_model);
      most = std::max(most, summary_room_of(window));
      output_most = std::max(output_most, summary_limit_of(window));
    }
    if (r.estimated_tokens > most)
      broken(words(at(r.session_id, r.turn_id), "the summary request ", r.request_id, " of ",
                   r.estimated_tokens, " tokens is above the limit of ", most));
    if (r.output_limit_tokens > output_most)
      broken(words(at(r.session_id, r.turn_id), "the summary request ", r.request_id,
                   " has an output limit of ", r.output_limit_tokens, "; at most ", output_most,
                   " may be"));
    if (r.tools && !r.tools->empty())
      broken(
          words(at(r.session_id, r.turn_id), "the summary request ", r.request_id, " sends tools"));
  }

  /// A request at the threshold whose older part could have been summarised, and nobody tried.
  void judge_threshold(const session& s, const sampling_request& r) {
    if (!declared_.auto_compact || by_hand_.count(r.session_id) > 0 || s.has_attempts ||
        s.is_compacted || s.compaction_tried)
      return;
    const auto threshold = threshold_of(r.window_tokens, percent_);
    if (r.estimated_tokens < threshold)
      return;
    std::int64_t read_bytes = 0; // before the newest answer and what came after it
    std::int64_t bytes = 0;
    std::int64_t handoff_bytes = 0;
    std::size_t handoff_left =
        s.has_handoff ? 2 : 0; // it opens the view, and is not summarised alone
    for (const auto& m : r.messages) {
      const auto size = static_cast<std::int64_t>(m->content.size());
      if (m->role == message_role::system)
        continue;
      if (handoff_left > 0) {
        --handoff_left;
        handoff_bytes += size;
        continue;
      }
      if (m->role == message_role::assistant)
        read_bytes = bytes;
      bytes += size;
    }
    constexpr std::int64_t token_bytes_max = 6;
    const bool in_proportion =
        r.estimated_tokens * 5 >= bytes + handoff_bytes; // the suffix is not larger than it seems
    if (in_proportion && read_bytes / token_bytes_max > r.window_tokens / 3)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " of ",
                   r.estimated_tokens, " tokens was sent without a compaction; the threshold is ",
                   threshold));
  }

  scenario_world declared_;
  std::int64_t percent_ = default_percent;
  std::set<std::string> by_hand_; // sessions without a threshold
  by_session<session> sessions_;
};

} // namespace

invariant_ptr requests_fit() {
  return std::make_unique<fit>();
}

} // namespace rind::kit
