// S4, S22: who was told that the operation is cancelled finds it cancelled, soon, and nothing is
// begun, committed or still running for it any more. What was on its way in the same moment may
// still arrive.
#include <algorithm>
#include <set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"
#include "tests/kit/scenario/scenario.hpp"

namespace rind::kit {

namespace {

/// From the request to its answer. A tool gets this long to stop; everything else stops at once.
constexpr std::int64_t cancel_takes_max_ms = 5'000;
/// Commits of a slow journal that may stand before the answer: what is being written, the end, and
/// what one of the two has to be asked for again.
constexpr std::int64_t commits_before_answer_max = 4;

class cancelled final : public invariant {
public:
  std::string_view name() const override { return "S4_cancelled_means_cancelled"; }

  void on_start(const scenario& s) override {
    for (const auto& l : s.script)
      if (const auto* step = std::get_if<step_line>(&l); step && step->what == action::slow_commits)
        slowest_commit_ms_ = std::max(slowest_commit_ms_, step->number.value_or(0));
  }

  void on_asked(const client_request& r) override {
    if (r.kind != request_kind::cancel)
      return;
    auto& s = sessions_[r.session_id];
    auto& about = s.asked[r.number];
    about.since_ms = now_ms();
    if (s.open.turn_id.empty())
      return;
    about.candidates.push_back(s.open.turn_id);
    for (const auto& request : s.in_flight)
      s.to_give_up.try_emplace(request, now_ms());
  }

  void on_answered(const client_request& r, const client_answer& a) override {
    if (r.kind != request_kind::cancel)
      return;
    auto& s = sessions_[r.session_id];
    const auto about = s.asked.extract(r.number);
    if (!a.ok() || !about || about.mapped().is_moot)
      return;
    const auto& candidates = about.mapped().candidates;
    if (candidates.empty())
      return broken(words(r.session_id, ": a cancel was answered ok and nothing ran"));
    const auto is_cancelled = [&](const std::string& turn) {
      const auto i = s.ended.find(turn);
      return i != s.ended.end() && i->second == entries::turn_outcome::cancelled;
    };
    const auto it = std::find_if(candidates.begin(), candidates.end(), is_cancelled);
    if (it == candidates.end())
      return broken(words(at(r.session_id, candidates.back()),
                          s.ended.count(candidates.back()) > 0
                              ? "a cancel was answered ok and the operation ended otherwise"
                              : "a cancel was answered ok before the operation ended"));
    const auto took_ms = now_ms() - about.mapped().since_ms;
    if (took_ms > cancel_takes_max_ms + commits_before_answer_max * slowest_commit_ms_)
      broken(words(at(r.session_id, *it), "took ", took_ms, " ms to be cancelled"));
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      take(s, *e);
      s.open.take(*e);
    }
  }

  void on_request(const sampling_request& r) override {
    sessions_[r.session_id].in_flight.insert(r.request_id);
    nothing_happens(r.session_id, r.turn_id, "a request to the model");
  }
  void on_tool_call(const tools::invocation& c) override {
    nothing_happens(c.session_id, c.turn_id, "a tool call");
  }
  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    auto& s = sessions_[r.session_id];
    s.in_flight.erase(r.request_id);
    const auto since = s.to_give_up.extract(r.request_id);
    nothing_happens(r.session_id, r.turn_id, "the end of a request");
    if (!std::holds_alternative<sampling_cancelled>(outcome) && since && now_ms() > since.mapped())
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, " was answered ",
                   now_ms() - since.mapped(), " ms after a cancel was asked for"));
  }

  void on_crash(const std::vector<std::string>& lost) override {
    for (const auto& id : lost) {
      sessions_[id].in_flight.clear();
      sessions_[id].to_give_up.clear();
    }
  }

private:
  struct cancel {
    std::int64_t since_ms = 0;
    std::vector<std::string> candidates; // operations that it may be about
    bool is_moot = false;                // one of them was interrupted and went on
  };
  struct session {
    open_operation open;
    std::map<std::size_t, cancel> asked;                // by request
    std::map<std::string, entries::turn_outcome> ended; // by turn
    std::set<std::string> in_flight;                    // requests at the model
    std::map<std::string, std::int64_t> to_give_up;     // of them: since a cancel, by its time
    std::set<std::string> interrupted;                  // resumed: who ran it first may be gone
    std::map<std::string, std::int64_t> left_ms; // by turn: when it ended with nothing left open
  };

  void take(session& s, const entry& e) {
    if (const auto* started = as<entries::turn_started>(e)) {
      for (auto& [number, about] : s.asked) {
        about.is_moot = about.is_moot || started->resumed;
        if (about.candidates.empty() || about.candidates.back() != e.turn_id)
          about.candidates.push_back(e.turn_id);
      }
      if (started->resumed)
        s.interrupted.insert(e.turn_id);
    } else if (const auto* end = as<entries::turn_ended>(e)) {
      s.ended[e.turn_id] = end->outcome;
      if (!ended_without_runner(*end) && end->reason != cancel_reason::interrupted &&
          s.interrupted.count(e.turn_id) == 0)
        s.left_ms[e.turn_id] = now_ms();
    }
  }

  void nothing_happens(const std::string& id, const std::string& turn, const char* what) {
    const auto s = sessions_.find(id);
    if (s == sessions_.end())
      return;
    const auto left = s->second.left_ms.find(turn);
    if (left != s->second.left_ms.end() && now_ms() > left->second)
      broken(words(at(id, turn), what, " comes ", now_ms() - left->second,
                   " ms after its operation had ended"));
  }

  by_session<session> sessions_;
  std::int64_t slowest_commit_ms_ = 0;
};

} // namespace

invariant_ptr cancelled_means_cancelled() {
  return std::make_unique<cancelled>();
}

} // namespace rind::kit
