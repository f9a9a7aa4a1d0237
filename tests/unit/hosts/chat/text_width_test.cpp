// Columns, breaks, and text that cannot harm a terminal.
#include <gtest/gtest.h>

#include "hosts/chat/text_width.hpp"

namespace rind::hosts::chat {
namespace {

TEST(text_width, columns) {
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("äöü"), 3);
  EXPECT_EQ(columns_of("日本"), 4);
  EXPECT_EQ(columns_of("e\u0301"), 1);
  EXPECT_EQ(columns_of("🙂"), 2);
}

TEST(text_width, fit) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("日本語", 4), "日…");
}

TEST(text_width, wrap) {
  using rows = std::vector<std::string>;
  EXPECT_EQ(wrap("", 5), rows({""}));
  EXPECT_EQ(wrap("one two three", 7), rows({"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 6), rows({"one", "two", "three"}));
  EXPECT_EQ(wrap("abcdefgh", 3), rows({"abc", "def", "gh"}));
  EXPECT_EQ(wrap("日本語", 3), rows({"日", "本", "語"}));
  EXPECT_EQ(wrap("abc ", 3), rows({"abc", ""}));
}

TEST(text_width, printable_text_cannot_speak_to_the_terminal) {
  EXPECT_EQ(printable("a\tb\r\nc"), "a  b\nc");
  EXPECT_EQ(printable("\x1B[31mred\x07"), "^[[31mred^G");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m");
  EXPECT_EQ(printable("bad \xFF"), "bad \xEF\xBF\xBD");
  EXPECT_EQ(printable("a\u202Eb"), "a\xEF\xBF\xBD"
                                   "b");
}

} // namespace
} // namespace rind::hosts::chat
