// The estimate: additive, script-aware, near what tokenizers count.
#include <cstdlib>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/context/token_estimator.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::context {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

struct density_case {
  const char* name;
  std::string text;
  double characters_a_token_min;
  double characters_a_token_max;
};

TEST(estimate, F14_each_script_has_its_density) {
  const std::vector<density_case> cases{
      {"english",
       repeated(
           "The old farmer had been watching everything from his porch, and then he went away. ",
           20),
       3.5, 5.0},
      {"code",
       repeated("for (std::size_t i = 0; i < items.size(); ++i)\n    total += items[i].tokens;\n",
                20),
       2.0, 3.5},
      {"json", repeated(R"({"id":"call_12","path":"/src/main.cpp","offset":100,"limit":250},)", 20),
       1.8, 3.5},
      {"digits", repeated("31415926", 50), 1.0, 3.0},
      {"spaces", std::string(800, ' '), 8.0, 30.0},
      {"one_letter", std::string(4'000, 'x'), 2.5, 6.0},
      {"han", repeated("\u8bf7\u628a\u8fd9\u4e2a\u6587\u4ef6", 60), 0.65, 1.0},
      {"kana", repeated("\u3053\u306e\u30d5\u30a1\u30a4\u30eb", 60), 0.65, 1.3},
      {"hangul", repeated("\uc774\ud30c\uc77c\uc758", 60), 0.65, 1.2},
      {"decomposed_hangul", repeated("\u1112\u1161\u11ab", 60), 0.4, 0.8},
      {"cyrillic", repeated("\u0444\u0430\u0439\u043b ", 60), 1.5, 3.5},
      {"emoji", repeated("\U0001f600\U0001f680", 60), 0.3, 0.6},
  };
  for (const auto& c : cases) {
    std::int64_t characters = 0;
    for (const char byte : c.text)
      characters += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
    const auto density =
        static_cast<double>(characters) / static_cast<double>(estimate_text(c.text));
    EXPECT_GE(density, c.characters_a_token_min) << c.name;
    EXPECT_LE(density, c.characters_a_token_max) << c.name;
  }
}

TEST(estimate, S12_nothing_costs_nothing_and_anything_costs_something) {
  EXPECT_EQ(estimate_text(""), 0);
  for (const char* text : {"a", " ", "\n", "0", ".", "\u6f22"})
    EXPECT_GE(estimate_text(text), 1) << text;
}

TEST(estimate, S12_a_message_counts_everything_that_is_sent) {
  message m;
  m.role = message_role::assistant;
  m.content = "text";
  const auto plain = estimate_message(m);
  m.tool_calls.push_back({"call_1", "read_file", R"({"path":"a"})"});
  const auto with_call = estimate_message(m);
  EXPECT_GT(with_call, plain + estimate_text(R"({"path":"a"})"));
  m.reasoning = reasoning_block{"a long thought about it", R"({"signature":"0123456789"})"};
  EXPECT_GT(estimate_message(m), with_call + 5);
  EXPECT_GE(estimate_message(message{}), 1);
}

TEST(estimate, F12_only_reasoning_that_is_sent_again_counts) {
  message m;
  m.role = message_role::assistant;
  m.content = "text";
  const auto plain = estimate_message(m);
  const std::string thought(4'000, 'a');
  m.reasoning = reasoning_block{thought, ""};
  EXPECT_EQ(estimate_message(m), plain);
  m.reasoning->opaque = R"({"thinking":")" + thought + "\"}";
  EXPECT_GT(estimate_message(m), plain + estimate_text(thought) / 2);
  EXPECT_LT(estimate_message(m), plain + estimate_text(thought) * 3 / 2); // and counts once
}

TEST(estimate, F13_tool_schemas_count) {
  EXPECT_EQ(estimate_tools({}), 0);
  const tool_definition tool{"read_file", "Reads a file of the workspace.", R"({"type":"object"})"};
  EXPECT_EQ(estimate_tools({tool, tool}), 2 * estimate_tools({tool}));
  EXPECT_GT(estimate_tools({tool}), estimate_text(tool.description));
}

TEST(estimate, F14_an_escape_in_json_costs_about_what_it_stands_for) {
  const std::string code = repeated(
      "\tif (open) {\n\t\tsay(\"it is open\");\n\t\tpaths.push_back(\"C:\\\\files\");\n\t}\n", 20);
  std::string escaped;
  for (const char c : code)
    escaped += c == '\n'   ? "\\n"
               : c == '\t' ? "\\t"
               : c == '"'  ? "\\\""
               : c == '\\' ? "\\\\"
                           : std::string(1, c);
  EXPECT_NEAR(static_cast<double>(estimate_json(escaped)), static_cast<double>(estimate_text(code)),
              0.02 * static_cast<double>(estimate_text(code)));
  EXPECT_GT(estimate_text(escaped), estimate_text(code)); // as text the escapes are read too
  EXPECT_EQ(estimate_json(""), 0);
  EXPECT_GE(estimate_json("\\"), 1); // cut inside an escape
  EXPECT_GE(estimate_json("\\u00e9"), 1);
}

TEST(estimate, F14_an_escape_in_a_text_is_one_token_with_its_letter) {
  EXPECT_NEAR(static_cast<double>(estimate_text(repeated("\\t", 100))), 60, 40);
}

RC_GTEST_PROP(estimate, S12_a_concatenation_is_the_sum_within_a_token_a_piece,
              (const std::vector<std::string>& pieces)) {
  std::string all;
  std::int64_t sum = 0;
  for (const auto& p : pieces) {
    all += p;
    sum += estimate_text(p);
  }
  RC_ASSERT(std::abs(estimate_text(all) - sum) <= static_cast<std::int64_t>(pieces.size()));
}

// Long texts are walked in several places at once and JSON in one, and without escapes both mean
// the same.
RC_GTEST_PROP(estimate, S12_a_long_text_costs_the_same_wherever_its_spaces_stand, ()) {
  const auto alphabet =
      *rc::gen::element<std::string>("ab ", "aB1 \n.", "word\t ", "\xc3\xa9 x", "ab");
  const auto bytes = *rc::gen::inRange(200, 3'000);
  const auto text = *rc::gen::container<std::string>(bytes, rc::gen::elementOf(alphabet));
  RC_ASSERT(estimate_text(text) == estimate_json(text));
}

RC_GTEST_PROP(estimate, S12_more_text_never_costs_less,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(estimate_text(a + b) >= estimate_text(a));
}

} // namespace
} // namespace rind::context
