// S10, S30: what is sent after a refused length is smaller than what was refused, over crashes too.
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class shrink final : public invariant {
public:
  std::string_view name() const override { return "S30_retries_shrink"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    for (const auto& e : batch) {
      if (e->turn_id.empty())
        continue;
      auto& o = operations_[{id, e->turn_id}];
      if (const auto* a = as<entries::attempt_started>(*e))
        take(o, *a);
      else if (as<entries::assistant_message>(*e))
        o = {};
      else if (const auto* started = as<entries::turn_started>(*e);
               started && started->resumed && !o.is_journaled)
        o = {}; // nobody knows of the refusal any more
    }
  }

  void on_request(const sampling_request& r) override {
    if (r.kind != sampling_kind::assistant)
      return;
    const auto i = operations_.find({r.session_id, r.turn_id});
    if (i == operations_.end() || !i->second.refused)
      return;
    const auto& refused = *i->second.refused;
    if (r.estimated_tokens >= refused.estimated && r.output_limit_tokens >= refused.output_limit)
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " of ",
                   r.estimated_tokens, " tokens follows a refusal of ", refused.estimated,
                   " and is not smaller"));
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    if (r.kind != sampling_kind::assistant || !is_refusal(outcome))
      return;
    auto& o = operations_[{r.session_id, r.turn_id}];
    o.refused = size{r.estimated_tokens, r.output_limit_tokens};
    o.is_journaled = false;
  }

private:
  struct size {
    std::int64_t estimated = 0;
    std::int64_t output_limit = 0;
  };
  struct operation {
    std::optional<size> refused; // that no answer came after
    bool is_journaled = false;
  };

  static bool is_refusal(const sampling_outcome& outcome) {
    if (const auto* e = std::get_if<provider_error>(&outcome))
      return e->error_class == provider_error_class::context_length;
    const auto* a = std::get_if<sampling_answer>(&outcome);
    return a && a->finish == finish_reason::window_exceeded;
  }

  static void take(operation& o, const entries::attempt_started& a) {
    o.is_journaled = true;
    if (a.output_limit_tokens) // anything below it may be asked for
      o.refused = size{a.refused_estimate_tokens, *a.output_limit_tokens + 1};
    else if (a.refused_estimate_tokens > 0)
      o.refused = size{a.refused_estimate_tokens, o.refused ? o.refused->output_limit : 0};
  }

  std::map<std::pair<std::string, std::string>, operation> operations_; // by session and turn
};

} // namespace

invariant_ptr retries_shrink() {
  return std::make_unique<shrink>();
}

} // namespace rind::kit
