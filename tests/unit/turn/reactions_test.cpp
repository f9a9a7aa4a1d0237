// Every state meets every input, and every order of what the world can answer: the machine waits
// for something it asked for, or it has ended. Explored in full to a depth, and at random beyond
// it, in an abstract world of a few views.
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/turn/machine_kit.hpp"

namespace rind::turn {
namespace {

using enum state;

// -- the table --------------------------------------------------------------------

TEST(reactions, every_state_meets_every_input) {
  // A second writing of the table: i illegal, - ignore, g go on, f fail, s stop, e end.
  // input_taken context_ready compaction_finished recorded refused retry_due sampling_finished
  // tool_finished cancel_requested closed
  const std::array<const char*, state_count> expected{
      "gi-if---se", "ig-ii---se", "iigii---se", "ii-gf---se", "ii-iig--se",
      "ii-ii-g-se", "ii-gf---se", "ii-gf--gse", "---------e", "----------"};
  const std::string letters = "i-gfse"; // in the order of the enum
  for (std::size_t s = 0; s < state_count; ++s) {
    std::string row;
    for (const auto r : reaction_table()[s])
      row += letters[static_cast<std::size_t>(r)];
    EXPECT_EQ(row, expected[s]) << to_string(static_cast<state>(s));
  }
}

// What somebody else is still doing when the operation has gone on may be late; what only this
// operation can ask for may not.
TEST(reactions, late_answers_are_ignored_and_answers_to_nothing_are_illegal) {
  for (std::size_t s = 0; s + 2 < state_count; ++s) { // but for closing and ended
    const auto& row = reaction_table()[s];
    const auto at = static_cast<state>(s);
    EXPECT_EQ(row[0] == reaction::go_on, at == taking);
    EXPECT_EQ(row[1] == reaction::go_on, at == building);
    EXPECT_EQ(row[2] == reaction::go_on, at == compacting);
    EXPECT_EQ(row[3] == reaction::go_on, at == recording || at == committing || at == tools);
    EXPECT_EQ(row[5] == reaction::go_on, at == waiting);
    EXPECT_EQ(row[6] == reaction::go_on, at == sampling);
    EXPECT_EQ(row[7] == reaction::go_on, at == tools);
    EXPECT_EQ(row[8], reaction::stop);
    EXPECT_EQ(row[9], reaction::finish);
  }
}

// -- an abstract world ---------------------------------------------------------------

enum class view_size { small, over_threshold, over_hard };

/// The views that the abstract session can have.
view::message_view make_view(view_size size) {
  const std::array<std::int64_t, 3> tokens{4'000, 17'000, 19'500};
  view::message_view v;
  const auto add = [&](message_role role, std::int64_t weight, std::vector<tool_call> calls = {},
                       std::string call_id = {}) {
    view::item i;
    i.msg = kit::make_message(role, "x", std::move(calls), std::move(call_id));
    i.start = v.message_count++;
    i.end_exclusive = v.message_count;
    i.tokens = weight;
    v.tokens += weight;
    v.items.push_back(std::move(i));
  };
  const auto total = tokens[static_cast<std::size_t>(size)];
  for (int n = 0; n < 6; ++n) {
    add(message_role::user, total / 14);
    add(message_role::assistant, total / 14);
  }
  add(message_role::user, 2 * total / 14);
  v.first_unread = v.message_count - 1;
  v.newest_user_index = v.message_count - 1;
  v.newest_user_message = v.items.back().msg;
  return v;
}

std::shared_ptr<const view::message_view> view_of(view_size size, std::int64_t position) {
  static const std::array<view::message_view, 3> views{make_view(view_size::small),
                                                       make_view(view_size::over_threshold),
                                                       make_view(view_size::over_hard)};
  auto v = std::make_shared<view::message_view>(views[static_cast<std::size_t>(size)]);
  v->view_position = position;
  return v;
}

/// What the machine asked for and was not answered yet.
struct asked {
  bool take = false, next = false, build = false, compact = false, wait = false, sample = false,
       close = false;
  int records = 0; // results are recorded while others still run
  std::vector<std::string> calls;
  bool any() const {
    return take || next || build || compact || records > 0 || wait || sample || close ||
           !calls.empty();
  }
};

struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, const char* rule) {
  if (!holds)
    throw violation(rule);
}

/// The world as a value: a machine and everything that the rules bound.
struct abstract_world {
  turn_machine machine;
  asked open;
  view_size size = view_size::small;
  std::int64_t position = 1;
  std::optional<std::int64_t> tightened;
  bool auto_compact = true;
  // what has happened
  int closes = 0;
  bool stopped = false;
  bool ended_by_session = false;
  std::int64_t requests_of_sampling = 0;
  int smaller_tries = 0; // since the newest message
  std::int64_t compacted_normal =
      -1;                   // position of the view whose normal compaction was started by itself
  std::int64_t refused = 0; // smallest estimate refused for its length in this sampling
  std::int64_t refused_output = 0;

