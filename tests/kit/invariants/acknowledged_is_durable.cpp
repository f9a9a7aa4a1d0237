// S35: what a client was told stands in the journal before it hears it, and is still there at the
// end, over crashes and power cuts.
#include <algorithm>
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

namespace {

class durable final : public invariant {
public:
  std::string_view name() const override { return "S35_acknowledged_is_durable"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (e->position != static_cast<std::int64_t>(s.entries.size()) + 1)
        broken(words(at(id, e->turn_id), "entry ", e->id, " is committed at ", e->position,
                     " after ", s.entries.size()));
      s.entries.push_back(e);
      if (const auto* a = as<entries::input_accepted>(*e))
        s.accepted.insert(a->input_id);
      else if (const auto* t = as<entries::input_taken_back>(*e))
        s.taken_back.insert(t->input_id);
      else if (as<entries::turn_ended>(*e))
        s.ended.insert(e->turn_id);
      else if (as<entries::boundary>(*e))
        s.has_boundary = true;
    }
  }

  void on_event(std::size_t client, const session_event& event) override {
    const auto* told = std::get_if<entry_ptr>(&event.body);
    if (!told)
      return;
    const auto& s = sessions_[event.session_id];
    const auto position = (*told)->position;
    const bool stands = position >= 1 && position <= static_cast<std::int64_t>(s.entries.size()) &&
                        is_same(*s.entries[static_cast<std::size_t>(position) - 1], **told);
    if (!stands)
      broken(words(at(event.session_id, event.turn_id), "client ", client, " heard event ",
                   event.event_id, ", which is not in the journal at ", position));
    else if (event.event_id != (*told)->id || event.turn_id != (*told)->turn_id ||
             event.time_ms != (*told)->time_ms)
      broken(words(at(event.session_id, event.turn_id), "client ", client, " heard event ",
                   event.event_id, " with another id, turn or time than entry ", (*told)->id));
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    if (!a.ok())
      return;
    const auto& s = sessions_[r.session_id];
    const auto missing = [&](const std::string& what) {
      broken(words(at(r.session_id, a.turn_id), "request ", r.number, " (", to_string(r.kind),
                   ") was answered ok and ", what, " is not in the journal"));
    };
    switch (r.kind) {
    case request_kind::prompt:
    case request_kind::resume:
      if (a.outcome && !s.ended.count(a.turn_id))
        missing("its end");
      break;
    case request_kind::steer:
    case request_kind::follow_up:
      if (!s.accepted.count(a.input_id))
        missing("input " + a.input_id);
      break;
    case request_kind::take_back:
      if (!s.taken_back.count(a.input_id))
        missing("that input " + a.input_id + " was taken back");
      break;
    case request_kind::compact:
      if (!s.has_boundary)
        missing("a boundary");
      break;
    default:
      break;
    }
  }

  void at_rest(world& w) override {
    for (const auto& [id, s] : sessions_) {
      const auto stored = w.journal_of(id);
      if (stored.size() != s.entries.size())
        broken(words(id, ": ", s.entries.size(), " entries were committed and ", stored.size(),
                     " are in the journal"));
      for (std::size_t i = 0; i < std::min(stored.size(), s.entries.size()); ++i)
        if (!is_same(*stored[i], *s.entries[i]))
          return broken(words(id, ": entry ", i + 1, " is not what was committed"));
    }
  }

private:
  struct session {
    std::vector<entry_ptr> entries; // by position
    std::set<std::string> accepted;
    std::set<std::string> taken_back;
    std::set<std::string> ended;
    bool has_boundary = false;
  };

  static bool is_same(const entry& a, const entry& b) {
    if (&a == &b)
      return true;
    const auto* m = message_of(a.body);
    const auto* n = message_of(b.body);
    return a.id == b.id && a.position == b.position && a.turn_id == b.turn_id &&
           a.time_ms == b.time_ms && a.body.index() == b.body.index() && !m == !n &&
           (!m || *m == *n || **m == **n);
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr acknowledged_is_durable() {
  return std::make_unique<durable>();
}

} // namespace rind::kit
