// The provider's counts, shared out and added up again.
#include <gtest/gtest.h>

#include "hosts/replay/true_sizes.hpp"

namespace rind::hosts::replay {
namespace {

recorded_message said(message_role role, std::string text,
                      std::optional<std::int64_t> input_tokens = {}) {
  recorded_message m;
  m.msg.role = role;
  m.msg.content = std::move(text);
  m.input_tokens = input_tokens;
  return m;
}

recorded_message result_of(const std::string& id, std::string text) {
  auto m = said(message_role::tool, std::move(text));
  m.msg.tool_call_id = id;
  return m;
}

recorded_message calling(const std::string& id, std::optional<std::int64_t> input_tokens) {
  auto m = said(message_role::assistant, std::string(96, 'a'), input_tokens);
  m.msg.tool_calls.push_back({id, "read", "{}"}); // 6 bytes more
  m.msg.content.resize(94);
  return m;
}

std::string bytes(std::size_t n) {
  return std::string(n, 'x');
}

message_ptr sent(const recorded_message& m) {
  return std::make_shared<message>(m.msg);
}

message_ptr other(message_role role, std::string text) {
  auto m = std::make_shared<message>();
  m->role = role;
  m->content = std::move(text);
  return m;
}

/// Fixed part 1,000; then 100 tokens over 100 + 300 bytes; then 60 over 200 + 100 bytes.
recording counted() {
  return {said(message_role::user, bytes(400)), calling("c", 1'100),
          result_of("c", bytes(300)),           said(message_role::assistant, bytes(200), 1'200),
          said(message_role::user, bytes(100)), said(message_role::assistant, bytes(50), 1'260)};
}

TEST(true_sizes, the_first_count_gives_the_fixed_part_and_differences_the_messages) {
  const auto r = counted();
  const true_sizes s(r);
  EXPECT_EQ(s.fixed_tokens(), 1'000);
  EXPECT_DOUBLE_EQ(s.tokens_of(0), 100);
  EXPECT_DOUBLE_EQ(s.tokens_of(1), 25); // 100 tokens, shared by bytes
  EXPECT_DOUBLE_EQ(s.tokens_of(2), 75);
  EXPECT_DOUBLE_EQ(s.tokens_of(3), 40);
  EXPECT_DOUBLE_EQ(s.tokens_of(4), 20);
  EXPECT_DOUBLE_EQ(s.tokens_per_byte(), 160.0 / 700.0);
  EXPECT_DOUBLE_EQ(s.tokens_of(5), 50 * 160.0 / 700.0); // no count after it
}

TEST(true_sizes, an_untouched_history_has_the_recorded_size) {
  const auto r = counted();
  const true_sizes s(r);
  std::vector<message_ptr> request{other(message_role::system, "system")};
  for (std::size_t i = 0; i < 5; ++i)
    request.push_back(sent(r[i]));
  EXPECT_EQ(s.request_tokens(request, 5), 1'260);
}

TEST(true_sizes, a_shortened_body_counts_its_share_and_a_handoff_its_bytes) {
  const auto r = counted();
  const true_sizes s(r);
  auto shortened = r[2].msg;
  shortened.content = bytes(100);
  EXPECT_EQ(s.request_tokens({std::make_shared<message>(shortened)}, 3), 1'025);
  const auto handoff = other(message_role::assistant, bytes(701));
  EXPECT_EQ(s.request_tokens({handoff}, 5), 1'160);
  EXPECT_EQ(s.foreign_tokens({handoff}), 160);
}

TEST(true_sizes, unknown_negative_and_empty_counts) {
  const recording r{said(message_role::user, bytes(4)),
                    said(message_role::assistant, bytes(100), 501),
                    said(message_role::user, bytes(100)),
                    said(message_role::assistant, bytes(100)), // unknown: its interval goes on
                    said(message_role::user, bytes(100)),
                    said(message_role::assistant, bytes(40), 901),
                    said(message_role::user, bytes(10)),
                    said(message_role::assistant, bytes(10), 700), // the context was changed
                    said(message_role::user, bytes(10)),
                    said(message_role::assistant, bytes(10), 700)};
  const true_sizes s(r);
  EXPECT_EQ(s.fixed_tokens(), 500);
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_DOUBLE_EQ(s.tokens_of(i), 100);
  EXPECT_DOUBLE_EQ(s.tokens_per_byte(), 401.0 / 420.0); // no growth counts as 1
  EXPECT_DOUBLE_EQ(s.tokens_of(5), 40 * 401.0 / 420.0);
  EXPECT_DOUBLE_EQ(s.tokens_of(7), 0.5);
}

TEST(true_sizes, without_any_count_four_bytes_are_a_token) {
  const recording r{said(message_role::user, bytes(40)), said(message_role::assistant, bytes(80))};
  const true_sizes s(r);
  EXPECT_EQ(s.fixed_tokens(), 0);
  EXPECT_EQ(s.request_tokens({sent(r[0]), sent(r[1])}, 2), 30);
  EXPECT_EQ(true_sizes(recording{}).fixed_tokens(), 0);
}

TEST(true_sizes, messages_that_say_the_same_are_told_apart_by_their_place) {
  const recording r{
      said(message_role::user, "go on"), said(message_role::assistant, bytes(10), 100),
      said(message_role::user, "go on"), said(message_role::assistant, bytes(5), 400),
      said(message_role::user, "go on"), said(message_role::assistant, bytes(5), 410)};
  const true_sizes s(r);
  const auto fixed = s.fixed_tokens();
  EXPECT_EQ(s.request_tokens({sent(r[2])}, 3), fixed + 100); // 300 over 10 + 5 bytes
  EXPECT_EQ(s.request_tokens({sent(r[4])}, 6), fixed + 5);
  EXPECT_EQ(s.request_tokens({sent(r[2]), sent(r[3]), sent(r[4])}, 6), fixed + 110);
}

} // namespace
} // namespace rind::hosts::replay
