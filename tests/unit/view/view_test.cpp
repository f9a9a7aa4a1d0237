// Units of a view and the message boundary.
#include <gtest/gtest.h>

#include "runtime/view/view.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::view {
namespace {

using kit::make_call;
using kit::make_message;

message_ptr system_message() {
  return make_message(message_role::system, "Be brief.");
}
message_ptr user(std::string text = "go") {
  return make_message(message_role::user, std::move(text));
}
message_ptr assistant(std::string text, std::vector<tool_call> calls = {}) {
  return make_message(message_role::assistant, std::move(text), std::move(calls));
}
message_ptr result(std::string id) {
  return make_message(message_role::tool, "ok", {}, std::move(id));
}

struct boundary_case {
  const char* name;
  std::vector<message_ptr> messages;
  const char* fault; // a part of it, or empty
};

const std::vector<boundary_case>& boundary_cases() {
  static const std::vector<boundary_case> cases{
      {"prompt", {system_message(), user()}, ""},
      {"no_system_message", {user()}, ""},
      {"results_in_another_order",
       {user(), assistant("", {make_call("1"), make_call("2"), make_call("3")}), result("2"),
        result("3"), result("1")},
       ""},
      {"two_user_messages", {user(), user()}, ""},
      {"handoff_before_a_call",
       {user(), assistant("handoff"), assistant("", {make_call("1")}), result("1")},
       ""},
      {"nothing", {}, "no message"},
      {"system_only", {system_message()}, "no message"},
      {"system_late", {user(), system_message()}, "system message"},
      {"assistant_first", {system_message(), assistant("hi"), user()}, "first message"},
      {"F43_assistant_last", {user(), assistant("hi")}, "last message"},
      {"empty_assistant", {user(), assistant(""), user()}, "empty"},
      {"open_call",
       {user(), assistant("", {make_call("1"), make_call("2")}), result("1")},
       "call 2 has no result"},
      {"F20_open_call_before_user",
       {user(), assistant("", {make_call("1")}), user()},
       "call 1 has no result"},
      {"result_without_call", {user(), result("1")}, "no call"},
      {"second_result",
       {user(), assistant("", {make_call("1")}), result("1"), result("1")},
       "no call"},
      {"result_of_an_older_batch",
       {user(), assistant("", {make_call("1")}), result("1"), user(), result("1")},
       "no call"},
      {"bad_text", {user("a\xff")}, "UTF-8"},
      {"bad_arguments",
       {user(), assistant("", {make_call("1", "f", "\xc3")}), result("1")},
       "UTF-8"},
  };
  return cases;
}

TEST(boundary, S8_each_rule_refuses_what_breaks_it) {
  for (const auto& c : boundary_cases()) {
    const auto fault = boundary_fault(c.messages);
    if (std::string_view{c.fault}.empty())
      EXPECT_FALSE(fault) << c.name << ": " << fault.value_or("");
    else
      EXPECT_TRUE(fault && fault->find(c.fault) != std::string::npos)
          << c.name << ": " << fault.value_or("no fault");
  }
}

TEST(boundary, S8_a_waiting_view_may_end_with_the_assistant) {
  boundary_checker checker;
  checker.add(*user());
  checker.add(*assistant("done"));
  EXPECT_TRUE(checker.fault());
  EXPECT_FALSE(checker.structure_fault());
}

TEST(boundary, S8_the_first_fault_sticks) {
  boundary_checker checker;
  checker.add(*user());
  checker.add(*result("1"));
  checker.add(*user());
  ASSERT_TRUE(checker.fault());
  EXPECT_NE(checker.fault()->find("call 1"), std::string::npos);
}

TEST(units, S18_a_call_and_its_results_are_one_unit) {
  kit::journal_builder j;
  j.turn()
      .user("one")
      .assistant("", {make_call("1"), make_call("2")})
      .result("2", "b")
      .result("1", "a")
      .assistant("done")
      .ended();
  j.turn("t2").user("two");
  const auto p = j.project();
  const auto units = units_of(p.view());
  ASSERT_EQ(units.size(), 4U);
  EXPECT_EQ(units[1].end - units[1].begin, 3U);
  EXPECT_FALSE(units[2].unread);
  EXPECT_TRUE(units[3].unread);
  std::int64_t sum = 0;
  for (const auto& u : units)
    sum += u.tokens;
  EXPECT_EQ(sum, p.view().tokens);
}

TEST(units, F18_a_placeholder_belongs_to_its_batch_and_is_unread) {
  kit::journal_builder j;
  j.turn().user("one").assistant("", {make_call("1"), make_call("2")}).result("1", "a").resumed();
  const auto p = j.project();
  const auto units = units_of(p.view());
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[1].end - units[1].begin, 3U);
  EXPECT_TRUE(units[1].unread);
}

TEST(units, S18_the_pair_of_a_handoff_is_one_unit) {
  kit::journal_builder j;
  j.turn().user("one").assistant("done").ended().compacted(2, "What was.");
  j.turn("t2").user("two");
  const auto p = j.project();
  const auto units = units_of(p.view());
  ASSERT_EQ(units.size(), 2U);
  EXPECT_TRUE(is_handoff_unit(p.view(), units[0]));
  EXPECT_EQ(units[0].end - units[0].begin, 2U);
  EXPECT_FALSE(is_handoff_unit(p.view(), units[1]));
}

} // namespace
} // namespace rind::view
