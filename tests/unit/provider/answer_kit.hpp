// Helpers of the provider tests: streams out of chunks, readers run over them.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

/// An event with a name, as it stands in the `type` of its data.
inline std::string named_event(const std::string& data) {
  const auto value = nlohmann::json::parse(data);
  return "event: " + value.at("type").get<std::string>() + "\n" + event(data);
}

inline std::string named_events(const std::vector<std::string>& all) {
  std::string text;
  for (const auto& data : all)
    text += named_event(data);
  return text;
}

inline message_ptr user_message(std::string text) {
  message m;
  m.content = std::move(text);
  return std::make_shared<const message>(std::move(m));
}

inline message_ptr system_message(std::string text) {
  message m;
  m.role = message_role::system;
  m.content = std::move(text);
  return std::make_shared<const message>(std::move(m));
}

inline message_ptr answer_message(std::string text, std::vector<tool_call> calls = {},
                                  std::string opaque = {}) {
  message m;
  m.role = message_role::assistant;
  m.content = std::move(text);
  m.tool_calls = std::move(calls);
  m.model = "m";
  if (!opaque.empty())
    m.reasoning = reasoning_block{"thought", std::move(opaque)};
  return std::make_shared<const message>(std::move(m));
}

inline message_ptr result_message(std::string id, std::string text, bool is_error = false) {
  message m;
  m.role = message_role::tool;
  m.tool_call_id = std::move(id);
  m.name = "tool";
  m.content = std::move(text);
  m.is_error = is_error;
  return std::make_shared<const message>(std::move(m));
}

/// The body of a request for these messages.
inline nlohmann::json body_of(const wire_codec& codec, std::vector<message_ptr> messages,
                              sampling_request request = plain_request()) {
  request.messages = std::move(messages);
  return nlohmann::json::parse(codec.request_body(request));
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
  std::shared_ptr<const wire_codec> codec = std::make_shared<chat_codec>();
};

/// Reads pieces of a body, as the HTTP provider does.
inline read_result read_pieces(const std::vector<std::string_view>& pieces,
                               const response& r = {}) {
  const auto request = plain_request();
  response_reader reader{*r.codec, request, r.sent};
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
    if (a.msg->reasoning)
      text += " opaque=" + a.msg->reasoning->opaque;
    return text;
  }
  const auto& e = r.error();
  return text + " error=" + to_string(e.error_class) + "/" + e.code + "/" + e.message +
         " limit=" + number(e.limit_tokens) + " requested=" + number(e.requested_tokens);
}

} // namespace rind::provider::testing
