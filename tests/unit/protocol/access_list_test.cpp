// S42: who gets in with which token, and that no limit is ever passed.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/protocol/access_list.hpp"

namespace rind::protocol {
namespace {

std::vector<config::named_secret> tokens(std::initializer_list<const char*> names) {
  std::vector<config::named_secret> out;
  for (const auto* name : names)
    out.push_back({name, config::secret(std::string("secret-of-") + name)});
  return out;
}

access_pass enter(const access_list& list, const char* token) {
  auto entered = list.enter(token);
  EXPECT_TRUE(entered);
  return std::move(*entered);
}

const token_limits two_of_each{2, 2, 2};

TEST(access_list, S42_the_token_decides_and_tells_its_name) {
  const access_list list(tokens({"ann", "bob"}), two_of_each);
  const auto in = list.enter("secret-of-bob");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->name(), "bob");
  EXPECT_TRUE(list.is_of(*in, "secret-of-bob"));
  EXPECT_FALSE(list.is_of(*in, "secret-of-ann"));
  for (const auto* wrong : {"", "secret-of-", "secret-of-bob ", "secret-of-bobs", "bob"}) {
    const auto refused = list.enter(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, error_code::unauthorized);
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
}

TEST(access_list, without_tokens_everybody_enters_and_nothing_is_counted) {
  const access_list list({}, {0, 0, 0});
  auto in = list.enter("whatever");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->name(), "");
  EXPECT_TRUE(in->begin_request());
  EXPECT_TRUE(in->follow(1'000));
}

TEST(access_list, S42_connections_requests_and_sessions_of_a_token_are_counted_together) {
  const access_list list(tokens({"ann", "bob"}), two_of_each);
  auto first = enter(list, "secret-of-ann");
  {
    auto second = enter(list, "secret-of-ann");
    EXPECT_EQ(list.enter("secret-of-ann").error().code, error_code::too_many_requests);
    EXPECT_TRUE(list.enter("secret-of-bob")); // of another token
    EXPECT_TRUE(first.begin_request());
    EXPECT_TRUE(second.begin_request());
    EXPECT_EQ(first.begin_request().error().code, error_code::too_many_requests);
    EXPECT_TRUE(first.follow(1));
    EXPECT_TRUE(second.follow(1));
    EXPECT_EQ(first.follow(2).error().code, error_code::too_many_requests);
    EXPECT_TRUE(first.follow(1)); // a refusal changes nothing
  }
  // What the second held came back with it.
  EXPECT_TRUE(list.enter("secret-of-ann"));
  EXPECT_TRUE(first.begin_request());
  EXPECT_FALSE(first.begin_request());
  first.end_request();
  EXPECT_TRUE(first.begin_request());
  EXPECT_TRUE(first.follow(2));
  EXPECT_TRUE(first.follow(0));
}

TEST(access_list, a_moved_pass_gives_back_once) {
  const access_list list(tokens({"ann"}), {1, 1, 1});
  auto first = enter(list, "secret-of-ann");
  EXPECT_TRUE(first.begin_request());
  {
    access_pass moved(std::move(first));
    EXPECT_FALSE(list.enter("secret-of-ann"));
    first = std::move(moved);
  }
  EXPECT_FALSE(list.enter("secret-of-ann"));
  first = access_pass();
  auto again = list.enter("secret-of-ann");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->begin_request());
}

TEST(access_list, S42_a_replaced_list_keeps_who_is_still_on_it_and_withdraws_the_others) {
  access_list list(tokens({"ann", "bob"}), {1, 1, 1});
  auto ann = enter(list, "secret-of-ann");
  auto bob = enter(list, "secret-of-bob");
  list.replace(tokens({"bob", "cy"}));
  EXPECT_TRUE(ann.is_withdrawn());
  EXPECT_FALSE(bob.is_withdrawn());
  EXPECT_EQ(list.enter("secret-of-ann").error().code, error_code::unauthorized);
  EXPECT_EQ(list.enter("secret-of-bob").error().code, error_code::too_many_requests); // still held
  EXPECT_TRUE(list.enter("secret-of-cy"));
  list.replace(tokens({"ann"}));
  EXPECT_TRUE(ann.is_withdrawn()); // it is the same text, but not the same permission
  EXPECT_TRUE(list.enter("secret-of-ann"));
}

TEST(access_list, a_limit_holds_whoever_adds_at_the_same_time) {
  const access_list list(tokens({"ann"}), {8, 5, 5});
  std::atomic<int> in_flight = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&] {
      auto pass = enter(list, "secret-of-ann");
      for (int i = 0; i < 2'000; ++i) {
        if (!pass.begin_request())
          continue;
        const int now = ++in_flight;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);)
          ;
        --in_flight;
        pass.end_request();
      }
    });
  for (auto& one : clients)
    one.join();
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 5);
  auto after = enter(list, "secret-of-ann");
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(after.begin_request());
  EXPECT_FALSE(after.begin_request());
}

} // namespace
} // namespace rind::protocol
