// The steps of a script, the requests of its clients, and their histories.
#include "tests/kit/scenario/player.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "tests/kit/scenario/expectations.hpp"
#include "tests/kit/scenario/script_book.hpp"
#include "tests/kit/scenario/setup.hpp"
#include "tests/kit/scenario/trace.hpp"
#include "tests/kit/scenario/watchers.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind::kit {

namespace {

constexpr std::int64_t last_prompt_tokens = 20;
/// A session that lost sight of its journal lets go once more and is opened again.
constexpr int last_prompts_max = 4;

/// A session's client, and what it knows of the session's history.
struct seat {
  scripted_client* client = nullptr;
  std::size_t number = 0; // of the client
  bool connected = true;
  bool catches_up = false;    // a replay is on its way
  std::size_t connection = 0; // counts them; a page for an earlier one is not looked at
  bool lost = false;          // the newest request was never answered: the session let go
  std::int64_t cursor = 0;    // of the newest durable event in its history
  std::vector<std::pair<std::int64_t, std::string>> held; // heard live while it catches up
};

class player final : public watchers {
public:
  player(const scenario& s, play_options options)
      : script_(s),
        make_agent_(std::move(options.make_agent)),
        book_(s),
        world_(world_options_for(s)),
        trace_([this] { return world_.now_ms(); }, options.timeline),
        start_ms_(world_.now_ms()) {
    invariants_ = all_invariants();
    std::move(agent_.invariants.begin(), agent_.invariants.end(), std::back_inserter(invariants_));
    add(trace_);
    add(exercise_);
    if (expects_anything())
      add(expectations_);
    for (auto& i : invariants_) {
      add(*i);
      i->read_time_from([this] { return world_.now_ms(); });
      i->on_start(s);
    }
    world_.model().serve([this](const sampling_request& r) {
      return !agent_.model || book_.has_answer(r) ? book_.reply_to(r) : agent_.model(r);
    });
    for (const auto& [name, tool] : world_.tools())
      tool->serve([this](const tools::invocation& c) {
        on_tool_call(c);
        return book_.reply_to(c);
      });
    take_seats();
  }

  run_report run() {
    try {
      for (line_ = 1; line_ <= script_.script.size() && !failure_; ++line_) {
        std::visit([this](const auto& l) { take(l); }, script_.script[line_ - 1]);
        look();
      }
      if (!failure_)
        come_to_rest();
      if (const auto left = world_.close(); !failure_ && !left.empty())
        fail("S43_ends_at_rest", "left over: " + left);
    } catch (const std::exception& e) {
      if (!failure_)
        fail("S43_ends_at_rest", e.what());
    }
    (void)world_.close(); // what it still delivers is watched by members that go before it
    return {std::move(failure_), trace_.hash(), exercise_.counts(), exercise_.deliveries(),
            trace_.lines()};
  }

  /// A durable event has its place in the history of who heard it; see observer::on_history.
  void on_event(std::size_t client, const session_event& event) override {
    watchers::on_event(client, event);
    const auto* durable = std::get_if<entry_ptr>(&event.body);
    auto seat = seats_.find(event.session_id);
    if (!durable || seat == seats_.end() || seat->second.number != client ||
        !seat->second.connected)
      return;
    if (seat->second.catches_up)
      seat->second.held.emplace_back((*durable)->position, event.event_id);
    else
      remember(event.session_id, seat->second, (*durable)->position, event.event_id);
  }

private:
  world_options world_options_for(const scenario& s) {
    if (s.world.journal == "sqlite")
      disk_ = std::make_unique<power_cut_vfs>(simulated_disk);
    auto o = world_options_of(s.world, disk_.get());
    o.watch = this;
    if (make_agent_)
      o.own_tools = [this](const scripted_tool::timer& at) {
        agent_ = make_agent_(at);
        std::vector<std::shared_ptr<tools::tool>> watched;
        for (auto& t : agent_.tools)
          watched.push_back(std::make_shared<watched_tool>(std::move(t), *this));
        return watched;
      };
    return o;
  }

  bool expects_anything() const {
    return std::any_of(script_.script.begin(), script_.script.end(),
                       [](const auto& l) { return std::holds_alternative<expect_line>(l); });
  }

  void take_seats() {
    std::size_t n = 0;
    for (const auto& id : sessions_of(script_)) {
      world_.place(id, n % script_.world.nodes);
      auto& at = seats_[id];
      at.client = &world_.client(opening_of(id, script_.world));
      at.number = n;
      ++n;
    }
  }

  void fail(std::string invariant, std::string what) {
    failure_ = breach{std::move(invariant), std::move(what), line_, world_.now_ms() - start_ms_};
    trace_.say("BROKEN: " + failure_->invariant + ": " + failure_->what);
  }

