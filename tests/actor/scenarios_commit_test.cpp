// Faults around the commit of a boundary and what a crash leaves (F37 to F40), and what is read
// back afterwards (F72).
#include <set>

#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::hangs;
using kit::says;
using kit::text_of_tokens;

std::string view_of(kit::world& w) {
  return kit::shown(w.projection_of("s1").view());
}

TEST(scenario, F37_F39_a_crash_during_the_summary_leaves_the_old_context) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  const auto before = view_of(w);
  w.model().expect_summary(hangs().streaming("half of a summ"));
  auto compacted = ann.compact();
  w.run();
  w.crash();
  EXPECT_TRUE(kit::boundaries_of(w, "s1").empty());
  EXPECT_FALSE(compacted.arrived());
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1"); // S10: an interrupted compaction is settled as the session is activated
  EXPECT_EQ(view_of(w), before);
  const auto entries = w.journal_of("s1");
  const auto* end = std::get_if<entries::turn_ended>(&entries.back()->body);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome, entries::turn_outcome::cancelled);
  EXPECT_EQ(end->reason, cancel_reason::interrupted);
  kit::fill(w, ann, 20);
}

TEST(scenario, F38_S22_a_half_streamed_summary_leaves_no_trace) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 2'000, 3);
  const auto before = view_of(w);
  w.model().expect_summary(hangs().streaming("HALF " + std::string(200, 'x')));
  auto compacted = ann.compact();
  w.run();
  auto cancelled = ann.cancel();
  w.run();
  EXPECT_EQ(cancelled.said(), "ok");
  EXPECT_EQ(compacted.said(), "Cancelled");
  EXPECT_EQ(view_of(w), before);
  for (const auto& e : w.journal_of("s1"))
    EXPECT_EQ(encode_body(e->body).find("HALF"), std::string::npos);
}

/// The node dies after each message of a compaction in turn.
class crash_at_each_step : public testing::TestWithParam<bool> {};

TEST_P(crash_at_each_step, F39_S24_the_old_context_or_the_new_one_never_a_mix) {
  const bool manual = GetParam();
  int old_views = 0;
  int new_views = 0;
  for (std::size_t deliveries = 1;; ++deliveries) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, 4);
    const auto old_generation = w.projection_of("s1").view().generation;
    const auto old_view = view_of(w);
    bool over = false;
    if (manual) {
      auto compacted = ann.compact();
      over = w.time().step(deliveries) < deliveries;
    } else {
      auto answer = ann.prompt(text_of_tokens(800));
      over = w.time().step(deliveries) < deliveries;
    }
    w.crash();
    const auto journaled = view_of(w);
    const auto p = w.projection_of("s1");
    EXPECT_EQ(p.structure_fault(), std::nullopt);
    if (p.view().generation == old_generation) {
      ++old_views;
      if (manual) {
        EXPECT_EQ(journaled, old_view) << "after " << deliveries;
      }
    } else {
      ++new_views;
    }
    w.restart();
    kit::serve_politely(w);
    w.reconnect(ann, "s1");
    if (w.projection_of("s1").operation()) { // an interrupted turn waits for its client (S10)
      EXPECT_FALSE(manual);
      auto resumed = ann.resume();
      w.advance(1'000);
      EXPECT_EQ(resumed.said(), "ok") << "after " << deliveries;
    }
    kit::fill(w, ann, 20);
    EXPECT_EQ(kit::first_boundary_fault(w.model()), "") << "after " << deliveries;
    EXPECT_EQ(kit::count_of(kit::line_of(w.journal_of("s1")), "turn_ended"),
              static_cast<std::int64_t>([&] {
                std::set<std::string> turns;
                for (const auto& e : w.journal_of("s1"))
                  if (std::holds_alternative<entries::turn_started>(e->body))
                    turns.insert(e->turn_id);
                return turns.size();
              }()))
        << "after " << deliveries;
    if (over)
      break;
    ASSERT_LT(deliveries, 1'000u);
  }
  EXPECT_GT(old_views, 5);
  EXPECT_GT(new_views, 0);
}

INSTANTIATE_TEST_SUITE_P(scenario, crash_at_each_step, testing::Bool(),
                         [](const auto& p) { return p.param ? "manual" : "automatic"; });

TEST(scenario, F40_S39_whichever_append_fails_nothing_that_was_there_is_lost) {
  for (std::int64_t which = 1; which <= 8; ++which) {
    kit::world w;
    kit::serve_politely(w);
    auto& ann = w.client("s1");
    kit::fill(w, ann, 2'300, 4);
    const auto before = w.journal_of("s1");
    w.refuse_append(which);
    auto answer = ann.prompt(text_of_tokens(800)); // compacts and samples
    w.advance(1'000);
    ASSERT_TRUE(answer.arrived()) << which;
    const auto after = w.journal_of("s1");
    ASSERT_GE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after[i]->id, before[i]->id);
    w.faults().appends.clear();
    kit::fill(w, ann, 20); // an operation without its end is settled first
    EXPECT_EQ(kit::first_boundary_fault(w.model()), "") << which;
    EXPECT_FALSE(w.projection_of("s1").operation()) << which;
  }
}

TEST(scenario, F40_S39_an_unreadable_journal_is_an_error_and_no_empty_session) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 20);
  w.crash();
  w.restart();
  w.faults().fail_reads = true;
  EXPECT_EQ(w.open_error("s1", actors::open_mode::existing), error_code::unavailable);
  w.faults().fail_reads = false;
  w.reconnect(ann, "s1");
  kit::serve_politely(w);
  kit::fill(w, ann, 20);
  EXPECT_EQ(w.projection_of("s1").view().message_count, 4);
}

class boundaries_then_restart : public testing::TestWithParam<int> {};

TEST_P(boundaries_then_restart, F72_S11_the_context_after_a_restart_is_the_one_before) {
  kit::world w;
  kit::serve_politely(w);
  auto& ann = w.client("s1");
  kit::fill(w, ann, 1'500, 2);
  for (int i = 0; i < GetParam(); ++i) {
    auto compacted = ann.compact();
    w.run();
    ASSERT_EQ(compacted.said(), "ok");
    kit::fill(w, ann, 1'500, 2);
  }
  auto live = ann.snapshot();
  w.run();
  const auto before = kit::shown(*(*live)->view);
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  auto again = ann.snapshot();
  w.run();
  EXPECT_EQ(kit::shown(*(*again)->view), before);
  EXPECT_EQ((*again)->stats().active_tokens, (*live)->stats().active_tokens);
  EXPECT_EQ(w.projection_of("s1").view().generation, GetParam());
  ann.set_model("model-tiny"); // a smaller model after the restart compacts first
  w.run();
  auto answer = ann.prompt("Go on.");
  w.run();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

INSTANTIATE_TEST_SUITE_P(scenario, boundaries_then_restart, testing::Values(0, 1, 3));

} // namespace
} // namespace rind
