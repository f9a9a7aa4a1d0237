// One walk over the recording with the turn that is open.
#include "hosts/replay/plan.hpp"

#include <algorithm>
#include <map>

namespace rind::hosts::replay {

namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

/// An answer without text and calls is no message that a session could hold.
bool leaves_nothing(const recorded_message& m) {
  return m.msg.tool_calls.empty() && (!m.ended_well || is_blank(m.msg.content));
}

class planner {
public:
  explicit planner(const recording& r) : r_(r), results_(pair_results()) {}

  plan make() {
    for (std::size_t i = 0; i < r_.size(); ++i)
      switch (r_[i].msg.role) {
      case message_role::user:
        take_prompt(i);
        break;
      case message_role::assistant:
        take_assistant(i);
        break;
      default:
        out_.skipped += is_owned_[i] ? 0 : 1;
        break;
      }
    return std::move(out_);
  }

private:
  /// The results of each assistant message: a result belongs to the newest call of its id that has
  /// none yet.
  std::map<std::size_t, std::vector<std::size_t>> pair_results() {
    std::map<std::size_t, std::vector<std::size_t>> by_assistant;
    std::map<std::string, std::size_t> open;
    is_owned_.assign(r_.size(), false);
    for (std::size_t i = 0; i < r_.size(); ++i) {
      for (const auto& call : r_[i].msg.tool_calls)
        open[call.id] = i;
      if (r_[i].msg.role != message_role::tool)
        continue;
      const auto found = open.find(r_[i].msg.tool_call_id);
      if (found == open.end())
        continue;
      by_assistant[found->second].push_back(i);
      is_owned_[i] = true;
      open.erase(found);
    }
    return by_assistant;
  }

  void take_prompt(std::size_t i) {
    if (is_blank(r_[i].msg.content)) { // a prompt says something
      ++out_.skipped;
      open_ = false;
      return;
    }
    out_.turns.push_back({i, {}});
    out_.journaled.push_back(i);
    open_ = true;
  }

  void take_assistant(std::size_t i) {
    const auto& owned = results_[i];
    if (!open_) {
      out_.skipped += 1 + owned.size();
      return;
    }
    if (leaves_nothing(r_[i])) {
      ++out_.discarded;
      return take_thrown_away(i);
    }
    step s;
    s.assistants = {i};
    s.results = owned;
    s.hangs = owned.size() < r_[i].msg.tool_calls.size();
    out_.journaled.push_back(i);
    out_.journaled.insert(out_.journaled.end(), owned.begin(), owned.end());
    open_ = !r_[i].msg.tool_calls.empty() && !s.hangs;
    steps().push_back(std::move(s));
  }

  /// The client cancels, unless the recorded agent went on without a word of the user's: then the
  /// stream broke and was asked for again.
  void take_thrown_away(std::size_t i) {
    const bool goes_on = i + 1 < r_.size() && r_[i + 1].msg.role == message_role::assistant;
    const bool joins = !steps().empty() && steps().back().kind == step_kind::interrupted;
    if (!joins)
      steps().push_back({});
    auto& s = steps().back();
    s.assistants.push_back(i);
    s.kind = goes_on ? step_kind::interrupted : step_kind::cut;
    open_ = goes_on;
  }

  std::vector<step>& steps() { return out_.turns.back().steps; }

  const recording& r_;
  std::vector<bool> is_owned_; // tool messages that belong to a call
  std::map<std::size_t, std::vector<std::size_t>> results_;
  plan out_;
  bool open_ = false; // a turn runs and waits for its next answer
};

} // namespace

plan make_plan(const recording& r) {
  return planner(r).make();
}

} // namespace rind::hosts::replay
