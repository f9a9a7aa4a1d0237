// Ids, pieces and counts of an answer.
#include "hosts/mock_provider/spoken_answer.hpp"

#include <algorithm>
#include <utility>

#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

/// Bytes that count as one token.
constexpr std::int64_t token_bytes = 4;

/// The part of a prompt that the mock calls cached where the script does not say: one in two
/// tokens.
constexpr std::int64_t cached_divisor = 2;

constexpr std::size_t tag_chars = 12;

std::vector<scripted_call> with_ids(std::vector<scripted_call> calls, std::int64_t nth) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].id.empty())
      calls[i].id = "call_" + std::to_string(nth) + "_" + std::to_string(i);
  return calls;
}

token_counts counts_of(const scripted_answer& answer, const mock_request& request) {
  std::size_t bytes = answer.reasoning.size();
  for (const auto& delta : answer.deltas)
    bytes += delta.size();
  for (const auto& call : answer.tool_calls)
    bytes += call.name.size() + call.arguments.size();
  const auto& said = answer.usage_counts;
  token_counts counts;
  counts.input = said.input.value_or(request.prompt_tokens);
  counts.cached = said.cached.value_or(counts.input / cached_divisor);
  counts.output = said.output.value_or(tokens_in(bytes));
  counts.reasoning =
      said.reasoning.value_or(std::min(counts.output, tokens_in(answer.reasoning.size())));
  return counts;
}

} // namespace

spoken_answer speak(const picked_answer& picked, const mock_request& request) {
  const auto& answer = picked.answer;
  spoken_answer said;
  said.id = (request.conversation.empty() ? "mock" : request.conversation) + "-" +
            std::to_string(picked.nth);
  said.tag = digest_of(said.id).substr(0, tag_chars);
  said.model = request.model;
  said.reasons = !answer.reasoning.empty() || request.must_reason;
  if (answer.reasoning_hidden)
    said.hidden_reasoning = answer.reasoning;
  else
    said.reasoning = split_text(answer.reasoning, piece_chars);
  said.text = answer.deltas;
  said.calls = with_ids(answer.tool_calls, picked.nth);
  said.finish = answer.finish.value_or(answer.tool_calls.empty() ? "stop" : "tool_calls");
  said.usage = answer.usage;
  said.usage_object = answer.usage_object;
  said.counts = counts_of(answer, request);
  said.reports_usage = request.include_usage;
  said.seals_reasoning = request.seal_reasoning;
  said.done_marker = answer.done_marker;
  said.stream_error = answer.stream_error;
  said.error_field = answer.error_field;
  return said;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const auto& piece : pieces)
    text += piece;
  return text;
}

std::string in_words_of(std::span<const format_word> words, const std::string& word) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const format_word& entry) { return entry.neutral == word; });
  return found == words.end() ? word : std::string{found->own};
}

std::int64_t tokens_in(std::size_t bytes) {
  return (static_cast<std::int64_t>(bytes) + token_bytes - 1) / token_bytes;
}

} // namespace rind::hosts::mock_provider
