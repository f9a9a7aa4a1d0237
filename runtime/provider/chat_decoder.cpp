// Answers of Chat Completions.
#include "runtime/provider/chat_decoder.hpp"

#include <algorithm>
#include <array>

#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

struct finish_row {
  std::string_view text;
  finish_reason reason;
};

constexpr std::array<finish_row, 16> finish_table{{
    {"stop", finish_reason::stop},
    {"end_turn", finish_reason::stop},
    {"stop_sequence", finish_reason::stop},
    {"eos", finish_reason::stop},
    {"eos_token", finish_reason::stop},
    {"tool_calls", finish_reason::tool_calls},
    {"tool_use", finish_reason::tool_calls},
    {"function_call", finish_reason::tool_calls},
    {"length", finish_reason::length},
    {"max_tokens", finish_reason::length},
    {"content_filter", finish_reason::content_filter},
    {"safety", finish_reason::content_filter},
    {"sensitive", finish_reason::content_filter},
    {"refusal", finish_reason::content_filter},
    {"model_length", finish_reason::window_exceeded},
    {"model_context_window_exceeded", finish_reason::window_exceeded},
}};

/// Words for a finish that are failures in truth.
struct failed_finish_row {
  std::string_view text;
  provider_error_class error_class;
};

constexpr std::array<failed_finish_row, 4> failed_finish_table{{
    {"error", provider_error_class::server_error},
    {"error_finish", provider_error_class::server_error},
    {"network_error", provider_error_class::server_error},
    {"insufficient_system_resource", provider_error_class::overloaded},
}};

finish_reason reason_of(std::string_view text) {
  for (const auto& row : finish_table)
    if (row.text == text)
      return row.reason;
  return finish_reason::other;
}

std::optional<std::int64_t> first_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a ? a : b;
}

/// A count, or unknown where it is zero beside an unknown or zero whole.
token_usage usage_of(const json& value) {
  token_usage usage;
  usage.input_tokens = count_member(value, "prompt_tokens");
  usage.output_tokens = count_member(value, "completion_tokens");
  usage.cached_tokens =
      first_of(count_member(member(value, "prompt_tokens_details"), "cached_tokens"),
               count_member(value, "prompt_cache_hit_tokens"));
  usage.reasoning_tokens =
      count_member(member(value, "completion_tokens_details"), "reasoning_tokens");
  if (usage.input_tokens.value_or(0) == 0) { // no request has an empty prompt: not counted
    usage.input_tokens.reset();
    usage.cached_tokens.reset();
    if (usage.output_tokens.value_or(0) == 0)
      return {};
  }
  return usage;
}

provider_error plain_error(provider_error_class error_class, std::string code,
                           std::string message) {
  provider_error error;
  error.error_class = error_class;
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

} // namespace

chat_decoder::chat_decoder(answer_origin origin, response_head head, sent_facts sent)
    : origin_(std::move(origin)), head_(std::move(head)), sent_(std::move(sent)) {}

void chat_decoder::take(const sse_event& event, sampling_delta& delta) {
  if (error_ || done_)
    return;
  if (event.kind == sse_event_kind::error_field || event.type == "error") {
    fail_with(event.data);
    return;
  }
  if (event.data == "[DONE]") {
    done_ = true;
    return;
  }
  const auto chunk = parse_outside_json(event.data);
  if (!chunk || is_error_body(*chunk)) {
    if (chunk)
      take_usage(member(*chunk, "usage"));
    fail_with(event.data);
    return;
  }
  take_chunk(*chunk, delta);
}

void chat_decoder::take_whole(const json& body, sampling_delta& delta) {
  if (error_)
    return;
  if (is_error_body(body)) {
    fail_with(dump(body));
    return;
  }
  take_chunk(body, delta);
  if (finish_text_.empty() && (!text_.empty() || !calls_.empty()))
    finish_text_ = "stop"; // a whole body is complete, also where it says nothing of its finish
  done_ = true;
}

void chat_decoder::take_chunk(const json& chunk, sampling_delta& delta) {
  take_usage(member(chunk, "usage"));
  take_usage(member(member(chunk, "x_groq"), "usage"));
  const auto& choices = member(chunk, "choices");
  if (!choices.is_array())
    return;
  saw_chunk_ = true;
  for (const auto& choice : choices)
    if (count_member(choice, "index").value_or(0) == 0)
      take_choice(choice, delta);
}

void chat_decoder::take_choice(const json& choice, sampling_delta& delta) {
  take_usage(member(choice, "usage"));
  take_delta(member(choice, "delta"), delta);
  take_delta(member(choice, "message"), delta);
  if (const auto text = text_member(choice, "finish_reason"); !text.empty() && finish_text_.empty())
    finish_text_ = text;
  if (const auto text = text_member(choice, "native_finish_reason"); !text.empty())
    native_finish_text_ = text;
}

