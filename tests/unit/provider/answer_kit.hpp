// Helpers of the provider tests: streams out of chunks, readers run over them.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/provider/chat_codec.hpp"
#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/response_reader.hpp"

namespace rind::provider::testing {

inline sampling_request plain_request() {
  sampling_request r;
  r.request_id = "r1";
  r.session_id = "s1";
  r.model = "m";
  message m;
  m.content = "Hello";
  r.messages.push_back(std::make_shared<const message>(std::move(m)));
  r.output_limit_tokens = 100;
  return r;
}

inline std::string event(const std::string& data) {
  return "data: " + data + "\n\n";
}

inline std::string events(const std::vector<std::string>& all) {
  std::string text;
  for (const auto& data : all)
    text += event(data);
  return text;
}

/// A chunk with one choice: its delta and, where given, its finish reason.
inline std::string chunk(const std::string& delta, const std::string& finish = "") {
  return R"({"choices":[{"index":0,"delta":)" + delta +
         (finish.empty() ? "" : R"(,"finish_reason":")" + finish + "\"") + "}]}";
}

struct read_result {
  std::string text;
  std::string reasoning;
  sampling_outcome outcome;

  bool is_answer() const { return std::holds_alternative<sampling_answer>(outcome); }
  const sampling_answer& answer() const { return std::get<sampling_answer>(outcome); }
  const provider_error& error() const { return std::get<provider_error>(outcome); }
};

struct response {
  int status = 200;
  std::vector<http_header> headers{{"content-type", "text/event-stream"}};
  http_result end;
  sent_facts sent;
};

/// Reads pieces of a body, as the HTTP provider does.
inline read_result read_pieces(const std::vector<std::string_view>& pieces,
                               const response& r = {}) {
  const chat_codec codec;
  const auto request = plain_request();
  response_reader reader{codec, request, r.sent};
  read_result result;
  const auto keep = [&](const sampling_delta& d) {
    result.text += d.text;
    result.reasoning += d.reasoning;
  };
  reader.on_head(r.status, r.headers);
  bool over = false;
  for (const auto piece : pieces) {
    if (piece.empty() || over)
      continue;
    const auto progress = reader.on_body(piece);
    keep(progress.delta);
    over = progress.is_over;
  }
  sampling_delta last;
  result.outcome = reader.finish(over ? http_result{} : r.end, last);
  keep(last);
  return result;
}

inline read_result read(const std::string& body, const response& r = {}) {
  return read_pieces({body}, r);
}

/// All of a result that matters, as text to compare.
inline std::string described(const read_result& r) {
  std::string text = "text=" + r.text + " reasoning=" + r.reasoning;
  const auto number = [](const std::optional<std::int64_t>& n) {
    return n ? std::to_string(*n) : std::string{"-"};
  };
  if (r.is_answer()) {
    const auto& a = r.answer();
    text += " answer=" + a.msg->content + " finish=" + std::to_string(static_cast<int>(a.finish)) +
            " in=" + number(a.usage.input_tokens) + " out=" + number(a.usage.output_tokens);
    for (const auto& call : a.msg->tool_calls)
      text += " call=" + call.id + "/" + call.name + "/" + call.arguments;
    return text;
  }
  const auto& e = r.error();
  return text + " error=" + to_string(e.error_class) + "/" + e.code + "/" + e.message +
         " limit=" + number(e.limit_tokens) + " requested=" + number(e.requested_tokens);
}

} // namespace rind::provider::testing
