// S1, S16: no word of one session gets into another: neither into its journal, nor to its model,
// its tools or its clients. Needs texts with marks.
#include <unordered_map>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class apart final : public invariant {
public:
  std::string_view name() const override { return "S16_sessions_are_apart"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    for (const auto& e : batch) {
      own_turn(id, e->turn_id, "the journal");
      if (const auto* m = message_of(e->body))
        look_at(id, e->turn_id, *m, "the journal");
      else if (const auto* a = as<entries::input_accepted>(*e))
        look_at(id, e->turn_id, a->text, "the journal");
      else if (const auto* b = as<entries::boundary>(*e); b && b->record->handoff_text)
        look_at(id, e->turn_id, *b->record->handoff_text, "a handoff");
    }
  }

  void on_request(const sampling_request& r) override {
    own_turn(r.session_id, r.turn_id, "a request to the model");
    for (const auto& m : r.messages)
      look_at(r.session_id, r.turn_id, m, "a request to the model");
  }

  void on_tool_call(const tools::invocation& c) override {
    own_turn(c.session_id, c.turn_id, "a tool call");
    const auto owner = c.call.id.substr(0, c.call.id.rfind("-c"));
    if (owner.size() < c.call.id.size() && owner != c.session_id)
      strange(c.session_id, c.turn_id, owner, "a tool call");
  }

  void on_event(std::size_t client, const session_event& event) override {
    const auto [own, is_new] = clients_.try_emplace(client, event.session_id);
    if (own->second != event.session_id)
      broken(words(at(event.session_id, event.turn_id), "client ", client, " of session ",
                   own->second, " heard event ", event.event_id));
    own_turn(event.session_id, event.turn_id, "an event");
    const auto* live = std::get_if<live_event_body>(&event.body);
    if (!live)
      return;
    if (const auto* d = std::get_if<events::assistant_delta>(live))
      look_at(event.session_id, event.turn_id, d->text, "a delta");
  }

private:
  void look_at(const std::string& id, const std::string& turn, std::string_view text,
               const char* where) {
    each_mark(text, [&](const text_mark& m) {
      if (m.session != id)
        strange(id, turn, std::string{m.session}, where);
    });
  }

  /// Each message once; afterwards only whose it is.
  void look_at(const std::string& id, const std::string& turn, const message_ptr& m,
               const char* where) {
    const auto [found, is_new] = owners_.try_emplace(m);
    auto& owner = found->second;
    if (is_new)
      each_mark(m->content, [&](const text_mark& mark) {
        if (owner.empty() || mark.session != id)
          owner = mark.session;
      });
    if (!owner.empty() && owner != id)
      strange(id, turn, owner, where);
  }

  void own_turn(const std::string& id, const std::string& turn, const char* where) {
    if (turn.empty())
      return;
    const auto [owner, is_new] = turns_.try_emplace(turn, id);
    if (owner->second != id)
      strange(id, turn, owner->second, where);
  }

  void strange(const std::string& id, const std::string& turn, const std::string& other,
               const char* where) {
    broken(words(at(id, turn), where, " holds something of session ", other));
  }

  std::unordered_map<message_ptr, std::string> owners_; // session of a message's marks; empty: none
  std::unordered_map<std::string, std::string> turns_;  // session of an operation
  std::map<std::size_t, std::string> clients_;          // session of a client
};

} // namespace

invariant_ptr sessions_are_apart() {
  return std::make_unique<apart>();
}

} // namespace rind::kit
