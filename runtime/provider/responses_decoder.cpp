// Answers of OpenAI Responses.
#include "runtime/provider/responses_decoder.hpp"

#include <algorithm>
#include <array>

#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/resent_reasoning.hpp"
#include "runtime/provider/responses_codec.hpp"
#include "runtime/provider/typed_event.hpp"
#include "runtime/provider/usage_report.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr std::string_view message_type = "message";
constexpr std::string_view call_type = "function_call";
constexpr std::string_view reasoning_type = "reasoning";

constexpr std::string_view completed = "completed";
constexpr std::string_view incomplete = "incomplete";
constexpr std::string_view failed = "failed";

constexpr std::string_view between_summaries = "\n\n";

/// The texts of a list of parts that have `key`, joined.
std::string joined(const json& parts, const char* key, std::string_view separator) {
  std::string all;
  if (!parts.is_array())
    return all;
  for (const auto& part : parts) {
    const auto text = text_member(part, key);
    if (!text.empty() && !all.empty())
      all += separator;
    all += text;
  }
  return all;
}

/// The arguments of a call, which a few servers give as an object.
std::string arguments_of(const json& source) {
  const auto& arguments = member(source, "arguments");
  return arguments.is_object() ? dump(arguments) : text_member(source, "arguments");
}

/// A reasoning item as it is sent again, or null where there is nothing in it that the model could
/// go on from.
json resent(const json& source) {
  const auto& content = member(source, "content");
  if (text_member(source, "encrypted_content").empty() && (!content.is_array() || content.empty()))
    return nullptr;
  auto item = source;
  item.erase("id");
  item.erase("status");
  return item;
}

} // namespace

/// The events that mean something; all others are skipped.
struct responses_decoder::event_row {
  std::string_view type;
  void (responses_decoder::*take)(const json&, sampling_delta&);
};

const responses_decoder::event_row* responses_decoder::row_of(const std::string& type) {
  using self = responses_decoder;
  static constexpr std::array<event_row, 14> rows{{
      {"response.created", &self::take_start},
      {"response.in_progress", &self::take_start},
      {"response.output_item.added", &self::take_item_added},
      {"response.output_item.done", &self::take_item_done},
      {"response.output_text.delta", &self::take_text},
      {"response.refusal.delta", &self::take_refusal},
      {"response.reasoning_summary_text.delta", &self::take_reasoning},
      {"response.reasoning_text.delta", &self::take_reasoning},
      {"response.reasoning_summary_part.added", &self::take_summary_part},
      {"response.function_call_arguments.delta", &self::take_arguments},
      {"response.function_call_arguments.done", &self::take_all_arguments},
      {"response.completed", &self::take_completed},
      {"response.incomplete", &self::take_incomplete},
      {"response.failed", &self::take_failed},
  }};
  for (const auto& row : rows)
    if (row.type == type)
      return &row;
  return nullptr;
}

responses_decoder::responses_decoder(answer_origin origin, response_head head, sent_facts sent)
    : answer_(std::move(origin), std::move(head), std::move(sent)) {}

void responses_decoder::take(const sse_event& event, sampling_delta& delta) {
  if (has_failed() || is_complete())
    return;
  const auto read = read_typed(event);
  const auto* row = row_of(read.type);
  if (is_failure(event, read, row != nullptr))
    answer_.fail(event.data);
  else if (row != nullptr && read.data)
    (this->*row->take)(*read.data, delta);
}

void responses_decoder::take_whole(const json& body, sampling_delta& delta) {
  if (has_failed())
    return;
  if (!member(body, "output").is_array() && text_member(body, "object") != "response") {
    if (is_error_body(body))
      answer_.fail(dump(body));
    return;
  }
  const auto status = text_member(body, "status");
  take_response(body, status.empty() ? completed : std::string_view{status}, delta);
}

void responses_decoder::take_start(const json&, sampling_delta&) {
  answer_.note_start();
}

