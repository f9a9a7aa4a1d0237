// Cuts between characters.
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/context/text_cut.hpp"

namespace rind::context {
namespace {

TEST(text_cut, S21_never_cuts_inside_a_character) {
  const std::string text = "a\u00e9\u6f22\U0001f600z"; // 1, 2, 3, 4, 1 bytes
  const std::string firsts[] = {"",   "a", "a\u00e9", "a\u00e9\u6f22", "a\u00e9\u6f22\U0001f600",
                                text, text};
  const std::string lasts[] = {
      "", "z", "\U0001f600z", "\u6f22\U0001f600z", "\u00e9\u6f22\U0001f600z", text, text};
  for (std::int64_t n = 0; n <= 6; ++n) {
    EXPECT_EQ(first_characters(text, n), firsts[n]) << n;
    EXPECT_EQ(last_characters(text, n), lasts[n]) << n;
  }
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_TRUE(is_valid_utf8(first_bytes(text, bytes))) << bytes;
    EXPECT_LE(first_bytes(text, bytes).size(), bytes);
  }
}

TEST(text_cut, S21_an_excerpt_is_one_line_within_its_limit) {
  EXPECT_EQ(excerpt_line("a\nb\tc\r", 10), "a b c ");
  EXPECT_EQ(excerpt_line("abcdef", 6), "abcdef");
  EXPECT_EQ(excerpt_line("abcdefg", 6), "abcde\u2026");
  EXPECT_EQ(excerpt_line("", 6), "");
}

} // namespace
} // namespace rind::context
