// A sound replay passes, and each fault is seen: a check that cannot fail proves nothing.
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/replay/checks.hpp"
#include "runtime/compaction/handoff.hpp"
#include "runtime/session/context_snapshot.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::hosts::replay {
namespace {

constexpr std::int64_t window_tokens = 1'000;

/// Three turns; a compaction of the first two stands before the third.
struct replayed {
  recording recorded;
  kit::journal_builder journal{"model-a"};
  std::vector<seen_request> requests;
  compaction_record record;

  void turn(const std::string& id, const std::string& prompt, const std::string& answer,
            std::int64_t reported) {
    recorded.push_back(
        {*kit::make_message(message_role::user, prompt), recorded.size() + 1, {}, {}, true});
    journal.turn(id).user(prompt);
    const auto view = journal.project().view();
    seen_request r;
    r.messages = session::messages_of(view);
    r.estimated_tokens = reported + reported / 10;
    r.true_tokens = reported;
    r.answered = recorded.size();
    requests.push_back(std::move(r));
    recorded.push_back({*kit::make_message(message_role::assistant, answer),
                        recorded.size() + 1,
                        reported,
                        {},
                        true});
    journal.counted(answer, reported, view.tokens, view.generation).ended();
  }

  void compact(std::int64_t end) {
    std::vector<message_ptr> corpus;
    for (const auto& e : journal.entries())
      if (const auto* m = message_of(e.body); m && static_cast<std::int64_t>(corpus.size()) < end)
        corpus.push_back(*m);
    record.generation = 1;
    record.message_end_index_exclusive = end;
    record.history_digest = compaction::history_digest(corpus);
    record.continuation_text = compaction::continuation_text();
    record.handoff_text = "what came before";
  }
};

using change = std::function<void(replayed&)>;

findings examined(const change& before_compaction = {}, const change& at_last = {}) {
  replayed s;
  s.turn("t1", "one", "first", 100);
  s.turn("t2", "two", "second", 200);
  s.compact(2);
  if (before_compaction)
    before_compaction(s);
  s.journal.compact_operation("t3");
  s.journal.add(entries::boundary{std::make_shared<const compaction_record>(s.record)});
  s.journal.ended();
  s.turn("t4", "three", "third", 150);
  if (at_last)
    at_last(s);
  std::vector<entry_ptr> journaled;
  for (auto e : s.journal.entries()) {
    if (std::holds_alternative<entries::boundary>(e.body)) // as `at_last` left it
      e.body = entries::boundary{std::make_shared<const compaction_record>(s.record)};
    journaled.push_back(std::make_shared<const entry>(std::move(e)));
  }
  return examine(s.recorded, make_plan(s.recorded), {"model-a", window_tokens, nullptr}, s.requests,
                 journaled);
}

TEST(replay_checks, a_sound_replay_is_clean_and_counted) {
  const auto f = examined();
  EXPECT_TRUE(f.clean()) << (f.notes.empty() ? "" : f.notes.front());
  EXPECT_EQ(f.messages, 6U);
  EXPECT_EQ(f.journal_messages, 6U);
  EXPECT_EQ(f.samplings, 3U);
  EXPECT_EQ(f.manual, 1U);
  EXPECT_EQ(f.automatic + f.context_length_error + f.rescues, 0U);
  EXPECT_EQ(f.max_view_tokens, 220);
  EXPECT_GT(f.final_view_tokens, 0);
  EXPECT_EQ(f.anchored.count,
            1U); // the second: the first has no anchor, the third a new generation
  EXPECT_EQ(f.unanchored.count, 2U);
  EXPECT_NEAR(f.anchored.median, 0.1, 1e-9);
  EXPECT_NEAR(f.unanchored.max, 0.1, 1e-9);
}

TEST(replay_checks, a_rescue_counts_as_such_only) {
  const auto f = examined([](replayed& s) {
    s.record.strategy = compaction_strategy::context_rescue;
    s.record.reason = compaction_reason::context_length_error;
    s.record.message_end_index_exclusive = 0;
    s.record.history_digest = compaction::history_digest({});
    s.record.continuation_text.reset();
    s.record.handoff_text.reset();
  });
  EXPECT_TRUE(f.clean()) << (f.notes.empty() ? "" : f.notes.front());
  EXPECT_EQ(f.rescues, 1U);
  EXPECT_EQ(f.manual + f.automatic + f.context_length_error, 0U);
}

TEST(replay_checks, S18_a_record_that_is_wrong_is_a_violation) {
  const struct {
    const char* name;
    change wrong;
  } cases[] = {
      {"digest", [](replayed& s) { s.record.history_digest.back() ^= 1; }},
      {"start", [](replayed& s) { s.record.message_start_index = 1; }},
      {"end", [](replayed& s) { s.record.message_end_index_exclusive = 3; }},
      {"beyond", [](replayed& s) { s.record.message_end_index_exclusive = 9; }},
      {"generation", [](replayed& s) { s.record.generation = 3; }},
      {"calls", [](replayed& s) { s.record.tool_call_ids = {"call_1"}; }},
  };
  for (const auto& c : cases)
    EXPECT_GE(examined({}, c.wrong).boundary_violations, 1U) << c.name;
}

TEST(replay_checks, S8_S11_a_request_that_is_not_the_view_is_a_violation) {
  const auto left_out = examined({}, [](replayed& s) { s.requests.back().messages.pop_back(); });
  EXPECT_GE(left_out.boundary_violations, 1U);
  const auto other_text = examined({}, [](replayed& s) {
    s.requests.back().messages.back() = kit::make_message(message_role::user, "another");
  });
  EXPECT_EQ(other_text.boundary_violations, 1U);
  const auto never_sent = examined({}, [](replayed& s) { s.requests.pop_back(); });
  EXPECT_GE(never_sent.boundary_violations, 1U);
}

TEST(replay_checks, a_request_over_the_window_is_seen_by_its_true_size) {
  const auto f =
      examined({}, [](replayed& s) { s.requests.front().true_tokens = window_tokens + 1; });
  EXPECT_EQ(f.requests_over_window, 1U);
  EXPECT_FALSE(f.clean());
}

TEST(replay_checks, what_the_journal_lacks_is_lost_and_what_it_has_beyond_is_foreign) {
  const auto lost = examined({}, [](replayed& s) {
    s.recorded.push_back({*kit::make_message(message_role::user, "never played"), 7, {}, {}, true});
  });
  EXPECT_EQ(lost.lost_messages, 1U);
  EXPECT_FALSE(lost.clean());
  const auto changed = examined({}, [](replayed& s) { s.recorded[1].msg.content += "!"; });
  EXPECT_EQ(changed.lost_messages, 1U);
  EXPECT_EQ(changed.foreign_messages, 1U);
  const auto foreign =
      examined({}, [](replayed& s) { s.journal.turn("t5").user("from nowhere").ended(); });
  EXPECT_EQ(foreign.lost_messages, 0U);
  EXPECT_EQ(foreign.foreign_messages, 1U);
  EXPECT_FALSE(foreign.clean());
}

TEST(replay_checks, a_turn_that_failed_is_counted_and_a_compaction_that_failed_is_no_turn) {
  const auto turn =
      examined({}, [](replayed& s) { s.journal.turn("t5").ended(entries::turn_outcome::failed); });
  EXPECT_EQ(turn.failed_turns, 1U);
  EXPECT_FALSE(turn.clean());
  const auto compaction = examined({}, [](replayed& s) {
    s.journal.compact_operation("t5").ended(entries::turn_outcome::failed);
  });
  EXPECT_EQ(compaction.failed_turns, 0U);
  EXPECT_TRUE(compaction.clean());
}

TEST(replay_checks, a_sampling_without_a_count_is_in_no_budget_error) {
  const auto f = examined(
      {}, [](replayed& s) { s.journal.turn("t5").user("four").assistant("fourth").ended(); });
  EXPECT_EQ(f.anchored.count + f.unanchored.count, 3U);
}

TEST(replay_checks, the_json_has_every_field) {
  const auto o = nlohmann::json::parse(to_json_text(examined()));
  for (const auto* name :
       {"messages", "samplings", "compactions", "rescues", "max_view_tokens", "final_view_tokens",
        "boundary_violations", "requests_over_window", "budget_error", "journal_messages",
        "discarded_messages", "skipped_messages", "lost_messages", "failed_turns"})
    EXPECT_TRUE(o.contains(name)) << name;
  EXPECT_EQ(o["compactions"]["manual"], 1);
  EXPECT_EQ(o["compactions"].size(), 3U);
  EXPECT_NEAR(o["budget_error"]["anchored"]["p99"].get<double>(), 0.1, 1e-9);
  EXPECT_EQ(o["budget_error"]["unanchored"]["n"], 2);
  EXPECT_FALSE(to_table(examined()).empty());
}

} // namespace
} // namespace rind::hosts::replay
