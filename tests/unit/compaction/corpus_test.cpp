// The cut between corpus and suffix.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/compaction/corpus.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::compaction {
namespace {

using kit::make_call;
using kit::text_of_tokens;

context::budget budget_of(std::int64_t threshold, std::int64_t window = 100'000) {
  context::budget b;
  b.window_tokens = window;
  b.threshold_tokens = threshold;
  return b;
}

/// `turns` answered turns of about `tokens` each, then an unread prompt.
kit::journal_builder answered_turns(int turns, std::int64_t tokens) {
  kit::journal_builder j;
  for (int i = 0; i < turns; ++i)
    j.turn("t" + std::to_string(i))
        .user(text_of_tokens(tokens / 2))
        .assistant(text_of_tokens(tokens / 2))
        .ended();
  j.turn("last").user("And now?");
  return j;
}

TEST(cut, S18_the_suffix_takes_the_newest_read_units_while_they_fit) {
  const auto v = answered_turns(20, 1'000).project().view();
  const auto b = budget_of(24'000); // room for 2,000: three or four halves of a turn
  const auto c = cut_view(v, b, suffix_size::normal);
  EXPECT_FALSE(c.nothing_to_compact);
  EXPECT_TRUE(check_cut(v, c));
  const auto read = c.suffix_tokens - c.suffix.back().tokens; // without the unread prompt
  EXPECT_LE(read, 2'000);
  EXPECT_GT(read, 1'400);
  EXPECT_EQ(c.suffix.back().msg->content, "And now?");
  EXPECT_EQ(c.start_index, 0);
  EXPECT_EQ(c.end_index_exclusive, c.suffix.front().start);
}

TEST(cut, S18_the_newest_read_unit_alone_may_exceed_the_share) {
  const auto v = answered_turns(3, 8'000).project().view();
  const auto c = cut_view(v, budget_of(24'000), suffix_size::normal);
  EXPECT_EQ(c.suffix.size(), 2U); // an answer of 4,000 and the prompt
  const auto not_in_a_small_window = cut_view(v, budget_of(24'000, 12'000), suffix_size::normal);
  EXPECT_EQ(not_in_a_small_window.suffix.size(), 1U);
}

TEST(cut, S25_the_smaller_suffix_is_smaller) {
  const auto v = answered_turns(20, 1'000).project().view();
  const auto b = budget_of(48'000);
  const auto normal = cut_view(v, b, suffix_size::normal);
  const auto small = cut_view(v, b, suffix_size::small);
  EXPECT_LT(small.suffix_tokens, normal.suffix_tokens);
  EXPECT_TRUE(check_cut(v, small));
  const auto big_unit = answered_turns(3, 8'000).project().view();
  EXPECT_EQ(cut_view(big_unit, b, suffix_size::small).suffix.size(),
            1U); // no exception for the newest
}

TEST(cut, S18_the_share_is_in_active_tokens) {
  const auto v = answered_turns(20, 1'000).project().view();
  const auto b = budget_of(24'000);
  EXPECT_GT(cut_view(v, b, suffix_size::normal, 0.5).suffix_tokens,
            cut_view(v, b, suffix_size::normal, 1.0).suffix_tokens);
}

TEST(cut, F24_unread_results_are_always_in_the_suffix) {
  kit::journal_builder j;
  j.turn()
      .user(text_of_tokens(2'000))
      .assistant("", {make_call("0")})
      .result("0", text_of_tokens(4'000));
  j.assistant("", {make_call("1"), make_call("2"), make_call("3")});
  j.result("3", text_of_tokens(9'000))
      .result("1", text_of_tokens(9'000))
      .result("2", text_of_tokens(9'000));
  const auto v = j.project().view();
  const auto c = cut_view(v, budget_of(12'000, 13'000), suffix_size::normal);
  EXPECT_EQ(c.end_index_exclusive, 3);
  ASSERT_EQ(c.suffix.size(), 4U);
  EXPECT_EQ(c.tool_call_ids, std::vector<std::string>{"0"});
  EXPECT_TRUE(check_cut(v, c));
}

TEST(cut, F18_placeholders_and_results_in_any_order_stay_with_their_call) {
  kit::journal_builder j;
  j.turn()
      .user("go")
      .assistant("", {make_call("1"), make_call("2"), make_call("3")})
      .result("2", "b")
      .result("3", "c")
      .resumed();
  j.user("on").assistant(text_of_tokens(9'000)).ended();
  j.turn("t2").user("more");
  const auto v = j.project().view();
  for (std::int64_t threshold = 12; threshold < 200'000; threshold = threshold * 3 / 2)
    EXPECT_TRUE(check_cut(v, cut_view(v, budget_of(threshold), suffix_size::normal))) << threshold;
}

TEST(cut, S27_nothing_besides_an_earlier_handoff_is_nothing_to_compact) {
  kit::journal_builder j;
  j.turn().user("one").assistant("a").ended();
  EXPECT_TRUE(cut_view(j.project().view(), budget_of(50'000), suffix_size::normal)
                  .nothing_to_compact); // all of it fits
  j.compacted(2, "What was.");
  auto v = j.project().view();
  auto c = cut_view(v, budget_of(50'000), suffix_size::normal);
  EXPECT_TRUE(c.nothing_to_compact);
  EXPECT_TRUE(c.suffix.empty());
  EXPECT_EQ(c.end_index_exclusive, 2);
  EXPECT_TRUE(
      cut_view(kit::journal_builder().project().view(), budget_of(50'000), suffix_size::normal)
          .nothing_to_compact);
  j.turn("t2").user(text_of_tokens(30'000)).assistant("b").ended();
  v = j.project().view();
  c = cut_view(v, budget_of(50'000), suffix_size::normal);
  EXPECT_FALSE(c.nothing_to_compact);
  EXPECT_EQ(c.corpus.size(), 3U); // the pair and the prompt
  EXPECT_EQ(c.start_index, 2);
  EXPECT_EQ(c.end_index_exclusive, 3);
}

TEST(cut, S18_a_tampered_cut_is_found) {
  const auto v = answered_turns(20, 1'000).project().view();
  const auto whole = cut_view(v, budget_of(24'000), suffix_size::normal);
  ASSERT_TRUE(check_cut(v, whole));
  auto lost = whole;
  lost.corpus.pop_back();
  EXPECT_FALSE(check_cut(v, lost));
  auto doubled = whole;
  doubled.suffix.insert(doubled.suffix.begin(), doubled.corpus.back());
  EXPECT_FALSE(check_cut(v, doubled));
  auto swapped = whole;
  std::swap(swapped.corpus[0], swapped.corpus[1]);
  EXPECT_FALSE(check_cut(v, swapped));
  auto moved = whole;
  moved.end_index_exclusive += 1;
  EXPECT_FALSE(check_cut(v, moved));
  auto unread = whole;
  while (!unread.suffix.empty()) {
    unread.corpus.push_back(unread.suffix.front());
    unread.suffix.erase(unread.suffix.begin());
  }
  unread.end_index_exclusive = v.message_count;
  EXPECT_FALSE(check_cut(v, unread));
}

TEST(cut, S18_a_split_unit_is_found) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1")}).result("1", "r").assistant("done").ended();
  const auto v = j.project().view();
  cut c;
  c.corpus = {v.items[1], v.items[2]};
  c.suffix = {v.items[3], v.items[4]};
  c.end_index_exclusive = 2;
  EXPECT_FALSE(check_cut(v, c));
  c.corpus.pop_back();
  c.suffix.insert(c.suffix.begin(), v.items[2]);
  c.end_index_exclusive = 1;
  EXPECT_TRUE(check_cut(v, c));
}

RC_GTEST_PROP(cut, S18_corpus_and_suffix_are_the_view_whatever_the_budget, ()) {
  kit::journal_builder j;
  const auto steps = *rc::gen::inRange(0, 25);
  j.turn().user(text_of_tokens(*rc::gen::inRange(1, 500)));
  for (int i = 0; i < steps; ++i) {
    const auto id = std::to_string(i);
    const auto size = *rc::gen::inRange<std::int64_t>(1, 2'000);
    switch (*rc::gen::inRange(0, 4)) {
    case 0:
      j.user(text_of_tokens(size));
      break;
    case 1:
      j.assistant(text_of_tokens(size));
      break;
    case 2:
      j.assistant("", {make_call(id), make_call(id + "b")})
          .result(id, text_of_tokens(size))
          .resumed();
      break;
    default:
      j.assistant("", {make_call(id)}).result(id, text_of_tokens(size));
      break;
    }
  }
  const auto v = j.project().view();
  const auto b = budget_of(*rc::gen::inRange<std::int64_t>(1, 60'000),
                           *rc::gen::inRange<std::int64_t>(1, 60'000));
  for (const auto size : {suffix_size::normal, suffix_size::small}) {
    const auto c = cut_view(v, b, size);
    RC_ASSERT(check_cut(v, c));
    RC_ASSERT(c.corpus_tokens + c.suffix_tokens == v.tokens);
    // The projection keeps exactly this suffix.
    if (c.nothing_to_compact)
      continue;
    auto compacted = j;
    compacted.compacted(c.end_index_exclusive, "What was.");
    const auto after = compacted.project();
    RC_ASSERT(!after.structure_fault());
    RC_ASSERT(after.view().items.size() == after.view().system_items + 2 + c.suffix.size());
    for (std::size_t i = 0; i < c.suffix.size(); ++i)
      RC_ASSERT(*after.view().items[after.view().system_items + 2 + i].msg == *c.suffix[i].msg);
  }
}

} // namespace
} // namespace rind::compaction
