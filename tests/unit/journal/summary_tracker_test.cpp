// Titles: one line of at most 80 characters, never a broken one.
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/journal/summary_tracker.hpp"

namespace rind::journal {
namespace {

TEST(excerpt, is_one_line_cut_between_characters) {
  const struct {
    const char* text;
    const char* expected;
  } rows[] = {{"", ""},
              {" \n\t", ""},
              {"  a \r\n b\t\tc  ", "a b c"},
              {"12345", "12345"},
              {"12345   ", "12345"},
              {"123456", "1234…"},
              {"1234 6", "1234…"},
              {"123 56", "123…"},
              {"äöüßé", "äöüßé"},
              {"äöüßéà", "äöüß…"},
              {"\U0001F600\U0001F601\U0001F602\U0001F603\U0001F604\U0001F605",
               "\U0001F600\U0001F601\U0001F602\U0001F603…"}};
  for (const auto& row : rows)
    EXPECT_EQ(excerpt(row.text, 5), row.expected) << row.text;
}

TEST(excerpt, keeps_to_its_limit_and_to_utf8) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += i % 7 == 0 ? " " : (i % 3 == 0 ? "世" : "é");
    const std::string title = excerpt(text, title_limit_characters);
    EXPECT_LE(count_characters(title), title_limit_characters) << i;
    EXPECT_TRUE(is_valid_utf8(title)) << i;
  }
}

} // namespace
} // namespace rind::journal
