// Faults inside a host: a runner that is lost, and a journal that loses its answers and then
// refuses (S5, S24, S35, S43).
#include <functional>

#include <gtest/gtest.h>

#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::says;
using kit::text_of_tokens;

/// The append that comes `nth` from now is made, its answer is lost, and asked again it is refused.
void lose_and_refuse(kit::world& w, std::int64_t nth) {
  w.lose_answer(nth);
  w.faults().appends[w.faults().append_count + nth + 1] = {};
}

/// Nothing of an operation stands after its terminal entry, and each has one.
void expect_ends_last(kit::world& w, const std::string& session_id, const std::string& where) {
  std::string open;
  for (const auto& e : w.journal_of(session_id)) {
    if (std::holds_alternative<entries::turn_started>(e->body)) {
      EXPECT_EQ(open, "") << where;
      open = e->turn_id;
    } else if (std::holds_alternative<entries::boundary>(e->body)) {
      EXPECT_EQ(open, e->turn_id) << where;
    } else if (std::holds_alternative<entries::turn_ended>(e->body)) {
      EXPECT_EQ(open, e->turn_id) << where;
      open.clear();
    }
  }
  EXPECT_EQ(open, "") << where;
}

TEST(host_faults, S5_S24_the_boundary_of_a_lost_runner_never_comes_after_the_terminal_entry) {
  for (const auto* entrance : {"manual", "automatic"})
    for (std::size_t deliveries = 0; deliveries < 60; ++deliveries) {
      const auto where = entrance + (" " + std::to_string(deliveries));
      kit::world w;
      kit::serve_politely(w);
      auto& ann = w.client("s1");
      kit::fill(w, ann, 2'300, 4);
      kit::awaited<std::shared_ptr<const compaction_record>> compacted;
      if (*entrance == 'm')
        compacted = ann.compact();
      else
        ann.prompt(text_of_tokens(900));
      w.time().step(deliveries);
      w.time().kill_actors_named("turn_runner");
      w.advance(1'000);
      expect_ends_last(w, "s1", where);
      EXPECT_EQ(kit::durable_of(ann.events()), kit::replayed(w, "s1")) << where;
      if (*entrance == 'm' && !kit::boundaries_of(w, "s1").empty()) {
        EXPECT_EQ(compacted.said(), "ok") << where; // the record, whatever the end says
      }
      kit::fill(w, ann, 20);
    }
}

TEST(host_faults, S5_S24_a_summary_that_runs_when_its_runner_is_lost_is_cancelled) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'300, 4);
  w.model().expect_summary(says("Summary.").after(5'000));
  auto answer = ann.prompt(text_of_tokens(900));
  w.run();
  w.time().kill_actors_named("turn_runner");
  EXPECT_EQ(w.model().in_flight(), 0u);
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
  w.advance(10'000);
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
  expect_ends_last(w, "s1", "");
}

TEST(host_faults, S24_S35_an_append_whose_answer_was_lost_and_then_refused_stands_for_its_turn) {
  for (std::int64_t which = 1; which <= 8; ++which) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, 4);
    lose_and_refuse(w, which);
    auto answer = ann.prompt(text_of_tokens(900)); // compacts and answers
    auto steered = ann.steer("Mind this.");
    w.advance(1'000);
    ASSERT_EQ(answer.said(), "ok") << which;
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed) << which;
    EXPECT_EQ(steered.said(), "ok") << which;
    EXPECT_EQ(kit::boundaries_of(w, "s1").size(), 1u) << which;
    EXPECT_EQ(kit::durable_of(ann.events()), kit::replayed(w, "s1")) << which;
    EXPECT_EQ(kit::fate_of(w, "s1", "Mind this.").delivered, 1) << which;
  }
}

TEST(host_faults, S24_S35_the_same_for_the_append_that_creates_a_session) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  lose_and_refuse(w, 1);
  auto answer = ann.prompt("Hello.");
  w.run();
  ASSERT_EQ(answer.said(), "ok");
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  kit::fill(w, ann, 2'300, 4); // its epoch is known: the session may write, and compact
  auto compacted = ann.compact();
  w.run();
  EXPECT_EQ(compacted.said(), "ok");
  EXPECT_EQ(kit::durable_of(ann.events()), kit::replayed(w, "s1"));
}

TEST(host_faults, S39_a_session_that_cannot_learn_what_stands_reads_it_when_it_is_opened_again) {
  for (const bool creates : {true, false}) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    if (!creates)
      kit::fill(w, ann, 20);
    lose_and_refuse(w, 1);
    auto answer = ann.prompt("Go.", "p1");
    auto behind = ann.prompt("Next.");
    // The journal is gone from the moment on at which the append was made and its answer lost.
    const auto before = w.faults().append_count;
    while (w.faults().append_count == before)
      w.time().step(1);
    w.faults().fail_reads = true;
    w.run();
    EXPECT_EQ(answer.said(), "Unavailable") << creates;
    EXPECT_NE(behind.said(), "pending") << creates;
    w.faults().fail_reads = false;
    w.faults().appends.clear();
    w.reconnect(ann, "s1");
    auto again = ann.prompt("Go.", "p1");
    w.run();
    ASSERT_EQ(again.said(), "ok") << creates;
    EXPECT_EQ(again.value().outcome, entries::turn_outcome::completed) << creates;
    EXPECT_EQ(kit::count_of(kit::line_of(w.journal_of("s1")), "user_message"), creates ? 1 : 2);
  }
}

TEST(host_faults, every_request_that_races_a_deletion_is_answered) {
  using ask = std::function<std::function<std::string()>(kit::scripted_client&)>;
  const auto said = [](auto awaited) { return [awaited] { return awaited.said(); }; };
  const std::vector<std::pair<const char*, ask>> requests{
      {"prompt", [&](auto& c) { return said(c.prompt("Hi.")); }},
      {"resume", [&](auto& c) { return said(c.resume()); }},
      {"compact", [&](auto& c) { return said(c.compact()); }},
      {"replay", [&](auto& c) { return said(c.replay()); }},
      {"model/set", [&](auto& c) { return said(c.set_model("model-big")); }},
      {"cancel", [&](auto& c) { return said(c.cancel()); }},
      {"steer", [&](auto& c) { return said(c.steer("Left.", "i1")); }},
      {"info", [&](auto& c) { return said(c.info()); }},
      {"delete", [&](auto& c) { return said(c.remove()); }},
  };
  for (const auto& [name, request] : requests)
    for (const bool first : {true, false})
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(std::string{name} + (first ? " before" : " after") + ", seed " +
                     std::to_string(seed));
        kit::world_options options;
        options.seed = seed;
        options.shuffled = true;
        kit::world w{std::move(options)};
        kit::serve_politely(w);
        auto& ann = w.client("s1");
        auto& bob = w.client("s1");
        kit::fill(w, ann, 100);
        std::function<std::string()> answer;
        if (first)
          answer = request(ann);
        w.time().step(seed % 5);
        auto deleted = bob.remove();
        w.time().step(seed % 7);
        if (!first)
          answer = request(ann);
        w.advance(1'000);
        EXPECT_NE(answer(), "pending");
        EXPECT_NE(deleted.said(), "pending");
      }
}

} // namespace
} // namespace rind
