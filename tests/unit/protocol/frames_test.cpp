// Framing: whatever bytes come, lines and typed answers come out, and the connection goes on.
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "runtime/protocol/frames.hpp"

namespace rind::protocol {

namespace {

using nlohmann::json;

/// All lines of a text that is pushed in pieces; a line that is too long is shown as "<too long>".
std::vector<std::string> lines_of(const std::string& text, std::size_t limit,
                                  const std::vector<std::size_t>& pieces) {
  line_splitter splitter(limit);
  std::vector<std::string> out;
  const auto drain = [&] {
    while (auto line = splitter.next())
      out.push_back(line->too_long ? "<too long>" : line->text);
  };
  std::size_t at = 0;
  for (std::size_t i = 0; at < text.size(); ++i) {
    const std::size_t size = pieces.empty() ? text.size() : 1 + pieces[i % pieces.size()];
    splitter.push(std::string_view(text).substr(at, size));
    at += size;
    drain();
  }
  if (const auto rest = splitter.rest())
    out.push_back("<rest>" + rest->text);
  return out;
}

struct envelope_row {
  const char* line;
  const char* request_id;
  error_code code;
};

} // namespace

TEST(line_splitter, S40_an_overlong_line_is_told_once_and_skipped) {
  const std::vector<std::string> expected{"ab",         "<too long>", "",       "12345",
                                          "<too long>", "z",          "<rest>q"};
  EXPECT_EQ(lines_of("ab\n1234567890123\n\n12345\n123456\nz\nq", 5, {}), expected);
  EXPECT_EQ(lines_of("ab\n1234567890123\n\n12345\n123456\nz\nq", 5, {0}), expected);
}

TEST(line_splitter, S40_an_endless_line_is_told_before_its_newline_and_not_kept) {
  line_splitter splitter(10);
  std::size_t told = 0;
  for (int i = 0; i < 1'000; ++i) {
    splitter.push("0123456");
    while (const auto line = splitter.next()) {
      EXPECT_TRUE(line->too_long);
      ++told;
    }
  }
  EXPECT_EQ(told, 1U);
  EXPECT_FALSE(splitter.rest());
  splitter.push("\nnext\n");
  EXPECT_EQ(splitter.next()->text, "next");
}

RC_GTEST_PROP(line_splitter, how_the_bytes_arrive_does_not_matter, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc\n\n")));
  const auto pieces = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 7)));
  RC_ASSERT(lines_of(text, 4, pieces) == lines_of(text, 4, {}));
}

TEST(read_request, takes_every_kind_of_id) {
  for (const auto* id : {R"("a")", "7", "-1", "1.5", "0", "18446744073709551615"}) {
    const auto read =
        read_request(std::string(R"({"kind":"request","method":"ping","request_id":)") + id + "}");
    ASSERT_TRUE(std::holds_alternative<request>(read)) << id;
    EXPECT_EQ(dump_json(std::get<request>(read).request_id), id);
    EXPECT_EQ(std::get<request>(read).params, json::object());
  }
}

TEST(read_request, an_id_comes_back_as_it_was_written_or_is_refused) {
  struct row {
    const char* id;
    bool is_taken;
  };
  constexpr row rows[] = {
      {"9007199254740993", true}, // 2^53 + 1
      {"9223372036854775807", true},
      {"-9223372036854775808", true},
      {"18446744073709551615", true},
      {"18446744073709551616", false},
      {"-9223372036854775809", false},
      {"123456789012345678901234567890", false},
      {"0.1", true},
      {"0.10000000000000000555", false},
      {"1e400", false}, // no JSON number of a double at all
  };
  const std::string deep(json_depth_limit + 1, '[');
  for (const auto& r : rows) {
    for (const auto& more : {std::string{}, R"(,"params":)" + deep}) {
      const auto read = read_request(R"({"kind":"request","method":"ping","request_id":)" +
                                     std::string(r.id) + more + "}");
      if (more.empty() && r.is_taken) {
        ASSERT_TRUE(std::holds_alternative<request>(read)) << r.id;
        EXPECT_EQ(dump_json(std::get<request>(read).request_id), r.id);
      } else if (!more.empty()) {
        // Too deep, and not closed: whatever is answered, a rounded id is not.
        const auto& id = std::get<refused_line>(read).request_id;
        EXPECT_TRUE(id.is_null() || dump_json(id) == r.id) << r.id << " " << id;
      } else {
        const auto& refused = std::get<refused_line>(read);
        EXPECT_TRUE(refused.request_id.is_null()) << r.id;
        if (std::string_view(r.id) != "1e400") {
          EXPECT_EQ(refused.error.code, error_code::invalid_request) << r.id;
        }
      }
    }
  }
}

TEST(read_request, keeps_method_and_params) {
  const auto read =
      read_request(R"( {"kind":"request","request_id":1,"method":"m","params":{"a":[1]},"more":0} )"
                   "\r");
  ASSERT_TRUE(std::holds_alternative<request>(read));
  EXPECT_EQ(std::get<request>(read).method, "m");
  EXPECT_EQ(std::get<request>(read).params, json({{"a", {1}}}));
}

