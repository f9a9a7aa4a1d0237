// Growth and outcome of an answer.
#include "runtime/provider/answer_builder.hpp"

#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/finish_words.hpp"

namespace rind::provider {

namespace {

provider_error plain_error(provider_error_class error_class, std::string code,
                           std::string message) {
  provider_error error;
  error.error_class = error_class;
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

/// A stop with calls is a stop for calls, and the other way round.
finish_reason agreed(finish_reason reason, bool has_calls) {
  if (reason == finish_reason::stop && has_calls)
    return finish_reason::tool_calls;
  if (reason == finish_reason::tool_calls && !has_calls)
    return finish_reason::stop;
  return reason;
}

bool is_whole(finish_reason reason) {
  return reason == finish_reason::stop || reason == finish_reason::tool_calls;
}

} // namespace

answer_builder::answer_builder(answer_origin origin, response_head head, sent_facts sent)
    : origin_(std::move(origin)), head_(std::move(head)), sent_(std::move(sent)) {}

void answer_builder::add_text(std::string_view text, sampling_delta& delta) {
  charge(text.size());
  if (error_)
    return;
  text_ += text;
  delta.text += text;
}

void answer_builder::add_reasoning(std::string_view text, sampling_delta& delta) {
  charge(text.size());
  if (error_)
    return;
  reasoning_ += text;
  delta.reasoning += text;
}

void answer_builder::add_call(call_piece piece) {
  if (!error_ && !calls_.take(std::move(piece)))
    fail_flooded();
}

void answer_builder::complete_call(call_piece piece) {
  if (!error_ && !calls_.complete(std::move(piece)))
    fail_flooded();
}

void answer_builder::charge(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > answer_text_bytes_max)
    fail_flooded();
}

void answer_builder::fail(std::string_view evidence) {
  if (!error_)
    error_ = classify_error(head_, evidence, sent_);
}

void answer_builder::fail_with(provider_error_class error_class, std::string code,
                               std::string message) {
  if (!error_)
    error_ = plain_error(error_class, std::move(code), std::move(message));
}

void answer_builder::fail_flooded() {
  if (error_)
    return;
  error_ = plain_error(provider_error_class::server_error, "answer_too_large",
                       "the answer passed the bounds on an answer");
  error_->retry_same = false;
}

/// A finish that is a failure in truth, or a stream without a finish.
std::optional<provider_error> answer_builder::end_error(const answer_end& end) const {
  if (end.word.empty())
    return plain_error(provider_error_class::stream_interrupted, "stream_interrupted",
                       has_started_ ? "the stream ended before the answer was complete"
                                    : "the stream ended without an answer");
  const auto named = [](const std::string& word) -> std::optional<provider_error> {
    if (const auto error_class = failure_of(word))
      return plain_error(*error_class, word, "the provider ended the answer with “" + word + "”");
    return std::nullopt;
  };
  if (auto error = named(end.word))
    return error;
  return is_empty() ? named(end.native_word) : std::nullopt;
}

sampling_outcome answer_builder::finish(answer_end end) {
  auto error = error_ ? error_ : end_error(end);
  std::optional<std::vector<tool_call>> calls;
  if (!error) {
    calls = calls_.finish("call_" + origin_.request_id + "_");
    if (!calls)
      error = plain_error(provider_error_class::stream_interrupted, "malformed_tool_call",
                          "the answer holds a tool call without a name");
  }
  if (!error)
    return make_answer(std::move(end), *std::move(calls));
  error->usage = usage_;
  if (error->status == 0)
    error->status = head_.status;
  return *std::move(error);
}

sampling_answer answer_builder::make_answer(answer_end end, std::vector<tool_call> calls) {
  sampling_answer answer;
  answer.finish = agreed(finish_of(end.word), !calls.empty());
  answer.finish_text = std::move(end.word);
  answer.usage = usage_;
  if (!is_whole(answer.finish))
    end.opaque.clear();
  message m;
  m.role = message_role::assistant;
  m.content = std::move(text_);
  m.tool_calls = std::move(calls);
  m.model = origin_.model;
  if (!reasoning_.empty() || !end.opaque.empty())
    m.reasoning = reasoning_block{std::move(reasoning_), std::move(end.opaque)};
  answer.msg = std::make_shared<const message>(std::move(m));
  return answer;
}

} // namespace rind::provider
