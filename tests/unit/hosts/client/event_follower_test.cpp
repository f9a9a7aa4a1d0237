// S37, as far as it is the client's: each durable event once and in order, over pages and held-back
// frames.
#include <gtest/gtest.h>

#include "hosts/client/event_follower.hpp"

namespace rind::hosts::client {
namespace {

using nlohmann::json;

json durable(int sequence, int cursor) {
  return {{"sequence", sequence}, {"event", {{"type", "turn_started"}, {"cursor", cursor}}}};
}

json passing(int sequence) {
  return {{"sequence", sequence}, {"event", {{"type", "assistant_delta"}}}};
}

json page(int cursor, bool has_more, json as_of = nullptr) {
  return {{"cursor", cursor}, {"has_more", has_more}, {"as_of_sequence", std::move(as_of)}};
}

TEST(event_follower, S37_frames_are_held_back_until_the_last_page) {
  event_follower follower(0);
  EXPECT_FALSE(follower.take_frame(durable(1, 5)));
  ASSERT_TRUE(follower.take_page(page(3, true)));
  EXPECT_FALSE(follower.is_live());
  EXPECT_EQ(follower.cursor(), 3);
  EXPECT_FALSE(follower.take_frame(passing(2)));
  ASSERT_TRUE(follower.take_page(page(5, false, 2)));
  EXPECT_TRUE(follower.is_live());
  EXPECT_TRUE(follower.take_released().empty());
  EXPECT_TRUE(follower.take_frame(passing(3)));
}

TEST(event_follower, S37_what_the_last_page_covers_is_dropped_and_the_rest_follows_in_order) {
  event_follower follower(0);
  for (const auto& frame : {durable(1, 4), passing(2), durable(3, 5), passing(4), durable(5, 6)})
    EXPECT_FALSE(follower.take_frame(frame));
  ASSERT_TRUE(follower.take_page(page(5, false, 2)));
  const auto released = follower.take_released();
  ASSERT_EQ(released.size(), 2u);
  EXPECT_EQ(released[0]["sequence"], 4);
  EXPECT_EQ(released[1]["sequence"], 5);
  EXPECT_EQ(follower.cursor(), 6);
}

TEST(event_follower, S37_a_durable_repeat_is_dropped_while_live) {
  event_follower follower(7);
  ASSERT_TRUE(follower.take_page(page(7, false, 0)));
  EXPECT_FALSE(follower.take_frame(durable(1, 7)));
  EXPECT_TRUE(follower.take_frame(durable(2, 9)));
  EXPECT_FALSE(follower.take_frame(durable(3, 8)));
  EXPECT_EQ(follower.cursor(), 9);
}

TEST(event_follower, an_answer_that_is_no_page_is_refused) {
  const std::vector<json> cases = {
      nullptr,
      json::object(),
      {{"cursor", "x"}, {"has_more", false}},
      {{"cursor", 1}},
      page(3, true)}; // more, but not a step further: asking again would never end
  for (const auto& one : cases) {
    event_follower follower(3);
    EXPECT_FALSE(follower.take_page(one)) << one;
    EXPECT_FALSE(follower.is_live());
  }
}

TEST(event_follower, holds_back_no_more_than_its_bound) {
  event_follower follower(0);
  for (std::size_t count = 0; count < held_frames_max; ++count)
    follower.take_frame(json());
  EXPECT_FALSE(follower.is_overrun());
  follower.take_frame(json());
  EXPECT_TRUE(follower.is_overrun());
}

} // namespace
} // namespace rind::hosts::client
