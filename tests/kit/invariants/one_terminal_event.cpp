// S5: an operation ends with exactly one terminal event, and nothing of it comes after.
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class one_terminal final : public invariant {
public:
  std::string_view name() const override { return "S5_one_terminal_event"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& ended = sessions_[id];
    for (const auto& e : batch) {
      if (!e->turn_id.empty() && ended.count(e->turn_id) > 0)
        broken(words(at(id, e->turn_id), "entry ", e->position, " stands after its end"));
      if (const auto* end = as<entries::turn_ended>(*e))
        ended[e->turn_id] = end->outcome;
    }
  }

  void on_event(std::size_t client, const session_event& event) override {
    if (event.turn_id.empty())
      return broken(words(event.session_id, ": client ", client, " heard event ", event.event_id,
                          " of no operation"));
    auto& heard = heard_[client];
    if (heard.count(event.turn_id) > 0)
      return broken(words(at(event.session_id, event.turn_id), "client ", client, " heard event ",
                          event.event_id, " after the terminal one"));
    const auto* durable = std::get_if<entry_ptr>(&event.body);
    if (durable && as<entries::turn_ended>(**durable))
      heard.insert(event.turn_id);
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    if (!a.ok() || !a.outcome)
      return;
    const auto& ended = sessions_[r.session_id];
    const auto i = ended.find(a.turn_id);
    if (i == ended.end())
      broken(words(at(r.session_id, a.turn_id),
                   "a prompt was answered with its outcome before its end was journaled"));
    else if (i->second != *a.outcome)
      broken(words(at(r.session_id, a.turn_id),
                   "a prompt was answered with another outcome than its terminal event says"));
  }

private:
  by_session<std::map<std::string, entries::turn_outcome>> sessions_; // ended operations
  std::map<std::size_t, std::set<std::string>> heard_;                // terminal events by client
};

} // namespace

invariant_ptr one_terminal_event() {
  return std::make_unique<one_terminal>();
}

} // namespace rind::kit
