// The SSE parser: what a stream means, and that its split into pieces never changes it.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/provider/sse_parser.hpp"

namespace rind::provider {
namespace {

struct parsed {
  std::vector<sse_event> events;
  std::optional<sse_error> error;
  sse_tail tail;
  bool has_data = false;
};

parsed parse(const std::vector<std::string_view>& pieces, sse_limits limits = {}) {
  sse_parser parser{limits};
  parsed out;
  for (const auto piece : pieces) {
    auto batch = parser.feed(piece);
    out.events.insert(out.events.end(), batch.events.begin(), batch.events.end());
    out.error = batch.error;
    out.has_data = out.has_data || batch.has_data;
  }
  out.tail = parser.finish();
  return out;
}

sse_event message(std::string data, std::string type = "") {
  return {sse_event_kind::message, std::move(type), std::move(data)};
}

sse_event error_line(std::string data) {
  return {sse_event_kind::error_field, "", std::move(data)};
}

struct stream_case {
  const char* name;
  std::string stream;
  std::vector<sse_event> events;
  bool unterminated = false;
};

const std::vector<stream_case>& cases() {
  static const std::vector<stream_case> all{
      {"line_feed", "data: a\n\ndata: b\n\n", {message("a"), message("b")}},
      {"carriage_return", "data: a\r\rdata: b\r\r", {message("a"), message("b")}},
      {"both", "data: a\r\n\r\ndata: b\r\n\r\n", {message("a"), message("b")}},
      {"mixed",
       "data: a\r\n\ndata: b\r\r\ndata: c\n\r\n",
       {message("a"), message("b"), message("c")}},
      {"cr_lf_is_one_end", "data: a\r\ndata: b\r\n\r\n", {message("a\nb")}},
      {"byte_order_mark",
       "\xEF\xBB\xBF"
       "data: a\n\n",
       {message("a")}},
      {"byte_order_mark_only_at_the_start",
       "data: a\n\n\xEF\xBB\xBF"
       "data: b\n\n",
       {message("a")}},
      {"no_space", "data:{\"a\":1}\n\n", {message("{\"a\":1}")}},
      {"one_space_is_dropped", "data:  a \n\n", {message(" a ")}},
      {"lines_join", "data: a\ndata: b\ndata:\ndata: c\n\n", {message("a\nb\n\nc")}},
      {"type", "event: ping\ndata: {}\n\ndata: x\n\n", {message("{}", "ping"), message("x")}},
      {"type_without_data", "event: ping\n\ndata: x\n\n", {message("x")}},
      {"empty_data_is_an_event", "data\n\ndata:\n\n", {message(""), message("")}},
      {"comments",
       ": OPENROUTER PROCESSING\n\n: keep-alive\n\n:\n\ndata: a\n: ping\ndata: b\n\n",
       {message("a\nb")}},
      {"other_fields", "id: 7\nretry: 10\nfoo: bar\nnonsense\ndata: a\n\n", {message("a")}},
      {"colons_in_values", "data: a:b: c\n\n", {message("a:b: c")}},
      {"characters",
       "data: \xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80\n\n",
       {message("\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80")}},
      {"error_field",
       "error: {\"code\":500}\n\ndata: [DONE]\n\n",
       {error_line("{\"code\":500}"), message("[DONE]")}},
      {"error_field_in_a_block",
       "data: a\nerror: {}\ndata: b\n\n",
       {error_line("{}"), message("a\nb")}},
      {"empty", "", {}},
      {"only_ends", "\n\r\n\r", {}},
      {"cut_in_a_line", "data: a\n\ndata: {\"choi", {message("a")}, true},
      {"cut_before_the_empty_line", "data: a\n\ndata: [DONE]\n", {message("a")}, true},
      {"cut_in_a_comment", "data: a\n\n: keep-al", {message("a")}},
  };
  return all;
}

TEST(sse_parser, reads_each_form_of_a_stream) {
  for (const auto& test : cases()) {
    SCOPED_TRACE(test.name);
    const auto found = parse({test.stream});
    EXPECT_EQ(found.events, test.events);
    EXPECT_FALSE(found.error);
    EXPECT_EQ(found.tail.unterminated, test.unterminated);
  }
}

TEST(sse_parser, a_split_at_any_byte_changes_nothing) {
  for (const auto& test : cases()) {
    const std::string_view stream = test.stream;
    for (std::size_t at = 0; at <= stream.size(); ++at) {
      SCOPED_TRACE(std::string{test.name} + " at " + std::to_string(at));
      const auto found = parse({stream.substr(0, at), stream.substr(at)});
      EXPECT_EQ(found.events, test.events);
      EXPECT_EQ(found.tail.unterminated, test.unterminated);
    }
  }
}

TEST(sse_parser, single_bytes_change_nothing) {
  for (const auto& test : cases()) {
    SCOPED_TRACE(test.name);
    const std::string_view stream = test.stream;
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < stream.size(); ++i)
      bytes.push_back(stream.substr(i, 1));
    EXPECT_EQ(parse(bytes).events, test.events);
  }
}

TEST(sse_parser, dropped_bytes_of_a_cut_event_are_counted) {
  const auto found = parse({"data: ab\ndata: {\"x"});
  EXPECT_TRUE(found.tail.unterminated);
  EXPECT_EQ(found.tail.dropped_bytes, 2u + 9u);
  EXPECT_EQ(parse({"data: ab\n\n"}).tail.dropped_bytes, 0u);
}

TEST(sse_parser, comments_are_no_data) {
  EXPECT_FALSE(parse({": keep-alive\n\n", "\r\n: x"}).has_data);
  EXPECT_TRUE(parse({": keep-alive\n\n", "da"}).has_data);
  EXPECT_TRUE(parse({"data: x\n"}).has_data);
}

TEST(sse_parser, a_batch_says_only_what_its_own_piece_brought) {
  sse_parser parser;
  EXPECT_TRUE(parser.feed("data: x\n").has_data);
  EXPECT_FALSE(parser.feed(": still here\n").has_data);
  EXPECT_EQ(parser.feed("\n").events.size(), 1u);
}

TEST(sse_parser, a_line_over_the_bound_is_an_error_wherever_it_is_split) {
  const std::string stream = "data: ok\n\ndata: 123456789\n\n";
  const sse_limits limits{14, 100};
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    SCOPED_TRACE(at);
    const std::string_view view = stream;
    const auto found = parse({view.substr(0, at), view.substr(at)}, limits);
    EXPECT_EQ(found.error, sse_error::line_too_long);
    EXPECT_EQ(found.events, std::vector{message("ok")});
  }
  EXPECT_FALSE(parse({stream}, {15, 100}).error);
}

