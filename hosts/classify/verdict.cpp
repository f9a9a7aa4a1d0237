// A recorded answer on its way through a session's reader.
#include "hosts/classify/verdict.hpp"

#include <array>
#include <memory>

#include "runtime/provider/anthropic_codec.hpp"
#include "runtime/provider/chat_codec.hpp"
#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/response_reader.hpp"
#include "runtime/provider/responses_codec.hpp"
#include "runtime/provider/typed_event.hpp"
#include "runtime/recovery/recovery_machine.hpp"

namespace rind::hosts::classify {

namespace {

using provider::sse_event;

/// Types of events that only one wire format has, by how they begin.
struct format_row {
  std::string_view type_begins;
  std::unique_ptr<provider::wire_codec> (*make)();
};

template <class Codec>
std::unique_ptr<provider::wire_codec> make() {
  return std::make_unique<Codec>();
}

constexpr std::array<format_row, 3> format_table{{
    {"response.", make<provider::responses_codec>},
    {"message_", make<provider::anthropic_codec>},
    {"content_block_", make<provider::anthropic_codec>},
}};

std::vector<sse_event> events_of(std::string_view body) {
  provider::sse_parser parser;
  return parser.feed(body).events;
}

/// The wire format that the events of a stream show; Chat Completions where they show none.
std::unique_ptr<provider::wire_codec> codec_for(const std::vector<sse_event>& events) {
  for (const auto& event : events) {
    const auto type = provider::read_typed(event).type;
    for (const auto& row : format_table)
      if (type.starts_with(row.type_begins))
        return row.make();
  }
  return make<provider::chat_codec>();
}

sampling_outcome play(const recorded_answer& answer, const provider::wire_codec& codec) {
  sampling_request request;
  request.request_id = answer.id;
  request.output_limit_tokens = answer.sent.output_limit_tokens;
  request.estimated_tokens = answer.sent.estimated_tokens;
  request.window_tokens = answer.sent.window_tokens;
  provider::response_reader reader{codec, request, answer.sent};
  reader.on_head(answer.head.status, answer.head.headers);
  if (!answer.body.empty())
    reader.on_body(answer.body);
  sampling_delta delta;
  return reader.finish({}, delta);
}

/// The rule by which the classifier gives this error for a part of the answer: the body, an event,
/// a line. How the transfer ended where it gives it for none.
std::string rule_of(const provider_error& error, const recorded_answer& answer,
                    const std::vector<sse_event>& events) {
  const auto rule_for = [&](std::string_view part) -> std::optional<std::string> {
    auto found = provider::classify(answer.head, part, answer.sent);
    const auto& other = found.error;
    if (other.error_class != error.error_class || other.message != error.message)
      return std::nullopt;
    return std::move(found.matched_by);
  };
  for (const auto& event : events)
    if (auto rule = rule_for(event.data))
      return *rule;
  if (auto rule = rule_for(answer.body))
    return *rule;
  for (std::string_view rest{answer.body}; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    if (auto rule = rule_for(rest.substr(0, end)))
      return *rule;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "stream:" + (error.code.empty() ? std::string{to_string(error.error_class)} : error.code);
}

std::string class_name_of(provider_error_class value) {
  switch (value) {
  case provider_error_class::request_too_large:
  case provider_error_class::unrecognised:
    return to_string(provider_error_class::invalid_request);
  default:
    return to_string(value);
  }
}

verdict verdict_of(const provider_error& error, std::string matched_by) {
  verdict v;
  v.class_name = class_name_of(error.error_class);
  v.limit_tokens = error.limit_tokens;
  v.requested_tokens = error.requested_tokens;
  v.retry_after_s = error.retry_after_s;
  v.retry_same = provider::may_retry_same(error);
  v.shrink_output_first = error.shrink_output_first;
  v.matched_by = std::move(matched_by);
  return v;
}

verdict judge_answer(const sampling_answer& answer, const provider::sent_facts& sent) {
  recovery::request_facts facts;
  facts.estimated_tokens = sent.estimated_tokens;
  facts.output_limit_tokens = sent.output_limit_tokens;
  facts.window_tokens = sent.window_tokens;
  const auto error = recovery::judge_answer(answer, facts);
  if (!error) {
    verdict v;
    v.class_name = "answer";
    v.matched_by = "finish:" + answer.finish_text;
    return v;
  }
  const auto is_by_numbers = error->error_class == provider_error_class::context_length &&
                             answer.finish != finish_reason::window_exceeded;
  return verdict_of(*error,
                    is_by_numbers ? "silent:" + error->code : "finish:" + answer.finish_text);
}

} // namespace

verdict judge(const recorded_answer& answer) {
  const auto events = events_of(answer.body);
  const auto codec = codec_for(events);
  const auto outcome = play(answer, *codec);
  if (const auto* whole = std::get_if<sampling_answer>(&outcome))
    return judge_answer(*whole, answer.sent);
  const auto& error = std::get<provider_error>(outcome);
  return verdict_of(error, rule_of(error, answer, events));
}

} // namespace rind::hosts::classify
