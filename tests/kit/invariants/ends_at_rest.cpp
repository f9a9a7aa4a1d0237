// S2, S5, S43: at the end everybody was answered, no operation is open, and the model is asked
// nothing any more.
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

namespace {

class rest final : public invariant {
public:
  std::string_view name() const override { return "S43_ends_at_rest"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& open = sessions_[id];
    for (const auto& e : batch)
      open.take(*e);
  }

  void on_asked(const client_request& r) override {
    if (!asked_.try_emplace(r.number, r).second)
      broken(words(r.session_id, ": request ", r.number, " was asked twice"));
  }

  void on_answered(const client_request& r, const client_answer&) override {
    if (asked_.erase(r.number) == 0 && forgotten_.count(r.number) == 0)
      broken(words(r.session_id, ": request ", r.number, " (", to_string(r.kind),
                   ") was answered twice"));
  }

  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost)
      std::erase_if(asked_, [&](const auto& asked) {
        const bool is_lost = asked.second.session_id == id;
        if (is_lost)
          forgotten_.insert(asked.first);
        return is_lost;
      });
  }

  void at_rest(world& w) override {
    if (!asked_.empty()) {
      const auto& r = asked_.begin()->second;
      broken(words(r.session_id, ": request ", r.number, " (", to_string(r.kind),
                   ") was never answered"));
    }
    for (const auto& [id, open] : sessions_)
      if (!open.turn_id.empty())
        broken(words(at(id, open.turn_id), "is still open at the end"));
    if (const auto n = w.model().in_flight(); n > 0)
      broken(words(n, " requests are at the model at the end"));
  }

private:
  by_session<open_operation> sessions_;
  std::map<std::size_t, client_request> asked_; // without an answer
  std::set<std::size_t> forgotten_;             // of a crash: answered or not
};

} // namespace

invariant_ptr ends_at_rest() {
  return std::make_unique<rest>();
}

} // namespace rind::kit
