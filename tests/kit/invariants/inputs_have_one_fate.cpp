// S3: an accepted input is delivered once and in order, or taken back, or handed back, over crashes
// too; what was answered ok stands in the journal.
#include <algorithm>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

enum class fate : std::uint8_t { pending, delivered, taken_back, handed_back };

const char* to_string(fate f) {
  constexpr const char* names[]{"pending", "delivered", "taken back", "handed back"};
  return names[static_cast<std::size_t>(f)];
}

class one_fate final : public invariant {
public:
  std::string_view name() const override { return "S3_inputs_have_one_fate"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      const auto where = [&] { return at(id, e->turn_id); };
      if (const auto* a = as<entries::input_accepted>(*e))
        accept(where, s, *a);
      else if (const auto* d = as<entries::input_delivered>(*e))
        deliver(where, s, *d->msg);
      else if (const auto* p = as<entries::input_promoted>(*e))
        promote(where, s, p->input_id);
      else if (const auto* t = as<entries::input_taken_back>(*e))
        leave(where, s, t->input_id, fate::taken_back);
      else if (const auto* end = as<entries::turn_ended>(*e))
        hand_back(where, s, *end);
    }
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    if (!a.ok())
      return;
    const auto& s = sessions_[r.session_id];
    const auto i = s.inputs.find(a.input_id);
    switch (r.kind) {
    case request_kind::steer:
    case request_kind::follow_up:
      if (i == s.inputs.end() || i->second.text != r.text)
        broken(words(r.session_id, ": input ", a.input_id,
                     " was answered ok and is not in the journal"));
      break;
    case request_kind::take_back:
      if (i == s.inputs.end() || i->second.is != fate::taken_back)
        broken(words(r.session_id, ": input ", a.input_id, " was given back to its client and is ",
                     i == s.inputs.end() ? "not in the journal" : to_string(i->second.is)));
      break;
    case request_kind::promote:
      if (i == s.inputs.end() || !i->second.promoted)
        broken(words(r.session_id, ": input ", a.input_id,
                     " was answered as promoted and is not in the journal"));
      break;
    default:
      break;
    }
  }

  void at_rest(world&) override {
    for (const auto& [id, s] : sessions_)
      if (!s.queue.empty())
        broken(words(id, ": input ", s.queue.front(), " still waits at the end"));
  }

private:
  struct input {
    std::string text;
    input_mode mode = input_mode::steering;
    fate is = fate::pending;
    bool promoted = false;
  };
  struct session {
    std::map<std::string, input> inputs; // all that were ever accepted
    std::vector<std::string> queue;      // pending ones of both modes, oldest first
  };

  template <class Where>
  void accept(Where where, session& s, const entries::input_accepted& a) {
    if (!s.inputs.try_emplace(a.input_id, input{a.text, a.mode, fate::pending, false}).second)
      broken(words(where(), "input ", a.input_id, " was accepted twice"));
    s.queue.push_back(a.input_id);
  }

  template <class Where>
  void deliver(Where where, session& s, const message& m) {
    const auto* next = oldest(s, input_mode::steering);
    if (!next)
      next = oldest(s, input_mode::follow_up);
    if (next && *next != m.input_id && find_pending(s, m.input_id))
      broken(words(where(), "input ", m.input_id, " was delivered before ", *next));
    auto* in = leave(where, s, m.input_id, fate::delivered);
    if (!in)
      return;
    const auto origin =
        in->mode == input_mode::steering ? user_origin::steering : user_origin::follow_up;
    if (in->text != m.content)
      broken(words(where(), "input ", m.input_id, " was accepted as \"", in->text.substr(0, 40),
                   "\" and delivered as \"", m.content.substr(0, 40), "\""));
    else if (m.role != message_role::user || m.origin != origin)
      broken(words(where(), "input ", m.input_id, " was delivered as another kind of message"));
  }

  template <class Where>
  void promote(Where where, session& s, const std::string& id) {
    auto* in = find_pending(s, id);
    if (!in || in->mode != input_mode::follow_up)
      return broken(words(where(), "input ", id, " was promoted and is no waiting follow-up"));
    in->mode = input_mode::steering;
    in->promoted = true;
    std::erase(s.queue, id); // to the end of the steering queue
    s.queue.push_back(id);
  }

  template <class Where>
  input* leave(Where where, session& s, const std::string& id, fate how) {
    const auto i = s.inputs.find(id);
    if (i == s.inputs.end()) {
      broken(words(where(), "input ", id, " was ", to_string(how), " and never accepted"));
      return nullptr;
    }
    if (i->second.is != fate::pending)
      broken(words(where(), "input ", id, " was ", to_string(i->second.is), " and then ",
                   to_string(how)));
    i->second.is = how;
    std::erase(s.queue, id);
    return &i->second;
  }

  template <class Where>
  void hand_back(Where where, session& s, const entries::turn_ended& end) {
    if (end.outcome == entries::turn_outcome::completed && !s.queue.empty())
      broken(words(where(), "ended normally while input ", s.queue.front(), " waited"));
    for (const auto& u : end.undelivered) {
      const auto* in = leave(where, s, u.input_id, fate::handed_back);
      if (in && (in->text != u.text || in->mode != u.mode))
        broken(words(where(), "input ", u.input_id, " was handed back as another one"));
    }
    if (!s.queue.empty())
      broken(words(where(), "ended without handing back input ", s.queue.front()));
    s.queue.clear();
  }

  static input* find_pending(session& s, const std::string& id) {
    const auto i = s.inputs.find(id);
    return i == s.inputs.end() || i->second.is != fate::pending ? nullptr : &i->second;
  }
  static const std::string* oldest(session& s, input_mode mode) {
    const auto i = std::find_if(s.queue.begin(), s.queue.end(),
                                [&](const auto& id) { return s.inputs.at(id).mode == mode; });
    return i == s.queue.end() ? nullptr : &*i;
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr inputs_have_one_fate() {
  return std::make_unique<one_fate>();
}

} // namespace rind::kit
