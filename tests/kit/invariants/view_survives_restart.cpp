// S11, S24, S31: what a model is sent is what the journal says, before a crash and after it: the
// system messages, the newest handoff, and every message since, but for what a boundary replaced.
// Keeps a view of its own, made from entries alone.
#include <algorithm>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

namespace {

bool same(const message_ptr& a, const message_ptr& b) {
  return a == b || (a->role == b->role && a->content == b->content &&
                    a->tool_call_id == b->tool_call_id && a->tool_calls == b->tool_calls);
}

/// `shown` is `whole` with less of its body.
bool is_shorter_form(const message& shown, const message& whole) {
  return shown.role == message_role::tool && whole.role == message_role::tool &&
         shown.tool_call_id == whole.tool_call_id && shown.is_error == whole.is_error &&
         shown.content.size() < whole.content.size() &&
         shown.content.compare(0, kept_bytes, whole.content, 0, kept_bytes) == 0;
}

bool is_note(const message& m) {
  return m.role == message_role::user && m.origin == user_origin::rescue_note;
}

/// A session's conversation as its entries tell it.
class conversation {
public:
  void take(const entry& e) {
    if (const auto* m = message_of(e.body)) {
      messages_.push_back({*m, false, false});
      rescue_ = rescue_ && (*m)->role != message_role::assistant;
    } else if (const auto* b = as<entries::boundary>(e)) {
      take(b->record);
    } else if (const auto* a = as<entries::attempt_started>(e)) {
      rescue_ = rescue_ || a->rescues > 0;
    } else if (as<entries::turn_ended>(e)) {
      rescue_ = false;
    }
  }

  /// Empty, or where a list of messages differs from this conversation. `rescued`: parts may be
  /// replaced that no boundary says yet.
  std::string difference(const std::vector<message_ptr>& shown, bool rescued) const {
    std::size_t at_shown = 0;
    while (at_shown < shown.size() && shown[at_shown]->role == message_role::system)
      ++at_shown;
    if (handoff_) {
      if (at_shown + 2 > shown.size() || shown[at_shown]->content != *handoff_->continuation_text ||
          shown[at_shown + 1]->content != *handoff_->handoff_text)
        return "does not begin with the newest handoff";
      at_shown += 2;
    }
    return difference_from(shown, at_shown, begin_, rescued);
  }
  bool is_rescued() const { return rescue_; }

private:
  struct journaled {
    message_ptr msg;
    bool body_replaced = false;
    bool left_out = false;
  };

  /// The same from shown[at_shown] and messages_[at] on.
  std::string difference_from(const std::vector<message_ptr>& shown, std::size_t at_shown,
                              std::size_t at, bool rescued) const {
    while (at_shown < shown.size() && at < messages_.size()) {
      const auto& m = *shown[at_shown];
      if (is_note(m)) {
        const auto end = end_of_note(shown, at_shown + 1, at, rescued);
        if (end == at)
          return words("a note stands where message ", at, " should");
        at = end;
      } else if (is_placeholder(m, at)) {
        // stands for a result that there is none of
      } else if (!stands_for(shown[at_shown], at, rescued)) {
        return words("message ", at_shown, " is not what the journal has as message ", at);
      } else {
        ++at;
      }
      ++at_shown;
    }
    while (at_shown < shown.size() && is_placeholder(*shown[at_shown], at))
      ++at_shown;
    if (at < messages_.size())
      return words("lacks message ", at, " of the journal");
    return at_shown < shown.size() ? words("has message ", at_shown, " too much") : std::string{};
  }

  void take(const std::shared_ptr<const compaction_record>& r) {
    if (r->handoff_text) {
      handoff_ = r;
      begin_ = static_cast<std::size_t>(r->message_end_index_exclusive);
    }
    for (const auto& part : r->replaced) {
      const auto end = std::min(static_cast<std::size_t>(part.end_exclusive), messages_.size());
      for (auto i = static_cast<std::size_t>(part.start); i < end; ++i)
        (part.kind == replacement_kind::units ? messages_[i].left_out
                                              : messages_[i].body_replaced) = true;
    }
  }

