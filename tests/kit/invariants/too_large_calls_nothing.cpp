// S17, S19: a conversation that is too large to be summarised is told so: no model is asked,
// nothing is committed, and it is not made into the handoff without a model.
#include <utility>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class calls_nothing final : public invariant {
public:
  std::string_view name() const override { return "S19_too_large_calls_nothing"; }

  void on_append(const journal::append_request& r) override {
    for (const auto& e : r.entries)
      if (as<entries::boundary>(e)) // refused perhaps, and then it is tried anew
        sessions_[r.session_id].summaries = 0;
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (const auto* b = as<entries::boundary>(*e))
        take(at(id, e->turn_id), s, *b->record);
      else if (const auto* end = as<entries::turn_ended>(*e))
        take(at(id, e->turn_id), s, *end);
      else if (moves_view(e->body) || as<entries::turn_started>(*e) ||
               as<entries::attempt_started>(*e) || as<entries::model_set>(*e))
        s = {0, false, s.asked && !as<entries::turn_started>(*e)};
    }
  }

  void on_request(const sampling_request& r) override {
    since_ms_[r.request_id] = now_ms();
    if (r.kind != sampling_kind::compact)
      return;
    auto& s = sessions_[r.session_id];
    ++s.summaries;
    s.asked = true;
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    const auto took_ms = now_ms() - since_ms_[r.request_id];
    since_ms_.erase(r.request_id);
    // One that is cancelled past its deadline has failed, too.
    if (std::holds_alternative<provider_error>(outcome) || took_ms >= deadline_ms)
      ++failures_;
    else if (std::holds_alternative<sampling_answer>(outcome))
      failures_ = 0;
  }

  void on_start(const scenario& s) override { is_one_provider_ = s.world.nodes == 1; }

private:
  /// After so many failures in a row requests are refused without a call for a while.
  static constexpr std::int64_t failures_before_none_is_asked = 5;

  static constexpr std::int64_t deadline_ms = 900'000; // of a request, as settings have it

  /// Since the journal last said that the operation moved on, or has another model.
  struct session {
    std::int64_t summaries = 0; // asked for
    bool boundary = false;
    bool asked = false; // for a summary, since the newest boundary of the operation
  };

  void take(const std::string& where, session& s, const compaction_record& r) {
    const bool asked = std::exchange(s.asked, false);
    s = {0, true, false};
    if (r.strategy == compaction_strategy::deterministic_fallback && !asked && is_one_provider_ &&
        failures_ < failures_before_none_is_asked)
      broken(words(where, "a handoff was made without a model, and none was asked"));
    if (r.fallback && r.fallback->type == to_string(error_code::compact_input_too_large))
      broken(words(where, "a conversation that was too large to be summarised got a handoff"));
  }

  void take(const std::string& where, session& s, const entries::turn_ended& end) {
    if (end.error && end.error->code == error_code::compact_input_too_large) {
      const auto& d = end.error->details;
      if (s.summaries > 0)
        broken(words(where, "failed as too large to be summarised and asked for ", s.summaries,
                     " summaries"));
      else if (s.boundary)
        broken(words(where, "failed as too large to be summarised and committed a boundary"));
      else if (!d.estimated_tokens || !d.limit_tokens || *d.estimated_tokens <= *d.limit_tokens)
        broken(words(where, "failed as too large to be summarised with ",
                     d.estimated_tokens.value_or(0), " of ", d.limit_tokens.value_or(0),
                     " tokens"));
    }
    s = {};
  }

  by_session<session> sessions_;
  std::map<std::string, std::int64_t> since_ms_; // by request that is under way
  std::int64_t failures_ = 0;                    // of requests in a row
  bool is_one_provider_ = true;
};

} // namespace

invariant_ptr too_large_calls_nothing() {
  return std::make_unique<calls_nothing>();
}

} // namespace rind::kit
