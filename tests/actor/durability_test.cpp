// What outlives a crash (S10), what all see alike (S36, S37), and how summaries share their places
// (S23).
#include <gtest/gtest.h>

#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/power_cut_vfs.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::hangs;
using kit::says;
using kit::text_of_tokens;

/// A turn whose request hangs, and a crash of the node in it. The client is connected again.
void interrupt(kit::world& w, kit::scripted_client& ann) {
  w.model().expect(hangs());
  ann.prompt("Go.", "p1");
  w.run();
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
}

TEST(durability, S10_an_interrupted_turn_is_resumed_under_its_id) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(hangs());
  ann.prompt("Go.", "p1");
  w.run();
  const auto turn_id = ann.events().front()->turn_id;
  ann.follow_up("Then this.");
  w.run();
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  ann.forget_events();
  auto resumed = ann.resume();
  w.run();
  ASSERT_EQ(resumed.said(), "ok");
  EXPECT_EQ(resumed.value().turn_id, turn_id);
  EXPECT_EQ(kit::line_of(ann.events()),
            "turn_started context_built assistant_message_completed queued_input_delivered "
            "context_built assistant_message_completed turn_completed"); // it keeps its queues
  const auto& entry = *std::get<entry_ptr>(ann.events().front()->body);
  EXPECT_TRUE(std::get<entries::turn_started>(entry.body).resumed);
  auto nothing = ann.resume();
  w.run();
  EXPECT_EQ(nothing.said(), "TurnNotActive");
}

TEST(durability, S10_a_turn_is_resumed_at_most_three_times) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  interrupt(w, ann);
  for (int i = 0; i < 3; ++i) {
    w.model().expect(hangs());
    auto resumed = ann.resume();
    w.run();
    EXPECT_EQ(resumed.said(), "pending");
    w.crash();
    w.restart();
    kit::serve_politely(w);
    w.reconnect(ann, "s1");
  }
  auto resumed = ann.resume();
  w.run();
  ASSERT_EQ(resumed.said(), "ok");
  EXPECT_EQ(resumed.value().outcome, entries::turn_outcome::failed);
  const auto& why = kit::failure_of(ann.events());
  EXPECT_EQ(why.code, error_code::resume_limit);
}

TEST(durability, S10_with_auto_resume_the_host_goes_on_by_itself_and_prompts_wait) {
  kit::world_options o;
  o.settings.session.auto_resume = true;
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  w.model().expect(hangs());
  ann.prompt("Go.");
  w.run();
  w.crash();
  w.model().expect(says("Here I am again.").after(100));
  w.restart();
  w.reconnect(ann, "s1");
  auto next = ann.prompt("Next.");
  w.run();
  EXPECT_EQ(next.said(), "pending");
  kit::serve_politely(w);
  w.advance(1'000);
  EXPECT_EQ(next.said(), "ok");
  const auto line = kit::line_of(w.journal_of("s1"));
  EXPECT_EQ(kit::count_of(line, "turn_ended"), 2);
  EXPECT_EQ(w.projection_of("s1").view().message_count, 4);
}

class settled_by : public testing::TestWithParam<std::string> {};

TEST_P(settled_by, S10_any_other_command_settles_an_interrupted_turn_first) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 2);
  w.model().expect(hangs());
  ann.prompt("Go.");
  w.run();
  ann.steer("Mind this.");
  w.run();
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  ann.forget_events();
  std::string said = "pending";
  if (GetParam() == "prompt") {
    auto answer = ann.prompt("Something else.");
    w.run();
    said = answer.said();
  } else if (GetParam() == "compact") {
    auto answer = ann.compact();
    w.run();
    said = answer.said();
  } else if (GetParam() == "model_set") {
    auto answer = ann.set_model("model-big");
    w.run();
    said = answer.said();
  } else {
    auto answer = ann.cancel();
    w.run();
    said = answer.said();
  }
  EXPECT_EQ(said, "ok");
  ASSERT_FALSE(ann.events().empty());
  const auto& first = *std::get<entry_ptr>(ann.events().front()->body);
  const auto* end = std::get_if<entries::turn_ended>(&first.body);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome, entries::turn_outcome::cancelled);
  EXPECT_EQ(end->reason, cancel_reason::interrupted);
  ASSERT_EQ(end->undelivered.size(), 1u);
  EXPECT_EQ(end->undelivered[0].text, "Mind this.");
  EXPECT_FALSE(w.projection_of("s1").operation());
}