void chat_decoder::take_delta(const json& part, sampling_delta& delta) {
  if (!part.is_object())
    return;
  for (const auto* field : {"reasoning_content", "reasoning"}) {
    const auto text = text_member(part, field);
    if (text.empty() || (!reasoning_field_.empty() && reasoning_field_ != field))
      continue;
    reasoning_field_ = field;
    add_reasoning(text, delta);
  }
  take_content(member(part, "content"), delta);
  take_calls(part);
}

void chat_decoder::take_content(const json& content, sampling_delta& delta) {
  if (content.is_string()) {
    add_text(content.get_ref<const std::string&>(), delta);
    return;
  }
  if (!content.is_array())
    return;
  for (const auto& piece : content) {
    add_text(text_member(piece, "text"), delta);
    const auto& thinking = member(piece, "thinking");
    if (thinking.is_string())
      add_reasoning(thinking.get_ref<const std::string&>(), delta);
    else if (thinking.is_array())
      for (const auto& inner : thinking)
        add_reasoning(text_member(inner, "text"), delta);
  }
}

void chat_decoder::take_calls(const json& part) {
  const auto take_one = [this](std::optional<std::int64_t> index, const std::string& id,
                               const json& function) {
    call_piece piece{index, id, text_member(function, "name"), text_member(function, "arguments")};
    if (const auto& arguments = member(function, "arguments"); arguments.is_object())
      piece.arguments = dump(arguments);
    if (!calls_.take(std::move(piece)))
      fail_flooded();
  };
  if (const auto& list = member(part, "tool_calls"); list.is_array())
    for (const auto& call : list)
      if (!error_ && call.is_object())
        take_one(count_member(call, "index"), text_member(call, "id"), member(call, "function"));
  if (const auto& old_form = member(part, "function_call"); old_form.is_object() && !error_)
    take_one(std::nullopt, {}, old_form);
}

void chat_decoder::take_usage(const json& value) {
  if (!value.is_object())
    return;
  const auto usage = usage_of(value);
  if (usage.input_tokens || usage.output_tokens)
    usage_ = usage;
}

void chat_decoder::add_text(const std::string& text, sampling_delta& delta) {
  if (text.empty() || error_)
    return;
  if (text_.size() + reasoning_.size() + text.size() > answer_text_bytes_max) {
    fail_flooded();
    return;
  }
  text_ += text;
  delta.text += text;
}

void chat_decoder::add_reasoning(const std::string& text, sampling_delta& delta) {
  if (text.empty() || error_)
    return;
  if (text_.size() + reasoning_.size() + text.size() > answer_text_bytes_max) {
    fail_flooded();
    return;
  }
  reasoning_ += text;
  delta.reasoning += text;
}

void chat_decoder::fail_with(std::string_view evidence) {
  error_ = classify_error(head_, evidence, sent_);
}

void chat_decoder::fail_flooded() {
  error_ = plain_error(provider_error_class::server_error, "answer_too_large",
                       "the answer passed the bounds on an answer");
  error_->retry_same = false;
}

/// A finish that is a failure in truth, or a stream without a finish.
std::optional<provider_error> chat_decoder::finish_error() const {
  if (finish_text_.empty())
    return plain_error(provider_error_class::stream_interrupted, "stream_interrupted",
                       saw_chunk_ ? "the stream ended before the answer was complete"
                                  : "the stream ended without an answer");
  const auto is_blank = text_.empty() && calls_.empty();
  for (const auto& row : failed_finish_table)
    if (finish_text_ == row.text || (is_blank && native_finish_text_ == row.text))
      return plain_error(row.error_class, std::string{row.text},
                         "the provider ended the answer with “" + std::string{row.text} + "”");
  return std::nullopt;
}

sampling_outcome chat_decoder::finish() {
  auto error = error_ ? error_ : finish_error();
  std::optional<std::vector<tool_call>> calls;
  if (!error) {
    calls = calls_.finish("call_" + origin_.request_id + "_");
    if (!calls)
      error = plain_error(provider_error_class::stream_interrupted, "malformed_tool_call",
                          "the answer holds a tool call without a name");
  }
  if (error) {
    error->usage = usage_;
    if (error->status == 0)
      error->status = head_.status;
    return std::move(*error);
  }
  sampling_answer answer;
  answer.finish = reason_of(finish_text_);
  if (answer.finish == finish_reason::stop && !calls->empty())
    answer.finish = finish_reason::tool_calls;
  else if (answer.finish == finish_reason::tool_calls && calls->empty())
    answer.finish = finish_reason::stop;
  answer.finish_text = std::move(finish_text_);
  answer.usage = usage_;
  message m;
  m.role = message_role::assistant;
  m.content = std::move(text_);
  m.tool_calls = std::move(*calls);
  m.model = origin_.model;
  if (!reasoning_.empty())
    m.reasoning = reasoning_block{std::move(reasoning_), {}};
  answer.msg = std::make_shared<const message>(std::move(m));
  return answer;
}

} // namespace rind::provider
