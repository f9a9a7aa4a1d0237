// What is drawn, as a terminal would show it: a small one that knows the sequences that screen
// uses.
#include <cctype>

#include <gtest/gtest.h>

#include "hosts/chat/screen.hpp"
#include "hosts/chat/text_width.hpp"

namespace rind::hosts::chat {
namespace {

/// Rows of cells of endless height; no wrapping, so a row that is too long shows as such.
class small_terminal {
public:
  void take(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      if (bytes[at] == '\x1B')
        at = escape(bytes, at + 2);
      else if (bytes[at] == '\r')
        column_ = 0, ++at;
      else if (bytes[at] == '\n')
        ++row_, ++at;
      else
        at = put(bytes, at);
    }
  }
  std::vector<std::string> rows() const {
    std::vector<std::string> all;
    for (const auto& row : cells_) {
      std::string text;
      for (const auto& cell : row)
        text += cell;
      all.push_back(text);
    }
    return all;
  }
  std::size_t row() const { return row_; }
  std::size_t column() const { return column_; }
  bool saw_colour() const { return saw_colour_; }

private:
  std::size_t escape(const std::string& bytes, std::size_t at) {
    const bool is_private = bytes[at] == '?';
    at += is_private ? 1 : 0;
    std::size_t number = 0;
    for (; std::isdigit(static_cast<unsigned char>(bytes[at])); ++at)
      number = number * 10 + static_cast<std::size_t>(bytes[at] - '0');
    const char command = bytes[at];
    if (command == 'A')
      row_ -= number;
    else if (command == 'C')
      column_ += number;
    else if (command == 'J') {
      cells_.resize(std::max(cells_.size(), row_ + 1));
      cells_.resize(row_ + 1);
      cells_[row_].resize(std::min(cells_[row_].size(), column_));
    } else if (command == 'm')
      saw_colour_ = true;
    else
      EXPECT_TRUE(is_private) << command;
    return at + 1;
  }
  std::size_t put(const std::string& bytes, std::size_t at) {
    const auto size = character_bytes(bytes, at);
    cells_.resize(std::max(cells_.size(), row_ + 1));
    auto& row = cells_[row_];
    row.resize(std::max(row.size(), column_ + 1), " ");
    row[column_++] = bytes.substr(at, size);
    return at + size;
  }

  std::vector<std::vector<std::string>> cells_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  bool saw_colour_ = false;
};

using rows = std::vector<std::string>;

TEST(screen, the_transcript_grows_above_the_live_region) {
  screen s(false);
  small_terminal t;
  const terminal_size size{20, 10};
  t.take(s.draw({}, {"gauge", "> ", "", 0}, size));
  EXPECT_EQ(t.rows(), rows({"gauge", "> "}));
  t.take(s.draw({{text_style::user, "> question", true}, {text_style::answer, "an ans", false}},
                {"gauge", "> ", "typ", 3}, size));
  EXPECT_EQ(t.rows(), rows({"> question", "an ans", "gauge", "> typ"}));
  EXPECT_EQ(t.column(), 5u);
  t.take(s.draw({{text_style::answer, "wer", true}}, {"", "> ", "typing", 1}, size));
  EXPECT_EQ(t.rows(), rows({"> question", "an answer", "> typing"}));
  EXPECT_EQ(t.row(), 2u);
  EXPECT_EQ(t.column(), 3u);
  t.take(s.leave());
  EXPECT_EQ(t.rows(), rows({"> question", "an answer", ""}));
}

TEST(screen, streamed_text_wraps_at_words_across_pieces) {
  screen s(false);
  small_terminal t;
  const terminal_size size{12, 10};
  for (const char* text : {"one ", "two th", "ree ", "fo", "ur five"})
    t.take(s.draw({{text_style::answer, text, false}}, {"", "> ", "", 0}, size));
  EXPECT_EQ(t.rows(), rows({"one two", "three four", "five", "> "}));
  t.take(s.draw({{text_style::answer, "", true}}, {"", "> ", "", 0}, size));
  EXPECT_EQ(t.rows(), rows({"one two", "three four", "five", "> "}));
}

TEST(screen, a_long_input_is_shown_around_its_cursor_and_never_too_wide) {
  screen s(false);
  small_terminal t;
  const std::string text(300, 'x');
  t.take(s.draw({}, {std::string(100, 's'), "> ", text, 0}, {20, 10}));
  EXPECT_EQ(t.rows().size(), 8u); // the status and seven rows of the input
  EXPECT_EQ(t.row(), 1u);
  EXPECT_EQ(t.column(), 2u);
  for (const auto& row : t.rows())
    EXPECT_LE(columns_of(row), 19);
  t.take(s.draw({}, {"s", "> ", text, text.size()}, {20, 10}));
  EXPECT_EQ(t.row(), t.rows().size() - 1);
}

TEST(screen, wide_characters_and_newlines_in_the_input) {
  screen s(false);
  small_terminal t;
  t.take(s.draw({}, {"", "> ", "a\nb", 2}, {20, 10}));
  EXPECT_EQ(t.rows(), rows({"> a↵b"}));
  EXPECT_EQ(t.column(), 4u);
}

TEST(screen, colours_only_where_they_are_wanted) {
  for (const bool wanted : {true, false}) {
    screen s(wanted);
    small_terminal t;
    t.take(s.draw({{text_style::error, "bad", true}}, {"gauge", "> ", "", 0}, {}));
    EXPECT_EQ(t.saw_colour(), wanted);
    EXPECT_EQ(t.rows()[0], "bad");
  }
}

TEST(screen, a_terminal_of_no_size_does_no_harm) {
  screen s(false);
  small_terminal t;
  t.take(s.draw({{text_style::answer, "some words here", true}}, {"status", "> ", "typed text", 4},
                {0, 0}));
  t.take(s.draw({}, {"status", "> ", "typed text", 4}, {1, 1}));
  EXPECT_FALSE(t.rows().empty());
}

} // namespace
} // namespace rind::hosts::chat