/// A few servers give each item the same index: what is added after a complete item is a new one.
void responses_decoder::take_item_added(const json& event, sampling_delta&) {
  answer_.note_start();
  const auto& source = member(event, "item");
  const auto type = text_member(source, "type");
  auto* i = find(event, type);
  if (i == nullptr || i->is_done)
    i = open(event, type);
  if (i == nullptr)
    return;
  i->id = text_member(source, "id");
  if (i->type == call_type)
    answer_.add_call({call_index(*i), text_member(source, "call_id"), text_member(source, "name"),
                      arguments_of(source)});
}

void responses_decoder::take_item_done(const json& event, sampling_delta& delta) {
  const auto& source = member(event, "item");
  if (auto* i = item_of(event, text_member(source, "type")))
    complete(*i, source, delta);
}

void responses_decoder::take_text(const json& event, sampling_delta& delta) {
  auto* i = item_of(event, message_type);
  if (i == nullptr)
    return;
  const auto text = text_member(event, "delta");
  answer_.add_text(text, delta);
  if (!has_failed())
    i->text += text;
}

void responses_decoder::take_refusal(const json&, sampling_delta&) {
  has_refusal_ = true;
}

void responses_decoder::take_reasoning(const json& event, sampling_delta& delta) {
  auto* i = item_of(event, reasoning_type);
  if (i == nullptr)
    return;
  i->is_shown = true;
  answer_.add_reasoning(text_member(event, "delta"), delta);
}

void responses_decoder::take_summary_part(const json& event, sampling_delta& delta) {
  if (const auto* i = item_of(event, reasoning_type); i != nullptr && i->is_shown)
    answer_.add_reasoning(between_summaries, delta);
}

void responses_decoder::take_arguments(const json& event, sampling_delta&) {
  if (const auto* i = item_of(event, call_type))
    answer_.add_call({call_index(*i), {}, {}, text_member(event, "delta")});
}

void responses_decoder::take_all_arguments(const json& event, sampling_delta&) {
  if (auto* i = item_of(event, call_type))
    complete_call(*i, event);
}

void responses_decoder::take_completed(const json& event, sampling_delta& delta) {
  take_response(member(event, "response"), completed, delta);
}

void responses_decoder::take_incomplete(const json& event, sampling_delta& delta) {
  take_response(member(event, "response"), incomplete, delta);
}

void responses_decoder::take_failed(const json& event, sampling_delta& delta) {
  take_response(member(event, "response"), failed, delta);
}

responses_decoder::item* responses_decoder::find(const json& event, std::string_view type) {
  const auto index = count_member(event, "output_index");
  const auto id = text_member(event, "item_id");
  for (auto i = items_.rbegin(); i != items_.rend(); ++i)
    if (index ? i->index == *index : id.empty() ? i->type == type : i->id == id)
      return &*i;
  return nullptr;
}

responses_decoder::item* responses_decoder::open(const json& event, std::string_view type) {
  if (items_.size() >= answer_parts_max) {
    answer_.fail_flooded();
    return nullptr;
  }
  auto& opened = items_.emplace_back();
  opened.index =
      count_member(event, "output_index").value_or(static_cast<std::int64_t>(items_.size()) - 1);
  opened.id = text_member(event, "item_id");
  opened.type = type;
  return &opened;
}

responses_decoder::item* responses_decoder::item_of(const json& event, std::string_view type) {
  answer_.note_start();
  auto* found = find(event, type);
  return found != nullptr ? found : open(event, type);
}

std::int64_t responses_decoder::call_index(const item& i) const {
  return &i - items_.data();
}

void responses_decoder::complete(item& i, const json& source, sampling_delta& delta) {
  if (i.is_done || !source.is_object())
    return;
  i.is_done = true;
  if (i.type.empty())
    i.type = text_member(source, "type");
  if (i.type == message_type)
    complete_message(i, source, delta);
  else if (i.type == call_type)
    complete_call(i, source);
  else if (i.type == reasoning_type)
    complete_reasoning(i, source, delta);
}

