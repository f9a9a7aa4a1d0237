// Head and tail of long outputs: what is kept, what is said, and that no character is cut.
#include <string>

#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/tools/output_cap.hpp"

namespace rind::tools {
namespace {

std::string repeated(const std::string& unit, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += unit;
  return out;
}

/// The number that the notice of a capped text states, or -1 without a notice.
std::int64_t left_out(const std::string& text) {
  const std::string begin = "\n[... ";
  const auto at = text.find(begin);
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + begin.size()));
}

TEST(output_cap, a_text_up_to_the_limit_stays_as_it_is) {
  for (const int length : {0, 1, 199, 200}) {
    const auto text = repeated("x", length);
    EXPECT_EQ(cap_output(text, 200), text) << length;
  }
}

TEST(output_cap, a_longer_text_keeps_head_and_tail_and_counts_the_rest) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "line " + std::to_string(1'000 + i) + "\n";
  const auto capped = cap_output(text, 300);
  EXPECT_LE(count_characters(capped), 300);
  EXPECT_EQ(capped.substr(0, 10), "line 1000\n");
  EXPECT_EQ(capped.substr(capped.size() - 10), "line 1099\n");
  const auto notice = "\n[... " + std::to_string(left_out(capped)) + " characters left out ...]\n";
  const auto kept = count_characters(capped) - static_cast<std::int64_t>(notice.size());
  EXPECT_EQ(kept + left_out(capped), count_characters(text));
}

TEST(output_cap, what_was_capped_once_stays_as_it_is) {
  const auto once = cap_output(repeated("abc\n", 10'000), 500);
  EXPECT_EQ(cap_output(once, 500), once);
}

TEST(output_cap, the_limit_counts_characters_and_cuts_between_them) {
  for (const std::string unit : {"é", "漢", "😀", "a漢"}) {
    const auto capped = cap_output(repeated(unit, 1'000), 200);
    EXPECT_TRUE(is_valid_utf8(capped)) << unit;
    EXPECT_EQ(capped.find("\xEF\xBF\xBD"), std::string::npos)
        << "nothing was broken that was whole: " << unit;
    EXPECT_LE(count_characters(capped), 200) << unit;
  }
}

TEST(output_cap, pieces_give_the_same_as_the_whole_wherever_they_are_cut) {
  const auto text = repeated("aé漢😀\xFF\xE6\xBC|\xC3(", 60);
  const auto whole = cap_output(text, 200);
  for (const std::size_t step : {1u, 2u, 3u, 5u, 64u}) {
    output_collector collector(200);
    for (std::size_t at = 0; at < text.size(); at += step)
      collector.append(std::string_view(text).substr(at, step));
    EXPECT_EQ(collector.text(), whole) << step;
  }
}

TEST(output_cap, bytes_that_are_no_text_are_replaced) {
  EXPECT_EQ(cap_output("a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_TRUE(is_valid_utf8(cap_output(std::string("\x00\x80\xC3\xE6\xBC", 5))));
  EXPECT_EQ(cap_output("end \xE6\xBC"), repair_utf8("end \xE6\xBC"))
      << "a character that never gets whole";
}

TEST(output_cap, an_endless_output_takes_no_more_room_than_the_limit) {
  output_collector collector(1'000);
  const auto piece = repeated("0123456789", 10'000);
  for (int i = 0; i < 200; ++i)
    collector.append(piece);
  EXPECT_EQ(collector.characters(), 20'000'000);
  const auto text = collector.text();
  EXPECT_LE(count_characters(text), 1'000);
  EXPECT_GT(left_out(text), 19'990'000);
}

} // namespace
} // namespace rind::tools
