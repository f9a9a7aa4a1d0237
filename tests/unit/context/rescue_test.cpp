// Context rescue and shortened bodies.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "runtime/context/budget.hpp"
#include "runtime/context/rescue.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::context {
namespace {

using kit::make_call;
using kit::shown;
using view::item_kind;

constexpr auto plainly = [](std::int64_t local) { return local; };

std::string long_body(char fill = 'r') {
  return std::string(20'000, fill);
}

std::vector<message_ptr> messages_of(const view::message_view& v) {
  std::vector<message_ptr> out;
  for (const auto& i : v.items)
    out.push_back(i.msg);
  return out;
}

/// prompt, then `steps` batches of one call with a long result, the last of them unread.
kit::journal_builder working_session(int steps) {
  kit::journal_builder j;
  j.turn().user("Build it.");
  for (int i = 0; i < steps; ++i) {
    const auto id = "c" + std::to_string(i);
    j.assistant("Step " + std::to_string(i), {make_call(id)}).result(id, long_body());
  }
  return j;
}

TEST(rescue, S31_a_view_that_fits_is_not_touched) {
  const auto v = working_session(5).project().view();
  const auto plan = plan_rescue(v, 100, 1'000'000, plainly);
  EXPECT_FALSE(plan.changed);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(shown(plan.after), shown(v));
}

TEST(rescue, S31_bodies_of_read_results_go_first_oldest_first) {
  const auto v = working_session(6).project().view();
  const auto plan = plan_rescue(v, 0, v.tokens - 1, plainly);
  EXPECT_EQ(plan.replaced, (std::vector<replacement>{{2, 3, replacement_kind::body}}));
  EXPECT_TRUE(plan.fits);
  EXPECT_TRUE(plan.after.items[3].shortened);
}

TEST(rescue, S31_then_whole_units_oldest_first_as_one_note) {
  const auto v = working_session(6).project().view();
  const auto all_bodies = with_replaced(v, {{1, 9, replacement_kind::body}});
  const auto plan = plan_rescue(v, 0, all_bodies.tokens - 10, plainly);
  EXPECT_EQ(plan.replaced, (std::vector<replacement>{{1, 3, replacement_kind::units},
                                                     {4, 5, replacement_kind::body},
                                                     {6, 7, replacement_kind::body},
                                                     {8, 9, replacement_kind::body}}));
  EXPECT_EQ(plan.after.items[1].msg->content, "Build it."); // the newest words of the person
  EXPECT_EQ(plan.after.items[2].kind, item_kind::left_out);
  EXPECT_EQ(plan.after.items[2].left_out_messages, 2);
  EXPECT_TRUE(plan.fits);
}

TEST(rescue, S31_unread_bodies_go_last_and_the_last_two_units_stay) {
  const auto v = working_session(6).project().view();
  const auto plan = plan_rescue(v, 0, 1, plainly);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.replaced, (std::vector<replacement>{{1, 9, replacement_kind::units},
                                                     {12, 13, replacement_kind::body}}));
  const auto& items = plan.after.items;
  ASSERT_EQ(items.size(), 7U);      // system, prompt, note, two units of a call and its result
  EXPECT_FALSE(items[4].shortened); // read, but in the last two units
  EXPECT_TRUE(items[6].shortened);
}

TEST(rescue, S31_the_handoff_and_the_newest_words_of_the_person_stay) {
  kit::journal_builder j;
  j.turn().user("Old.").assistant("Done.").ended().compacted(2, "Long handoff. " +
                                                                    kit::text_of_tokens(500));
  j.turn("t2").user("Newest words. " + kit::text_of_tokens(500));
  for (int i = 0; i < 4; ++i)
    j.assistant(kit::text_of_tokens(300), {make_call("c" + std::to_string(i))})
        .result("c" + std::to_string(i), "short");
  const auto plan = plan_rescue(j.project().view(), 0, 1, plainly);
  ASSERT_TRUE(plan.changed);
  std::vector<item_kind> kinds;
  for (const auto& i : plan.after.items)
    kinds.push_back(i.kind);
  EXPECT_EQ(kinds,
            (std::vector<item_kind>{item_kind::system, item_kind::continuation, item_kind::handoff,
                                    item_kind::message, item_kind::left_out, item_kind::message,
                                    item_kind::message, item_kind::message, item_kind::message}));
  EXPECT_EQ(plan.after.items[3].start, 2);
}

TEST(rescue, S31_a_second_rescue_merges_with_the_note_of_the_first) {
  auto j = working_session(8);
  j.rescued({{1, 3, replacement_kind::units}});
  const auto v = j.project().view();
  const auto plan = plan_rescue(v, 0, 1, plainly);
  ASSERT_FALSE(plan.replaced.empty());
  EXPECT_EQ(plan.replaced[0], (replacement{1, 13, replacement_kind::units}));
  j.rescued(plan.replaced);
  auto after = plan.after;
  const auto committed = j.project().view();
  after.generation = committed.generation;
  after.view_position = committed.view_position;
  EXPECT_EQ(shown(after), shown(committed)); // the plan is what the projection makes of it
}

TEST(rescue, S31_a_note_is_never_larger_than_what_it_stands_for) {
  kit::journal_builder j;
  j.turn().user("a").assistant("b").ended();
  j.turn("t2").user("c").assistant("d").user("e").assistant("f").user("g");
  const auto v = j.project().view();
  const auto plan = plan_rescue(v, 0, 1, plainly);
  EXPECT_LE(plan.after.tokens, v.tokens);
}

TEST(rescue, S31_nothing_left_to_replace_is_no_change) {
  kit::journal_builder j;
  j.turn().user(kit::text_of_tokens(5'000));
  const auto plan = plan_rescue(j.project().view(), 0, 100, plainly);
  EXPECT_FALSE(plan.changed);
  EXPECT_FALSE(plan.fits);
}

TEST(rescue, S31_the_limit_is_judged_by_the_active_estimate) {
  const auto v = working_session(6).project().view();
  const auto doubled = [](std::int64_t local) { return 2 * local; };
  const auto plan = plan_rescue(v, 50, 2 * (v.tokens + 50) - 1, doubled);
  EXPECT_EQ(plan.replaced.size(), 1U);
  EXPECT_EQ(plan.active_tokens, 2 * (plan.after.tokens + 50));
}

TEST(rescue, S18a_only_unread_bodies_are_shortened_oldest_first) {
  kit::journal_builder j;
  j.turn().user("Read all.").assistant("", {make_call("0")}).result("0", long_body());
  j.assistant("", {make_call("1"), make_call("2"), make_call("3")});
  j.result("1", long_body('a')).result("2", long_body('b')).result("3", long_body('c'));
  const auto v = j.project().view();
  const auto one = shorten_unread(v, 0, v.tokens - 1, plainly);
  EXPECT_EQ(one.replaced, (std::vector<replacement>{{4, 5, replacement_kind::body}}));
  const auto all = shorten_unread(v, 0, 1, plainly);
  EXPECT_EQ(all.replaced, (std::vector<replacement>{{4, 7, replacement_kind::body}}));
  EXPECT_FALSE(all.after.items[3].shortened); // read
  EXPECT_FALSE(all.fits);
}

TEST(rescue, F22_one_giant_unread_result_is_enough_to_shorten) {
  kit::journal_builder j;
  j.turn()
      .user("Read it.")
      .assistant("", {make_call("1")})
      .result("1", kit::text_of_tokens(50'000));
  const auto v = j.project().view();
  const auto plan = shorten_unread(v, 1'000, 30'000, plainly);
  EXPECT_TRUE(plan.fits);
  EXPECT_FALSE(view::boundary_fault(messages_of(plan.after)));
}

TEST(shortened_body, S18a_keeps_the_first_and_last_characters) {
  const auto body = std::string(2'000, 'a') + std::string(1'000, 'b') + std::string(2'000, 'c');
  const auto cut = shortened_body(body);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->starts_with(std::string(2'000, 'a') + "\n["));
  EXPECT_TRUE(cut->ends_with("]\n" + std::string(2'000, 'c')));
  EXPECT_NE(cut->find("1000 characters"), std::string::npos);
}

TEST(shortened_body, S18a_a_body_that_would_not_get_shorter_stays) {
  EXPECT_FALSE(shortened_body(""));
  EXPECT_FALSE(shortened_body(std::string(4'000, 'a')));
  EXPECT_FALSE(shortened_body(std::string(4'020, 'a')));
  EXPECT_TRUE(shortened_body(std::string(4'100, 'a')));
}

TEST(shortened_body, S18a_an_excerpt_is_not_shortened_again) {
  kit::journal_builder j;
  j.turn().user("go").assistant("", {make_call("1")}).result("1", long_body());
  const auto once = with_replaced(j.project().view(), {{2, 3, replacement_kind::body}});
  const auto twice = with_replaced(once, {{2, 3, replacement_kind::body}});
  EXPECT_EQ(shown(once), shown(twice));
}

TEST(merge_replacements, S31_ranges_merge_and_bodies_inside_units_go) {
  using enum replacement_kind;
  EXPECT_EQ(
      merge_replacements(
          {{8, 9, body}, {1, 3, units}, {3, 5, units}, {2, 3, body}, {4, 7, body}, {9, 10, body}}),
      (std::vector<replacement>{{1, 5, units}, {5, 7, body}, {8, 10, body}}));
  EXPECT_EQ(merge_replacements({{0, 10, body}, {4, 6, units}}),
            (std::vector<replacement>{{0, 4, body}, {4, 6, units}, {6, 10, body}}));
}

// -- properties
// -----------------------------------------------------------------------------------------------------------------------

/// A random session that ends where a sampling may follow.
kit::journal_builder random_session() {
  kit::journal_builder j;
  const auto size = *rc::gen::inRange(1, 30);
  j.turn().user(kit::text_of_tokens(*rc::gen::inRange(1, 200)));
  for (int i = 0; i < size; ++i) {
    const auto id = std::to_string(i);
    const auto body = std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 12'000)), 'r');
    switch (*rc::gen::inRange(0, 5)) {
    case 0:
      j.user(kit::text_of_tokens(*rc::gen::inRange(1, 300)));
      break;
    case 1:
      j.assistant(kit::text_of_tokens(*rc::gen::inRange(1, 300))).user("and?");
      break;
    case 2:
      j.assistant("", {make_call(id)}).resumed(); // a placeholder
      break;
    case 3:
      j.assistant("x", {make_call(id + "a"), make_call(id + "b")})
          .result(id + "b", body)
          .result(id + "a", "short");
      break;
    default:
      j.assistant("", {make_call(id)}).result(id, body);
      break;
    }
  }
  return j;
}

RC_GTEST_PROP(rescue, S31_never_breaks_the_message_boundary, ()) {
  auto j = random_session();
  const auto before = j.project();
  const auto& v = before.view();
  RC_PRE(!before.fault());
  const auto limit = *rc::gen::inRange<std::int64_t>(1, v.tokens + 10);
  const auto plan = plan_rescue(v, 0, limit, plainly);
  RC_ASSERT(!view::boundary_fault(messages_of(plan.after)));
  RC_ASSERT(plan.after.tokens <= v.tokens);
  RC_ASSERT(plan.fits == (plan.after.tokens <= limit));
  const auto units = view::units_of(v);
  for (const auto& r : plan.replaced)
    if (r.kind == replacement_kind::units) {
      RC_ASSERT(r.end_exclusive <= v.first_unread);
      RC_ASSERT(r.end_exclusive <= v.newest_user_index || r.start > v.newest_user_index);
    }
  // Committed, the journal gives the same view; and once more after more messages.
  if (!plan.changed)
    return;
  j.rescued(plan.replaced);
  auto expected = plan.after;
  const auto committed = j.project().view();
  expected.generation = committed.generation;
  expected.view_position = committed.view_position;
  RC_ASSERT(shown(expected) == shown(committed));
}

RC_GTEST_PROP(rescue, S11_replacing_in_steps_is_replacing_at_once, ()) {
  auto j = random_session();
  const auto v = j.project().view();
  const auto first = plan_rescue(v, 0, v.tokens * 3 / 4, plainly);
  const auto second = plan_rescue(first.after, 0, v.tokens / 2, plainly);
  auto all = first.replaced;
  all.insert(all.end(), second.replaced.begin(), second.replaced.end());
  RC_ASSERT(shown(second.after) == shown(with_replaced(v, all)));
}

RC_GTEST_PROP(shortened_body, S21_is_valid_utf8, ()) {
  const auto characters = *rc::gen::inRange(0, 9'000);
  const std::vector<std::string> alphabet{"a", "\u00e9", "\u6f22", "\U0001f600", "\n"};
  const auto seed = *rc::gen::inRange(1, 1'000);
  std::string body;
  for (int i = 0; i < characters; ++i)
    body += alphabet[static_cast<std::size_t>(i * seed + i / 7) % alphabet.size()];
  const auto cut = shortened_body(body);
  if (!cut) {
    RC_ASSERT(characters <= 4'100);
    return;
  }
  RC_ASSERT(is_valid_utf8(*cut));
  RC_ASSERT(cut->size() < body.size());
  RC_ASSERT(count_characters(*cut) <= shortened_head_chars + shortened_tail_chars + 60);
}

} // namespace
} // namespace rind::context
