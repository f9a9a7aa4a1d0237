// S27: a manual compaction takes no words of the user and does not sample the conversation, unless
// an input was accepted meanwhile; that is delivered behind the boundary.
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class samples_nothing final : public invariant {
public:
  std::string_view name() const override { return "S27_manual_compaction_samples_nothing"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    for (const auto& e : batch) {
      if (const auto* started = as<entries::turn_started>(*e)) {
        if (started->operation == operation_kind::compact)
          sessions_[id].try_emplace(e->turn_id);
        continue;
      }
      auto* c = find(id, e->turn_id);
      if (!c)
        continue;
      if (as<entries::user_message>(*e))
        broken(words(at(id, e->turn_id), "a manual compaction journaled words of the user"));
      else if (as<entries::boundary>(*e))
        c->committed = true;
      else if (as<entries::input_delivered>(*e))
        deliver(id, e->turn_id, *c);
    }
  }

  void on_request(const sampling_request& r) override {
    const auto* c = find(r.session_id, r.turn_id);
    if (c && r.kind == sampling_kind::assistant && !c->has_input)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " samples the conversation in a manual compaction without input"));
  }

private:
  struct compaction {
    bool committed = false;
    bool has_input = false;
  };

  compaction* find(const std::string& id, const std::string& turn) {
    auto& own = sessions_[id];
    const auto i = own.find(turn);
    return i == own.end() ? nullptr : &i->second;
  }

  void deliver(const std::string& id, const std::string& turn, compaction& c) {
    if (!c.committed)
      broken(words(at(id, turn), "an input was delivered before the boundary of a compaction"));
    c.has_input = true;
  }

  by_session<std::map<std::string, compaction>> sessions_; // manual ones, by turn
};

} // namespace

invariant_ptr manual_compaction_samples_nothing() {
  return std::make_unique<samples_nothing>();
}

} // namespace rind::kit
