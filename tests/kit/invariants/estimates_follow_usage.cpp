// S13: what the provider counted anchors the next estimate, by the formula of the rule and nothing
// else. Judged on committed answers, which carry the numbers of the request that they answer; those
// are held against what reached the model.
#include <algorithm>
#include <cmath>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

constexpr double ratio_min = 0.2;
constexpr double ratio_max = 2.0;
constexpr double jump_max = 2.0;
constexpr std::int64_t rounding_tokens = 2;
// A plain estimate lies between these, whatever is said: bytes for one token, and what a message
// and a call weigh beside their texts.
constexpr std::int64_t token_bytes_max = 12;
constexpr std::int64_t token_bytes_min = 2;
constexpr std::int64_t message_tokens_max = 60;
constexpr std::int64_t tools_tokens_max = 200;

class follow_usage final : public invariant {
public:
  std::string_view name() const override { return "S13_estimates_follow_usage"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    std::int64_t rescues = 0; // in the same append as the answer
    for (const auto& e : batch) {
      if (const auto* created = as<entries::session_created>(*e)) {
        s.model = created->model;
      } else if (const auto* set = as<entries::model_set>(*e)) {
        s.model = set->model;
      } else if (as<entries::boundary>(*e)) {
        ++s.generation;
        ++rescues;
      } else if (const auto* m = as<entries::assistant_message>(*e)) {
        judge(id, e->turn_id, s, *m, m->request_generation - rescues);
        offer(s, *m);
      }
    }
  }

  void on_request(const sampling_request& r) override {
    if (r.kind != sampling_kind::assistant)
      return;
    auto& sent = sessions_[r.session_id].sent;
    sent = {r.turn_id, r.estimated_tokens, 0, 0};
    for (const auto& m : r.messages) {
      sent.bytes += static_cast<std::int64_t>(m->content.size() +
                                              (m->reasoning ? m->reasoning->opaque.size() : 0));
      for (const auto& c : m->tool_calls)
        sent.bytes += static_cast<std::int64_t>(c.arguments.size() + c.name.size() + c.id.size());
      sent.parts += 1 + static_cast<std::int64_t>(m->tool_calls.size());
    }
  }

private:
  struct anchor {
    std::string model;
    std::int64_t generation = 0;
    std::int64_t input = 0;
    std::int64_t local = 0;
  };
  struct request {
    std::string turn_id;
    std::int64_t estimated = 0;
    std::int64_t bytes = 0;
    std::int64_t parts = 0; // messages and calls
  };
  struct session {
    std::string model;
    std::int64_t generation = 0;
    std::optional<anchor> usable;
    std::map<std::string, double> ratios; // last one by model
    request sent;                         // the newest
  };

  static double ratio_of(const anchor& a) {
    return std::clamp(static_cast<double>(a.input) / static_cast<double>(a.local), ratio_min,
                      ratio_max);
  }
  static std::int64_t grown(const anchor& a, std::int64_t local) {
    return a.input + std::llround(static_cast<double>(local - a.local) * ratio_of(a));
  }
  static std::int64_t expected(const session& s, const std::string& model, std::int64_t generation,
                               std::int64_t local) {
    if (s.usable && s.usable->model == model && s.usable->generation == generation &&
        local >= s.usable->local)
      return grown(*s.usable, local);
    const auto known = s.ratios.find(model);
    return std::llround(static_cast<double>(local) *
                        (known == s.ratios.end() ? 1.0 : known->second));
  }

  void judge(const std::string& id, const std::string& turn, const session& s,
             const entries::assistant_message& m, std::int64_t generation) {
    const auto local = m.request_local_tokens;
    const auto should = expected(s, m.msg->model, generation, local);
    if (std::abs(should - m.request_estimated_tokens) > rounding_tokens)
      return broken(words(at(id, turn), "sampling ", m.sampling, " of ", local,
                          " local tokens was estimated at ", m.request_estimated_tokens,
                          "; the anchor says ", should));
    if (s.sent.turn_id != turn)
      return;
    if (s.sent.estimated != m.request_estimated_tokens)
      return broken(words(at(id, turn), "sampling ", m.sampling, " was sent as ", s.sent.estimated,
                          " tokens and journaled as ", m.request_estimated_tokens));
    if (local < s.sent.bytes / token_bytes_max || local > s.sent.bytes / token_bytes_min +
                                                              s.sent.parts * message_tokens_max +
                                                              tools_tokens_max)
      broken(words(at(id, turn), "a request of ", s.sent.bytes, " bytes in ", s.sent.parts,
                   " messages and calls has a local estimate of ", local, " tokens"));
  }

  static void offer(session& s, const entries::assistant_message& m) {
    const auto input = m.usage.input_tokens.value_or(0);
    if (input <= 0 || m.request_local_tokens <= 0 || m.msg->model != s.model ||
        m.request_generation != s.generation)
      return;
    const anchor next{s.model, s.generation, input, m.request_local_tokens};
    if (s.usable && s.usable->model == next.model && s.usable->generation == next.generation &&
        static_cast<double>(input) > jump_max * static_cast<double>(grown(*s.usable, next.local)))
      return;
    s.usable = next;
    s.ratios[next.model] = ratio_of(next);
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr estimates_follow_usage() {
  return std::make_unique<follow_usage>();
}

} // namespace rind::kit
