// Who gets the slot: every state meets every input.
#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "runtime/session/execution_slot.hpp"

namespace rind::session {
namespace {

using enum slot_state;
using enum slot_action;
using cell = std::pair<slot_state, slot_action>;

constexpr slot_state states[]{idle, opening, running, closing, interrupted, settling};
constexpr slot_input inputs[]{
    slot_input::prompt,        slot_input::resume,        slot_input::compact,
    slot_input::model_set,     slot_input::cancel,        slot_input::queue_input,
    slot_input::opened,        slot_input::open_refused,  slot_input::close,
    slot_input::closed,        slot_input::close_refused, slot_input::settled,
    slot_input::settle_refused};
static_assert(std::size(states) == slot_state_count && std::size(inputs) == slot_input_count);

execution_slot slot_in(slot_state s) {
  execution_slot slot;
  if (s == idle)
    return slot;
  if (s == interrupted || s == settling) {
    slot.found_interrupted();
    if (s == settling)
      slot.on(slot_input::prompt);
    return slot;
  }
  slot.on(slot_input::prompt);
  if (s == opening)
    return slot;
  slot.on(slot_input::opened);
  if (s == closing)
    slot.on(slot_input::close);
  return slot;
}

TEST(execution_slot, S1_S2_S10_every_state_meets_every_input) {
  using in = slot_input;
  const std::map<std::pair<slot_state, slot_input>, cell> legal{
      {{idle, in::prompt}, {opening, start}},
      {{idle, in::resume}, {idle, refuse_not_active}},
      {{idle, in::compact}, {opening, start}},
      {{idle, in::model_set}, {idle, accept}},
      {{idle, in::cancel}, {idle, refuse_not_active}},
      {{idle, in::queue_input}, {idle, refuse_not_active}},
      {{opening, in::prompt}, {opening, wait}},
      {{opening, in::resume}, {opening, stash}},
      {{opening, in::compact}, {opening, refuse_active}},
      {{opening, in::model_set}, {opening, accept}},
      {{opening, in::cancel}, {opening, stash}},
      {{opening, in::queue_input}, {opening, stash}},
      {{opening, in::opened}, {running, run}},
      {{opening, in::open_refused}, {idle, give_up_start}},
      {{running, in::prompt}, {running, wait}},
      {{running, in::resume}, {running, refuse_not_active}}, // nothing is interrupted
      {{running, in::compact}, {running, refuse_active}},
      {{running, in::model_set}, {running, accept}},
      {{running, in::cancel}, {running, accept}},
      {{running, in::queue_input}, {running, accept}},
      {{running, in::close}, {closing, write_end}},
      {{closing, in::prompt}, {closing, wait}},
      {{closing, in::resume}, {closing, stash}},
      {{closing, in::compact}, {closing, refuse_active}},
      {{closing, in::model_set}, {closing, accept}},
      {{closing, in::cancel}, {closing, stash}},
      {{closing, in::queue_input}, {closing, refuse_not_active}},
      {{closing, in::closed}, {idle, finish}},
      {{closing, in::close_refused}, {interrupted, leave_interrupted}},
      {{interrupted, in::prompt}, {settling, settle}},
      {{interrupted, in::resume}, {opening, resume}},
      {{interrupted, in::compact}, {settling, settle}},
      {{interrupted, in::model_set}, {settling, settle}},
      {{interrupted, in::cancel}, {settling, settle}},
      {{interrupted, in::queue_input}, {interrupted, refuse_not_active}},
      {{settling, in::prompt}, {settling, wait}},
      {{settling, in::resume}, {settling, stash}},
      {{settling, in::compact}, {settling, refuse_active}},
      {{settling, in::model_set}, {settling, stash}},
      {{settling, in::cancel}, {settling, stash}},
      {{settling, in::queue_input}, {settling, refuse_not_active}},
      {{settling, in::settled}, {idle, finish}},
      {{settling, in::settle_refused}, {interrupted, leave_interrupted}},
  };
  for (const auto s : states) {
    for (const auto i : inputs) {
      auto slot = slot_in(s);
      ASSERT_EQ(slot.at(), s);
      const auto expected = legal.find({s, i});
      const auto action = slot.on(i);
      const auto where =
          std::to_string(static_cast<int>(s)) + " meets " + std::to_string(static_cast<int>(i));
      EXPECT_EQ(action, expected == legal.end() ? illegal : expected->second.second) << where;
      EXPECT_EQ(slot.at(), expected == legal.end() ? s : expected->second.first)
          << where; // an illegal pair moves nothing
    }
  }
}

// The commands of clients are never illegal, and what an action asks the session to do has an
// answer that is legal in the next state.
TEST(execution_slot, S1_no_command_is_illegal_and_no_step_is_without_its_answer) {
  const std::map<slot_action, std::set<slot_input>> answers{
      {start, {slot_input::opened, slot_input::open_refused}},
      {resume, {slot_input::opened, slot_input::open_refused}},
      {settle, {slot_input::settled, slot_input::settle_refused}},
      {run, {slot_input::close}},
      {write_end, {slot_input::closed, slot_input::close_refused}}};
  for (const auto s : states) {
    for (const auto i : inputs) {
      const auto& t = slot_table()[static_cast<std::size_t>(s)][static_cast<std::size_t>(i)];
      if (i <= slot_input::queue_input) {
        EXPECT_NE(t.action, illegal);
      }
      if (const auto a = answers.find(t.action); a != answers.end()) {
        for (const auto answer : a->second) {
          EXPECT_NE(slot_table()[static_cast<std::size_t>(t.next)][static_cast<std::size_t>(answer)]
                        .action,
                    illegal);
        }
      }
    }
  }
}

// S1: from any order of inputs, a second operation starts only after the first was closed, refused
// or left interrupted.
TEST(execution_slot, S1_never_two_operations) {
  struct step {
    execution_slot slot;
    int open = 0;
  };
  std::function<void(step, int)> explore = [&](step at, int depth) {
    if (depth == 0)
      return;
    for (const auto i : inputs) {
      auto next = at;
      switch (next.slot.on(i)) {
      case start:
      case resume:
      case settle:
        EXPECT_EQ(next.open++, 0);
        break;
      case give_up_start:
      case finish:
      case leave_interrupted:
        EXPECT_EQ(next.open--, 1);
        break;
      default:
        break;
      }
      if (next.slot.at() != at.slot.at())
        explore(next, depth - 1);
    }
  };
  explore({}, 7);
}

} // namespace
} // namespace rind::session
