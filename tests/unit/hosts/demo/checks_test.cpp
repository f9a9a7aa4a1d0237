// The demo's verdict must see what is wrong: each case breaks one thing in a run that is whole.
#include <gtest/gtest.h>

#include "hosts/demo/boundary_checks.hpp"
#include "hosts/demo/checks.hpp"
#include "hosts/demo/provider_watch.hpp"
#include "hosts/demo/report.hpp"
#include "runtime/compaction/handoff.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::hosts::demo {
namespace {

using nlohmann::json;

/// A boundary over the first two messages of `whole_run`, as the host would write it.
compaction_record good_record() {
  compaction_record record;
  record.reason = compaction_reason::manual;
  record.generation = 1;
  record.message_end_index_exclusive = 2;
  record.continuation_text = "Go on.";
  record.handoff_text = "Done so far. The user said: count the store";
  record.tokens_before = 100;
  record.tokens_after = 40;
  kit::journal_builder messages;
  messages.user("count the store").assistant("counted");
  std::vector<message_ptr> corpus;
  for (const auto& e : messages.entries())
    if (const auto* msg = message_of(e.body))
      corpus.push_back(*msg);
  record.history_digest = compaction::history_digest(corpus);
  return record;
}

/// A turn, a manual compaction with a steering input that is delivered, one that is taken back and
/// one that a cancel drops.
std::vector<entry> whole_run(const compaction_record& record = good_record()) {
  kit::journal_builder b;
  b.turn("t1", "p1").user("count the store").assistant("counted").ended();
  b.compact_operation("t2");
  b.add(entries::boundary{std::make_shared<const compaction_record>(record)});
  b.accepted("i1", input_mode::steering, "only the north gate");
  b.delivered("i1", input_mode::steering, "only the north gate").assistant("understood");
  b.accepted("i2", input_mode::follow_up, "forget this").add(entries::input_taken_back{"i2"});
  b.accepted("i3", input_mode::follow_up, "and this");
  entries::turn_ended end;
  end.outcome = entries::turn_outcome::cancelled;
  end.undelivered = {{"i3", input_mode::follow_up, "and this"}};
  b.add(end);
  return b.entries();
}

session_evidence evidence_of(const std::vector<entry>& journal) {
  session_evidence seen;
  seen.session_id = "s";
  for (const auto& e : journal)
    if (auto event = protocol::durable_event_body("s", e); !event.is_null()) {
      seen.seen.events.push_back({event, true});
      seen.replayed.push_back(event);
    }
  seen.accepted = {{"i1", "steering"}, {"i2", "follow_up"}, {"i3", "follow_up"}};
  seen.taken_back = {"i2"};
  seen.outcomes = {{"t1", "completed"}};
  return seen;
}

tally verdict(const session_evidence& seen, const std::vector<entry>& journal,
              const request_faults& requests = {}) {
  tally sums;
  check_session(seen, journal, requests, sums);
  return sums;
}

TEST(demo_checks, a_whole_run_is_good_and_counted) {
  const auto sums = verdict(evidence_of(whole_run()), whole_run());
  EXPECT_TRUE(sums.faults.empty()) << sums.faults.front().text;
  EXPECT_EQ(sums.turns, 1);
  EXPECT_EQ(sums.samplings, 2);
  EXPECT_EQ(sums.manual, 1);
  EXPECT_EQ(sums.inputs_accepted, 3);
  EXPECT_EQ(sums.inputs_delivered, 1);
  EXPECT_EQ(sums.inputs_returned, 1);
  EXPECT_EQ(sums.inputs_dropped_by_cancel, 1);
}

TEST(demo_checks, S24_each_fault_of_a_boundary_is_seen) {
  const std::vector<std::pair<const char*, void (*)(compaction_record&)>> faults{
      {"digest", [](auto& r) { r.history_digest[0] = r.history_digest[0] == '0' ? '1' : '0'; }},
      {"start", [](auto& r) { r.message_start_index = 1; }},
      {"end", [](auto& r) { r.message_end_index_exclusive = 3; }},
      {"generation", [](auto& r) { r.generation = 2; }},
      {"gain", [](auto& r) { r.tokens_after = r.tokens_before; }},
      {"words", [](auto& r) { r.handoff_text = "Nothing of note."; }},
      {"calls", [](auto& r) { r.tool_call_ids = {"c1"}; }},
      {"replaced",
       [](auto& r) {
         r.replaced = {{0, 1, replacement_kind::body}};
       }},
      {"handoff", [](auto& r) { r.handoff_text.reset(); }},
  };
  for (const auto& [name, break_it] : faults) {
    auto record = good_record();
    break_it(record);
    EXPECT_FALSE(boundary_violations(whole_run(record)).empty()) << name;
  }
}

TEST(demo_checks, S5_missing_and_double_terminals_are_counted) {
  const auto journal = whole_run();
  auto missing = evidence_of(journal);
  missing.seen.events.pop_back();
  EXPECT_EQ(verdict(missing, journal).terminal_events_missing_or_double, 1);
  auto twice = evidence_of(journal);
  twice.seen.events.push_back(twice.seen.events.back());
  EXPECT_EQ(verdict(twice, journal).terminal_events_missing_or_double, 1);
  auto open = journal;
  open.pop_back();
  EXPECT_EQ(verdict(evidence_of(journal), open).terminal_events_missing_or_double, 1);
  auto late = evidence_of(journal);
  late.seen.after_terminal = 1;
  EXPECT_FALSE(verdict(late, journal).faults.empty());
}

TEST(demo_checks, S37_an_event_that_is_lost_changed_or_out_of_order_is_seen) {
  const auto journal = whole_run();
  auto lost = evidence_of(journal);
  lost.seen.events.erase(lost.seen.events.begin() + 1);
  EXPECT_FALSE(verdict(lost, journal).faults.empty());
  auto changed = evidence_of(journal);
  changed.replayed[1]["event_id"] = "another";
  EXPECT_FALSE(verdict(changed, journal).faults.empty());
  auto turned = evidence_of(journal);
  std::swap(turned.seen.events[0], turned.seen.events[1]);
  EXPECT_FALSE(verdict(turned, journal).faults.empty());
}

TEST(demo_checks, S3_an_input_that_went_two_ways_or_none_is_seen) {
  const auto journal = whole_run();
  auto none = evidence_of(journal);
  none.taken_back.clear();
  EXPECT_FALSE(verdict(none, journal).faults.empty());
  auto two = evidence_of(journal);
  two.taken_back.insert("i3");
  EXPECT_FALSE(verdict(two, journal).faults.empty());
  auto unknown = evidence_of(journal);
  unknown.accepted["i9"] = "steering";
  EXPECT_FALSE(verdict(unknown, journal).faults.empty());
}

TEST(demo_checks, S8_requests_that_must_not_be_sent_are_violations) {
  EXPECT_EQ(request_fault(
                R"({"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]})"),
            "");
  for (
      const auto* body :
      {R"({"messages":[{"role":"assistant","content":"a"}]})",
       R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b","tool_call_id":"c"}]})",
       R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})",
       R"({"messages":[{"role":"narrator","content":"a"}]})", "no JSON"})
    EXPECT_NE(request_fault(body), "") << body;
  const auto journal = whole_run();
  const auto sums = verdict(evidence_of(journal), journal, {2, {"one of them"}});
  EXPECT_EQ(sums.boundary_violations, 2);
  EXPECT_FALSE(sums.faults.empty());
}

TEST(demo_checks, sums_that_do_not_meet_the_goal_are_faults) {
  tally sums;
  sums.sessions = 2;
  sums.manual = sums.automatic = sums.context_length_error = 2;
  sums.rescues = sums.resumed = 1;
  sums.inputs_accepted = sums.inputs_delivered = 3;
  auto good = sums;
  check_sums(good);
  EXPECT_TRUE(good.faults.empty());
  for (auto part : {&tally::manual, &tally::automatic, &tally::context_length_error,
                    &tally::rescues, &tally::resumed, &tally::inputs_delivered}) {
    auto bad = sums;
    --(bad.*part);
    check_sums(bad);
    EXPECT_EQ(bad.faults.size(), 1U);
  }
}

TEST(demo_report, numbers_are_grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
}

} // namespace
} // namespace rind::hosts::demo