  explicit abstract_world(operation_kind kind, bool with_auto)
      : machine(options_of(kind)), auto_compact(with_auto) {
    take(machine.start());
  }
  static options options_of(operation_kind kind) {
    options o;
    o.operation = kind;
    o.samplings_max = 4;
    return o;
  }

  session::context_snapshot snapshot() const {
    session::context_snapshot s;
    s.view = view_of(size, position);
    s.fixed_tokens = 100;
    context::model_limits limits;
    limits.window_tokens = 20'000;
    s.budget = context::resolve_budget("m", limits, {}, "m", limits, {});
    s.tightened_limit_tokens = tightened;
    s.auto_compact = auto_compact;
    return s;
  }

  void take(const effect_list& effects) {
    for (const auto& e : effects) {
      require(closes == 0, "no effect after the close");
      std::visit([this](const auto& body) { see(body); }, e);
    }
    require(open.any() || machine.at() == ended,
            "it waits for something that it asked for, or it has ended");
  }
  void starts(bool& what) {
    require(!stopped, "nothing is started after the stop");
    require(!what, "it asks once");
    what = true;
  }
  void see(const effects::take_input& e) { starts(e.before_sampling ? open.take : open.next); }
  void see(const effects::build_context&) { starts(open.build); }
  void see(const effects::compact& e) {
    starts(open.compact);
    if (e.suffix == compaction::suffix_size::normal) {
      require(e.snapshot.view->view_position != compacted_normal,
              "the same view is never compacted twice by itself");
      compacted_normal = e.snapshot.view->view_position;
    } else {
      require(++smaller_tries == 1, "a smaller suffix is tried once");
    }
  }
  void see(const effects::record& e) {
    require(open.records == 0 || machine.at() == tools, "one append at a time, but for results");
    ++open.records;
    for (const auto& body : e.entries) {
      if (const auto* a = std::get_if<entries::attempt_started>(&body)) {
        if (a->tightened_limit_tokens)
          tightened = a->tightened_limit_tokens;
      }
    }
  }
  void see(const effects::wait&) { starts(open.wait); }
  void see(const effects::sample& e) {
    starts(open.sample);
    ++requests_of_sampling;
    require(e.estimated_tokens <= 18'976, "nothing above the hard limit is sent");
    require(refused == 0 || e.estimated_tokens < refused ||
                (e.estimated_tokens == refused && e.output_limit_tokens < refused_output),
            "every retry is smaller than what was refused");
    // S32: 3 + 3 + 5; S30: one with less output, one after the compaction, four after rescues.
    require(requests_of_sampling <= 1 + 11 + 1 + 1 + 4, "the requests of a sampling are bounded");
  }
  void see(const effects::run_tools& e) {
    require(!stopped && open.calls.empty(), "tools run once");
    for (const auto& c : e.calls)
      open.calls.push_back(c.id);
  }
  void see(const effects::announce&) {}
  void see(const effects::note_decision&) {}
  void see(const effects::stop_work&) {
    stopped = true;
    open.sample = open.wait = false;
  }
  void see(const effects::close& e) {
    require(++closes == 1, "exactly one close");
    require(!e.error || e.error->code != error_code::internal_error,
            "no answer of the world is an internal error");
    open = {};
    open.close = true;
  }

  void new_message(view_size next) {
    size = next;
    smaller_tries = 0;
    ++position;
  }

  using answers = std::vector<std::function<void()>>;

  /// What the world can answer now: what is usual, and what ends an operation early.
  std::pair<answers, answers> possible() {
    std::pair<answers, answers> all;
    const auto can = [&](std::function<void()> f) { all.first.push_back(std::move(f)); };
    const auto may = [&](std::function<void()> f) { all.second.push_back(std::move(f)); };
    using kind = inputs::input_taken::kind;
    if (open.take) {
      can([&] { feed(open.take, inputs::input_taken{kind::none}); });
      if (!stopped)
        can([&] {
          new_message(view_size::over_threshold),
              feed(open.take, inputs::input_taken{kind::delivered});
        });
      may([&] {
        feed(open.take, inputs::refused{make_failure(error_code::persistence_failed, "x")});
      });
    }
    if (open.next) {
      may([&] { ended_by_session = true, feed(open.next, inputs::input_taken{kind::ended}); });
      if (stopped)
        can([&] { feed(open.next, inputs::input_taken{kind::none}); });
      else
        can([&] {
          new_message(view_size::small), new_sampling(),
              feed(open.next, inputs::input_taken{kind::follow_up_delivered});
        });
    }
    if (open.build)
      can([&] { feed(open.build, inputs::context_ready{snapshot()}); });
    if (open.compact) {
      using enum compaction::outcome_kind;
      can([&] { compacted(view_size::small); });
      can([&] { compacted(view_size::over_threshold); });
      for (const auto k : {nothing_to_compact, no_gain, persistence_conflict})
        can([&, k] {
          if (k == persistence_conflict)
            ++position, smaller_tries = 0; // somebody's entry came between
          feed(open.compact, inputs::compaction_finished{compaction::rejected(k, 0)});
        });
      for (const auto k : {compact_input_too_large, persistence_failed, cancelled})
        may([&, k] {
          feed(open.compact, inputs::compaction_finished{compaction::rejected(k, 0)});
        });
    }
    if (open.records > 0) {
      can([&] {
        if (machine.at() == committing)
          new_message(view_size::over_threshold), new_sampling();
        --open.records;
        bool none = true;
        feed(none, inputs::recorded{});
      });
      may([&] {
        --open.records;
        bool none = true;
        feed(none, inputs::refused{make_failure(error_code::persistence_failed, "x")});
      });
    }
    if (open.wait)
      can([&] { feed(open.wait, inputs::retry_due{}); });
    if (open.sample) {
      for (const auto& outcome : model_answers())
        can([&, outcome] { sampled(outcome); });
      may([&] { sampled(error_of(provider_error_class::auth)); });
    }
    if (!open.calls.empty()) {
      for (const auto status : {tool_status::completed, tool_status::cancelled})
        can([&, status] {
          inputs::tool_finished f;
          f.tool_call_id = open.calls.back();
          f.status = status;
          open.calls.pop_back();
          bool none = true;
          feed(none, f);
        });
    }
    if (open.close)
      can([&] { feed(open.close, inputs::closed{}); });
    if (!machine.cancelled() && closes == 0 && machine.at() != ended)
      may([&] {
        bool none = true;
        feed(none, inputs::cancel_requested{});
      });
    return all;
  }

  /// Carries out answer number `n`; false: there are not so many.
  bool answer(std::size_t n) {
    const auto [usual, rare] = possible();
    if (n >= usual.size() + rare.size())
      return false;
    n < usual.size() ? usual[n]() : rare[n - usual.size()]();
    return true;
  }

  void new_sampling() { requests_of_sampling = 0, refused = refused_output = 0; }

  void compacted(view_size becomes) {
    if (stopped)
      return feed(open.compact, inputs::compaction_finished{
                                    compaction::rejected(compaction::outcome_kind::cancelled, 0)});
    size = std::min(size, becomes);
    auto e = std::make_shared<entry>();
    e->position = ++position;
    compaction::outcome o;
    o.entries = {e};
    compacted_normal =
        position; // what a compaction made is not compacted again by itself, but smaller
    feed(open.compact, inputs::compaction_finished{std::move(o)});
  }

  static std::vector<sampling_outcome> model_answers() {
    const effects::sample none;
    auto output = error_of(provider_error_class::context_length);
    output.limit_tokens = 20'000;
    output.requested_tokens = 21'000;
    output.shrink_output_first = true;
    return {says("fine")(none).outcome,
            calls({"a", "b"})(none).outcome,
            error_of(provider_error_class::context_length),
            output,
            error_of(provider_error_class::stream_interrupted),
            error_of(provider_error_class::rate_limit)};
  }
  void sampled(const sampling_outcome& outcome) {
    const auto was_overflow =
        std::holds_alternative<provider_error>(outcome) &&
        std::get<provider_error>(outcome).error_class == provider_error_class::context_length;
    if (was_overflow)
      refused = last_request.first, refused_output = last_request.second;
    feed(open.sample, inputs::sampling_finished{outcome, false, 0.5});
  }
  std::pair<std::int64_t, std::int64_t> last_request;

  void feed(bool& answered, const input& in) {
    answered = false;
    auto effects = machine.on(in);
    for (const auto& e : effects)
      if (const auto* s = std::get_if<effects::sample>(&e))
        next_request = {s->estimated_tokens, s->output_limit_tokens};
    take(effects);
    last_request = next_request;
    if (in.index() == 9 || ended_by_session)
      require(machine.at() == ended, "it has ended when the terminal entry is written");
  }
  std::pair<std::int64_t, std::int64_t> next_request;
};

struct exploration {
  std::int64_t worlds = 0;
  std::vector<std::size_t> path;

