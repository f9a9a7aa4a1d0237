// Answers of Anthropic Messages.
#include "runtime/provider/anthropic_decoder.hpp"

#include <array>

#include "runtime/provider/anthropic_codec.hpp"
#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/resent_reasoning.hpp"
#include "runtime/provider/typed_event.hpp"
#include "runtime/provider/usage_report.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr std::string_view text_type = "text";
constexpr std::string_view call_type = "tool_use";
constexpr std::string_view thinking_type = "thinking";
constexpr std::string_view hidden_thinking_type = "redacted_thinking";

/// A count replaces the older one. What a proxy left out, or put to zero at the end, does not.
bool replace_count(std::int64_t& count, const json& usage, const char* key) {
  const auto value = count_member(usage, key);
  if (value && *value > 0)
    count = *value;
  return value.has_value();
}

} // namespace

/// The events that mean something; all others are skipped.
struct anthropic_decoder::event_row {
  std::string_view type;
  void (anthropic_decoder::*take)(const json&, sampling_delta&);
};

const anthropic_decoder::event_row* anthropic_decoder::row_of(const std::string& type) {
  static constexpr std::array<event_row, 6> rows{{
      {"message_start", &anthropic_decoder::take_message_start},
      {"content_block_start", &anthropic_decoder::take_block_start},
      {"content_block_delta", &anthropic_decoder::take_block_delta},
      {"content_block_stop", &anthropic_decoder::take_block_stop},
      {"message_delta", &anthropic_decoder::take_message_delta},
      {"message_stop", &anthropic_decoder::take_message_stop},
  }};
  for (const auto& row : rows)
    if (row.type == type)
      return &row;
  return nullptr;
}

anthropic_decoder::anthropic_decoder(answer_origin origin, response_head head, sent_facts sent)
    : answer_(std::move(origin), std::move(head), std::move(sent)) {}

void anthropic_decoder::take(const sse_event& event, sampling_delta& delta) {
  if (has_failed() || done_)
    return;
  const auto read = read_typed(event);
  const auto* row = row_of(read.type);
  if (is_failure(event, read, row != nullptr))
    answer_.fail(event.data);
  else if (row != nullptr && read.data)
    (this->*row->take)(*read.data, delta);
}

void anthropic_decoder::take_whole(const json& body, sampling_delta& delta) {
  if (has_failed())
    return;
  if (is_error_body(body)) {
    answer_.fail(dump(body));
    return;
  }
  answer_.note_start();
  take_usage(member(body, "usage"));
  if (const auto& content = member(body, "content"); content.is_array())
    for (std::size_t i = 0; i < content.size(); ++i)
      open(static_cast<std::int64_t>(i), content[i], delta);
  end_.word = text_member(body, "stop_reason");
  if (end_.word.empty() && !blocks_.empty())
    end_.word = "end_turn"; // a whole body is complete, also where it says nothing of its finish
  done_ = true;
}

void anthropic_decoder::take_message_start(const json& event, sampling_delta&) {
  answer_.note_start();
  take_usage(member(member(event, "message"), "usage"));
}

void anthropic_decoder::take_block_start(const json& event, sampling_delta& delta) {
  answer_.note_start();
  open(count_member(event, "index").value_or(static_cast<std::int64_t>(blocks_.size())),
       member(event, "content_block"), delta);
}

void anthropic_decoder::take_block_delta(const json& event, sampling_delta& delta) {
  auto* b = blocks_.empty() ? nullptr : &blocks_.back();
  if (const auto index = count_member(event, "index"))
    b = find(*index);
  const auto& part = member(event, "delta");
  const auto type = text_member(part, "type");
  if (b == nullptr) {
    if (type != "text_delta")
      return; // no start came: what it is part of is not known
    open(count_member(event, "index").value_or(0), {{"type", text_type}}, delta);
    if (has_failed())
      return;
    b = &blocks_.back();
  }
  if (type == "text_delta") {
    add_text(*b, text_member(part, "text"), delta);
  } else if (type == "thinking_delta") {
    add_thinking(*b, text_member(part, "thinking"), delta);
  } else if (type == "signature_delta") {
    const auto signature = text_member(part, "signature");
    answer_.charge(signature.size());
    if (!has_failed())
      b->signature += signature;
  } else if (type == "input_json_delta" && b->type == call_type) {
    auto piece = text_member(part, "partial_json");
    b->has_pieces = b->has_pieces || !piece.empty();
    answer_.add_call({b->index, {}, {}, std::move(piece)});
  }
}

