// Replies in the Messages format.
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/frame_writer.hpp"
#include "hosts/mock_provider/formats/messages.hpp"
#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array<format_word, 5> stop_words{{
    {"stop", "end_turn"},
    {"tool_calls", "tool_use"},
    {"length", "max_tokens"},
    {"content_filter", "refusal"},
    {"window_exceeded", "model_context_window_exceeded"},
}};

/// Of what is not read from the cache, this part is written to it: one in two tokens.
constexpr std::int64_t written_divisor = 2;

std::string event(const json& data) {
  return "event: " + data["type"].get<std::string>() + "\ndata: " + dumped(data) + "\n\n";
}

json stop_reason_of(const spoken_answer& said) {
  return said.finish.empty() ? json{} : json(in_words_of(stop_words, said.finish));
}

/// The prompt in its three parts: no part alone is its size.
json usage_of(const spoken_answer& said, std::int64_t output) {
  if (said.usage == usage_mode::scripted)
    return said.usage_object;
  if (said.usage != usage_mode::counted)
    return nullptr;
  const auto fresh = said.counts.input - said.counts.cached;
  const auto written = fresh / written_divisor;
  return {{"input_tokens", fresh - written},
          {"cache_creation_input_tokens", written},
          {"cache_read_input_tokens", said.counts.cached},
          {"output_tokens", output}};
}

/// At the end only what grew is told; the rest stays as it was at the start.
json last_usage_of(const spoken_answer& said) {
  return said.usage == usage_mode::counted ? json{{"output_tokens", said.counts.output}}
                                           : usage_of(said, 0);
}

json message_of(const spoken_answer& said, std::int64_t output) {
  json message{{"id", "msg_" + said.id},  {"type", "message"},        {"role", "assistant"},
               {"model", said.model},     {"content", json::array()}, {"stop_reason", nullptr},
               {"stop_sequence", nullptr}};
  if (said.usage != usage_mode::none)
    message["usage"] = usage_of(said, output);
  return message;
}

json input_of(const scripted_call& call) {
  if (call.arguments.empty())
    return json::object();
  auto input = json::parse(call.arguments, nullptr, false);
  return input.is_discarded() ? json(call.arguments) : input;
}

json call_block(const scripted_call& call, json input) {
  return {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}};
}

json thinking_block(const spoken_answer& said) {
  if (!said.hidden_reasoning.empty())
    return {{"type", "redacted_thinking"}, {"data", sealed(said.hidden_reasoning)}};
  const auto thinking = joined(said.reasoning);
  return {{"type", "thinking"}, {"thinking", thinking}, {"signature", signature_of(thinking)}};
}

json content_of(const spoken_answer& said) {
  auto content = json::array();
  if (said.reasons)
    content.push_back(thinking_block(said));
  if (!said.text.empty())
    content.push_back({{"type", "text"}, {"text", joined(said.text)}});
  for (const auto& call : said.calls)
    content.push_back(call_block(call, input_of(call)));
  return content;
}

// -- streams -------------------------------------------------------------------------------------

class message_stream {
public:
  explicit message_stream(const spoken_answer& said) : said_(said) {}

  stream_frames build() {
    frames_.hold(event({{"type", "message_start"}, {"message", message_of(said_, 1)}}));
    frames_.step(event({{"type", "ping"}}));
    if (said_.reasons)
      add_thinking();
    if (!said_.text.empty())
      add_text();
    frames_.text_is_over();
    for (const auto& call : said_.calls)
      add_call(call);
    add_end();
    return frames_.take();
  }

private:
  std::string opening(json block) const {
    return event(
        {{"type", "content_block_start"}, {"index", index_}, {"content_block", std::move(block)}});
  }

  void open(json block) { frames_.hold(opening(std::move(block))); }

  std::string delta(json content) const {
    return event(
        {{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(content)}});
  }

  void close() { frames_.hold(event({{"type", "content_block_stop"}, {"index", index_++}})); }