  void go(const abstract_world& at, int depth) {
    ++worlds;
    if (depth == 0 || at.machine.at() == ended)
      return;
    for (std::size_t n = 0;; ++n) {
      auto next = at;
      path.push_back(n);
      const bool possible = next.answer(n);
      if (possible)
        go(next, depth - 1);
      path.pop_back();
      if (!possible)
        return;
    }
  }
};

constexpr int depth_max = 16; // answers; about 10^5 worlds each

void explore(abstract_world from, int depth) {
  exploration e;
  try {
    e.go(from, depth);
  } catch (const violation& broken) {
    std::string path;
    for (const auto n : e.path)
      path += std::to_string(n) + " ";
    ADD_FAILURE() << broken.what() << ", answers " << path;
  }
  EXPECT_GT(e.worlds, 10'000);
}

TEST(reactions, every_order_of_answers_leaves_the_machine_waiting_or_ended) {
  explore(abstract_world{operation_kind::turn, true}, depth_max);
}

TEST(reactions, the_same_for_a_manual_compaction) {
  explore(abstract_world{operation_kind::compact, true}, depth_max);
}

TEST(reactions, the_same_for_a_view_above_the_hard_limit) {
  for (const bool with_auto : {true, false}) {
    abstract_world w{operation_kind::turn, with_auto};
    w.size = view_size::over_hard;
    explore(w, depth_max);
  }
}

TEST(reactions, S4_S5_S7_S25_S30_S32_any_long_order_of_answers_keeps_the_bounds) {
  std::int64_t rescues = 0;
  std::int64_t requests_of_a_sampling = 0;
  const bool held = rc::check([&] {
    abstract_world w{*rc::gen::element(operation_kind::turn, operation_kind::compact),
                     *rc::gen::arbitrary<bool>()};
    w.size = *rc::gen::element(view_size::small, view_size::over_threshold, view_size::over_hard);
    // Steps by a generator of their own: a seed is one number to report and to shrink.
    std::mt19937 random{*rc::gen::arbitrary<std::uint32_t>()};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    int steps = 0;
    try {
      while (w.machine.at() != ended && steps < 2'000) {
        const auto [usual, rare] = w.possible();
        const bool ends_early = usual.empty() || (!rare.empty() && below(60) == 0);
        const auto& from = ends_early ? rare : usual;
        from[below(from.size())]();
        ++steps;
        requests_of_a_sampling = std::max(requests_of_a_sampling, w.requests_of_sampling);
      }
    } catch (const violation& broken) {
      RC_FAIL(broken.what());
    }
    RC_ASSERT(w.machine.at() == ended); // an operation is finite: at most 4 samplings here
    RC_ASSERT(w.closes == (w.ended_by_session ? 0 : 1));
    RC_ASSERT(w.machine.recovery().rescues() <= recovery::rescues_max);
    rescues = std::max(rescues, w.machine.recovery().rescues());
  });
  EXPECT_TRUE(held);
  // It went far enough to mean something.
  EXPECT_GE(rescues, 1);
  EXPECT_GE(requests_of_a_sampling, 5);
}

// -- what cannot be -----------------------------------------------------------------

std::vector<input> one_of_each(const script_world& w) {
  return {inputs::input_taken{},
          inputs::context_ready{w.snapshot()},
          inputs::compaction_finished{compaction::rejected(compaction::outcome_kind::no_gain, 0)},
          inputs::recorded{},
          inputs::refused{make_failure(error_code::persistence_failed, "x")},
          inputs::retry_due{},
          inputs::sampling_finished{sampling_cancelled{}, false, 0.5},
          inputs::tool_finished{},
          inputs::cancel_requested{},
          inputs::closed{}};
}

TEST(reactions, an_illegal_input_is_named_and_ends_the_operation_with_an_internal_error) {
  script_world w;
  w.prompt();
  turn_machine at_taking{options{}};
  (void)at_taking.start();
  auto at_building = at_taking;
  (void)at_building.on(inputs::input_taken{});
  auto at_sampling = at_building;
  (void)at_sampling.on(inputs::context_ready{w.snapshot()});
  auto at_committing = at_sampling;
  effects::sample request;
  (void)at_committing.on(calls({"a"})(request));
  auto at_tools = at_committing;
  (void)at_tools.on(inputs::recorded{});
  auto at_waiting = at_sampling;
  (void)at_waiting.on(fails(error_of(provider_error_class::server_error))(request));
  auto at_recording = at_sampling;
  (void)at_recording.on(overflows()(request));
  auto at_compacting = at_recording;
  (void)at_compacting.on(inputs::recorded{});
  (void)at_compacting.on(inputs::context_ready{w.snapshot()});
  for (const auto& machine : {at_taking, at_building, at_compacting, at_recording, at_waiting,
                              at_sampling, at_committing, at_tools}) {
    for (const auto& in : one_of_each(w)) {
      auto m = machine;
      const auto reaction_to = reaction_table()[static_cast<std::size_t>(m.at())][in.index()];
      const auto effects = m.on(in);
      if (reaction_to != reaction::illegal) {
        if (reaction_to == reaction::ignore) {
          EXPECT_TRUE(effects.empty());
          EXPECT_EQ(m.at(), machine.at());
        }
        continue;
      }
      ASSERT_EQ(effects.size(), 2u);
      EXPECT_TRUE(std::holds_alternative<effects::stop_work>(effects[0]));
      const auto& close = std::get<effects::close>(effects[1]);
      EXPECT_EQ(close.error->code, error_code::internal_error);
      EXPECT_NE(close.error->message.find(name_of(in)), std::string::npos);
      EXPECT_NE(close.error->message.find(to_string(machine.at())), std::string::npos);
      EXPECT_EQ(m.at(), closing);
    }
  }
  std::set<state> met;
  for (const auto& machine : {at_taking, at_building, at_compacting, at_recording, at_waiting,
                              at_sampling, at_committing, at_tools})
    met.insert(machine.at());
  EXPECT_EQ(met.size(), state_count - 2);
}

TEST(reactions, no_input_where_one_or_the_end_had_to_come_is_an_internal_error) {
  turn_machine m{options{}};
  script_world w;
  w.prompt();
  (void)m.start();
  (void)m.on(inputs::input_taken{});
  (void)m.on(inputs::context_ready{w.snapshot()});
  (void)m.on(says("done")(effects::sample{}));
  (void)m.on(inputs::recorded{});
  const auto effects = m.on(inputs::input_taken{});
  EXPECT_EQ(std::get<effects::close>(effects.back()).error->code, error_code::internal_error);
}

TEST(reactions, S5_where_the_journal_refuses_the_operation_fails_once_and_stops_its_work) {
  for (const char* entry : {"assistant", "result", "attempt", "usage"}) {
    script_world w;
    w.history(6, 2'000);
    w.prompt();
    auto interrupted = error_of(provider_error_class::stream_interrupted);
    interrupted.usage.input_tokens = 5;
    w.model = {fails(interrupted), overflows(), calls({"a", "b"}), says("done")};
    w.refuse_entry = entry;
    w.run();
    ASSERT_EQ(w.ends.size(), 1u) << entry;
    EXPECT_EQ(w.ends[0].error->code, error_code::persistence_failed);
    EXPECT_EQ(w.machine().at(), ended);
    const auto d = w.diagram();
    EXPECT_EQ(d.substr(d.find("stop")), "stop | close failed persistence_failed") << d;
  }
}

} // namespace
} // namespace rind::turn
