// A session's promises at its actor: the slot and its waiting prompts (S1, S2), queued inputs (S3),
// inputs that are sent twice (S3a), cancel (S4), the end (S5, S6) and what hangs or throws (S43).
#include <gtest/gtest.h>

#include "actors/session.hpp"
#include "tests/kit/journal_builder.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::asks_for;
using kit::hangs;
using kit::look;
using kit::says;
using kit::text_of_tokens;

class session_rules : public testing::Test {
protected:
  session_rules() { kit::serve_politely(w); }

  /// A turn that streams until it is cancelled.
  kit::awaited<actors::prompt_outcome> hanging_turn(std::string input_id = {}) {
    w.model().expect(hangs().streaming("Well, "));
    auto answer = ann.prompt("Go.", std::move(input_id));
    w.run();
    return answer;
  }

  std::string ends() { return kit::line_of(ann.events()); }

  kit::world w;
  kit::scripted_client& ann = w.client("s1");
};

// -- S1, S2 ------------------------------------------------------------------------

TEST_F(session_rules, S1_sessions_run_side_by_side_and_one_operation_each) {
  auto& bob = w.client("s2");
  auto stuck = hanging_turn();
  auto second = ann.prompt("Second.");
  auto other = bob.prompt("Hi");
  w.run();
  EXPECT_EQ(other.said(), "ok");
  EXPECT_EQ(second.said(), "pending");
  EXPECT_EQ(kit::count_of(ends(), "turn_started"), 1);
  ann.cancel();
  w.run();
  EXPECT_EQ(stuck.value().outcome, entries::turn_outcome::cancelled);
  EXPECT_EQ(second.said(), "ok");
}

TEST_F(session_rules, S2_first_come_first_served_and_at_most_sixteen_wait) {
  auto running = hanging_turn();
  std::vector<kit::awaited<actors::prompt_outcome>> waiting;
  for (int i = 0; i < 17; ++i)
    waiting.push_back(ann.prompt("Prompt " + std::to_string(i)));
  w.run();
  EXPECT_EQ(waiting[16].said(), "SessionBusy");
  auto info = ann.info();
  w.run();
  EXPECT_EQ(info.value().turn->waiting_prompts, 16);
  ann.cancel();
  w.run();
  std::vector<std::string> order;
  for (const auto& e : w.journal_of("s1"))
    if (const auto* u = std::get_if<entries::user_message>(&e->body))
      order.push_back(u->msg->content);
  ASSERT_EQ(order.size(), 17u);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(order[i + 1], "Prompt " + std::to_string(i));
}

TEST_F(session_rules, S2_a_waiting_prompt_is_taken_back_and_goes_with_its_connection) {
  auto& bob = w.client("s1");
  hanging_turn();
  auto mine = ann.prompt("Mine.", {}, "r1");
  auto his = bob.prompt("His.", {}, "r1");
  w.run();
  auto taken = ann.withdraw("r1"); // the key is the connection's own
  w.run();
  EXPECT_EQ(taken.said(), "ok");
  EXPECT_EQ(mine.said(), "Cancelled");
  EXPECT_EQ(his.said(), "pending");
  auto again = ann.withdraw("r1");
  bob.disconnect();
  ann.cancel();
  w.run();
  EXPECT_EQ(again.said(), "TurnNotActive");
  EXPECT_EQ(his.said(), "Cancelled");
  EXPECT_EQ(kit::count_of(ends(), "turn_started"), 1);
  EXPECT_EQ(w.projection_of("s1").view().message_count, 1); // nothing of them is journaled
}

