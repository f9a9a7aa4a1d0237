// Weights and ranges. A run is made so that its sessions fill their windows several times.
#include "tests/kit/scenario/draw.hpp"

#include <array>
#include <random>

namespace rind::kit {

namespace {

constexpr std::size_t answers_a_session = 24;
constexpr std::size_t summaries_a_session = 6;
constexpr std::size_t burst_answers = 6; // more than any bound on retries
constexpr std::size_t results_a_session = 16;
constexpr std::uint64_t sqlite_one_in = 20;

/// splitmix64: one multiplication a number, no table to fill for a run of a few hundred draws.
class dice {
public:
  // The seed is mixed first: seeds that lie beside one another would give shifted series otherwise.
  explicit dice(std::uint64_t seed) : state_(mixed(seed)) {}

  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15ull); }
  /// 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t n) { return n > 0 && below(n) == 0; }
  template <class Weights>
  std::size_t pick(const Weights& weights) {
    std::int64_t sum = 0;
    for (const auto& w : weights)
      sum += w.weight;
    auto at = below(sum);
    std::size_t i = 0;
    while (at >= weights[i].weight)
      at -= weights[i++].weight;
    return i;
  }

private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

struct weighted_action {
  action what;
  std::int64_t weight;
};
struct weighted_error {
  provider_error_class what;
  std::int64_t weight;
};

constexpr std::array client_actions{
    weighted_action{action::prompt, 30},
    weighted_action{action::again, 3},
    weighted_action{action::resume, 4},
    weighted_action{action::compact, 9},
    weighted_action{action::cancel, 8},
    weighted_action{action::steer, 11},
    weighted_action{action::follow_up, 8},
    weighted_action{action::take_back_steering, 2},
    weighted_action{action::take_back_follow_up, 2},
    weighted_action{action::promote, 3},
    weighted_action{action::set_model, 3},
    weighted_action{action::disconnect, 2},
    weighted_action{action::reconnect, 4},
    weighted_action{action::wait, 8},
};

constexpr std::array faulty_actions{
    weighted_action{action::crash, 6},           weighted_action{action::refuse_append, 4},
    weighted_action{action::conflict_append, 4}, weighted_action{action::lose_append_answer, 6},
    weighted_action{action::lose_runner, 1},     weighted_action{action::slow_commits, 4},
};

constexpr std::array errors{
    weighted_error{provider_error_class::context_length, 14},
    weighted_error{provider_error_class::stream_interrupted, 8},
    weighted_error{provider_error_class::server_error, 6},
    weighted_error{provider_error_class::timeout, 4},
    weighted_error{provider_error_class::rate_limit, 5},
    weighted_error{provider_error_class::overloaded, 5},
    weighted_error{provider_error_class::auth, 1},
    weighted_error{provider_error_class::invalid_request, 1},
    weighted_error{provider_error_class::content_filter, 1},
    weighted_error{provider_error_class::request_too_large, 1},
    weighted_error{provider_error_class::unrecognised, 2},
};

/// One fault among so many actions, and among so many answers; 0: none.
struct rates {
  std::int64_t action_one_in = 0;
  std::int64_t answer_one_in = 0;
};

rates rates_of(fault_level level) {
  switch (level) {
  case fault_level::none:
    return {};
  case fault_level::some:
    return {25, 16};
  case fault_level::many:
    break;
  }
  return {9, 6};
}

class drawing {
public:
  explicit drawing(const draw_options& o)
      : options_(o), dice_(o.seed), rates_(rates_of(o.faults)) {}

  scenario draw() {
    draw_world();
    for (std::size_t i = 0; i < options_.sessions; ++i)
      draw_answers("s" + std::to_string(i));
    for (std::size_t i = 0; i < options_.steps; ++i)
      draw_step();
    return std::move(out_);
  }

private:
  void draw_world() {
    auto& w = out_.world;
    w.seed = options_.seed;
    w.nodes = options_.nodes;
    w.window_tokens = dice_.between(6'000, 12'000);
    w.token_ratio = static_cast<double>(dice_.between(60, 160)) / 100.0;
    if (dice_.one_in(8))
      w.true_window_tokens = w.window_tokens * dice_.between(60, 95) / 100;
    if (!dice_.one_in(4))
      w.summaries_at_once = 1;
    if (dice_.one_in(4))
      w.threshold_percent = dice_.between(50, 85);
    w.auto_compact = !dice_.one_in(10);
    w.overflow_recovery = !dice_.one_in(16);
    // A node resumes what it finds interrupted when it starts, whoever holds it.
    w.auto_resume = options_.nodes == 1 && dice_.one_in(3);
    if (options_.nodes == 1 && options_.seed % sqlite_one_in == 0)
      w.journal = "sqlite";
  }