INSTANTIATE_TEST_SUITE_P(durability, settled_by,
                         testing::Values("prompt", "compact", "model_set", "cancel"),
                         [](const auto& p) { return p.param; });

// -- S23 ---------------------------------------------------------------------------

TEST(durability, S23_eight_summaries_at_once_and_the_ninth_waits_visibly_and_can_be_cancelled) {
  kit::world w;
  kit::serve_politely(w);
  std::vector<kit::scripted_client*> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(&w.client("s" + std::to_string(i)));
    kit::fill(w, *clients.back(), 2'000, 3);
    clients.back()->forget_events();
  }
  w.model().expect_summary(says("Summary.").after(1'000), 9);
  std::vector<kit::awaited<std::shared_ptr<const compaction_record>>> answers;
  for (auto* c : clients)
    answers.push_back(c->compact());
  w.run();
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 8);
  const auto waits = [](kit::scripted_client& c) {
    for (const auto& e : c.events())
      if (const auto* live = std::get_if<live_event_body>(&e->body))
        if (const auto* s = std::get_if<events::compaction_started>(live))
          return s->waiting;
    return false;
  };
  EXPECT_FALSE(waits(*clients[7]));
  EXPECT_TRUE(waits(*clients[8]));
  auto& idle = w.client("other");
  kit::fill(w, idle, 20); // only those who need a summary wait
  auto cancelled = clients[8]->cancel();
  w.run();
  EXPECT_EQ(cancelled.said(), "ok");
  EXPECT_EQ(answers[8].said(), "Cancelled");
  w.advance(5'000);
  EXPECT_EQ(answers[9].said(), "ok");
  EXPECT_EQ(answers[9].value()->strategy, compaction_strategy::llm_inline);
  EXPECT_EQ(w.model().calls(sampling_kind::compact), 9);
}

TEST(durability, S23_usage_of_a_summary_that_was_thrown_away_is_recorded) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  w.model().expect_summary(says("Summary.").counted(6'100, 12).after(10));
  auto compacted = ann.compact();
  w.run();
  w.refuse_append(1, error_code::persistence_conflict);
  w.advance(100);
  EXPECT_EQ(compacted.said(), "persistence_conflict");
  bool recorded = false;
  for (const auto& e : w.journal_of("s1"))
    if (const auto* u = std::get_if<entries::usage_recorded>(&e->body))
      recorded = u->kind == sampling_kind::compact && u->usage.input_tokens == 6'100;
  EXPECT_TRUE(recorded);
}

// -- S36, S37 ------------------------------------------------------------------------

TEST(durability, S36_all_subscribers_hear_the_same_and_a_restart_tells_it_again) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  auto& bob = w.client("s1");
  kit::fill(w, ann, 2'300, 4);
  w.model().expect(kit::asks_for({kit::look("c1")}));
  kit::fill(w, ann, 900);
  ann.compact();
  w.run();
  EXPECT_EQ(kit::durable_of(ann.events()), kit::durable_of(bob.events()));
  const auto heard = kit::durable_of(ann.events());
  EXPECT_EQ(kit::replayed(w, "s1"), heard);
  w.restart();
  w.reconnect(ann, "s1");
  auto page = ann.replay();
  w.run();
  ASSERT_EQ(page.said(), "ok");
  EXPECT_TRUE(page.value().at_end);
  EXPECT_EQ(kit::replayed(w, "s1"), heard);
}

TEST(durability, S37_a_replay_joins_the_live_events_without_a_gap_wherever_it_begins) {
  for (std::size_t deliveries = 0; deliveries < 120; deliveries += 3) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, 4);
    w.model().expect(kit::asks_for({kit::look("c1")}));
    ann.prompt(text_of_tokens(900)); // compacts, runs a tool, answers
    w.time().step(deliveries);
    auto& bob = w.client("s1"); // subscribes while it runs (and lets it run on)
    bob.forget_events();
    kit::fill(w, ann, 20);
    auto page = bob.replay();
    ann.prompt("And on.");
    w.run();
    ASSERT_EQ(page.said(), "ok");
    // What the page covers, then the live events after its cursor.
    std::string joined;
    for (const auto& e : w.journal_of("s1"))
      if (e->position <= page.value().page->cursor() && is_durable_event(e->body))
        joined += e->id + "\n";
    for (const auto& e : bob.events())
      if (const auto* d = std::get_if<entry_ptr>(&e->body);
          d && (*d)->position > page.value().page->cursor())
        joined += (*d)->id + "\n";
    std::string all;
    for (const auto& e : w.journal_of("s1"))
      if (is_durable_event(e->body))
        all += e->id + "\n";
    EXPECT_EQ(joined, all) << deliveries;
  }
}

TEST(durability, S36_the_order_of_actors_does_not_matter) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    kit::world_options o;
    o.seed = seed;
    o.shuffled = true;
    kit::world w{std::move(o)};
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    auto& bob = w.client("s2");
    for (int i = 0; i < 6; ++i) {
      auto one = ann.prompt(text_of_tokens(2'000));
      auto two = bob.prompt(text_of_tokens(2'000));
      ann.steer("Mind this.");
      w.advance(1'000);
      ASSERT_EQ(one.said(), "ok") << "seed " << seed;
      ASSERT_EQ(two.said(), "ok") << "seed " << seed;
    }
    EXPECT_EQ(kit::durable_of(ann.events()), kit::replayed(w, "s1")) << "seed " << seed;
    EXPECT_EQ(kit::first_boundary_fault(w.model()), "") << "seed " << seed;
  }
}

TEST(durability, S35_an_answer_that_the_journal_lost_changes_nothing) {
  for (std::int64_t which = 1; which <= 8; ++which) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, 4);
    w.lose_answer(which);
    auto answer = ann.prompt(text_of_tokens(900)); // compacts and answers
    auto steered = ann.steer("Mind this.");
    w.advance(1'000);
    ASSERT_EQ(answer.said(), "ok") << which;
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed) << which;
    EXPECT_EQ(steered.said(), "ok") << which;
    EXPECT_EQ(kit::durable_of(ann.events()), kit::replayed(w, "s1")) << which;
    EXPECT_EQ(kit::fate_of(w, "s1", "Mind this.").delivered, 1) << which;
    w.faults().appends.clear();
    w.restart();
    kit::serve_politely(w);
    w.reconnect(ann, "s1");
    kit::fill(w, ann, 20);
  }
}

TEST(durability, S35_the_same_over_sqlite_and_a_power_cut) {
  kit::power_cut_vfs disk{"world_disk"};
  kit::world_options o;
  o.open_store = [&] {
    journal::sqlite_options s;
    s.path = "world.db";
    s.vfs = disk.name();
    auto opened = journal::open_sqlite(s);
    if (!opened)
      throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  };
  kit::world w{std::move(o)};
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'300, 4);
  kit::fill(w, ann, 900);
  const auto heard = kit::durable_of(ann.events());
  w.crash();
  disk.power_cut(7);
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  EXPECT_EQ(kit::replayed(w, "s1"), heard);
  kit::fill(w, ann, 20);
}

} // namespace
} // namespace rind