  void add_thinking() {
    auto block = thinking_block(said_);
    if (block["type"] == "redacted_thinking") {
      open(std::move(block)); // it comes whole
      return close();
    }
    open({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
    for (const auto& piece : said_.reasoning)
      frames_.step(delta({{"type", "thinking_delta"}, {"thinking", piece}}));
    frames_.hold(delta({{"type", "signature_delta"}, {"signature", block["signature"]}}));
    close();
  }

  void add_text() {
    open({{"type", "text"}, {"text", ""}});
    for (const auto& piece : said_.text)
      frames_.step(delta({{"type", "text_delta"}, {"text", piece}}));
    frames_.text_is_over();
    close();
  }

  /// A call without arguments has no piece of them; any other begins with an empty one.
  void add_call(const scripted_call& call) {
    const auto piece_of = [this](const std::string& piece) {
      return delta({{"type", "input_json_delta"}, {"partial_json", piece}});
    };
    const auto start = opening(call_block(call, json::object()));
    frames_.step(call.arguments.empty() ? start : start + piece_of(""));
    for (const auto& piece : split_text(call.arguments, piece_chars))
      frames_.step(piece_of(piece));
    close();
  }

  void add_end() {
    if (!said_.error_field.is_null())
      frames_.step("error: " + dumped(said_.error_field) + "\n\n");
    if (!said_.stream_error.is_null())
      frames_.step(event({{"type", "error"}, {"error", said_.stream_error}}));
    if (!said_.error_field.is_null() || !said_.stream_error.is_null())
      return;
    json end{{"type", "message_delta"},
             {"delta", {{"stop_reason", stop_reason_of(said_)}, {"stop_sequence", nullptr}}}};
    if (said_.usage != usage_mode::none)
      end["usage"] = last_usage_of(said_);
    frames_.step(event(end));
    if (said_.done_marker)
      frames_.step(event({{"type", "message_stop"}}));
  }

  const spoken_answer& said_;
  frame_writer frames_;
  std::size_t index_ = 0;
};

} // namespace

stream_frames messages_format::frames(const spoken_answer& said) const {
  return message_stream{said}.build();
}

json messages_format::whole(const spoken_answer& said) const {
  if (!said.stream_error.is_null())
    return error_body(said.stream_error);
  auto message = message_of(said, said.counts.output);
  message["content"] = content_of(said);
  message["stop_reason"] = stop_reason_of(said);
  return message;
}

std::string messages_format::keep_alive_frame() const {
  return event({{"type", "ping"}});
}

json messages_format::error_value(const provider_fault& fault) const {
  static constexpr std::array<std::pair<int, const char*>, 8> types{{
      {400, "invalid_request_error"},
      {401, "authentication_error"},
      {403, "permission_error"},
      {404, "not_found_error"},
      {413, "request_too_large"},
      {429, "rate_limit_error"},
      {504, "timeout_error"},
      {529, "overloaded_error"},
  }};
  const char* type = fault.status >= 500 ? "api_error" : "invalid_request_error";
  for (const auto& [status, name] : types)
    if (status == fault.status)
      type = name;
  return {{"type", type}, {"message", fault.message}};
}

json messages_format::error_body(json error) const {
  return {{"type", "error"}, {"error", std::move(error)}, {"request_id", "req_mock"}};
}

/// There is no code: the words alone say it. What the prompt alone exceeds is told as that.
provider_fault messages_format::overflow(const oversize& size) const {
  const auto prompt = std::to_string(size.prompt);
  const auto limit = std::to_string(size.limit);
  if (size.with_output && size.prompt <= size.limit)
    return {400,
            "input length and `max_tokens` exceed context limit: " + prompt + " + " +
                std::to_string(size.output) + " > " + limit +
                ", decrease input length or `max_tokens` and try again",
            "", ""};
  return {400, "prompt is too long: " + prompt + " tokens > " + limit + " maximum", "", ""};
}

} // namespace rind::hosts::mock_provider
