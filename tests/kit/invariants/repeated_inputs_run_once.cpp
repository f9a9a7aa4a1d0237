// S3a: an input that its client sends again is not run again; all its requests hear of the one
// operation.
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class run_once final : public invariant {
public:
  std::string_view name() const override { return "S3a_repeated_inputs_run_once"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (const auto* started = as<entries::turn_started>(*e))
        start(id, s, e->turn_id, *started);
      else if (const auto* m = as<entries::user_message>(*e))
        take(id, s, e->turn_id, *m->msg);
      else if (const auto* a = as<entries::input_accepted>(*e))
        take_queued(id, s, e->turn_id, a->input_id);
    }
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    if (r.kind != request_kind::prompt || r.input_id.empty() || !a.ok())
      return;
    const auto& s = sessions_[r.session_id];
    const auto i = s.prompts.find(r.input_id);
    if (i == s.prompts.end() || i->second.turn_id != a.turn_id)
      broken(words(at(r.session_id, a.turn_id), "prompt ", r.input_id,
                   " was answered with this operation and started ",
                   i == s.prompts.end() ? "none" : i->second.turn_id));
    else if (i->second.text != r.text)
      broken(words(at(r.session_id, a.turn_id), "prompt ", r.input_id,
                   " was answered ok and is another text in the journal"));
  }

private:
  struct prompt {
    std::string turn_id;
    std::string text;
    bool has_message = false;
  };
  struct session {
    std::map<std::string, prompt> prompts; // by input id
    std::map<std::string, std::string> queued;
  };

  void start(const std::string& id, session& s, const std::string& turn,
             const entries::turn_started& started) {
    if (started.input_id.empty() || started.resumed)
      return;
    const auto [i, is_new] = s.prompts.try_emplace(started.input_id);
    if (!is_new)
      broken(words(at(id, turn), "prompt ", started.input_id, " was run by ", i->second.turn_id,
                   " already"));
    if (s.queued.count(started.input_id) > 0)
      broken(words(at(id, turn), "prompt ", started.input_id, " was accepted as a queued input"));
    i->second.turn_id = turn;
  }

  void take(const std::string& id, session& s, const std::string& turn, const message& m) {
    if (m.input_id.empty())
      return;
    auto& p = s.prompts[m.input_id];
    if (std::exchange(p.has_message, true))
      broken(words(at(id, turn), "prompt ", m.input_id, " is in the journal twice"));
    p.text = m.content;
  }

  void take_queued(const std::string& id, session& s, const std::string& turn,
                   const std::string& input) {
    if (!s.queued.try_emplace(input, turn).second || s.prompts.count(input) > 0)
      broken(words(at(id, turn), "input ", input, " was journaled before"));
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr repeated_inputs_run_once() {
  return std::make_unique<run_once>();
}

} // namespace rind::kit
