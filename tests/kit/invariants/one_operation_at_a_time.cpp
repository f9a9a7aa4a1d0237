// S1: of one session no two operations run, neither by its journal nor at the model.
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class one_operation final : public invariant {
public:
  std::string_view name() const override { return "S1_one_operation_at_a_time"; }

  void on_append(const journal::append_request& r) override {
    auto& s = sessions_[r.session_id];
    s.owner.on_append(r, s.open.turn_id);
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch)
      take(id, s, *e);
  }

  void on_request(const sampling_request& r) override {
    auto& s = sessions_[r.session_id];
    if (s.owner.is_orphan(r.turn_id))
      return;
    if (r.turn_id != s.open.turn_id && now_ms() > s.ended_ms[r.turn_id])
      return broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                          " reaches the model, but the open operation is ",
                          s.open.turn_id.empty() ? "none" : s.open.turn_id));
    if (r.kind != sampling_kind::assistant)
      return;
    if (!s.in_flight.empty())
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " reaches the model while ", *s.in_flight.begin(), " is still answered"));
    s.in_flight.insert(r.request_id);
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome&) override {
    sessions_[r.session_id].in_flight.erase(r.request_id);
  }

  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost) {
      auto& s = sessions_[id];
      s.in_flight.clear();
      s.owner.on_crash();
    }
  }

private:
  struct session {
    open_operation open;
    ownership owner;
    std::set<std::string> started;
    std::map<std::string, std::int64_t> ended_ms; // by turn
    std::set<std::string> in_flight;              // conversation requests
  };

  void take(const std::string& id, session& s, const entry& e) {
    if (const auto* started = as<entries::turn_started>(e)) {
      start(id, s, e.turn_id, started->resumed);
    } else if (!may_stand_alone(e) && e.turn_id != s.open.turn_id) {
      broken(words(at(id, e.turn_id), "entry ", e.position, " belongs to ",
                   e.turn_id.empty() ? "no operation" : e.turn_id, ", open is ",
                   s.open.turn_id.empty() ? "none" : s.open.turn_id));
    }
    if (const auto* end = as<entries::turn_ended>(e)) {
      s.ended_ms[e.turn_id] = now_ms();
      if (ended_without_runner(*end) || end->reason == cancel_reason::interrupted)
        s.owner.on_runner_lost(e.turn_id);
    }
    s.open.take(e);
  }

  void start(const std::string& id, session& s, const std::string& turn, bool resumed) {
    if (resumed && turn != s.open.turn_id)
      broken(words(at(id, turn), "is resumed, open is ",
                   s.open.turn_id.empty() ? "none" : s.open.turn_id));
    if (!resumed && !s.open.turn_id.empty())
      broken(words(at(id, turn), "starts while ", s.open.turn_id, " is open"));
    if (!resumed && !s.started.insert(turn).second)
      broken(words(at(id, turn), "starts a second time"));
  }

  static bool may_stand_alone(const entry& e) {
    return as<entries::session_created>(e) || (as<entries::model_set>(e) && e.turn_id.empty());
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr one_operation_at_a_time() {
  return std::make_unique<one_operation>();
}

} // namespace rind::kit
