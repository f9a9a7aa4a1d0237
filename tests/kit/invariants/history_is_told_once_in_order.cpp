// S36, S37: who replays and follows has each durable event once, in the order of the journal, as it
// stands there; at the end, all of them.
#include "messages/events.hpp"
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class told_once final : public invariant {
public:
  std::string_view name() const override { return "S37_history_is_told_once_in_order"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch)
      if (is_durable_event(e->body))
        s.events.emplace_back(e->position, e->id);
  }

  void on_history(std::size_t client, const std::string& id, std::int64_t cursor,
                  const std::string& event_id) override {
    auto& s = sessions_[id];
    auto& told = s.told[client];
    const auto next =
        told < s.events.size() ? s.events[told] : std::pair<std::int64_t, std::string>{};
    if (next.first == cursor && next.second == event_id) {
      ++told;
      return;
    }
    const auto where = words(id, ": client ", client, " has event ", event_id, " at ", cursor);
    if (told > 0 && cursor <= s.events[told - 1].first)
      broken(words(where, " after the one at ", s.events[told - 1].first));
    else if (next.first == 0)
      broken(words(where, ", which the journal does not have"));
    else if (next.first == cursor)
      broken(words(where, "; the journal has ", next.second));
    else
      broken(words(where, " and lacks ", next.second, " at ", next.first));
  }

  /// The newest client of a session follows it to its end; earlier ones were let go of.
  void at_rest(world&) override {
    for (const auto& [id, s] : sessions_)
      if (!s.told.empty() && s.told.rbegin()->second != s.events.size())
        broken(words(id, ": client ", s.told.rbegin()->first, " has ", s.told.rbegin()->second,
                     " durable events at the end, the journal ", s.events.size()));
  }

private:
  struct session {
    std::vector<std::pair<std::int64_t, std::string>> events; // durable: cursor and id
    std::map<std::size_t, std::size_t> told;                  // by client: how many of them
  };
  by_session<session> sessions_;
};

} // namespace

invariant_ptr history_is_told_once_in_order() {
  return std::make_unique<told_once>();
}

} // namespace rind::kit
