// Replies in the Responses format.
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/frame_writer.hpp"
#include "hosts/mock_provider/formats/responses.hpp"
#include "hosts/mock_provider/formats/responses_items.hpp"
#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

using json = nlohmann::ordered_json;

/// Reasons of an incomplete response. A full window has no word of its own here.
constexpr std::array<format_word, 2> incomplete_words{
    {{"length", "max_output_tokens"}, {"window_exceeded", "max_output_tokens"}}};

bool is_complete(const std::string& finish) {
  return finish.empty() || finish == "stop" || finish == "tool_calls";
}

// -- items ---------------------------------------------------------------------------------------

json text_part(const char* type, std::string text) {
  json part{{"type", type}, {"text", std::move(text)}};
  if (part["type"] == "output_text")
    part["annotations"] = json::array();
  return part;
}

std::string reasoning_of(const spoken_answer& said) {
  return joined(said.reasoning) + said.hidden_reasoning;
}

/// The items of one response in the order of the output, and their ids.
class item_maker {
public:
  explicit item_maker(const spoken_answer& said)
      : said_(said), key_(said.reasons ? reasoning_key(reasoning_of(said)) : "") {}

  std::size_t message_index() const { return said_.reasons ? 1 : 0; }
  std::size_t call_index(std::size_t call) const {
    return message_index() + (said_.text.empty() ? 0 : 1) + call;
  }

  json reasoning(bool whole) const {
    json item{{"id", item_id(reasoning_id_prefix, said_.tag, 0, "")},
              {"type", "reasoning"},
              {"summary", json::array()}};
    if (!whole)
      return item;
    const auto text = joined(said_.reasoning);
    if (!text.empty())
      item["summary"].push_back(text_part("summary_text", text));
    if (said_.seals_reasoning)
      item["encrypted_content"] = sealed(reasoning_of(said_));
    return item;
  }

  json message(bool whole) const {
    json item{{"id", item_id(message_id_prefix, said_.tag, message_index(), key_)},
              {"type", "message"},
              {"status", status(whole)},
              {"role", "assistant"},
              {"content", json::array()}};
    if (whole)
      item["content"].push_back(text_part("output_text", joined(said_.text)));
    return item;
  }

  json call(std::size_t index, bool whole) const {
    const auto& call = said_.calls[index];
    const bool follows_reasoning = index == 0 && said_.text.empty();
    return {{"id", item_id(call_id_prefix, said_.tag, call_index(index),
                           follows_reasoning ? key_ : std::string{})},
            {"type", "function_call"},
            {"status", status(whole)},
            {"arguments", whole ? call.arguments : ""},
            {"call_id", call.id},
            {"name", call.name}};
  }

  json all() const {
    auto items = json::array();
    if (said_.reasons)
      items.push_back(reasoning(true));
    if (!said_.text.empty())
      items.push_back(message(true));
    for (std::size_t i = 0; i < said_.calls.size(); ++i)
      items.push_back(call(i, true));
    return items;
  }

private:
  const char* status(bool whole) const {
    if (!whole)
      return "in_progress";
    return is_complete(said_.finish) ? "completed" : "incomplete";
  }

  const spoken_answer& said_;
  std::string key_;
};

// -- the response --------------------------------------------------------------------------------

json usage_of(const spoken_answer& said) {
  if (said.usage == usage_mode::scripted)
    return said.usage_object;
  if (said.usage != usage_mode::counted)
    return nullptr;
  const auto& counts = said.counts;
  return {{"input_tokens", counts.input},
          {"input_tokens_details", {{"cached_tokens", counts.cached}}},
          {"output_tokens", counts.output},
          {"output_tokens_details", {{"reasoning_tokens", counts.reasoning}}},
          {"total_tokens", counts.input + counts.output}};
}

json response_of(const spoken_answer& said, const char* status) {
  return {{"id", "resp_" + said.id}, {"object", "response"},    {"created_at", 0},
          {"status", status},        {"error", nullptr},        {"incomplete_details", nullptr},
          {"model", said.model},     {"output", json::array()}, {"usage", nullptr}};
}

json finished(const spoken_answer& said) {
  const bool complete = is_complete(said.finish);
  auto response = response_of(said, complete ? "completed" : "incomplete");
  if (!complete)
    response["incomplete_details"] = {{"reason", in_words_of(incomplete_words, said.finish)}};
  response["output"] = item_maker{said}.all();
  if (said.usage == usage_mode::none)
    response.erase("usage");
  else
    response["usage"] = usage_of(said);
  return response;
}

json failed(const spoken_answer& said) {
  auto response = response_of(said, "failed");
  response["error"] = said.stream_error;
  return response;
}

/// The event that tells of an error has its fields beside its type, where they can be.
json error_event(const json& error) {
  json event{{"type", "error"}, {"code", nullptr}, {"message", nullptr}, {"param", nullptr}};
  if (!error.is_object()) {
    event["message"] = error;
    return event;
  }
  for (const auto& [name, value] : error.items())
    if (name != "type")
      event[name] = value;
  return event;
}

// -- streams -------------------------------------------------------------------------------------

class response_stream {
public:
  explicit response_stream(const spoken_answer& said) : said_(said), items_(said) {}