  bool stands_for(const message_ptr& shown, std::size_t at, bool rescued) const {
    const auto& j = messages_[at];
    if (j.left_out)
      return false;
    if (j.body_replaced)
      return same(shown, j.msg) ? is_short(*j.msg) : is_shorter_form(*shown, *j.msg);
    return same(shown, j.msg) || (rescued && is_shorter_form(*shown, *j.msg));
  }
  /// Too short to be shortened.
  static bool is_short(const message& m) { return m.content.size() < 5'000; }

  /// A result that no journaled message is: of a call before it that has none.
  bool is_placeholder(const message& m, std::size_t at) const {
    if (m.role != message_role::tool || !m.is_error || at == 0)
      return false;
    auto i = at;
    while (i > begin_ && messages_[i - 1].msg->role == message_role::tool)
      --i;
    if (i == 0 || i <= begin_)
      return false;
    const auto& calls = messages_[i - 1].msg->tool_calls;
    const bool asked = std::any_of(calls.begin(), calls.end(),
                                   [&](const tool_call& c) { return c.id == m.tool_call_id; });
    const auto answered = [&](std::size_t from) {
      for (auto k = from; k < messages_.size() && messages_[k].msg->role == message_role::tool; ++k)
        if (messages_[k].msg->tool_call_id == m.tool_call_id)
          return true;
      return false;
    };
    return asked && !answered(i);
  }

  /// Where the messages go on that a note at `at` stands before; `at`: it may not stand there.
  std::size_t end_of_note(const std::vector<message_ptr>& shown, std::size_t next, std::size_t at,
                          bool rescued) const {
    auto end = at;
    while (end < messages_.size() && messages_[end].left_out)
      ++end;
    if (!rescued)
      return end;
    // How far it reaches is in no boundary yet: as far as makes the rest of the list fit.
    for (auto i = std::max(end, at + 1); i < messages_.size(); ++i)
      if (next < shown.size() && stands_for(shown[next], i, true) &&
          difference_from(shown, next, i, true).empty())
        return i;
    return end;
  }

  std::vector<journaled> messages_;                  // by message index
  std::shared_ptr<const compaction_record> handoff_; // the newest; null: none
  std::size_t begin_ = 0; // first message that the handoff does not stand for
  bool rescue_ = false;   // a rescue is tried; its boundary comes with the answer
};

class one_view final : public invariant {
public:
  std::string_view name() const override { return "S11_view_survives_restart"; }

  void on_append(const journal::append_request& r) override {
    auto& s = sessions_[r.session_id];
    s.owner.on_append(r, s.open.turn_id);
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      s.says.take(*e);
      s.open.take(*e);
    }
  }

  void on_request(const sampling_request& r) override {
    if (r.kind != sampling_kind::assistant)
      return;
    const auto& s = sessions_[r.session_id];
    if (r.turn_id != s.open.turn_id || s.owner.is_orphan(r.turn_id))
      return; // its operation ended while it was on its way
    if (const auto what = s.says.difference(r.messages, s.says.is_rescued()); !what.empty())
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " ", what));
  }

  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost)
      sessions_[id].owner.on_crash();
  }

  void at_rest(world& w) override {
    for (const auto& [id, s] : sessions_) {
      const auto p = w.projection_of(id);
      std::vector<message_ptr> shown;
      for (const auto& item : p.view().items)
        shown.push_back(item.msg);
      if (const auto what = s.says.difference(shown, false); !what.empty())
        broken(words(id, ": the view that a restart makes of the journal ", what));
    }
  }

private:
  struct session {
    conversation says;
    open_operation open;
    ownership owner;
  };
  by_session<session> sessions_;
};

} // namespace

invariant_ptr view_survives_restart() {
  return std::make_unique<one_view>();
}

} // namespace rind::kit
