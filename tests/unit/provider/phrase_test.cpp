// Wordings with numbers, and the shape of complaints about length.
#include <gtest/gtest.h>

#include "runtime/provider/error_patterns.hpp"
#include "runtime/provider/phrase.hpp"
#include "runtime/provider/phrase_shape.hpp"

namespace rind::provider {
namespace {

TEST(phrase, matches_numbers_and_gaps) {
  stated_numbers n;
  EXPECT_TRUE(match_phrase("limit {limit}, used~{requested} tokens",
                           "the limit 1,048,576, used now 2_000_000 tokens", n));
  EXPECT_EQ(n.limit, 1'048'576);
  EXPECT_EQ(n.requested, 2'000'000);
  stated_numbers none;
  EXPECT_FALSE(match_phrase("limit {limit}", "limit 12345678901234567890", none));
  EXPECT_FALSE(match_phrase("a~b", "a" + std::string(phrase_gap_bytes_max + 1, '.') + "b", none));
  EXPECT_TRUE(match_phrase("{requested} > {limit}", "x 7 9 > 5", none));
  EXPECT_EQ(none.requested, 9);
}

TEST(phrase, normalises_space_case_links_and_echoes) {
  EXPECT_EQ(normalised("Busy,  TRY\nagain. See https://x.example/rate-limit now"),
            "busy, try again. see now");
  for (const std::string echo :
       {"'input': '", "input_value=", "\"messages\":", "Content: \"", "got '", "received \""})
    EXPECT_EQ(normalised("bad " + echo + "prompt is too long"), "bad ") << echo;
}

TEST(phrase_shape, S33a_finds_a_measure_a_comparison_and_a_bound_in_one_sentence) {
  for (const auto* text :
       {"the prompt is larger than the window", "your tokens are above the limit",
        "bad request. the conversation has outgrown the context. try again",
        "input length is greater than allowed", "too many input tokens", "prompt too big",
        "context overflow", "the messages do not fit: their length passes the maximum",
        "maximum window exceeded by the message history of 9 tokens"})
    EXPECT_TRUE(find_length_complaint(text)) << text;
}

TEST(phrase_shape, S33a_S14b_leaves_other_matters_alone) {
  for (const auto* text :
       {"prompt exceeds 1024 characters", "input exceeds the maximum size of 5 mb",
        "tokens per minute over the limit", "the output exceeds the maximum of 8192 tokens",
        "max_tokens exceeds the context of 8192", "tool description exceeds 1024 tokens",
        "image input is larger than the maximum", "token lifetime exceeds the maximum",
        "invalid context parameter", "context deadline exceeded", "too many messages",
        "prompt is fine. the limit is exceeded", "request too long",
        "too many tools in the request", "input should be less than or equal to 4096"})
    EXPECT_FALSE(find_length_complaint(text)) << text;
}

TEST(phrase_shape, is_bounded_by_words_of_one_sentence) {
  std::string text = "prompt";
  for (std::size_t i = 0; i < sentence_words_max; ++i)
    text += " x";
  EXPECT_FALSE(find_length_complaint(text + " exceeds the limit"));
  EXPECT_FALSE(find_length_complaint(""));
  EXPECT_FALSE(find_length_complaint(std::string(5'000, '.')));
}

TEST(error_patterns, rows_are_lower_case_and_name_where_they_were_seen) {
  for (const auto rules : {veto_wordings(), exempt_wordings(), context_wordings(), other_wordings(),
                           general_context_wordings()})
    for (const auto& rule : rules) {
      EXPECT_EQ(normalised(rule.phrase), rule.phrase);
      EXPECT_FALSE(rule.seen_at.empty()) << rule.phrase;
      EXPECT_NE(rule.seen_at, "…") << rule.phrase;
    }
  for (const auto& rule : plain_codes())
    EXPECT_EQ(normalised(rule.code), rule.code);
}

} // namespace
} // namespace rind::provider