void responses_decoder::complete_message(item& i, const json& source, sampling_delta& delta) {
  const auto& content = member(source, "content");
  has_refusal_ = has_refusal_ || !joined(content, "refusal", {}).empty();
  auto text = joined(content, "text", {});
  if (text.empty())
    return;
  if (text.compare(0, i.text.size(), i.text) == 0)
    answer_.add_text(std::string_view{text}.substr(i.text.size()), delta);
  else
    answer_.charge(text.size());
  if (!has_failed())
    i.text = std::move(text);
}

void responses_decoder::complete_call(item& i, const json& source) {
  call_piece piece{call_index(i), text_member(source, "call_id"), text_member(source, "name"),
                   arguments_of(source)};
  if (piece.arguments.empty())
    answer_.add_call(std::move(piece));
  else
    answer_.complete_call(std::move(piece));
}

void responses_decoder::complete_reasoning(item& i, const json& source, sampling_delta& delta) {
  if (!i.is_shown) {
    auto text = joined(member(source, "summary"), "text", between_summaries);
    if (text.empty())
      text = joined(member(source, "content"), "text", {});
    answer_.add_reasoning(text, delta);
  }
  i.reasoned = resent(source);
  answer_.charge(dump(i.reasoned).size());
}

void responses_decoder::take_response(const json& response, std::string_view status,
                                      sampling_delta& delta) {
  take_usage(member(response, "usage"));
  if (const auto& error = member(response, "error"); !error.is_null()) {
    answer_.fail(dump({{"error", error}})); // not the rest: it repeats what was sent
    return;
  }
  if (status == failed) {
    answer_.fail_with(provider_error_class::server_error, "response_failed",
                      "the provider ended the answer as failed and gave no reason");
    return;
  }
  take_output(member(response, "output"), delta);
  if (status == completed) {
    end_.word = has_refusal_ && answer_.is_empty() ? "refusal" : completed;
  } else if (status == incomplete) {
    end_.word = text_member(member(response, "incomplete_details"), "reason");
    if (end_.word.empty())
      end_.word = incomplete;
  }
}

/// The whole output stands in the last event too; it counts where no item came whole before.
void responses_decoder::take_output(const json& output, sampling_delta& delta) {
  const auto is_done = [](const item& i) { return i.is_done; };
  if (!output.is_array() || std::any_of(items_.begin(), items_.end(), is_done))
    return;
  for (std::size_t at = 0; at < output.size() && !has_failed(); ++at)
    if (auto* i = item_of({{"output_index", at}}, text_member(output[at], "type")))
      complete(*i, output[at], delta);
}

void responses_decoder::take_usage(const json& usage) {
  if (!usage.is_object())
    return;
  usage_report report;
  report.input = count_member(usage, "input_tokens");
  report.output = count_member(usage, "output_tokens");
  report.total = count_member(usage, "total_tokens");
  report.cached = count_member(member(usage, "input_tokens_details"), "cached_tokens");
  report.reasoning = count_member(member(usage, "output_tokens_details"), "reasoning_tokens");
  answer_.set_usage(normalised(report));
}

std::string responses_decoder::opaque() const {
  std::vector<answer_part> parts;
  for (const auto& i : items_) {
    if (i.type == message_type)
      parts.push_back({part_kind::text, {}, i.text, 0});
    else if (i.type == call_type)
      parts.push_back({part_kind::call, {}, {}, 0});
    else if (i.reasoned.is_object())
      parts.push_back({part_kind::reasoning, i.reasoned, {}, 0});
  }
  return opaque_of(responses_format, parts);
}

sampling_outcome responses_decoder::finish() {
  std::string text;
  for (const auto& i : items_)
    text += i.text;
  answer_.replace_text(std::move(text));
  if (!has_failed())
    end_.opaque = opaque();
  return answer_.finish(std::move(end_));
}

} // namespace rind::provider
