// The two queues of a running operation, against a plain model of S3.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/session/input_queues.hpp"

namespace rind::session {
namespace {

using enum input_mode;

input_queues filled(std::vector<queued_input> inputs, queue_limits limits = {}) {
  input_queues q{limits};
  std::int64_t position = 0;
  for (auto& in : inputs) {
    const auto id = in.input_id;
    EXPECT_TRUE(q.begin_accept(std::move(in)));
    q.accepted(id, ++position);
  }
  return q;
}

std::string order(input_queues q) {
  std::string all;
  while (auto in = q.begin_deliver(false)) {
    q.left(in->input_id);
    all += in->input_id + " ";
  }
  return all;
}

TEST(input_queues, S3_four_inputs_a_queue) {
  auto q = filled(
      {{"1", steering, "a"}, {"2", steering, "a"}, {"3", steering, "a"}, {"4", steering, "a"}});
  const auto fifth = q.begin_accept({"5", steering, "a"});
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().code, error_code::input_queue_full);
  EXPECT_TRUE(q.begin_accept({"6", follow_up, "a"})); // the other queue has its own limit
}

TEST(input_queues, S3_eight_thousand_characters_a_queue_not_bytes) {
  std::string wide;
  for (int i = 0; i < 4'000; ++i)
    wide += "\xe6\xbc\xa2"; // three bytes, one character
  auto q = filled({{"1", steering, wide}, {"2", steering, wide}});
  EXPECT_FALSE(q.begin_accept({"3", steering, "a"}));
  EXPECT_TRUE(q.begin_accept({"4", follow_up, std::string(8'000, 'x')}));
  input_queues other{queue_limits{}};
  EXPECT_FALSE(other.begin_accept({"5", follow_up, std::string(8'001, 'x')}));
}

TEST(input_queues, S3_limits_hold_while_entries_are_on_their_way) {
  input_queues q{queue_limits{}};
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(q.begin_accept({std::to_string(i), steering, "a"}));
  EXPECT_FALSE(q.begin_accept({"5", steering, "a"}));
  q.accept_refused("0");
  EXPECT_TRUE(q.begin_accept({"5", steering, "a"}));
}

TEST(input_queues, S3_what_is_not_journaled_yet_is_not_delivered_nor_taken_back) {
  input_queues q{queue_limits{}};
  EXPECT_TRUE(q.begin_accept({"1", steering, "a"}));
  EXPECT_TRUE(q.unsettled());
  EXPECT_FALSE(q.begin_deliver(false));
  EXPECT_EQ(q.begin_take_back(steering, {}).error().code, error_code::input_not_pending);
  q.accepted("1", 1);
  EXPECT_FALSE(q.unsettled());
  EXPECT_EQ(q.begin_deliver(true)->input_id, "1");
}

TEST(input_queues, S3_oldest_first_and_steering_before_follow_up) {
  const auto q = filled({{"f1", follow_up, "a"},
                         {"s1", steering, "a"},
                         {"f2", follow_up, "a"},
                         {"s2", steering, "a"}});
  EXPECT_EQ(order(q), "s1 s2 f1 f2 ");
  auto only = q;
  only.clear();
  EXPECT_FALSE(only.begin_deliver(false));
  auto follow_ups = filled({{"f1", follow_up, "a"}});
  EXPECT_FALSE(follow_ups.begin_deliver(true));
}

TEST(input_queues, S3_taking_back_returns_the_newest_or_the_one_with_the_id) {
  auto q = filled({{"s1", steering, "a"},
                   {"s2", steering, "b"},
                   {"f1", follow_up, "c"},
                   {"s3", steering, "d"}});
  EXPECT_EQ(q.begin_take_back(steering, {})->input_id, "s3");
  EXPECT_EQ(q.begin_take_back(steering, "s1")->text, "a");
  EXPECT_EQ(q.begin_take_back(steering, "s1").error().code,
            error_code::input_not_pending); // on its way out
  EXPECT_EQ(q.begin_take_back(steering, "f1").error().code, error_code::input_not_pending);
  EXPECT_EQ(q.begin_take_back(steering, "nothing").error().code, error_code::input_not_pending);
  q.left("s3");
  q.leave_refused("s1"); // the journal refused: it waits again, where it stood
  EXPECT_EQ(order(q), "s1 s2 f1 ");
}

TEST(input_queues, S3_a_promoted_follow_up_is_the_last_of_steering) {
  auto q = filled({{"f1", follow_up, "a"}, {"s1", steering, "a"}, {"f2", follow_up, "a"}});
  EXPECT_TRUE(q.begin_promote("f1"));
  EXPECT_EQ(q.begin_promote("f1").error().code, error_code::input_not_pending);
  EXPECT_EQ(q.begin_promote("s1").error().code, error_code::input_not_pending);
  EXPECT_TRUE(q.unsettled());
  q.promoted("f1", 9);
  EXPECT_EQ(order(q), "s1 f1 f2 ");
  auto refused = filled({{"f1", follow_up, "a"}});
  EXPECT_TRUE(refused.begin_promote("f1"));
  refused.promote_refused("f1");
  EXPECT_TRUE(refused.has(follow_up));
}

TEST(input_queues, S3_promotions_on_their_way_count_in_steering) {
  auto q = filled({{"s1", steering, "a"},
                   {"s2", steering, "a"},
                   {"s3", steering, "a"},
                   {"f1", follow_up, "a"},
                   {"f2", follow_up, "a"}});
  EXPECT_TRUE(q.begin_promote("f1"));
  EXPECT_EQ(q.begin_promote("f2").error().code, error_code::input_queue_full);
  EXPECT_FALSE(q.begin_accept({"s4", steering, "a"}));
  q.promoted("f1", 9);
  EXPECT_EQ(q.count(steering), 4);
}

TEST(input_queues, S3_the_order_is_the_journals_whatever_order_its_answers_come_in) {
  auto q = filled({{"f1", follow_up, "a"}});
  EXPECT_TRUE(q.begin_promote("f1"));
  EXPECT_TRUE(q.begin_accept({"s1", steering, "a"}));
  EXPECT_TRUE(q.begin_accept({"s2", steering, "a"}));
  q.accepted("s2", 13); // the answer to s1 was lost and is asked for once more
  q.promoted("f1", 11);
  q.accepted("s1", 12);
  EXPECT_EQ(order(q), "f1 s1 s2 ");
}

TEST(input_queues, S3_the_rest_is_handed_back_oldest_first) {
  auto q = filled({{"f1", follow_up, "x"}, {"s1", steering, "y"}});
  EXPECT_EQ(q.rest(),
            (std::vector<undelivered_input>{{"f1", follow_up, "x"}, {"s1", steering, "y"}}));
}

TEST(input_queues, S3_a_resumed_operation_keeps_its_queues) {
  auto q = filled({{"old", steering, "x"}});
  q.restore({{"s1", steering, "a"}, {"f1", follow_up, "b"}});
  EXPECT_EQ(order(q), "s1 f1 ");
  EXPECT_FALSE(q.unsettled());
}

/// What S3 says, without anything on its way.
struct plain {
  std::vector<queued_input> steering_inputs, follow_ups;
  std::vector<queued_input>& of(input_mode m) {
    return m == steering ? steering_inputs : follow_ups;
  }
};

// Each accepted input comes out exactly once (delivered, taken back or handed back), in the order
// of S3.
RC_GTEST_PROP(input_queues, S3_any_order_of_requests_is_as_the_plain_model_says, ()) {
  input_queues q{queue_limits{3, 30}};
  plain model;
  std::vector<std::string> accepted, out;
  const auto steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const auto mode = *rc::gen::element(steering, follow_up);
    auto& list = model.of(mode);
    const bool journal_takes = *rc::gen::inRange(0, 4) > 0;
    switch (*rc::gen::inRange(0, 4)) {
    case 0: {
      queued_input in{"i" + std::to_string(i), mode,
                      std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 16)), 'x')};
      std::size_t characters = in.text.size();
      for (const auto& other : list)
        characters += other.text.size();
      const bool room = list.size() < 3 && characters <= 30;
      RC_ASSERT(static_cast<bool>(q.begin_accept(in)) == room);
      if (!room)
        break;
      if (journal_takes) {
        q.accepted(in.input_id, i);
        accepted.push_back(in.input_id);
        list.push_back(in);
      } else {
        q.accept_refused(in.input_id);
      }
      break;
    }
    case 1: {
      const bool steering_only = *rc::gen::arbitrary<bool>();
      auto& from = !model.steering_inputs.empty() || steering_only ? model.steering_inputs
                                                                   : model.follow_ups;
      const auto in = q.begin_deliver(steering_only);
      RC_ASSERT(in.has_value() == !from.empty());
      if (!in)
        break;
      RC_ASSERT(*in == from.front());
      if (journal_takes) {
        q.left(in->input_id);
        out.push_back(in->input_id);
        from.erase(from.begin());
      } else {
        q.leave_refused(in->input_id);
      }
      break;
    }
    case 2: {
      const auto in = q.begin_take_back(mode, {});
      RC_ASSERT(static_cast<bool>(in) == !list.empty());
      if (!in)
        break;
      RC_ASSERT(*in == list.back());
      if (journal_takes) {
        q.left(in->input_id);
        out.push_back(in->input_id);
        list.pop_back();
      } else {
        q.leave_refused(in->input_id);
      }
      break;
    }
    default: {
      if (model.follow_ups.empty())
        break;
      auto in = model.follow_ups.front();
      std::size_t characters = in.text.size();
      for (const auto& other : model.steering_inputs)
        characters += other.text.size();
      const bool room = model.steering_inputs.size() < 3 && characters <= 30;
      RC_ASSERT(static_cast<bool>(q.begin_promote(in.input_id)) == room);
      if (!room)
        break;
      if (journal_takes) {
        q.promoted(in.input_id, i);
        model.follow_ups.erase(model.follow_ups.begin());
        in.mode = steering;
        model.steering_inputs.push_back(in);
      } else {
        q.promote_refused(in.input_id);
      }
    }
    }
    RC_ASSERT(!q.unsettled());
    RC_ASSERT(q.count(steering) == static_cast<std::int64_t>(model.steering_inputs.size()));
    RC_ASSERT(q.count(follow_up) == static_cast<std::int64_t>(model.follow_ups.size()));
  }
  for (const auto& in : q.rest())
    out.push_back(in.input_id);
  std::sort(out.begin(), out.end());
  std::sort(accepted.begin(), accepted.end());
  RC_ASSERT(out == accepted);
}

} // namespace
} // namespace rind::session
