// Whole lives of a node drawn from a seed: clients that prompt, queue, take back, cancel, compact
// and change models, a journal that refuses, a model that errs, crashes and restarts. After each
// life the promises are checked on the journal and on what reached the model.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::says;
using kit::text_of_tokens;

constexpr int steps_a_life = 60;

class life {
public:
  explicit life(std::uint64_t seed) : chance_(seed), w_(options(seed)) {
    serve();
    for (const char* id : {"s0", "s1"})
      clients_.push_back(&w_.client(id));
  }

  void live() {
    for (int i = 0; i < steps_a_life; ++i) {
      act();
      w_.time().step(below(40));
      if (one_in(6))
        w_.advance(static_cast<std::int64_t>(below(3'000)));
      if (one_in(40))
        crash();
    }
    w_.faults().appends.clear();
    w_.advance(900'000);       // every retry and deadline is over
    for (auto* c : clients_) { // what is interrupted still is settled by the next prompt
      auto last = c->prompt("Is all well?");
      w_.advance(900'000);
      EXPECT_TRUE(last.arrived());
    }
  }

  void check() {
    for (const char* id : {"s0", "s1"}) {
      check_turns(id);
      check_inputs(id);
      const auto p = w_.projection_of(id);
      EXPECT_FALSE(p.operation()) << id;
      EXPECT_EQ(p.structure_fault(), std::nullopt) << id;
      auto live = clients_[id[1] - '0']->snapshot();
      w_.run();
      ASSERT_TRUE(live->has_value());
      EXPECT_EQ(kit::shown(*(*live)->view), kit::shown(p.view())) << id;
    }
    EXPECT_EQ(kit::first_boundary_fault(w_.model()), "");
    for (const auto& r : w_.model().requests()) {
      EXPECT_LE(r.request.estimated_tokens, r.request.window_tokens - 1'024);
      EXPECT_LE(r.request.estimated_tokens + r.request.output_limit_tokens,
                r.request.window_tokens);
    }
    for (const auto& a : accepted_)
      EXPECT_EQ(kit::fate_of(w_, a.session_id, a.text).accepted, 1) << a.text;
  }

private:
  struct accepted_input {
    std::string session_id;
    std::string text;
  };

  static kit::world_options options(std::uint64_t seed) {
    kit::world_options o;
    o.seed = seed;
    o.shuffled = true;
    o.settings.session.auto_resume = seed % 3 == 0;
    return o;
  }

  std::size_t below(std::size_t n) { return chance_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  void serve() {
    w_.model().serve([this](const sampling_request& r) {
      const auto delay_ms = static_cast<std::int64_t>(below(3) * 200);
      if (one_in(12))
        return kit::refuses_length().after(delay_ms);
      if (one_in(12))
        return kit::refuses(one_in(2) ? provider_error_class::server_error
                                      : provider_error_class::stream_interrupted)
            .after(delay_ms);
      if (one_in(60))
        return kit::refuses(provider_error_class::auth).after(delay_ms);
      if (r.kind == sampling_kind::compact)
        return one_in(8) ? kit::hangs() : says(one_in(5) ? "" : "Summary.").after(delay_ms);
      if (one_in(3))
        return kit::asks_for({kit::look("c" + std::to_string(++calls_)),
                              kit::look("c" + std::to_string(++calls_))})
            .after(delay_ms);
      return says(text_of_tokens(static_cast<std::int64_t>(below(300)) + 5)).after(delay_ms);
    });
    for (int i = 0; i < 200; ++i) {
      auto script = kit::answers(text_of_tokens(static_cast<std::int64_t>(below(2'000))));
      script.delay_ms = static_cast<std::int64_t>(below(3) * 100);
      w_.tool().expect(std::move(script));
    }
  }

  void act() {
    const auto at = below(clients_.size());
    auto& c = *clients_[at];
    const auto id = "s" + std::to_string(at);
    if (one_in(25)) {
      const auto nth = 1 + static_cast<std::int64_t>(below(6));
      one_in(2) ? w_.lose_answer(nth) : w_.refuse_append(nth);
    }
    switch (below(9)) {
    case 0:
    case 1:
    case 2:
      c.prompt(text_of_tokens(static_cast<std::int64_t>(below(2'500)) + 1));
      break;
    case 3:
    case 4: {
      const auto text = "Input " + std::to_string(++inputs_) + ".";
      queued_.push_back({{id, text}, one_in(2) ? c.steer(text) : c.follow_up(text)});
      break;
    }
    case 5:
      c.take_back(one_in(2) ? input_mode::steering : input_mode::follow_up);
      break;
    case 6:
      one_in(2) ? (void)c.cancel() : (void)c.resume();
      break;
    case 7:
      c.compact();
      break;
    default:
      c.set_model(one_in(2) ? "model-a" : "model-big");
      break;
    }
  }

  void crash() {
    remember_accepted();
    w_.crash();
    w_.faults().appends.clear();
    w_.restart();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const auto id = "s" + std::to_string(i);
      if (w_.journal_of(id).empty())
        clients_[i] = &w_.client(id);
      else
        w_.reconnect(*clients_[i], id);
    }
  }

  void remember_accepted() {
    for (auto& [what, answer] : queued_)
      if (answer.ok())
        accepted_.push_back(what);
    queued_.clear();
  }

  /// Each operation that was started has one end, and nothing of it comes later (S5).
  void check_turns(const std::string& id) {
    std::map<std::string, int> ends;
    for (const auto& e : w_.journal_of(id)) {
      if (e->turn_id.empty())
        continue;
      auto& n = ends[e->turn_id];
      EXPECT_EQ(n, 0) << id << ": an entry of " << e->turn_id << " after its end";
      n += std::holds_alternative<entries::turn_ended>(e->body);
    }
    for (const auto& [turn, n] : ends)
      EXPECT_EQ(n, 1) << id << " " << turn;
  }

  /// Each accepted input has one fate (S3).
  void check_inputs(const std::string& id) {
    for (const auto& e : w_.journal_of(id))
      if (const auto* a = std::get_if<entries::input_accepted>(&e->body)) {
        const auto f = kit::fate_of(w_, id, a->text);
        EXPECT_EQ(f.delivered + f.taken_back + f.handed_back, 1) << id << " " << a->text;
      }
  }

  std::mt19937_64 chance_;
  kit::world w_;
  std::vector<kit::scripted_client*> clients_;
  std::vector<std::pair<accepted_input, kit::awaited<actors::queued_answer>>> queued_;
  std::vector<accepted_input> accepted_;
  int calls_ = 0;
  int inputs_ = 0;
};

class random_world : public testing::TestWithParam<int> {};

TEST_P(random_world, S3_S5_S8_S10_S11_hold_over_faults_and_crashes) {
  constexpr int lives = 25;
  for (int i = 0; i < lives; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * lives + i + 1);
    SCOPED_TRACE("seed " + std::to_string(seed));
    life l{seed};
    l.live();
    l.check();
    if (HasFatalFailure() || HasNonfatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, random_world, testing::Range(0, 8));

} // namespace
} // namespace rind
