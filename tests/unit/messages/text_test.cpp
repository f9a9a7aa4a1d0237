// UTF-8 and times as text.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messages/json.hpp"

namespace rind {

TEST(utf8, S40_each_malformed_form_is_seen_and_repaired) {
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"\x80", r},
      {"\xC0\xAF", r + r},                 // overlong
      {"\xE0\x80\x80", r + r + r},         // overlong
      {"\xED\xA0\x80", r + r + r},         // surrogate
      {"\xF4\x90\x80\x80", r + r + r + r}, // above U+10FFFF
      {"\xF5", r},
      {"a\xE6\xBC", "a" + r}, // cut inside of a character
      {"\xE6\xBCz", r + "z"},
      {"\xF0\x9F\xA6\xC3\xA9", r + "é"},
  };
  for (const auto& [bad, repaired] : rows) {
    EXPECT_FALSE(is_valid_utf8(bad));
    EXPECT_EQ(repair_utf8(bad), repaired);
    EXPECT_TRUE(is_valid_utf8(repair_utf8(bad)));
  }
}

TEST(utf8, well_formed_text_comes_back_unchanged) {
  const std::vector<std::string> rows{"",
                                      "plain",
                                      std::string(1, '\0'),
                                      "é漢🦊",
                                      "\xED\x9F\xBF",
                                      "\xEE\x80\x80",
                                      "\xF0\x90\x80\x80",
                                      "\xF4\x8F\xBF\xBF",
                                      "\xC2\x80",
                                      "\xE0\xA0\x80"};
  for (const auto& text : rows) {
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_EQ(repair_utf8(text), text);
  }
}

TEST(utf8, characters_are_code_points) {
  EXPECT_EQ(count_characters("aé漢🦊"), 4);
  EXPECT_EQ(first_characters("aé漢🦊", 3), "aé漢");
  EXPECT_EQ(first_characters("aé漢🦊", 4), "aé漢🦊");
  EXPECT_EQ(first_characters("aé", 0), "");
}

TEST(time_text, is_exact_to_the_millisecond) {
  const std::vector<std::pair<std::int64_t, std::string>> rows{
      {0, "1970-01-01T00:00:00.000Z"},
      {1'767'225'600'000, "2026-01-01T00:00:00.000Z"},
      {1'709'208'123'045, "2024-02-29T12:02:03.045Z"},
      {-1, "1969-12-31T23:59:59.999Z"},
      {253'402'300'799'999, "9999-12-31T23:59:59.999Z"},
      {-62'167'219'200'000, "0000-01-01T00:00:00.000Z"},
  };
  for (const auto& [time_ms, text] : rows) {
    EXPECT_EQ(format_time(time_ms), text);
    EXPECT_EQ(parse_time(text), time_ms);
  }
  EXPECT_EQ(format_time(INT64_MAX), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(INT64_MIN), "0000-01-01T00:00:00.000Z");
}

TEST(time_text, any_other_form_is_refused) {
  for (const auto* text :
       {"", "2026-01-01", "2026-01-01T00:00:00Z", "2026-13-01T00:00:00.000Z",
        "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01T00:60:00.000Z",
        "2026-01-01T00:00:60.000Z", "2026-01-01 00:00:00.000Z", "2026-01-01T00:00:00.000+",
        "+026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.-10Z"})
    EXPECT_FALSE(parse_time(text)) << text;
}

} // namespace rind
