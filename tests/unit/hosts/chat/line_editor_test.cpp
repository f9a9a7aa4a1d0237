// Keys in, text and wishes out.
#include <gtest/gtest.h>

#include "hosts/chat/line_editor.hpp"

namespace rind::hosts::chat {
namespace {

TEST(line_editor, keys_edit_the_line) {
  struct row {
    const char* keys;
    const char* text;
    std::size_t cursor;
  };
  const row rows[] = {
      {"abc", "abc", 3},
      {"abc\x7F", "ab", 2},
      {"abc\x1B[D\x1B[DX", "aXbc", 2},
      {"abc\x01X", "Xabc", 1},
      {"abc\x01\x1B[3~", "bc", 0},
      {"abc\x01\x04", "bc", 0},
      {"abc\x01\x05Z", "abcZ", 4},
      {"one two\x17", "one ", 4},
      {"one two\x1B"
       "b\x0B",
       "one ", 4},
      {"one two\x15", "", 0},
      {"one two\x15\x19\x19", "one twoone two", 14},
      {"äö\x7F", "ä", 2},
      {"äö\x1B[D\x1B[3~", "ä", 2},
      {"\x1B[200~a\rb\nc\x1B[201~", "a\nb\nc", 5},
      {"a\x1B\rb", "a\nb", 3},
      {"a\x1B[99;99Qb", "ab", 2},
      {"one\x1B[1;5DX", "Xone", 1},
  };
  for (const auto& row : rows) {
    line_editor editor;
    EXPECT_TRUE(editor.take(row.keys).empty()) << row.keys;
    EXPECT_EQ(editor.text(), row.text) << row.keys;
    EXPECT_EQ(editor.cursor(), row.cursor) << row.keys;
  }
}

TEST(line_editor, bytes_may_come_one_at_a_time) {
  line_editor editor;
  for (const char byte : std::string("ä\x1B[D€"))
    editor.take(std::string_view(&byte, 1));
  EXPECT_EQ(editor.text(), "€ä");
}

TEST(line_editor, bytes_that_are_no_utf8_do_not_get_into_the_text) {
  line_editor editor;
  editor.take("\xC3(x");
  EXPECT_EQ(editor.text().find('\xC3'), std::string::npos);
  EXPECT_NE(editor.text().find("x"), std::string::npos);
}

TEST(line_editor, wishes) {
  line_editor editor;
  const auto wishes = editor.take("hi\r\x03\x04\x0C\x1A");
  const std::vector<wish> expected = {{wish_kind::submit, "hi"},
                                      {wish_kind::interrupt, ""},
                                      {wish_kind::end, ""},
                                      {wish_kind::redraw, ""},
                                      {wish_kind::suspend, ""}};
  EXPECT_EQ(wishes, expected);
  EXPECT_EQ(editor.text(), "");
}

TEST(line_editor, the_history_goes_back_and_forth_and_keeps_the_unsent_line) {
  line_editor editor;
  editor.take("first\rsecond\rsecond\r   \rdraft");
  EXPECT_EQ(editor.history().size(), 2u);
  editor.take("\x1B[A");
  EXPECT_EQ(editor.text(), "second");
  editor.take("\x10\x10");
  EXPECT_EQ(editor.text(), "first");
  editor.take("\x1B[B\x0E");
  EXPECT_EQ(editor.text(), "draft");
}

TEST(line_editor, the_history_has_a_bound) {
  line_editor editor;
  for (std::size_t count = 0; count < history_max + 5; ++count)
    editor.remember(std::to_string(count));
  EXPECT_EQ(editor.history().size(), history_max);
  EXPECT_EQ(editor.history().front(), "5");
}

TEST(line_editor, a_text_has_a_bound) {
  line_editor editor;
  editor.set_text(std::string(line_limit_bytes, 'x'));
  const auto wishes = editor.take("y");
  ASSERT_EQ(wishes.size(), 1u);
  EXPECT_EQ(wishes[0].kind, wish_kind::refused);
  EXPECT_EQ(editor.text().size(), line_limit_bytes);
}

} // namespace
} // namespace rind::hosts::chat