  void look() {
    const invariant* first = nullptr;
    for (const auto& i : invariants_)
      if (i->breach() && (!first || i->breach_number() < first->breach_number()))
        first = i.get();
    if (first && !failure_)
      fail(std::string{first->name()}, *first->breach());
  }

  // -- the script --
  void take(const expect_line& l) {
    if (!l.at_once)
      settle();
    if (const auto what = expectations_.check(l, world_); !what.empty())
      fail(expectation_breach, l.session + ": " + what);
  }

  void take(const step_line& l) {
    if (l.settles)
      settle();
    if (l.session.empty())
      act_on_world(l);
    else
      act_as_client(l, seats_.at(l.session));
    world_.time().step(static_cast<std::size_t>(l.run));
    if (l.wait_ms > 0)
      world_.advance(l.wait_ms);
  }

  void act_on_world(const step_line& l) {
    trace_.say(std::string{"the world: "} + to_string(l.what));
    switch (l.what) {
    case action::crash:
      return crash(static_cast<std::size_t>(l.number.value_or(0)));
    case action::refuse_append:
      return world_.refuse_append(l.number.value_or(1));
    case action::conflict_append:
      return world_.refuse_append(l.number.value_or(1), error_code::persistence_conflict);
    case action::lose_append_answer:
      return world_.lose_answer(l.number.value_or(1));
    case action::slow_commits:
      return world_.slow_commits(l.number.value_or(0));
    case action::lose_runner:
      return world_.time().kill_actors_named("turn_runner");
    default:
      return;
    }
  }

  void act_as_client(const step_line& l, seat& at) {
    auto& c = *at.client;
    switch (l.what) {
    case action::disconnect:
      return disconnect(at);
    case action::reconnect:
      return reconnect(l.session, at);
    default:
      break;
    }
    if (!at.connected)
      return;
    const auto text =
        l.tokens > 0 || l.text.empty()
            ? marked_text(l.session, 'i', l.id, std::max<std::int64_t>(l.tokens, 1)) + l.text
            : l.text;
    switch (l.what) {
    case action::prompt:
    case action::again:
      // The second time it is the same input, word for word.
      inputs_.try_emplace({l.session, l.id}, text);
      return ask(request_kind::prompt, l, at, inputs_.at({l.session, l.id}),
                 [&](const std::string& said) { return c.prompt(said, l.id); });
    case action::resume:
      return ask(request_kind::resume, l, at, {}, [&](const std::string&) { return c.resume(); });
    case action::compact:
      return ask(request_kind::compact, l, at, {},
                 [&](const std::string&) { return c.compact(l.text); });
    case action::cancel:
      return ask(request_kind::cancel, l, at, {}, [&](const std::string&) { return c.cancel(); });
    case action::steer:
      return ask(request_kind::steer, l, at, text,
                 [&](const std::string& said) { return c.steer(said, l.id); });
    case action::follow_up:
      return ask(request_kind::follow_up, l, at, text,
                 [&](const std::string& said) { return c.follow_up(said, l.id); });
    case action::take_back_steering:
      return ask(request_kind::take_back, l, at, {},
                 [&](const std::string&) { return c.take_back(input_mode::steering, l.id); });
    case action::take_back_follow_up:
      return ask(request_kind::take_back, l, at, {},
                 [&](const std::string&) { return c.take_back(input_mode::follow_up, l.id); });
    case action::promote:
      return ask(request_kind::promote, l, at, {},
                 [&](const std::string&) { return c.promote(l.id); });
    case action::set_model:
      return ask(request_kind::set_model, l, at, {},
                 [&](const std::string&) { return c.set_model(l.model); });
    default:
      return;
    }
  }

  // -- requests --
  static void fill(client_answer& a, const actors::prompt_outcome& o) {
    a.turn_id = o.turn_id;
    a.outcome = o.outcome;
  }
  static void fill(client_answer& a, const actors::queued_answer& q) {
    a.input_id = q.input_id;
    a.pending = q.pending;
  }
  template <class T>
  static void fill(client_answer&, const T&) {}

  template <class Call>
  void ask(request_kind kind, const step_line& l, seat& at, std::string text, Call call) {
    client_request r{++requests_, kind, at.number, l.session, l.id, std::move(text)};
    on_asked(r);
    ++open_;
    auto answer = call(r.text);
    auto* slot = answer.slot().get(); // lives as long as the handler that calls back
    slot->arrived = [this, r = std::move(r), slot] {
      client_answer a;
      a.lost = slot->lost;
      if (slot->value && !*slot->value)
        a.error = slot->value->error();
      else if (slot->value)
        fill(a, **slot->value);
      --open_;
      if (auto& seat = seats_.at(r.session_id); seat.number == r.client)
        seat.lost = a.lost;
      on_answered(r, a);
    };
  }

  // -- connections --
  void remember(const std::string& session, seat& at, std::int64_t cursor,
                const std::string& event_id) {
    on_history(at.number, session, cursor, event_id);
    at.cursor = std::max(at.cursor, cursor);
  }

