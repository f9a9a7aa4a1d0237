// `rind classify`: lines in, verdicts out, and what is refused.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/classify/classify.hpp"

namespace rind::hosts::classify {
namespace {

using nlohmann::json;

struct run_result {
  int code = 0;
  std::vector<json> lines;
  std::string trouble;
};

run_result run(const std::string& text) {
  std::istringstream in{text};
  std::ostringstream out;
  std::ostringstream trouble;
  run_result r;
  r.code = classify_lines(in, out, trouble);
  std::istringstream printed{out.str()};
  for (std::string line; std::getline(printed, line);)
    r.lines.push_back(json::parse(line));
  r.trouble = trouble.str();
  return r;
}

std::string line_of(const json& fields = json::object()) {
  json line{{"id", "a"}, {"status", 400}, {"body", ""}};
  line.update(fields);
  return line.dump() + "\n";
}

json verdict_of(const json& fields) {
  const auto r = run(line_of(fields));
  return r.lines.size() == 1 ? r.lines[0] : json{};
}

TEST(classify, tells_all_of_a_verdict) {
  EXPECT_EQ(
      verdict_of(
          {{"body",
            R"x({"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 8192 tokens (815 in the messages, 7377 in the completion)."}})x"}}),
      json::parse(
          R"x({"id":"a","class":"context_length","limit_tokens":8192,"requested_tokens":8192,"retry_after_s":null,"retry_same":false,"shrink_output_first":true,"matched_by":"wording:maximum context length is {limit} tokens. however, you requested {requested} tokens ({prompt} in the messages, {output} in the completion)"})x"));
  const auto waiting = verdict_of({{"status", 429}, {"headers", {{"Retry-After", "12"}}}});
  EXPECT_EQ(waiting["class"], "rate_limit");
  EXPECT_EQ(waiting["retry_after_s"], 12);
  EXPECT_EQ(waiting["retry_same"], true);
  EXPECT_EQ(waiting["matched_by"], "status:429");
}

TEST(classify, agrees_with_what_is_known_of_every_recorded_answer) {
  std::size_t count = 0;
  for (const auto* name : {"/provider_errors.jsonl", "/provider_errors_more.jsonl"}) {
    std::ifstream file{std::string{RIND_TEST_DATA} + name};
    for (std::string text; std::getline(file, text); ++count) {
      const auto c = json::parse(text);
      json line{{"provider", c["server"]}, {"status", c["status"]}, {"body", c["body"]}};
      if (c.contains("headers"))
        line["headers"] = c["headers"];
      const auto sent = c.value("sent", json::object());
      line["context_window"] = sent.value("window", 0);
      line["sent_estimate_tokens"] = sent.value("estimate", 0);
      line["max_tokens_sent"] = sent.value("output", 0);
      const auto v = verdict_of(line);
      const auto& expect = c["expect"];
      auto expected = expect["class"].get<std::string>();
      if (expected == "unrecognised" || expected == "request_too_large")
        expected = "invalid_request";
      EXPECT_EQ(v["class"], expected) << c["case"] << " " << v;
      EXPECT_EQ(v["limit_tokens"], expect.value("limit", json{})) << c["case"];
      EXPECT_EQ(v["requested_tokens"], expect.value("requested", json{})) << c["case"];
      EXPECT_EQ(v["retry_after_s"], expect.value("wait_s", json{})) << c["case"];
      EXPECT_EQ(v["retry_same"], expect["same_again"]) << c["case"];
      EXPECT_EQ(v["shrink_output_first"], expect.value("lower_output", false)) << c["case"];
    }
  }
  EXPECT_GE(count, 380u);
}

TEST(classify, names_what_decided) {
  struct row {
    json fields;
    const char* matched_by;
  };
  const auto stop = [](const std::string& usage) {
    return R"(data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":)" +
           usage + "}\n\ndata: [DONE]\n\n";
  };
  for (const auto& r : std::vector<row>{
           {{{"body", R"({"error":{"message":"x","code":"context_length_exceeded"}})"}},
            "code:context_length_exceeded"},
           {{{"body", R"({"error":{"message":"insufficient credits"}})"}},
            "veto:insufficient credits"},
           {{{"body", R"({"error":"the prompt is above the limit"})"}}, "shape:prompt above limit"},
           {{{"status", 200}, {"body", stop("{}")}}, "finish:stop"},
           {{{"status", 200}, {"body", stop(R"({"prompt_tokens":11})")}, {"context_window", 10}},
            "silent:input_above_window"},
           {{{"status", 200}, {"body", "data: [DONE]\n\n"}}, "stream:stream_interrupted"},
           {{{"status", 302}}, "stream:redirected"},
           {{{"status", 200},
             {"body", "data: {\"error\":{\"message\":\"prompt is too long\"}}\n\n"}},
            "wording:prompt is too long"},
           {{{"status", 200},
             {"body", "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"
                      "\"stop_reason\":\"model_context_window_exceeded\"}}\n\nevent: "
                      "message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}},
            "finish:model_context_window_exceeded"},
           {{{"status", 200},
             {"body", "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{"
                      "\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}}}\n\n"}},
            "code:rate_limit_exceeded"},
       })
    EXPECT_EQ(verdict_of(r.fields)["matched_by"], r.matched_by) << r.fields;
}

TEST(classify, a_bad_line_is_named_and_the_others_are_answered) {
  const auto good = line_of();
  struct row {
    const char* line;
    const char* why;
  };
  for (const auto& r : std::vector<row>{
           {"{", "no JSON object"},
           {"[]", "no JSON object"},
           {R"({"status":400,"body":""})", "`id` must be a string"},
           {R"({"id":1,"status":400,"body":""})", "`id` must be a string"},
           {R"({"id":"a","body":""})", "`status` must be an HTTP status"},
           {R"({"id":"a","status":99,"body":""})", "`status` must be an HTTP status"},
           {R"({"id":"a","status":400})", "`body` must be a string"},
           {R"({"id":"a","status":400,"body":{}})", "`body` must be a string"},
           {R"({"id":"a","status":400,"body":"","headers":[]})", "`headers` must be an object"},
           {R"({"id":"a","status":400,"body":"","headers":{"a":1}})",
            "`headers` must hold strings"},
           {R"({"id":"a","status":400,"body":"","context_window":-1})",
            "`context_window` must be a whole number of at least 0"},
       }) {
    const auto result = run(good + r.line + "\n" + good);
    EXPECT_EQ(result.code, 1) << r.line;
    EXPECT_EQ(result.lines.size(), 2u) << r.line;
    EXPECT_EQ(result.trouble, std::string{"rind: error: line 2: "} + r.why + "\n");
  }
}

TEST(classify, S40_a_long_line_is_refused_and_read_over) {
  const auto result = run(std::string(line_bytes_max + 1, 'x') + "\n" + line_of());
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.lines.size(), 1u);
  EXPECT_EQ(result.trouble, "rind: error: line 1: longer than 8388608 bytes\n");
}

TEST(classify, nothing_is_fine_and_so_are_blank_lines_and_a_missing_last_newline) {
  EXPECT_EQ(run("").code, 0);
  const auto result = run("\n \r\n" + line_of() + R"({"id":"b","status":500,"body":""})");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.lines.size(), 2u);
}

} // namespace
} // namespace rind::hosts::classify
