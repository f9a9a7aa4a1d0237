// S2, S3: the two queues of inputs and the queue of prompts keep their limits.
#include <algorithm>
#include <array>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

constexpr std::int64_t inputs_max = 4;
constexpr std::int64_t characters_max = 8'000;
constexpr std::size_t prompts_max = 16 + 1; // waiting, and the one that runs
constexpr std::size_t requests_of_prompt_max = 16;

std::int64_t characters_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

class queues_bounded final : public invariant {
public:
  std::string_view name() const override { return "S3_queues_are_bounded"; }

  void on_start(const scenario& s) override { nodes_ = std::max<std::size_t>(s.world.nodes, 1); }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (const auto* a = as<entries::input_accepted>(*e))
        s.inputs[a->input_id] = {a->mode, characters_of(a->text)};
      else if (const auto* p = as<entries::input_promoted>(*e))
        s.inputs[p->input_id].mode = input_mode::steering;
      else if (const auto* d = as<entries::input_delivered>(*e))
        s.inputs.erase(d->msg->input_id);
      else if (const auto* t = as<entries::input_taken_back>(*e))
        s.inputs.erase(t->input_id);
      else if (as<entries::turn_ended>(*e))
        s.inputs.clear();
      else
        continue;
      count(at(id, e->turn_id), s);
    }
  }

  // What was asked before time moved on has been taken in.
  void on_asked(const client_request& r) override {
    if (r.kind != request_kind::prompt)
      return;
    auto& s = sessions_[r.session_id];
    if (now_ms() > s.newest_ms && s.prompts.size() > prompts_max * nodes_)
      broken(words(r.session_id, ": ", s.prompts.size(), " prompts wait without an answer"));
    s.newest_ms = now_ms();
    auto& requests = s.prompts[r.input_id.empty() ? words("#", r.number) : r.input_id];
    if (requests.size() > requests_of_prompt_max * nodes_)
      broken(words(r.session_id, ": ", requests.size(), " requests wait for prompt ", r.input_id));
    requests.push_back(r.number);
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    auto& s = sessions_[r.session_id];
    if (r.kind == request_kind::prompt) {
      const auto i = s.prompts.find(r.input_id.empty() ? words("#", r.number) : r.input_id);
      if (i != s.prompts.end() && std::erase(i->second, r.number) > 0 && i->second.empty())
        s.prompts.erase(i);
    }
    if (a.ok() && (a.pending < 0 || a.pending > inputs_max))
      broken(words(r.session_id, ": request ", r.number, " (", to_string(r.kind),
                   ") was answered with ", a.pending, " pending inputs"));
  }

  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost)
      sessions_[id].prompts.clear();
  }

private:
  struct input {
    input_mode mode = input_mode::steering;
    std::int64_t characters = 0;
  };
  struct session {
    std::map<std::string, input> inputs;                     // pending
    std::map<std::string, std::vector<std::size_t>> prompts; // unanswered requests by input id
    std::int64_t newest_ms = 0;                              // when the newest prompt was asked
  };

  void count(const std::string& where, const session& s) {
    std::array<std::int64_t, 2> inputs{};
    std::array<std::int64_t, 2> characters{};
    for (const auto& [id, in] : s.inputs) {
      const auto mode = static_cast<std::size_t>(in.mode);
      ++inputs[mode];
      characters[mode] += in.characters;
    }
    for (const std::size_t mode : {0, 1})
      if (inputs[mode] > inputs_max || characters[mode] > characters_max)
        broken(words(where, mode == 0 ? "steering" : "follow-up", " holds ", inputs[mode],
                     " inputs of ", characters[mode], " characters"));
  }

  std::size_t nodes_ = 1;
  by_session<session> sessions_;
};

} // namespace

invariant_ptr queues_are_bounded() {
  return std::make_unique<queues_bounded>();
}

} // namespace rind::kit