  void disconnect(seat& at) {
    if (!at.connected)
      return;
    at.connected = false;
    trace_.say("client " + std::to_string(at.number) + " disconnects");
    at.client->disconnect();
    at.held.clear();
    at.catches_up = false;
  }

  void reconnect(const std::string& session, seat& at) {
    if (at.connected)
      return;
    at.connected = true;
    at.catches_up = true;
    ++at.connection;
    trace_.say(session + "  client " + std::to_string(at.number) + " connects again");
    on_connected(at.number);
    world_.reconnect(*at.client, session, actors::open_mode::create);
    replay_from(session, at.cursor);
  }

  void replay_from(const std::string& session, std::int64_t cursor) {
    auto& at = seats_.at(session);
    auto answer = at.client->replay(cursor);
    auto* slot = answer.slot().get();
    slot->arrived = [this, session, slot, connection = at.connection] {
      auto& now = seats_.at(session);
      if (now.connection != connection || !now.connected)
        return;
      if (slot->lost ||
          !*slot->value) { // the session let go of it: it stays behind, and comes again
        now.connected = false;
        return;
      }
      take_page(session, now, **slot->value);
    };
  }

  void take_page(const std::string& session, seat& at, const actors::replay_answer& answer) {
    const auto text =
        answer.page->answer(nlohmann::json(1), answer.at_end, answer.turn, answer.live);
    const auto body = nlohmann::json::parse(text.head + (text.numbered ? "0" : "") + text.tail);
    for (const auto& e : body.at("result").at("events"))
      remember(session, at, e.at("cursor").get<std::int64_t>(),
               e.at("event_id").get<std::string>());
    if (!answer.at_end)
      return replay_from(session, answer.page->cursor());
    at.catches_up = false;
    const auto held = std::move(at.held);
    at.held.clear();
    for (const auto& [cursor, id] : held)
      if (cursor > answer.page->cursor()) // the page told the others
        remember(session, at, cursor, id);
  }

  /// The node starts again; where there are others, the next one takes its sessions.
  void crash(std::size_t node) {
    world_.crash(node);
    world_.faults().appends.clear();
    world_.restart(node);
    for (auto& [session, at] : seats_)
      if (world_.home_of(session) == node) {
        world_.place(session, (node + 1) % script_.world.nodes);
        at.connected = false;
        at.held.clear();
        reconnect(session, at);
      }
  }

  // -- the end --
  bool is_settled() { return open_ == 0 && world_.model().in_flight() == 0; }

  void settle() {
    world_.time().advance_until([this] { return is_settled(); }, settle_limit_ms);
  }

  /// Faults end, what runs comes to its end, what is interrupted is settled, and every session
  /// still answers.
  void come_to_rest() {
    world_.faults().appends.clear();
    world_.slow_commits(0);
    settle();
    book_.be_polite();
    settle();
    look();
    for (auto& [session, at] : seats_)
      at.lost = true;
    for (int i = 0; i < last_prompts_max && say_last(); ++i)
      settle();
    world_.advance(1'000);
    look();
    if (!failure_ && open_ > 0)
      fail("S43_ends_at_rest", std::to_string(open_) + " requests of clients were never answered");
    for (const auto& i : invariants_)
      if (!failure_) {
        i->at_rest(world_);
        look();
      }
  }

  /// Prompts every session that has not answered such a prompt yet; answers whether there was one.
  bool say_last() {
    bool any = false;
    for (auto& [session, at] : seats_) {
      if (!at.lost)
        continue;
      any = true;
      disconnect(at);
      reconnect(session, at);
      world_.run();
      step_line last;
      last.what = action::prompt;
      last.session = session;
      last.id = last_prompt_id;
      last.tokens = last_prompt_tokens;
      act_as_client(last, at);
    }
    return any;
  }

  const scenario& script_;
  std::function<agent(scripted_tool::timer)> make_agent_;
  agent agent_;
  script_book book_;
  std::vector<invariant_ptr> invariants_;
  std::unique_ptr<power_cut_vfs> disk_; // outlives the world's journal
  exercise exercise_;
  expectations expectations_;
  world world_;
  trace trace_;
  std::int64_t start_ms_;
  std::map<std::string, seat> seats_;                                 // by session
  std::map<std::pair<std::string, std::string>, std::string> inputs_; // by session and id
  std::size_t requests_ = 0;
  std::int64_t open_ = 0; // requests without an answer
  std::size_t line_ = 1;
  std::optional<breach> failure_;
};

} // namespace

run_report play(const scenario& s, play_options options) {
  if (auto fault = fault_of(s); !fault.empty())
    return {breach{scenario_breach, std::move(fault), 0, 0}, 0, {}, 0, {}};
  return player{s, std::move(options)}.run();
}

} // namespace rind::kit