  stream_frames build() {
    frames_.hold(
        event({{"type", "response.created"}, {"response", response_of(said_, "in_progress")}}));
    frames_.step(
        event({{"type", "response.in_progress"}, {"response", response_of(said_, "in_progress")}}));
    if (said_.reasons)
      add_reasoning();
    if (!said_.text.empty())
      add_text();
    frames_.text_is_over();
    for (std::size_t i = 0; i < said_.calls.size(); ++i)
      add_call(i);
    add_end();
    return frames_.take();
  }

private:
  std::string event(json data) {
    data["sequence_number"] = sequence_++;
    return "event: " + data["type"].get<std::string>() + "\ndata: " + dumped(data) + "\n\n";
  }

  std::string item_event(const char* type, std::size_t index, json item) {
    return event({{"type", type}, {"output_index", index}, {"item", std::move(item)}});
  }

  /// An event about a part of the item `item_id`, which is the `output_index`-th.
  std::string part_event(const char* type, const json& item, std::size_t index, json fields) {
    json data{{"type", type}, {"item_id", item["id"]}, {"output_index", index}};
    data.update(fields);
    return event(std::move(data));
  }

  void add_reasoning() {
    const auto item = items_.reasoning(false);
    frames_.hold(item_event("response.output_item.added", 0, item));
    const auto part = [&](const char* type, const char* name, json value) {
      return part_event(type, item, 0, {{"summary_index", 0}, {name, std::move(value)}});
    };
    if (!said_.reasoning.empty())
      frames_.hold(
          part("response.reasoning_summary_part.added", "part", text_part("summary_text", "")));
    for (const auto& piece : said_.reasoning)
      frames_.step(part("response.reasoning_summary_text.delta", "delta", piece));
    if (!said_.reasoning.empty()) {
      const auto text = joined(said_.reasoning);
      frames_.hold(part("response.reasoning_summary_text.done", "text", text));
      frames_.hold(
          part("response.reasoning_summary_part.done", "part", text_part("summary_text", text)));
    }
    frames_.hold(item_event("response.output_item.done", 0, items_.reasoning(true)));
  }

  void add_text() {
    const auto index = items_.message_index();
    const auto item = items_.message(false);
    const auto part = [&](const char* type, const char* name, json value) {
      return part_event(type, item, index, {{"content_index", 0}, {name, std::move(value)}});
    };
    frames_.hold(item_event("response.output_item.added", index, item));
    frames_.hold(part("response.content_part.added", "part", text_part("output_text", "")));
    for (const auto& piece : said_.text)
      frames_.step(part("response.output_text.delta", "delta", piece));
    frames_.text_is_over();
    const auto text = joined(said_.text);
    frames_.hold(part("response.output_text.done", "text", text));
    frames_.hold(part("response.content_part.done", "part", text_part("output_text", text)));
    frames_.hold(item_event("response.output_item.done", index, items_.message(true)));
  }

  void add_call(std::size_t call) {
    const auto index = items_.call_index(call);
    const auto item = items_.call(call, false);
    const auto& arguments = said_.calls[call].arguments;
    frames_.step(item_event("response.output_item.added", index, item));
    for (const auto& piece : split_text(arguments, piece_chars))
      frames_.step(
          part_event("response.function_call_arguments.delta", item, index, {{"delta", piece}}));
    frames_.hold(part_event("response.function_call_arguments.done", item, index,
                            {{"arguments", arguments}}));
    frames_.hold(item_event("response.output_item.done", index, items_.call(call, true)));
  }

  void add_end() {
    if (!said_.error_field.is_null())
      frames_.step("error: " + dumped(said_.error_field) + "\n\n");
    if (!said_.stream_error.is_null()) {
      frames_.step(event(error_event(said_.stream_error)));
      frames_.step(event({{"type", "response.failed"}, {"response", failed(said_)}}));
    }
    if (!said_.error_field.is_null() || !said_.stream_error.is_null() || said_.finish.empty())
      return;
    const auto* type = is_complete(said_.finish) ? "response.completed" : "response.incomplete";
    frames_.step(event({{"type", type}, {"response", finished(said_)}}));
  }

  const spoken_answer& said_;
  item_maker items_;
  frame_writer frames_;
  std::int64_t sequence_ = 0;
};

} // namespace

stream_frames responses_format::frames(const spoken_answer& said) const {
  return response_stream{said}.build();
}

json responses_format::whole(const spoken_answer& said) const {
  return said.stream_error.is_null() ? finished(said) : failed(said);
}

std::string responses_format::keep_alive_frame() const {
  return ": keep-alive\n\n";
}

json responses_format::error_value(const provider_fault& fault) const {
  struct words {
    int status;
    const char* type;
    const char* code;
  };
  static constexpr std::array<words, 6> known{{
      {401, "invalid_request_error", "invalid_api_key"},
      {404, "invalid_request_error", ""},
      {429, "requests", "rate_limit_exceeded"},
      {500, "server_error", "server_error"},
      {503, "server_error", "server_is_overloaded"},
      {529, "server_error", "server_is_overloaded"},
  }};
  words used{fault.status, fault.status >= 500 ? "server_error" : "invalid_request_error", ""};
  for (const auto& entry : known)
    if (entry.status == fault.status)
      used = entry;
  const auto or_null = [](const std::string& text) { return text.empty() ? json{} : json(text); };
  return {{"message", fault.message},
          {"type", used.type},
          {"param", or_null(fault.param)},
          {"code", or_null(fault.code.empty() ? used.code : fault.code)}};
}

json responses_format::error_body(json error) const {
  return {{"error", std::move(error)}};
}

/// No numbers: this server tells none.
provider_fault responses_format::overflow(const oversize&) const {
  return {400,
          "Your input exceeds the context window of this model. Please adjust your input and try "
          "again.",
          "context_length_exceeded", "input"};
}

} // namespace rind::hosts::mock_provider