  std::int64_t pause_ms() {
    constexpr std::array<std::int64_t, 6> pauses{0, 0, 0, 50, 200, 1'500};
    return pauses[static_cast<std::size_t>(dice_.below(pauses.size()))];
  }

  usage_style usage() {
    switch (dice_.below(12)) {
    case 0:
      return usage_style::none;
    case 1:
      return usage_style::zero;
    case 2:
    case 3:
    case 4:
      return usage_style::cached;
    case 5:
      return dice_.one_in(6) && rates_.answer_one_in > 0 ? usage_style::huge : usage_style::exact;
    default:
      return usage_style::exact;
    }
  }

  void spoil(model_line& l) {
    l.error = to_string(errors[dice_.pick(errors)].what);
    l.pieces = dice_.below(2);
    l.tokens = 0;
    if (l.error == std::string{to_string(provider_error_class::context_length)} && dice_.one_in(5))
      l.states_window_tokens = out_.world.window_tokens * dice_.between(50, 100) / 100;
    if (l.error == std::string{to_string(provider_error_class::rate_limit)} && dice_.one_in(3))
      l.retry_after_s = dice_.between(1, 70);
  }

  void draw_answers(const std::string& session) {
    for (std::size_t i = 0; i < answers_a_session; ++i) {
      model_line l;
      l.session = session;
      l.after_ms = pause_ms();
      if (dice_.one_in(rates_.answer_one_in)) {
        if (dice_.one_in(10)) {
          l.hangs = true;
          l.deaf = dice_.one_in(3);
        } else if (dice_.one_in(8)) {
          l.finish = dice_.one_in(2) ? "length" : "window_exceeded";
          l.tokens = 10;
        } else {
          spoil(l);
        }
      } else {
        l.usage = usage();
        l.tokens = dice_.between(4, 400);
        if (dice_.one_in(3))
          l.calls = dice_.between(1, 3);
      }
      out_.model.push_back(std::move(l));
      if (!out_.model.back().error.empty() && dice_.one_in(12)) // a provider in trouble stays so
        out_.model.insert(out_.model.end(), burst_answers, model_line{out_.model.back()});
    }
    for (std::size_t i = 0; i < summaries_a_session; ++i) {
      model_line l;
      l.session = session;
      l.kind = sampling_kind::compact;
      // Where one summary is made at a time, a slow one keeps the others waiting.
      l.after_ms = pause_ms() + (dice_.one_in(2) ? 2'500 : 0);
      l.tokens = dice_.between(20, 300);
      l.usage = usage();
      if (rates_.answer_one_in > 0 && dice_.one_in(3)) {
        if (dice_.one_in(6))
          l.hangs = true;
        else if (dice_.one_in(4))
          l.tokens = 0; // says nothing
        else
          spoil(l);
      }
      out_.model.push_back(std::move(l));
    }
    for (std::size_t i = 0; i < results_a_session; ++i) {
      tool_line l;
      l.session = session;
      l.tokens = dice_.one_in(3) ? dice_.between(500, 2'500) : dice_.between(5, 300);
      l.after_ms = pause_ms();
      if (dice_.one_in(rates_.answer_one_in * 2)) {
        l.fails = true;
        l.throws = dice_.one_in(3);
        l.hangs = dice_.one_in(4);
        l.deaf = l.hangs && dice_.one_in(2);
      }
      out_.tools.push_back(std::move(l));
    }
  }

  void draw_step() {
    step_line l;
    l.run = run_length();
    l.wait_ms = dice_.one_in(4) ? dice_.between(1, 1'500) : 0;
    if (dice_.one_in(rates_.action_one_in)) {
      l.what = faulty_actions[dice_.pick(faulty_actions)].what;
      l.number = number_of(l.what);
    } else {
      l.what = client_actions[dice_.pick(client_actions)].what;
      draw_client(l);
    }
    out_.script.emplace_back(std::move(l));
  }

  std::optional<std::int64_t> number_of(action what) {
    if (what == action::lose_runner)
      return std::nullopt;
    if (what == action::crash)
      return dice_.below(static_cast<std::int64_t>(options_.nodes));
    if (what == action::slow_commits)
      return dice_.one_in(3) ? 0 : dice_.between(1, 400);
    return dice_.between(1, 6);
  }

  /// Mostly so few deliveries that the next step falls into the middle of what this one began.
  std::int64_t run_length() {
    switch (dice_.below(6)) {
    case 0:
      return dice_.below(150);
    case 1:
      return dice_.below(50);
    default:
      return dice_.below(12);
    }
  }

  void draw_client(step_line& l) {
    if (dice_.one_in(3)) // else the session of the step before: what happens to one comes in bursts
      session_ = dice_.below(static_cast<std::int64_t>(options_.sessions));
    l.session = "s" + std::to_string(session_);
    switch (l.what) {
    case action::prompt:
      l.id = std::to_string(++inputs_);
      l.tokens = dice_.one_in(12) ? dice_.between(2'000, 6'000) : dice_.between(5, 1'600);
      break;
    case action::again:
      l.id = std::to_string(inputs_ == 0 ? 1 : dice_.between(1, inputs_));
      break;
    case action::steer:
    case action::follow_up:
      l.id = std::to_string(++inputs_);
      l.tokens = dice_.between(3, 400);
      break;
    case action::promote:
      l.id = std::to_string(
          inputs_ == 0 ? 1 : dice_.between(std::max<std::int64_t>(1, inputs_ - 4), inputs_));
      break;
    case action::set_model:
      l.model = dice_.one_in(5) ? "model-tiny" : dice_.one_in(2) ? "model-a" : "model-big";
      break;
    default:
      break;
    }
  }

  draw_options options_;
  dice dice_;
  rates rates_;
  scenario out_;
  std::int64_t inputs_ = 0;
  std::int64_t session_ = 0; // of the step before
};

} // namespace

const char* to_string(fault_level level) {
  constexpr const char* names[]{"none", "some", "many"};
  return names[static_cast<std::size_t>(level)];
}

scenario draw(const draw_options& options) {
  return drawing{options}.draw();
}

} // namespace rind::kit
