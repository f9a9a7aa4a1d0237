// S6, S7, S9: the user's words are in the journal before the model hears them, a call before its
// tool runs; nothing runs twice, and no result is made up.
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class journaled_first final : public invariant {
public:
  std::string_view name() const override { return "S7_journaled_before_it_runs"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& turns = sessions_[id];
    for (const auto& e : batch) {
      if (e->turn_id.empty())
        continue;
      auto& t = turns[e->turn_id];
      if (const auto* started = as<entries::turn_started>(*e))
        t.needs_words = started->operation == operation_kind::turn; // else S27 says when
      else if (as<entries::user_message>(*e) || as<entries::input_delivered>(*e))
        t.has_words = true;
      else if (const auto* m = as<entries::assistant_message>(*e))
        answer(t, *m->msg);
      else if (const auto* c = as<entries::tool_requested>(*e))
        request(id, *e, t, c->call);
      else if (const auto* r = as<entries::tool_result>(*e))
        take_result(id, *e, t, *r);
    }
  }

  void on_request(const sampling_request& r) override {
    const auto& t = sessions_[r.session_id][r.turn_id];
    if (r.kind == sampling_kind::assistant && t.needs_words && !t.has_words)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " reached the model before any words of the user were journaled"));
  }

  void on_tool_call(const tools::invocation& i) override {
    auto& t = sessions_[i.session_id][i.turn_id];
    auto& c = t.calls[i.call.id];
    if (!c.requested)
      broken(
          words(at(i.session_id, i.turn_id), "call ", i.call.id, " runs before it was journaled"));
    else if (c.ran)
      broken(words(at(i.session_id, i.turn_id), "call ", i.call.id, " runs a second time"));
    else if (c.has_result)
      broken(words(at(i.session_id, i.turn_id), "call ", i.call.id, " runs and has its result"));
    c.ran = true;
  }

private:
  struct call {
    bool asked = false; // by an assistant's message
    bool requested = false;
    bool ran = false;
    bool has_result = false;
  };
  struct turn {
    bool needs_words = true;
    bool has_words = false;
    std::map<std::string, call> calls; // by id
  };

  static void answer(turn& t, const message& m) {
    for (const auto& c : m.tool_calls)
      t.calls[c.id].asked = true;
  }

  void request(const std::string& id, const entry& e, turn& t, const tool_call& asked) {
    auto& c = t.calls[asked.id];
    if (!c.asked || c.requested)
      broken(words(at(id, e.turn_id), "call ", asked.id, " was journaled ",
                   c.asked ? "twice" : "and no answer asks for it"));
    c.requested = true;
  }

  void take_result(const std::string& id, const entry& e, turn& t, const entries::tool_result& r) {
    const auto& call_id = r.msg->tool_call_id;
    auto& c = t.calls[call_id];
    if (!c.requested)
      broken(words(at(id, e.turn_id), "the result of call ", call_id, " has no call"));
    else if (c.has_result)
      broken(words(at(id, e.turn_id), "call ", call_id, " has two results"));
    else if (r.status == tool_status::completed && (!c.ran || r.msg->is_error))
      broken(words(at(id, e.turn_id), "call ", call_id, " is shown as completed and ",
                   c.ran ? "as an error" : "never ran"));
    else if (r.status != tool_status::completed && !r.msg->is_error)
      broken(words(at(id, e.turn_id), "call ", call_id, " did not complete and is no error"));
    c.has_result = true;
  }

  by_session<std::map<std::string, turn>> sessions_; // by turn
};

} // namespace

invariant_ptr journaled_before_it_runs() {
  return std::make_unique<journaled_first>();
}

} // namespace rind::kit