TEST_F(session_rules, S2_no_waiting_prompt_starts_once_the_host_stops) {
  auto running = hanging_turn();
  auto waiting = ann.prompt("Second.");
  w.run();
  auto stopped = w.stop(5'000);
  w.run();
  EXPECT_EQ(waiting.said(), "ServerStopping");
  auto late = ann.prompt("Third.");
  w.run();
  EXPECT_EQ(late.said(), "ServerStopping");
  EXPECT_EQ(stopped.said(), "pending"); // the running one has its grace
  w.advance(5'000);
  EXPECT_EQ(stopped.said(), "ok");
  EXPECT_EQ(running.value().outcome, entries::turn_outcome::cancelled);
  EXPECT_EQ(kit::last_end(ann.events())->reason, cancel_reason::shutdown);
}

// -- S3 ----------------------------------------------------------------------------

TEST_F(session_rules, S3_an_accepted_input_is_journaled_before_it_is_answered) {
  hanging_turn();
  w.refuse_append();
  auto lost = ann.steer("Lost.");
  auto kept = ann.steer("Kept.");
  w.run();
  EXPECT_EQ(lost.said(), "Unavailable");
  EXPECT_EQ(kept.said(), "ok");
  EXPECT_EQ(kept.value().pending, 1);
  EXPECT_EQ(kit::fate_of(w, "s1", "Kept.").accepted, 1);
  ann.cancel();
  w.run();
  const auto* end = kit::last_end(ann.events());
  ASSERT_EQ(end->undelivered.size(), 1u);
  EXPECT_EQ(end->undelivered[0].text, "Kept.");
}

TEST_F(session_rules, S3_limits_ids_and_the_wrong_moment) {
  auto early = ann.steer("Early.");
  w.run();
  EXPECT_EQ(early.said(), "TurnNotActive");
  hanging_turn();
  auto wrong = ann.steer("Wrong.", {}, "turn-of-another");
  for (int i = 0; i < 4; ++i)
    ann.follow_up("Follow " + std::to_string(i), "f" + std::to_string(i));
  auto full = ann.follow_up("Too many.", "f4");
  auto long_one = ann.steer(std::string(8'001, 'x'));
  w.run();
  EXPECT_EQ(wrong.said(), "TurnNotActive");
  EXPECT_EQ(full.said(), "InputQueueFull");
  EXPECT_EQ(long_one.said(), "InputQueueFull");
  auto newest = ann.take_back(input_mode::follow_up);
  auto named = ann.take_back(input_mode::follow_up, "f1");
  auto gone = ann.take_back(input_mode::follow_up, "f1");
  auto promoted = ann.promote("f2");
  auto unknown = ann.promote("f9");
  w.run();
  EXPECT_EQ(newest.value().input_id, "f3");
  EXPECT_EQ(named.value().input, "Follow 1");
  EXPECT_EQ(gone.said(), "InputNotPending");
  EXPECT_EQ(promoted.said(), "ok");
  EXPECT_EQ(unknown.said(), "InputNotPending");
  ann.cancel();
  w.run();
  const auto* end = kit::last_end(ann.events());
  ASSERT_EQ(end->undelivered.size(), 2u);
  EXPECT_EQ(end->undelivered[0].input_id, "f0");
  EXPECT_EQ(end->undelivered[1].input_id, "f2");
  EXPECT_EQ(end->undelivered[1].mode, input_mode::steering);
}

TEST_F(session_rules, S3_steering_enters_the_next_sampling_and_a_follow_up_the_next_task) {
  w.model().expect(asks_for({look("c1")}).after(100)).expect(says("Done.").after(100));
  auto answer = ann.prompt("Look.");
  w.run();
  ann.follow_up("Later.");
  ann.steer("Now one.");
  ann.steer("Now two.");
  w.advance(1'000);
  ASSERT_EQ(answer.said(), "ok");
  const auto sent = w.model().requests_of(sampling_kind::assistant);
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[1]->messages.back()->content, "Now one.");
  EXPECT_EQ(sent[2]->messages.back()->content, "Now two."); // one item before each sampling
  EXPECT_EQ(sent[3]->messages.back()->content, "Later.");
  EXPECT_TRUE(kit::last_end(ann.events())->undelivered.empty());
  for (const auto& e : ann.events())
    EXPECT_EQ(e->turn_id, answer.value().turn_id);
}

TEST_F(session_rules, S2_S3_with_or_without_an_id_the_order_of_arrival_counts) {
  hanging_turn("p1");
  auto first = ann.prompt("First.", "p2");
  auto second = ann.prompt("Second.");
  ann.steer("One.", "i1");
  ann.steer("Two.");
  w.run();
  std::vector<std::string> accepted;
  for (const auto& e : w.journal_of("s1"))
    if (const auto* a = std::get_if<entries::input_accepted>(&e->body))
      accepted.push_back(a->text);
  EXPECT_EQ(accepted, (std::vector<std::string>{"One.", "Two."}));
  ann.cancel();
  w.run();
  std::vector<std::string> prompts;
  for (const auto& e : w.journal_of("s1"))
    if (const auto* u = std::get_if<entries::user_message>(&e->body))
      prompts.push_back(u->msg->content);
  EXPECT_EQ(prompts, (std::vector<std::string>{"Go.", "First.", "Second."}));
}

TEST_F(session_rules, S3_an_input_that_comes_while_the_last_sampling_ends_is_delivered) {
  for (std::size_t deliveries = 0; deliveries < 60; ++deliveries) {
    const auto text = "At " + std::to_string(deliveries) + ".";
    ann.prompt("Go.");
    w.time().step(deliveries);
    auto queued = ann.steer(text);
    w.run();
    const auto fate = kit::fate_of(w, "s1", text);
    EXPECT_EQ(fate.delivered, queued.ok() ? 1 : 0) << deliveries << " " << queued.said();
    EXPECT_EQ(fate.handed_back, 0) << deliveries;
    if (w.projection_of("s1").view().tokens > 5'000)
      break;
  }
}

// -- S3a ---------------------------------------------------------------------------

TEST_F(session_rules, S3a_a_prompt_that_is_sent_again_runs_once) {
  auto& bob = w.client("s1");
  auto first = hanging_turn("p1");
  auto again = bob.prompt("Go.", "p1"); // while it runs
  auto other = bob.prompt("Other words.", "p1");
  auto as_steering = bob.steer("Go.", "p1");
  w.run();
  EXPECT_EQ(other.said(), "InvalidRequest");
  EXPECT_EQ(as_steering.said(), "InvalidRequest");
  EXPECT_EQ(again.said(), "pending");
  ann.cancel();
  w.run();
  EXPECT_EQ(first.value().turn_id, again.value().turn_id);
  auto late = bob.prompt("Go.", "p1"); // when it has ended
  w.run();
  EXPECT_EQ(late.value().turn_id, first.value().turn_id);
  EXPECT_EQ(late.value().outcome, entries::turn_outcome::cancelled);
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), 1);
}

TEST_F(session_rules, S3a_a_waiting_prompt_that_was_sent_twice_runs_once) {
  hanging_turn();
  auto one = ann.prompt("Twice.", "p2");
  auto two = ann.prompt("Twice.", "p2");
  w.run();
  ann.cancel();
  w.run();
  EXPECT_EQ(one.said(), "ok");
  EXPECT_EQ(two.said(), "ok");
  EXPECT_EQ(one.value().turn_id, two.value().turn_id);
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), 2);
}

TEST_F(session_rules, S2_S3a_repeats_of_a_waiting_prompt_take_no_place_of_their_own) {
  auto& bob = w.client("s1");
  hanging_turn();
  std::vector<kit::awaited<actors::prompt_outcome>> repeats;
  for (std::size_t i = 0; i < actors::requests_of_prompt_max; ++i)
    repeats.push_back((i % 2 ? bob : ann).prompt("Twice.", "p2"));
  auto one_too_many = ann.prompt("Twice.", "p2");
  auto other_text = bob.prompt("Other words.", "p2");
  std::vector<kit::awaited<actors::prompt_outcome>> others;
  for (int i = 0; i < 15; ++i)
    others.push_back(ann.prompt("Prompt " + std::to_string(i)));
  auto no_place = ann.prompt("One too many.");
  w.run();
  EXPECT_EQ(one_too_many.said(), "SessionBusy");
  EXPECT_EQ(other_text.said(), "InvalidRequest");
  EXPECT_EQ(no_place.said(), "SessionBusy");
  ann.cancel();
  w.run();
  for (auto& r : repeats) {
    ASSERT_EQ(r.said(), "ok");
    EXPECT_EQ(r.value().turn_id, repeats[0].value().turn_id);
  }
  for (auto& o : others)
    EXPECT_EQ(o.said(), "ok");
  EXPECT_EQ(kit::count_of(kit::line_of(w.journal_of("s1")), "user_message"), 1 + 1 + 15);
}

TEST_F(session_rules, S3a_a_repeat_joins_a_prompt_whose_start_is_being_journaled) {
  w.model().expect(hangs());
  auto first = ann.prompt("Go.", "p1");
  std::vector<kit::awaited<actors::prompt_outcome>> repeats;
  for (std::size_t i = 1; i < actors::requests_of_prompt_max; ++i)
    repeats.push_back(ann.prompt("Go.", "p1"));
  w.run();
  auto one_too_many = ann.prompt("Go.", "p1"); // while it runs: the same bound
  w.run();
  EXPECT_EQ(one_too_many.said(), "SessionBusy");
  auto info = ann.info();
  w.run();
  EXPECT_EQ(info.value().turn->waiting_prompts, 0);
  ann.cancel();
  w.run();
  for (auto& r : repeats)
    EXPECT_EQ(r.value().turn_id, first.value().turn_id);
}

TEST_F(session_rules, S2_S3a_a_waiting_prompt_goes_with_the_last_who_asks_for_it) {
  auto& bob = w.client("s1");
  auto& eve = w.client("s1");
  hanging_turn();
  auto first = ann.prompt("Twice.", "p2", "key-1");
  auto second = bob.prompt("Twice.", "p2", "key-1");
  auto third = eve.prompt("Twice.", "p2", "key-1");
  auto lonely = ann.prompt("Alone.", "p3");
  w.run();
  auto taken_back = eve.withdraw("key-1");
  w.run();
  EXPECT_EQ(taken_back.said(), "ok");
  EXPECT_EQ(third.said(), "Cancelled");
  ann.disconnect();
  w.run();
  EXPECT_EQ(first.said(), "Cancelled");
  EXPECT_EQ(lonely.said(), "Cancelled");
  EXPECT_EQ(second.said(), "pending");
  bob.cancel();
  w.run();
  EXPECT_EQ(second.said(), "ok");
  EXPECT_EQ(kit::count_of(kit::line_of(w.journal_of("s1")), "user_message"), 2);
}

TEST_F(session_rules, S3a_an_interrupted_prompt_that_is_sent_again_is_resumed) {
  hanging_turn("p1");
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  auto again = ann.prompt("Go.", "p1");
  w.run();
  ASSERT_EQ(again.said(), "ok");
  EXPECT_EQ(again.value().outcome, entries::turn_outcome::completed);
  EXPECT_EQ(w.projection_of("s1").view().message_count, 2);
}

TEST_F(session_rules, S3a_a_queued_input_that_is_sent_again_is_answered_as_the_first_time) {
  hanging_turn();
  auto one = ann.steer("Mind the tests.", "i1");
  auto two = ann.steer("Mind the tests.", "i1"); // its entry is still on the way
  w.run();
  auto three = ann.steer("Mind the tests.", "i1");
  auto other_text = ann.steer("Else.", "i1");
  auto other_mode = ann.follow_up("Mind the tests.", "i1");
  w.run();
  EXPECT_EQ(one.said(), "ok");
  EXPECT_EQ(two.said(), "ok");
  EXPECT_EQ(three.said(), "ok");
  EXPECT_EQ(other_text.said(), "InvalidRequest");
  EXPECT_EQ(other_mode.said(), "InvalidRequest");
  EXPECT_EQ(kit::fate_of(w, "s1", "Mind the tests.").accepted, 1);
  ann.cancel();
  w.run();
  auto late = ann.steer("Mind the tests.", "i1"); // the operation is over
  w.run();
  EXPECT_EQ(late.said(), "ok");
}

// -- S4 ----------------------------------------------------------------------------

TEST_F(session_rules, S4_cancel_stops_each_phase_at_once) {
  const auto cancelled_at_once = [&](const char* phase, kit::awaited<actors::prompt_outcome> turn) {
    const auto at = w.now_ms();
    auto cancelled = ann.cancel();
    w.run();
    EXPECT_EQ(cancelled.said(), "ok") << phase;
    ASSERT_EQ(turn.said(), "ok") << phase;
    EXPECT_EQ(turn.value().outcome, entries::turn_outcome::cancelled) << phase;
    EXPECT_EQ(w.now_ms(), at) << phase;
    EXPECT_EQ(w.model().in_flight(), 0u) << phase;
    auto again = ann.cancel();
    w.run();
    EXPECT_EQ(again.said(), "TurnNotActive") << phase;
  };
  cancelled_at_once("a stream", hanging_turn());

  w.model().expect(kit::refuses(provider_error_class::server_error));
  auto waits = ann.prompt("Retry.");
  w.run();
  cancelled_at_once("a retry's wait", waits);

  w.model().expect(asks_for({look("c1")}));
  kit::tool_script endless;
  endless.endless = true;
  w.tool().expect(endless);
  auto tool = ann.prompt("Look.");
  w.run();
  cancelled_at_once("a tool", tool);

  kit::fill(w, ann, 2'300, 4);
  w.model().expect_summary(hangs());
  auto summary = ann.prompt(text_of_tokens(900));
  w.run();
  cancelled_at_once("a summary", summary);
}

TEST_F(session_rules, S4_a_cancel_that_was_answered_ok_ends_as_cancelled_wherever_it_comes) {
  for (std::size_t deliveries = 1; deliveries < 200; ++deliveries) {
    kit::world v;
    kit::serve_politely(v);
    auto& bob = v.client("s1");
    kit::fill(v, bob, 2'300, 4);
    auto turn = bob.prompt(text_of_tokens(900)); // compacts and answers
    const bool over = v.time().step(deliveries) < deliveries;
    auto cancelled = bob.cancel();
    v.advance(1'000);
    ASSERT_EQ(turn.said(), "ok") << deliveries;
    if (cancelled.ok())
      EXPECT_EQ(turn.value().outcome, entries::turn_outcome::cancelled) << deliveries;
    else
      EXPECT_EQ(cancelled.said(), "TurnNotActive") << deliveries;
    EXPECT_EQ(v.projection_of("s1").structure_fault(), std::nullopt);
    kit::fill(v, bob, 20);
    EXPECT_EQ(kit::first_boundary_fault(v.model()), "") << deliveries;
    if (over)
      break;
  }
}

TEST_F(session_rules, S4_waiting_prompts_are_not_touched_and_another_turns_id_is_refused) {
  auto running = hanging_turn();
  auto waiting = ann.prompt("Second.");
  auto wrong = ann.cancel("turn-of-another");
  w.run();
  EXPECT_EQ(wrong.said(), "TurnNotActive");
  EXPECT_EQ(running.said(), "pending");
  ann.cancel();
  w.run();
  EXPECT_EQ(waiting.value().outcome, entries::turn_outcome::completed);
}

// -- S5, S6 ------------------------------------------------------------------------

TEST_F(session_rules, S5_a_refused_terminal_entry_interrupts_without_a_terminal_event) {
  w.model().expect(says("Done.").after(10));
  auto answer = ann.prompt("Go.");
  w.run();
  w.refuse_append(2); // the answer's message first
  w.advance(100);
  EXPECT_EQ(answer.said(), "Unavailable");
  EXPECT_EQ(kit::last_end(ann.events()), nullptr);
  auto info = ann.info();
  w.run();
  ASSERT_TRUE(info.value().turn);
  EXPECT_EQ(info.value().turn->progress, turn_progress::interrupted);
  auto resumed = ann.resume();
  w.run();
  EXPECT_EQ(resumed.said(), "ok");
}

TEST_F(session_rules, S5_one_terminal_event_and_nothing_after_it) {
  w.model().expect(asks_for({look("c1"), look("c2")}));
  kit::fill(w, ann, 20);
  const auto turn = ann.events().front()->turn_id;
  EXPECT_EQ(kit::types_of(ann.events()).back(), "turn_completed");
  EXPECT_EQ(kit::count_of(kit::line_of(ann.events()), "turn_completed"), 1);
  for (const auto& e : ann.events())
    EXPECT_EQ(e->turn_id, turn);
}

TEST_F(session_rules, S6_a_prompt_that_the_journal_refuses_is_answered_and_never_sent) {
  w.refuse_append();
  auto answer = ann.prompt("Go.");
  w.run();
  EXPECT_EQ(answer.said(), "Unavailable");
  EXPECT_TRUE(ann.events().empty());
  EXPECT_TRUE(w.model().requests().empty());
  kit::fill(w, ann, 20);
}

TEST_F(session_rules, S6_S9_a_crash_loses_neither_the_prompt_nor_what_a_tool_did) {
  w.model().expect(asks_for({look("c1"), look("c2")}));
  kit::tool_script endless;
  endless.endless = true;
  w.tool().expect(kit::answers("seen")).expect(endless);
  ann.prompt("Look twice.");
  w.run();
  w.crash();
  w.restart();
  kit::serve_politely(w);
  w.reconnect(ann, "s1");
  auto resumed = ann.resume();
  w.run();
  ASSERT_EQ(resumed.said(), "ok");
  const auto& sent = w.model().requests().back().request.messages;
  EXPECT_EQ(kit::holding(sent, "Look twice."), 1);
  EXPECT_EQ(kit::holding(sent, "seen"), 1);
  EXPECT_EQ(kit::holding(sent, "No result was recorded"), 1);
  EXPECT_EQ(w.tool().calls().size(), 2u); // neither is run again
  EXPECT_EQ(kit::first_boundary_fault(w.model()), "");
}

// -- S43 ---------------------------------------------------------------------------

TEST_F(session_rules, S43_a_tool_that_throws_is_a_failed_result) {
  w.model().expect(asks_for({look("c1")}));
  kit::tool_script throws;
  throws.throws = true;
  w.tool().expect(throws);
  auto answer = ann.prompt("Look.");
  w.run();
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
  EXPECT_EQ(kit::holding(w.model().requests().back().request.messages, "throws by script"), 1);
}

TEST_F(session_rules, S43_a_tool_that_hangs_is_timed_out_even_if_it_is_deaf) {
  for (const bool deaf : {false, true}) {
    w.model().expect(asks_for({look("c1")}));
    kit::tool_script stuck;
    stuck.endless = true;
    stuck.deaf = deaf;
    w.tool().expect(stuck);
    auto answer = ann.prompt("Look.");
    w.run();
    EXPECT_EQ(answer.said(), "pending");
    w.advance(130'000);
    ASSERT_EQ(answer.said(), "ok");
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
    EXPECT_EQ(kit::holding(w.model().requests().back().request.messages, "did not end within"),
              deaf ? 2 : 1);
  }
}

TEST_F(session_rules, S43_a_provider_that_hangs_ends_its_turn_and_nobody_elses) {
  auto& bob = w.client("s2");
  w.model().serve([](const sampling_request& r) {
    return r.session_id == "s1" ? kit::refuses(provider_error_class::timeout).after(60'000)
                                : says("Yes.");
  });
  auto answer = ann.prompt("Go.");
  w.run();
  auto other = bob.prompt("Hi");
  w.run();
  EXPECT_EQ(other.said(), "ok");
  ASSERT_TRUE(w.time().advance_until([&] { return answer.arrived(); }, 600'000));
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
  EXPECT_EQ(kit::failure_of(ann.events()).code, error_code::provider_timeout);
  kit::serve_politely(w);
  kit::fill(w, ann, 20);
}

TEST_F(session_rules, S43_a_provider_that_never_ends_is_a_timeout_and_frees_its_place) {
  kit::fill(w, ann, 20);
  const auto before = w.model().calls(sampling_kind::assistant);
  w.settings().providers[0].total_timeout_ms = 60'000;
  w.settings().providers[0].requests_in_flight_max = 1;
  w.restart();
  w.reconnect(ann, "s1");
  auto& bob = w.client("s2");
  w.model().serve([](const sampling_request& r) {
    return r.session_id == "s1" ? kit::hangs_deaf() : says("Yes.");
  });
  auto answer = ann.prompt("Go.");
  w.advance(60'000);
  // The deadline that its backend should keep comes first.
  EXPECT_EQ(w.model().calls(sampling_kind::assistant), before + 1);
  auto other = bob.prompt("Hi"); // waits for the place
  w.advance(20'000);
  EXPECT_EQ(other.said(), "ok");
  EXPECT_TRUE(w.model().requests()[static_cast<std::size_t>(before)].cancelled);
  ASSERT_TRUE(w.time().advance_until([&] { return answer.arrived(); }, 600'000));
  EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
  EXPECT_EQ(kit::failure_of(ann.events()).code, error_code::provider_timeout);
  EXPECT_EQ(kit::count_of(ends(), "turn_step_retry"), recovery::server_retries_max);
  kit::serve_politely(w);
  kit::fill(w, ann, 20);
}

} // namespace
} // namespace rind
