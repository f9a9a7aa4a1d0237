// Leaves out ever smaller pieces of each list as long as that helps, then simplifies what is left.
#include "tests/kit/scenario/minimize.hpp"

#include <algorithm>

namespace rind::kit {

namespace {

class smaller {
public:
  smaller(scenario s, const std::function<bool(const scenario&)>& fails)
      : best_(std::move(s)), fails_(fails) {}

  scenario find() {
    for (bool helped = true; helped && runs_ < minimize_runs_max;) {
      const auto before = size();
      drop_sessions();
      drop_from(&scenario::script);
      drop_from(&scenario::model);
      drop_from(&scenario::tools);
      helped = size() < before;
    }
    simplify();
    return best_;
  }

private:
  std::size_t size() const { return best_.script.size() + best_.model.size() + best_.tools.size(); }

  bool try_one(scenario candidate) {
    if (candidate == best_ || ++runs_ > minimize_runs_max || !fails_(candidate))
      return false;
    best_ = std::move(candidate);
    return true;
  }

  void drop_sessions() {
    for (const auto& id : sessions_of(best_)) {
      auto candidate = best_;
      const auto is_its = [&](const auto& l) { return l.session == id; };
      std::erase_if(candidate.model, is_its);
      std::erase_if(candidate.tools, is_its);
      std::erase_if(candidate.script, [&](const auto& l) { return std::visit(is_its, l); });
      try_one(std::move(candidate));
    }
  }

  template <class Line>
  void drop_from(std::vector<Line> scenario::*list) {
    for (auto piece = (best_.*list).size(); piece > 0; piece /= 2)
      for (std::size_t at = 0; at < (best_.*list).size();) {
        auto candidate = best_;
        auto& lines = candidate.*list;
        const auto first = lines.begin() + static_cast<std::ptrdiff_t>(at);
        lines.erase(first, first + static_cast<std::ptrdiff_t>(std::min(piece, lines.size() - at)));
        if (!try_one(std::move(candidate)))
          at += piece;
      }
  }

  template <class Change>
  void change(Change make) {
    auto candidate = best_;
    make(candidate);
    try_one(std::move(candidate));
  }

  static void on_one_node(scenario& s) {
    s.world.nodes = 1;
    for (auto& l : s.script)
      if (auto* step = std::get_if<step_line>(&l); step && step->what == action::crash)
        step->number.reset();
  }

  /// What a person need not think about.
  void simplify() {
    change([](scenario& s) { s.world.shuffled = false; });
    change([](scenario& s) { s.world.journal = scenario_world{}.journal; });
    change(on_one_node);
    change([](scenario& s) { s.world.token_ratio = scenario_world{}.token_ratio; });
    change([](scenario& s) { s.world.true_window_tokens = 0; });
    change([](scenario& s) { s.world.threshold_percent.reset(); });
    change([](scenario& s) { s.world.auto_resume = false; });
    change([](scenario& s) { s.world.summaries_at_once = scenario_world{}.summaries_at_once; });
    for (std::size_t i = 0; i < best_.model.size(); ++i) {
      change([i](scenario& s) { s.model[i].after_ms = 0; });
      change([i](scenario& s) { s.model[i].pieces = 0; });
      change([i](scenario& s) { s.model[i].usage = usage_style::exact; });
      change([i](scenario& s) { s.model[i].input_tokens = 0; });
      change([i](scenario& s) { s.model[i].thinks_tokens = 0; });
      change([i](scenario& s) { s.model[i].calls = std::min<std::int64_t>(s.model[i].calls, 1); });
      change(
          [i](scenario& s) { s.model[i].tokens = std::min<std::int64_t>(s.model[i].tokens, 10); });
    }
    for (std::size_t i = 0; i < best_.tools.size(); ++i) {
      change([i](scenario& s) { s.tools[i].after_ms = 0; });
      change(
          [i](scenario& s) { s.tools[i].tokens = std::min<std::int64_t>(s.tools[i].tokens, 10); });
    }
    for (std::size_t i = 0; i < best_.script.size(); ++i) {
      change_step(i, [](step_line& l) { l.wait_ms = 0; });
      change_step(i, [](step_line& l) { l.run = 0; });
      change_step(i, [](step_line& l) { l.tokens = std::min<std::int64_t>(l.tokens, 10); });
      change_step(i, [](step_line& l) { l.settles = true; });
    }
  }

  template <class Change>
  void change_step(std::size_t i, Change make) {
    change([&](scenario& s) {
      if (auto* step = std::get_if<step_line>(&s.script[i]))
        make(*step);
    });
  }

  scenario best_;
  const std::function<bool(const scenario&)>& fails_;
  std::size_t runs_ = 0;
};

} // namespace

scenario minimize(scenario s, const std::function<bool(const scenario&)>& fails) {
  return smaller{std::move(s), fails}.find();
}

} // namespace rind::kit