TEST(sse_parser, an_endless_line_is_refused_before_it_is_held) {
  sse_parser parser{{64, 64}};
  EXPECT_FALSE(parser.feed("data: ").error);
  const std::string flood(65, 'x');
  EXPECT_EQ(parser.feed(flood).error, sse_error::line_too_long);
  EXPECT_EQ(parser.feed("\n\ndata: x\n\n").error, sse_error::line_too_long);
  EXPECT_TRUE(parser.feed("data: x\n\n").events.empty());
}

TEST(sse_parser, an_event_over_the_bound_is_an_error) {
  const std::string stream = "data: 1234\ndata: 5678\n\n";
  EXPECT_EQ(parse({stream}, {100, 8}).error, sse_error::event_too_long);
  EXPECT_FALSE(parse({stream}, {100, 9}).error);
  EXPECT_EQ(parse({"error: 123456789\n\n"}, {100, 8}).error, sse_error::event_too_long);
}

TEST(sse_parser, names_its_values) {
  EXPECT_STREQ(to_string(sse_event_kind::error_field), "error_field");
  EXPECT_STREQ(to_string(sse_event_kind::message), "message");
  EXPECT_STREQ(to_string(sse_error::line_too_long), "line_too_long");
  EXPECT_STREQ(to_string(sse_error::event_too_long), "event_too_long");
}

} // namespace
} // namespace rind::provider
