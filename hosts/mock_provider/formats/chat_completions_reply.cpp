// Replies in the Chat Completions format.
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/chat_completions.hpp"
#include "hosts/mock_provider/formats/frame_writer.hpp"

namespace rind::hosts::mock_provider {

namespace {

using json = nlohmann::ordered_json;

/// The neutral words are this format's, but for the one that it lacks: it is another provider's.
constexpr std::array<format_word, 1> finish_words{
    {{"window_exceeded", "model_context_window_exceeded"}}};

std::string frame(const json& data) {
  return "data: " + dumped(data) + "\n\n";
}

json finish_of(const spoken_answer& said) {
  return said.finish.empty() ? json{} : json(in_words_of(finish_words, said.finish));
}

json usage_of(const spoken_answer& said) {
  if (said.usage == usage_mode::scripted)
    return said.usage_object;
  if (said.usage != usage_mode::counted)
    return nullptr;
  const auto& counts = said.counts;
  json usage{{"prompt_tokens", counts.input},
             {"completion_tokens", counts.output},
             {"total_tokens", counts.input + counts.output},
             {"prompt_tokens_details", {{"cached_tokens", counts.cached}}}};
  if (counts.reasoning > 0)
    usage["completion_tokens_details"] = {{"reasoning_tokens", counts.reasoning}};
  return usage;
}

/// Builds the frames of one stream, in order.
class chat_stream {
public:
  explicit chat_stream(const spoken_answer& said) : said_(said) {}

  stream_frames build() {
    add({{"role", "assistant"}, {"content", ""}});
    for (const auto& piece : said_.reasoning)
      add({{"reasoning_content", piece}});
    for (const auto& piece : said_.text)
      add({{"content", piece}});
    frames_.text_is_over();
    for (std::size_t i = 0; i < said_.calls.size(); ++i)
      add_call(i);
    add_end();
    return frames_.take();
  }

private:
  json envelope() const {
    return {{"id", "chatcmpl-" + said_.id},
            {"object", "chat.completion.chunk"},
            {"created", 0},
            {"model", said_.model}};
  }

  void add(json delta, json finish = nullptr) {
    auto chunk = envelope();
    chunk["choices"] = json::array(
        {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}});
    if (said_.reports_usage)
      chunk["usage"] = nullptr;
    frames_.step(frame(chunk));
  }

  void add_call(std::size_t index) {
    const auto& call = said_.calls[index];
    add({{"tool_calls", json::array({{{"index", index},
                                      {"id", call.id},
                                      {"type", "function"},
                                      {"function", {{"name", call.name}, {"arguments", ""}}}}})}});
    for (const auto& piece : split_text(call.arguments, piece_chars))
      add({{"tool_calls",
            json::array({{{"index", index}, {"function", {{"arguments", piece}}}}})}});
  }

  void add_end() {
    if (!said_.error_field.is_null())
      frames_.step("error: " + dumped(said_.error_field) + "\n\n");
    if (!said_.stream_error.is_null())
      frames_.step(frame({{"error", said_.stream_error}}));
    if (said_.error_field.is_null() && said_.stream_error.is_null())
      add_finish_and_usage();
    if (said_.done_marker)
      frames_.step("data: [DONE]\n\n");
  }

  void add_finish_and_usage() {
    if (!said_.finish.empty())
      add(json::object(), finish_of(said_));
    if (!said_.reports_usage || said_.usage == usage_mode::none)
      return;
    auto report = envelope();
    report["choices"] = json::array();
    report["usage"] = usage_of(said_);
    frames_.step(frame(report));
  }

  const spoken_answer& said_;
  frame_writer frames_;
};

json message_of(const spoken_answer& said) {
  const auto text = joined(said.text);
  json message{{"role", "assistant"}, {"content", text}};
  if (!said.reasoning.empty())
    message["reasoning_content"] = joined(said.reasoning);
  if (said.calls.empty())
    return message;
  if (text.empty())
    message["content"] = nullptr;
  auto& calls = message["tool_calls"] = json::array();
  for (const auto& call : said.calls)
    calls.push_back({{"id", call.id},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return message;
}

} // namespace

stream_frames chat_completions_format::frames(const spoken_answer& said) const {
  return chat_stream{said}.build();
}

json chat_completions_format::whole(const spoken_answer& said) const {
  if (!said.stream_error.is_null())
    return error_body(said.stream_error);
  json out{{"id", "chatcmpl-" + said.id},
           {"object", "chat.completion"},
           {"created", 0},
           {"model", said.model},
           {"choices", json::array({{{"index", 0},
                                     {"message", message_of(said)},
                                     {"finish_reason", finish_of(said)}}})}};
  if (said.usage != usage_mode::none)
    out["usage"] = usage_of(said);
  return out;
}

std::string chat_completions_format::keep_alive_frame() const {
  return ": keep-alive\n\n";
}

json chat_completions_format::error_value(const provider_fault& fault) const {
  const char* type = "invalid_request_error";
  if (fault.status == 429)
    type = "rate_limit_error";
  else if (fault.status >= 500)
    type = "server_error";
  const auto or_null = [](const std::string& text) { return text.empty() ? json{} : json(text); };
  return {{"message", fault.message},
          {"type", type},
          {"param", or_null(fault.param)},
          {"code", or_null(fault.code)}};
}

json chat_completions_format::error_body(json error) const {
  return {{"error", std::move(error)}};
}

provider_fault chat_completions_format::overflow(const oversize& size) const {
  const auto head =
      "This model's maximum context length is " + std::to_string(size.limit) + " tokens. However, ";
  const auto prompt = std::to_string(size.prompt);
  const auto tail =
      !size.with_output
          ? "your messages resulted in " + prompt +
                " tokens. Please reduce the length of the messages."
          : "you requested " + std::to_string(size.prompt + size.output) + " tokens (" + prompt +
                " in the messages, " + std::to_string(size.output) +
                " in the completion). Please reduce the length of the messages or completion.";
  return {400, head + tail, "context_length_exceeded", "messages"};
}

} // namespace rind::hosts::mock_provider
