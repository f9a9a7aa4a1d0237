// S28: an automatic compaction, and the one after a context-length error, happen inside of the
// running operation, which goes on under its turn_id until its newest message is answered; no input
// comes between a request that failed and its retry.
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class keeps_turn final : public invariant {
public:
  std::string_view name() const override { return "S28_compaction_keeps_the_turn"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      take(id, s, *e);
      s.open.take(*e);
    }
  }

  void on_request(const sampling_request& r) override {
    auto& s = sessions_[r.session_id];
    const bool still_open = !s.compacted_turn.empty() && s.open.turn_id == s.compacted_turn;
    if (still_open && r.turn_id != s.compacted_turn && s.started.count(r.turn_id) == 0)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " goes on after the compaction of ", s.compacted_turn));
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    auto& s = sessions_[r.session_id];
    if (r.kind == sampling_kind::assistant && r.turn_id == s.open.turn_id &&
        !std::holds_alternative<sampling_cancelled>(outcome))
      s.unanswered = r.request_id;
  }

private:
  struct session {
    open_operation open;
    std::map<std::string, bool> started;
    std::string compacted_turn;   // of the newest boundary that is not manual
    std::string unanswered;       // request of the sampling that came to its end without a commit
    bool waits_for_model = false; // the newest message is the user's or a result
    bool has_attempt = false;     // the journal says that it was refused
  };

  void take(const std::string& id, session& s, const entry& e) {
    if (const auto* b = as<entries::boundary>(e)) {
      if (b->record->reason == compaction_reason::manual)
        return;
      s.compacted_turn = e.turn_id;
      if (e.turn_id.empty() || e.turn_id != s.open.turn_id)
        broken(words(at(id, e.turn_id), "a compaction belongs to another operation than the open ",
                     s.open.turn_id));
    } else if (const auto* end = as<entries::turn_ended>(e)) {
      if (end->outcome == entries::turn_outcome::completed && s.waits_for_model)
        broken(words(at(id, e.turn_id), "ended normally, and its newest message has no answer"));
      s.waits_for_model = false;
      s.unanswered.clear();
      s.has_attempt = false;
    } else if (const auto* m = as<entries::assistant_message>(e)) {
      s.waits_for_model = !m->msg->tool_calls.empty();
      s.unanswered.clear();
      s.has_attempt = false;
    } else if (as<entries::user_message>(e) || as<entries::tool_result>(e)) {
      s.waits_for_model = true;
    } else if (as<entries::attempt_started>(e)) {
      s.has_attempt = true;
    } else if (const auto* started = as<entries::turn_started>(e)) {
      s.started[e.turn_id] = true;
      if (!started->resumed || !s.has_attempt) // a new sampling
        s.unanswered.clear();
    } else if (const auto* d = as<entries::input_delivered>(e)) {
      s.waits_for_model = true;
      if (!s.unanswered.empty())
        broken(words(at(id, e.turn_id), "input ", d->msg->input_id, " was delivered between ",
                     s.unanswered, ", which failed, and its retry"));
    }
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr compaction_keeps_the_turn() {
  return std::make_unique<keeps_turn>();
}

} // namespace rind::kit
