// Counting, refusing and streaming of the embedded model.
#include "runtime/provider/embedded_model.hpp"

#include <algorithm>

#include "runtime/provider/embedded_reply.hpp"
#include "runtime/provider/embedded_text.hpp"

namespace rind::provider {

namespace {

constexpr int refused_status = 400;
constexpr std::size_t delta_bytes_min = 24;

std::int64_t tokens_of_bytes(std::int64_t bytes) {
  return (bytes + embedded_bytes_per_token - 1) / embedded_bytes_per_token;
}

std::int64_t size_of(const std::string& text) {
  return static_cast<std::int64_t>(text.size());
}

std::int64_t calls_bytes(const std::vector<tool_call>& calls) {
  std::int64_t bytes = 0;
  for (const auto& call : calls)
    bytes +=
        size_of(call.id) + size_of(call.name) + size_of(call.arguments) + embedded_envelope_bytes;
  return bytes;
}

provider_error refusal(std::int64_t prompt_tokens, std::int64_t window_tokens) {
  provider_error error;
  error.error_class = provider_error_class::context_length;
  error.code = "context_length_exceeded";
  error.message = "This model's maximum context length is " + std::to_string(window_tokens) +
                  " tokens. However, your messages resulted in " + std::to_string(prompt_tokens) +
                  " tokens. Please reduce the length of the messages.";
  error.status = refused_status;
  error.limit_tokens = window_tokens;
  error.requested_tokens = prompt_tokens;
  error.retry_same = false;
  return error;
}

/// A text as its deltas.
std::vector<std::string> pieces_of(std::string_view text) {
  const auto piece_bytes = std::max(delta_bytes_min, text.size() / embedded_deltas_max +
                                                         4); // 4: a cut moves back by up to 3 bytes
  std::vector<std::string> pieces;
  while (!text.empty()) {
    pieces.emplace_back(prefix_of(text, piece_bytes));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

/// Ids are unique among the calls of the conversation: they count the calls that it holds.
void number_calls(std::vector<tool_call>& calls, const sampling_request& request) {
  std::size_t earlier = 0;
  for (const auto& m : request.messages)
    earlier += m->tool_calls.size();
  for (auto& call : calls)
    call.id = "call_" + request.request_id + "_" + std::to_string(++earlier);
}

} // namespace

std::int64_t embedded_prompt_tokens(const sampling_request& request) {
  std::int64_t bytes = 0;
  for (const auto& m : request.messages) {
    bytes += embedded_envelope_bytes + size_of(m->content) + size_of(m->tool_call_id) +
             size_of(m->name) + calls_bytes(m->tool_calls);
    if (m->reasoning)
      bytes += size_of(m->reasoning->text);
  }
  if (request.tools)
    for (const auto& tool : *request.tools)
      bytes += embedded_envelope_bytes + size_of(tool.name) + size_of(tool.description) +
               size_of(tool.parameters);
  return tokens_of_bytes(bytes);
}

embedded_model::embedded_model(embedded_options options) : options_(options) {
  if (options.delta_ms > 0)
    pace_ = std::make_unique<embedded_pace>(options.delta_ms);
}

void embedded_model::start(sampling_request request, sampling_sink sink) {
  const auto prompt_tokens = embedded_prompt_tokens(request);
  if (prompt_tokens > options_.window_tokens) {
    sink.on_end(refusal(prompt_tokens, options_.window_tokens));
    return;
  }
  embedded_reply reply;
  if (request.kind == sampling_kind::compact)
    reply.text = summarise(request);
  else
    reply = reply_to(request);
  number_calls(reply.calls, request);
  auto limit_tokens = options_.window_tokens - prompt_tokens;
  if (request.output_limit_tokens > 0)
    limit_tokens = std::min(limit_tokens, request.output_limit_tokens);
  sampling_answer answer;
  answer.finish = reply.calls.empty() ? finish_reason::stop : finish_reason::tool_calls;
  const auto output_tokens = tokens_of_bytes(size_of(reply.text) + calls_bytes(reply.calls));
  if (output_tokens > limit_tokens) {
    reply.text = std::string{
        prefix_of(reply.text, static_cast<std::size_t>(limit_tokens * embedded_bytes_per_token))};
    reply.calls.clear();
    answer.finish = finish_reason::length;
  }
  answer.finish_text = answer.finish == finish_reason::length ? "length"
                       : reply.calls.empty()                  ? "stop"
                                                              : "tool_calls";
  answer.usage.input_tokens = prompt_tokens;
  answer.usage.output_tokens = std::min(output_tokens, limit_tokens);
  const auto pieces = pieces_of(reply.text);
  message m;
  m.role = message_role::assistant;
  m.content = std::move(reply.text);
  m.tool_calls = std::move(reply.calls);
  m.model = request.model;
  answer.msg = std::make_shared<const message>(std::move(m));
  if (pace_)
    return pace_->start(request.request_id, pieces, std::move(sink), std::move(answer));
  if (stream(request.request_id, pieces, sink))
    sink.on_end(std::move(answer));
  else
    sink.on_end(sampling_cancelled{});
}

void embedded_model::cancel(const std::string& request_id) {
  if (pace_)
    return pace_->cancel(request_id);
  const std::lock_guard lock{mutex_};
  if (const auto running = running_.find(request_id); running != running_.end())
    running->second = true;
}

bool embedded_model::is_cancelled(const std::string& request_id) {
  const std::lock_guard lock{mutex_};
  const auto running = running_.find(request_id);
  return running != running_.end() && running->second;
}

/// Streams pieces; false if it was cancelled on the way. The sink is never called under the lock,
/// so that it may call cancel.
bool embedded_model::stream(const std::string& request_id, const std::vector<std::string>& pieces,
                            const sampling_sink& sink) {
  {
    const std::lock_guard lock{mutex_};
    running_.emplace(request_id, false);
  }
  bool cancelled = false;
  for (auto piece = pieces.begin(); piece != pieces.end() && !cancelled; ++piece) {
    sink.on_delta({*piece, {}});
    cancelled = is_cancelled(request_id);
  }
  const std::lock_guard lock{mutex_};
  running_.erase(request_id);
  return !cancelled;
}

} // namespace rind::provider
