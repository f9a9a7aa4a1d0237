// The demo tools: their answers, their refusals, their progress; and the registry that holds them.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "runtime/config/settings.hpp"
#include "runtime/tools/demo_tools.hpp"

namespace rind::tools {
namespace {

struct heard {
  std::vector<std::string> progress;
  std::vector<outcome> ends;
};

heard call(tool& t, const std::string& arguments) {
  heard out;
  t.start({"i1", "s1", "t1", {"c1", t.definition().name, arguments}},
          {[&](std::string text) { out.progress.push_back(std::move(text)); },
           [&](outcome end) { out.ends.push_back(std::move(end)); }});
  return out;
}

TEST(demo_tools, calculate_follows_the_rules_of_arithmetic) {
  const std::pair<const char*, const char*> table[]{
      {"1+2*3", "7"},
      {"(1+2)*3", "9"},
      {"10-4-3", "3"},
      {"2*-3", "-6"},
      {"--5", "5"},
      {"7/2", "3.5"},
      {"7%4", "3"},
      {" 0.1 + 0.2 ", "0.30000000000000004"},
      {"1e3", "1000"},
      {".5*4", "2"},
      {"100/10/5", "2"},
      {"-(2+3)", "-5"},
      {"9007199254740993", "9007199254740992"},
  };
  for (const auto& [expression, expected] : table) {
    const auto value = calculate(expression);
    ASSERT_TRUE(value) << expression << ": " << value.error().message;
    EXPECT_EQ(*value, expected) << expression;
  }
}

TEST(demo_tools, calculate_says_what_is_wrong_and_where) {
  const std::pair<std::string, const char*> table[]{
      {"", "a number is missing at byte 0"},
      {"1+", "a number is missing at byte 2"},
      {"2 2", "unexpected character at byte 2"},
      {"(1", "a closing parenthesis is missing at byte 2"},
      {"1)", "unexpected character at byte 1"},
      {"1/0", "division by zero at byte 3"},
      {"1%(2-2)", "division by zero at byte 7"},
      {"1e999", "no number that can be used at byte 0"},
      {"1e308*10", "the value is too large at byte 8"},
      {"abs(1)", "a number is missing at byte 0"},
      {std::string(500, '('), "nested too deeply at byte 64"},
      {std::string(500, '-'), "nested too deeply at byte 64"},
      {std::string(1'001, '1'), "the expression is longer than 1000 bytes"},
  };
  for (const auto& [expression, expected] : table) {
    const auto value = calculate(expression);
    ASSERT_FALSE(value) << expression;
    EXPECT_EQ(value.error().message, expected) << expression;
  }
}

TEST(demo_tools, a_call_of_calculate_ends_with_the_value) {
  const auto t = make_calculate();
  const auto got = call(*t, R"({"expression":"6*7"})");
  ASSERT_EQ(got.ends.size(), 1u);
  EXPECT_EQ(got.ends[0].status, tool_status::completed);
  EXPECT_EQ(got.ends[0].text, "42");
  EXPECT_EQ(got.ends[0].error_type, "");
}

TEST(demo_tools, wrong_arguments_end_as_failed) {
  const auto quick = make_calculate();
  const auto lists = make_list_records();
  const std::pair<tool*, const char*> table[]{
      {quick.get(), ""},
      {quick.get(), "{"},
      {quick.get(), "[]"},
      {quick.get(), "{}"},
      {quick.get(), R"({"expression":1})"},
      {quick.get(), R"({"expression":"1/0"})"},
      {lists.get(), "{}"},
      {lists.get(), R"({"count":0})"},
      {lists.get(), R"({"count":-1})"},
      {lists.get(), R"({"count":2.5})"},
      {lists.get(), R"({"count":50001})"},
      {lists.get(), R"({"count":18446744073709551615})"},
      {lists.get(), R"({"count":1,"first":0})"},
  };
  for (const auto& [t, arguments] : table) {
    const auto got = call(*t, arguments);
    ASSERT_EQ(got.ends.size(), 1u) << arguments;
    EXPECT_EQ(got.ends[0].status, tool_status::failed) << arguments;
    EXPECT_EQ(got.ends[0].error_type, "invalid_arguments") << arguments;
    EXPECT_FALSE(got.ends[0].text.empty()) << arguments;
  }
}

TEST(demo_tools, list_records_gives_the_lines_asked_for_and_tells_its_progress) {
  const auto t = make_list_records();
  const auto got = call(*t, R"({"count":100,"first":7})");
  ASSERT_EQ(got.ends.size(), 1u);
  const auto& text = got.ends[0].text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_EQ(text.substr(0, 10), "record 7: ");
  ASSERT_EQ(got.progress.size(), 10u);
  EXPECT_EQ(got.progress.front(), "10 of 100 records");
  EXPECT_EQ(got.progress.back(), "100 of 100 records");
  EXPECT_EQ(call(*t, R"({"count":100,"first":7})").ends[0].text, text) << "deterministic";
}

TEST(demo_tools, the_longest_list_is_capped_with_head_and_tail) {
  const auto t = make_list_records();
  const auto got = call(*t, R"({"count":50000})");
  ASSERT_EQ(got.ends.size(), 1u);
  const auto& text = got.ends[0].text;
  EXPECT_LE(count_characters(text), output_limit_chars);
  EXPECT_NE(text.find("record 1: "), std::string::npos);
  EXPECT_NE(text.find("record 50000: "), std::string::npos);
  EXPECT_NE(text.find("characters left out"), std::string::npos);
}

TEST(demo_tools, have_the_names_that_the_settings_keep_free_for_them) {
  registry tools;
  add_demo_tools(tools);
  std::vector<std::string> names;
  const auto all = tools.definitions();
  for (const auto& definition : *all)
    names.push_back(definition.name);
  EXPECT_EQ(names, std::vector<std::string>(std::begin(config::demo_tool_names),
                                            std::end(config::demo_tool_names)));
}

TEST(registry, finds_tools_by_name_and_lists_them_sorted) {
  registry tools;
  EXPECT_EQ(tools.definitions(), nullptr);
  EXPECT_EQ(tools.find("calculate"), nullptr);
  tools.add(make_list_records());
  tools.add(make_calculate());
  ASSERT_NE(tools.find("calculate"), nullptr);
  EXPECT_EQ(tools.find("calculate")->definition().name, "calculate");
  EXPECT_EQ(tools.find("calc"), nullptr);
  const auto all = tools.definitions();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "calculate");
  EXPECT_EQ((*all)[1].name, "list_records");
  for (const auto& definition : *all)
    EXPECT_TRUE(nlohmann::json::parse(definition.parameters).is_object());
}

} // namespace
} // namespace rind::tools