TEST(read_request, S40_what_is_wrong_is_answered_with_its_type_and_id) {
  const std::vector<envelope_row> rows{
      {"", "null", error_code::parse_error},
      {"{", "null", error_code::parse_error},
      {"nonsense", "null", error_code::parse_error},
      {R"({"request_id":1,"kind":"request","method":"ping"}{})", "null", error_code::parse_error},
      {R"({"request_id":1e999})", "null", error_code::parse_error},
      {R"({"request_id":"\ud800"})", "null", error_code::parse_error},
      {"{\"request_id\":\"\xFF\"}", "null", error_code::parse_error},
      {"{\"request_id\":\"a\xE6\xBC\"}", "null", error_code::parse_error},
      {"[]", "null", error_code::invalid_request},
      {"null", "null", error_code::invalid_request},
      {"7", "null", error_code::invalid_request},
      {"{}", "null", error_code::invalid_request},
      {R"({"kind":"request","method":"ping","request_id":""})", "null",
       error_code::invalid_request},
      {R"({"kind":"request","method":"ping","request_id":true})", "null",
       error_code::invalid_request},
      {R"({"kind":"request","method":"ping","request_id":null})", "null",
       error_code::invalid_request},
      {R"({"kind":"request","method":"ping","request_id":[1]})", "null",
       error_code::invalid_request},
      {R"({"request_id":3,"method":"ping"})", "3", error_code::invalid_request},
      {R"({"request_id":3,"kind":"event","method":"ping"})", "3", error_code::invalid_request},
      {R"({"request_id":3,"kind":"request"})", "3", error_code::invalid_request},
      {R"({"request_id":3,"kind":"request","method":""})", "3", error_code::invalid_request},
      {R"({"request_id":"x","kind":"request","method":5})", R"("x")", error_code::invalid_request},
      {R"({"request_id":"x","kind":"request","method":"ping","params":[]})", R"("x")",
       error_code::invalid_request},
      {R"({"request_id":"x","kind":"request","method":"ping","params":"{}"})", R"("x")",
       error_code::invalid_request},
  };
  for (const auto& row : rows) {
    const auto read = read_request(row.line);
    ASSERT_TRUE(std::holds_alternative<refused_line>(read)) << row.line;
    const auto& refused = std::get<refused_line>(read);
    EXPECT_EQ(dump_json(refused.request_id), row.request_id) << row.line;
    EXPECT_STREQ(to_string(refused.error.code), to_string(row.code)) << row.line;
    EXPECT_FALSE(refused.error.message.empty());
  }
}

TEST(read_request, S40_depth_64_is_let_through_and_65_is_not) {
  const auto nested = [](std::size_t depth) { // the request and its params are two of the levels
    return R"({"kind":"request","method":"ping","request_id":9,"params":{"a":)" +
           std::string(depth - 2, '[') + std::string(depth - 2, ']') + "}}";
  };
  EXPECT_TRUE(std::holds_alternative<request>(read_request(nested(json_depth_limit))));
  const auto refused = read_request(nested(json_depth_limit + 1));
  ASSERT_TRUE(std::holds_alternative<refused_line>(refused));
  EXPECT_EQ(std::get<refused_line>(refused).request_id, 9);
  EXPECT_EQ(std::get<refused_line>(refused).error.code, error_code::invalid_request);
}

TEST(read_request, S40_a_hostile_line_of_brackets_is_refused) {
  std::string objects;
  while (objects.size() + 5 < request_line_limit_bytes)
    objects += R"({"a":)";
  for (const auto& line : {std::string(request_line_limit_bytes, '['),
                           std::string(request_line_limit_bytes, '{'), objects}) {
    const auto read = read_request(line);
    ASSERT_TRUE(std::holds_alternative<refused_line>(read));
    EXPECT_TRUE(std::get<refused_line>(read).request_id.is_null());
  }
}

TEST(read_request, S40_a_deep_line_keeps_only_the_id_of_its_own_level) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const auto id_of = [](const std::string& line) {
    return std::get<refused_line>(read_request(line)).request_id;
  };
  EXPECT_EQ(id_of(R"({"params":{"request_id":1,"a":)" + deep + R"(},"request_id":"mine"})"),
            "mine");
  EXPECT_EQ(id_of(R"({"params":{"request_id":1},"a":)" + deep + "}"), nullptr);
  EXPECT_EQ(id_of(R"({"request_id":[1],"a":)" + deep + "}"), nullptr);
}

TEST(read_request, S40_a_string_id_has_a_bound) {
  const auto with_id = [](std::size_t size) {
    return read_request(R"({"kind":"request","method":"ping","request_id":")" +
                        std::string(size, 'x') + "\"}");
  };
  EXPECT_TRUE(std::holds_alternative<request>(with_id(256)));
  EXPECT_TRUE(std::holds_alternative<refused_line>(with_id(257)));
}

} // namespace rind::protocol
