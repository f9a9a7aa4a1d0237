// Answers of Chat Completions.
#include "runtime/provider/chat_decoder.hpp"

#include "runtime/provider/chat_codec.hpp"
#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/resent_reasoning.hpp"
#include "runtime/provider/usage_report.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

std::optional<std::int64_t> first_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a ? a : b;
}

token_usage usage_of(const json& value) {
  usage_report report;
  report.input = count_member(value, "prompt_tokens");
  report.output = count_member(value, "completion_tokens");
  report.total = count_member(value, "total_tokens");
  report.cached = first_of(count_member(member(value, "prompt_tokens_details"), "cached_tokens"),
                           count_member(value, "prompt_cache_hit_tokens"));
  report.reasoning = count_member(member(value, "completion_tokens_details"), "reasoning_tokens");
  return normalised(report);
}

} // namespace

chat_decoder::chat_decoder(answer_origin origin, response_head head, sent_facts sent)
    : answer_(std::move(origin), std::move(head), std::move(sent)) {}

void chat_decoder::take(const sse_event& event, sampling_delta& delta) {
  if (has_failed() || done_)
    return;
  if (event.kind == sse_event_kind::error_field || event.type == "error") {
    answer_.fail(event.data);
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
    answer_.fail(event.data);
    return;
  }
  take_chunk(*chunk, delta);
}

void chat_decoder::take_whole(const json& body, sampling_delta& delta) {
  if (has_failed())
    return;
  if (is_error_body(body)) {
    answer_.fail(dump(body));
    return;
  }
  take_chunk(body, delta);
  if (end_.word.empty() && !answer_.is_empty())
    end_.word = "stop"; // a whole body is complete, also where it says nothing of its finish
  done_ = true;
}

void chat_decoder::take_chunk(const json& chunk, sampling_delta& delta) {
  take_usage(member(chunk, "usage"));
  take_usage(member(member(chunk, "x_groq"), "usage"));
  const auto& choices = member(chunk, "choices");
  if (!choices.is_array())
    return;
  answer_.note_start();
  for (const auto& choice : choices)
    if (count_member(choice, "index").value_or(0) == 0)
      take_choice(choice, delta);
}

void chat_decoder::take_choice(const json& choice, sampling_delta& delta) {
  take_usage(member(choice, "usage"));
  take_delta(member(choice, "delta"), delta);
  take_delta(member(choice, "message"), delta);
  if (auto word = text_member(choice, "finish_reason"); !word.empty() && end_.word.empty())
    end_.word = std::move(word);
  if (auto word = text_member(choice, "native_finish_reason"); !word.empty())
    end_.native_word = std::move(word);
}

void chat_decoder::take_delta(const json& part, sampling_delta& delta) {
  if (!part.is_object())
    return;
  take_reasoning(part, delta);
  take_content(member(part, "content"), delta);
  take_calls(part);
}

void chat_decoder::take_reasoning(const json& part, sampling_delta& delta) {
  for (const auto* field : {"reasoning_content", "reasoning"}) {
    const auto text = text_member(part, field);
    if (text.empty() || (!reasoning_field_.empty() && reasoning_field_ != field))
      continue;
    reasoning_field_ = field;
    answer_.add_reasoning(text, delta);
  }
  const auto& details = member(part, "reasoning_details");
  if (!details.is_array() || details.empty())
    return;
  answer_.charge(dump(details).size());
  if (!has_failed() && !details_.take(details))
    answer_.fail_flooded();
}

void chat_decoder::take_content(const json& content, sampling_delta& delta) {
  if (content.is_string()) {
    answer_.add_text(content.get_ref<const std::string&>(), delta);
    return;
  }
  if (!content.is_array())
    return;
  for (const auto& piece : content) {
    answer_.add_text(text_member(piece, "text"), delta);
    const auto& thinking = member(piece, "thinking");
    if (thinking.is_string())
      answer_.add_reasoning(thinking.get_ref<const std::string&>(), delta);
    else if (thinking.is_array())
      for (const auto& inner : thinking)
        answer_.add_reasoning(text_member(inner, "text"), delta);
  }
}

void chat_decoder::take_calls(const json& part) {
  const auto take_one = [this](std::optional<std::int64_t> index, const std::string& id,
                               const json& function) {
    call_piece piece{index, id, text_member(function, "name"), text_member(function, "arguments")};
    if (const auto& arguments = member(function, "arguments"); arguments.is_object())
      piece.arguments = dump(arguments);
    answer_.add_call(std::move(piece));
  };
  if (const auto& list = member(part, "tool_calls"); list.is_array())
    for (const auto& call : list)
      if (call.is_object())
        take_one(count_member(call, "index"), text_member(call, "id"), member(call, "function"));
  if (const auto& old_form = member(part, "function_call"); old_form.is_object())
    take_one(std::nullopt, {}, old_form);
}

void chat_decoder::take_usage(const json& value) {
  if (!value.is_object())
    return;
  const auto usage = usage_of(value);
  if (usage.input_tokens || usage.output_tokens)
    answer_.set_usage(usage);
}

sampling_outcome chat_decoder::finish() {
  if (!details_.pieces().empty())
    end_.opaque =
        opaque_of_members(chat_format, {{std::string{"reasoning_details"}, details_.pieces()}});
  return answer_.finish(std::move(end_));
}

} // namespace rind::provider
