// S31a: of a failed attempt nothing is left, neither what it said before it failed nor the words of
// the error; its client is told to forget what it heard of it. Needs texts with marks.
#include <set>
#include <unordered_set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class leave_nothing final : public invariant {
public:
  std::string_view name() const override { return "S31a_failures_leave_nothing"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (const auto* m = as<entries::assistant_message>(*e))
        remember(s, m->msg->content);
      else if (const auto* b = as<entries::boundary>(*e); b && b->record->handoff_text)
        remember(s, *b->record->handoff_text);
    }
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    if (const auto* e = std::get_if<provider_error>(&outcome); e && !e->message.empty())
      sessions_[r.session_id].errors.insert(e->message);
  }

  void on_request(const sampling_request& r) override {
    auto& s = sessions_[r.session_id];
    for (const auto& m : r.messages)
      if (seen_.insert(m).second)
        look_at(r, s, *m);
  }

  void on_event(std::size_t client, const session_event& event) override {
    auto& heard = heard_[client];
    if (std::holds_alternative<entry_ptr>(event.body)) {
      heard = false;
      return;
    }
    const auto& live = std::get<live_event_body>(event.body);
    if (std::holds_alternative<events::assistant_delta>(live)) {
      heard = true;
    } else if (const auto* retry = std::get_if<events::turn_step_retry>(&live)) {
      if (heard && !retry->discard_partial)
        broken(words(at(event.session_id, event.turn_id), "client ", client,
                     " heard a part of an answer and then of retry ", retry->attempt,
                     ", which does not discard it"));
      heard = false;
    }
  }

  /// What it reads back takes the place of what it heard.
  void on_connected(std::size_t client) override { heard_[client] = false; }

private:
  struct session {
    std::set<std::string, std::less<>> answers; // ids of the marks of what was committed
    std::set<std::string> errors;               // what providers said of failures
  };

  static void remember(session& s, const std::string& text) {
    each_mark(text, [&](const text_mark& m) {
      if (m.kind == 'r')
        s.answers.emplace(m.id);
    });
  }

  void look_at(const sampling_request& r, const session& s, const message& m) {
    each_mark(m.content, [&](const text_mark& mark) {
      if (mark.kind == 'r' && mark.session == r.session_id && !s.answers.count(mark.id))
        broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                     " holds a part of answer ", std::string{mark.id},
                     ", which was never committed"));
    });
    for (const auto& error : s.errors)
      if (m.content.find(error) != std::string::npos)
        broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                     " holds the words of an error: ", error));
  }

  by_session<session> sessions_;
  std::unordered_set<message_ptr> seen_;
  std::map<std::size_t, bool> heard_; // by client: a part of an answer that is not committed
};

} // namespace

invariant_ptr failures_leave_nothing() {
  return std::make_unique<leave_nothing>();
}

} // namespace rind::kit