void anthropic_decoder::take_block_stop(const json& event, sampling_delta&) {
  if (const auto index = count_member(event, "index"))
    if (auto* b = find(*index))
      close(*b);
}

void anthropic_decoder::take_message_delta(const json& event, sampling_delta&) {
  take_usage(member(event, "usage"));
  if (auto word = text_member(member(event, "delta"), "stop_reason"); !word.empty())
    end_.word = std::move(word);
}

void anthropic_decoder::take_message_stop(const json&, sampling_delta&) {
  done_ = true;
}

void anthropic_decoder::open(std::int64_t index, const json& content, sampling_delta& delta) {
  if (blocks_.size() >= answer_parts_max) {
    answer_.fail_flooded();
    return;
  }
  auto& b = blocks_.emplace_back();
  b.index = index;
  b.type = text_member(content, "type");
  if (b.type == text_type) {
    add_text(b, text_member(content, "text"), delta);
  } else if (b.type == thinking_type) {
    add_thinking(b, text_member(content, "thinking"), delta);
    b.signature = text_member(content, "signature");
    answer_.charge(b.signature.size());
  } else if (b.type == hidden_thinking_type) {
    answer_.charge(text_member(content, "data").size());
    b.item = {{"type", hidden_thinking_type}, {"data", text_member(content, "data")}};
  } else if (b.type == call_type) {
    answer_.add_call({index, text_member(content, "id"), text_member(content, "name"), {}});
    if (const auto& input = member(content, "input"); input.is_object() && !input.empty())
      b.input = input;
  }
}

/// Arguments that came at the start count where none came in pieces.
void anthropic_decoder::close(block& b) {
  if (b.is_closed)
    return;
  b.is_closed = true;
  if (b.type == call_type && !b.has_pieces && b.input.is_object())
    answer_.complete_call({b.index, {}, {}, dump(b.input)});
}

anthropic_decoder::block* anthropic_decoder::find(std::int64_t index) {
  for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b)
    if (b->index == index)
      return &*b;
  return nullptr;
}

void anthropic_decoder::add_text(block& b, const std::string& text, sampling_delta& delta) {
  answer_.add_text(text, delta);
  if (!has_failed())
    b.text += text;
}

void anthropic_decoder::add_thinking(block& b, const std::string& text, sampling_delta& delta) {
  answer_.add_reasoning(text, delta);
  if (!has_failed())
    b.text += text;
}

void anthropic_decoder::take_usage(const json& usage) {
  if (!usage.is_object())
    return;
  replace_count(counts_.input, usage, "input_tokens");
  replace_count(counts_.cache_writes, usage, "cache_creation_input_tokens");
  counts_.has_cache_reads |= replace_count(counts_.cache_reads, usage, "cache_read_input_tokens");
  replace_count(counts_.output, usage, "output_tokens");
  usage_report report;
  report.input = counts_.input + counts_.cache_writes + counts_.cache_reads;
  report.output = counts_.output;
  if (counts_.has_cache_reads)
    report.cached = counts_.cache_reads;
  answer_.set_usage(normalised(report));
}

/// Thinking without a signature comes from a stream that was cut, or from a server that has none:
/// it is not sent again.
std::string anthropic_decoder::opaque() const {
  std::vector<answer_part> parts;
  for (const auto& b : blocks_) {
    if (b.type == text_type)
      parts.push_back({part_kind::text, {}, b.text, 0});
    else if (b.type == call_type)
      parts.push_back({part_kind::call, {}, {}, 0});
    else if (b.type == hidden_thinking_type)
      parts.push_back({part_kind::reasoning, b.item, {}, 0});
    else if (b.type == thinking_type && !b.signature.empty())
      parts.push_back({part_kind::reasoning,
                       {{"type", thinking_type}, {"thinking", b.text}, {"signature", b.signature}},
                       {},
                       0});
  }
  return opaque_of(anthropic_format, parts);
}

sampling_outcome anthropic_decoder::finish() {
  std::string text;
  for (auto& b : blocks_) {
    close(b);
    if (b.type == text_type)
      text += b.text;
  }
  answer_.replace_text(std::move(text));
  if (!has_failed())
    end_.opaque = opaque();
  return answer_.finish(std::move(end_));
}

} // namespace rind::provider
