// Clients of the three formats, and the run of a table of rules.
#include "tests/unit/provider/mock_kit.hpp"

#include <gtest/gtest.h>

#include "runtime/provider/sse_parser.hpp"

namespace rind::hosts::mock_provider::test {

namespace {

using nlohmann::json;

/// The data of each event; a line `error: ...` goes to `out`.
std::vector<std::string> data_of(const mock_reply& reply, heard& out) {
  provider::sse_parser parser;
  std::vector<std::string> data;
  for (const auto& event : parser.feed(bytes_of(reply)).events) {
    if (event.kind == provider::sse_event_kind::error_field)
      out.error_field = json::parse(event.data);
    else
      data.push_back(event.data);
  }
  return data;
}

void add_usage(const json& holder, heard& out) {
  if (!holder.contains("usage"))
    return;
  out.usage_seen = true;
  if (holder["usage"].is_object() && out.usage.is_object())
    out.usage.update(holder["usage"]);
  else
    out.usage = holder["usage"];
}

// -- Chat Completions ----------------------------------------------------------------------------

json ask_chat(const std::string& text, bool stream) {
  return {{"model", "m"},
          {"stream", stream},
          {"stream_options", {{"include_usage", true}}},
          {"messages", json::array({{{"role", "user"}, {"content", text}}})}};
}

void add_chat_delta(const json& delta, heard& out) {
  if (delta.contains("content") && delta["content"].is_string())
    out.text += delta["content"].get<std::string>();
  out.reasoning += delta.value("reasoning_content", "");
  for (const auto& call : delta.value("tool_calls", json::array())) {
    const auto index = call.value("index", out.calls.size());
    if (call.contains("id")) {
      EXPECT_EQ(index, out.calls.size());
      out.calls.emplace_back(call["function"]["name"], "");
      out.call_ids.push_back(call["id"]);
    }
    out.calls.at(index).second += call["function"]["arguments"].get<std::string>();
  }
}

void add_chat_chunk(const json& chunk, const char* part, heard& out) {
  if (chunk.contains("error")) {
    out.error = chunk["error"];
  } else if (chunk["choices"].empty()) {
    add_usage(chunk, out);
  } else {
    const auto& choice = chunk["choices"][0];
    add_chat_delta(choice[part], out);
    if (choice["finish_reason"].is_string())
      out.finish = choice["finish_reason"];
  }
}

heard hear_chat(const mock_reply& reply) {
  heard out;
  if (!reply.stream) {
    const auto body = json::parse(bytes_of(reply));
    add_chat_chunk(body, "message", out);
    add_usage(body, out);
    if (body.contains("choices"))
      out.output.push_back(body["choices"][0]["message"]);
    return out;
  }
  for (const auto& data : data_of(reply, out)) {
    EXPECT_FALSE(out.ended) << data;
    if (data == "[DONE]")
      out.ended = true;
    else
      add_chat_chunk(json::parse(data), "delta", out);
  }
  return out;
}

counts count_chat(const json& usage) {
  return {usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"],
          usage["completion_tokens"]};
}

// -- Responses -----------------------------------------------------------------------------------

json ask_responses(const std::string& text, bool stream) {
  return {{"model", "m"},
          {"stream", stream},
          {"store", false},
          {"include", {"reasoning.encrypted_content"}},
          {"input", json::array({{{"role", "user"}, {"content", text}}})}};
}

void add_response(const json& response, heard& out) {
  EXPECT_EQ(response["object"], "response");
  const auto status = response["status"].get<std::string>();
  if (status == "failed") {
    out.error = response["error"];
    return;
  }
  out.finish =
      status == "incomplete" ? response["incomplete_details"]["reason"].get<std::string>() : status;
  add_usage(response, out);
  for (const auto& item : response["output"]) {
    out.output.push_back(item);
    if (item["type"] == "message") {
      out.text += item["content"][0]["text"].get<std::string>();
    } else if (item["type"] == "reasoning") {
      out.reasoning += item["summary"].empty() ? "" : item["summary"][0].value("text", "");
      out.proof = item.value("encrypted_content", "");
    } else {
      out.calls.emplace_back(item["name"], item["arguments"]);
      out.call_ids.push_back(item["call_id"]);
    }
  }
}

/// The deltas of one stream; they must say what its items say at the end.
struct response_deltas {
  std::string text, reasoning;
  std::vector<std::string> arguments;
};

void add_response_event(const json& event, response_deltas& deltas, heard& out) {
  const auto type = event["type"].get<std::string>();
  if (type == "response.output_text.delta") {
    deltas.text += event["delta"].get<std::string>();
  } else if (type == "response.reasoning_summary_text.delta") {
    deltas.reasoning += event["delta"].get<std::string>();
  } else if (type == "response.function_call_arguments.delta") {
    deltas.arguments.back() += event["delta"].get<std::string>();
  } else if (type == "response.output_item.added" && event["item"]["type"] == "function_call") {
    deltas.arguments.emplace_back();
  } else if (type == "response.completed" || type == "response.incomplete" ||
             type == "response.failed") {
    EXPECT_FALSE(out.ended);
    out.ended = true;
    add_response(event["response"], out);
  }
}

heard hear_responses(const mock_reply& reply) {
  heard out;
  if (!reply.stream) {
    const auto body = json::parse(bytes_of(reply));
    if (body.contains("object"))
      add_response(body, out);
    else
      out.error = body["error"];
    return out;
  }
  response_deltas deltas;
  std::int64_t sequence = 0;
  for (const auto& data : data_of(reply, out)) {
    const auto event = json::parse(data);
    EXPECT_EQ(event["sequence_number"], sequence++) << data;
    add_response_event(event, deltas, out);
  }
  if (!out.output.empty()) {
    EXPECT_EQ(deltas.text, out.text);
    EXPECT_EQ(deltas.reasoning, out.reasoning);
    for (std::size_t i = 0; i < out.calls.size(); ++i)
      EXPECT_EQ(deltas.arguments.at(i), out.calls[i].second);
  }
  out.text = deltas.text;
  out.reasoning = deltas.reasoning;
  return out;
}

counts count_responses(const json& usage) {
  return {usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"],
          usage["output_tokens"]};
}

// -- Messages ------------------------------------------------------------------------------------

json ask_messages(const std::string& text, bool stream) {
  return {{"model", "m"},
          {"stream", stream},
          {"max_tokens", 100},
          {"messages", json::array({{{"role", "user"}, {"content", text}}})}};
}

void add_block(const json& block, heard& out) {
  out.output.push_back(block);
  if (block["type"] == "text")
    out.text += block["text"].get<std::string>();
  if (block["type"] == "thinking") {
    out.reasoning += block["thinking"].get<std::string>();
    out.proof = block["signature"];
  }
  if (block["type"] == "redacted_thinking")
    out.proof = block["data"];
  if (block["type"] == "tool_use") {
    out.calls.emplace_back(block["name"], block["input"].empty() ? "" : block["input"].dump());
    out.call_ids.push_back(block["id"]);
  }
}

void add_block_delta(const json& delta, heard& out) {
  const auto type = delta["type"].get<std::string>();
  if (type == "text_delta")
    out.text += delta["text"].get<std::string>();
  else if (type == "thinking_delta")
    out.reasoning += delta["thinking"].get<std::string>();
  else if (type == "signature_delta")
    out.proof = delta["signature"];
  else if (type == "input_json_delta")
    out.calls.back().second += delta["partial_json"].get<std::string>();
  else
    ADD_FAILURE() << type;
}

void add_message_event(const json& event, std::size_t& open, heard& out) {
  const auto type = event["type"].get<std::string>();
  if (type == "message_start") {
    add_usage(event["message"], out);
  } else if (type == "message_delta") {
    if (event["delta"]["stop_reason"].is_string())
      out.finish = event["delta"]["stop_reason"];
    add_usage(event, out);
  } else if (type == "message_stop") {
    out.ended = true;
  } else if (type == "error") {
    out.error = event["error"];
  } else if (type == "content_block_start") {
    EXPECT_EQ(event["index"], open);
    add_block(event["content_block"], out);
  } else if (type == "content_block_delta") {
    EXPECT_EQ(event["index"], open);
    add_block_delta(event["delta"], out);
  } else if (type == "content_block_stop") {
    EXPECT_EQ(event["index"], open++);
  } else {
    EXPECT_EQ(type, "ping");
  }
}

heard hear_messages(const mock_reply& reply) {
  heard out;
  if (!reply.stream) {
    const auto body = json::parse(bytes_of(reply));
    if (body["type"] == "error") {
      out.error = body["error"];
      return out;
    }
    for (const auto& block : body["content"])
      add_block(block, out);
    if (body["stop_reason"].is_string())
      out.finish = body["stop_reason"];
    add_usage(body, out);
    return out;
  }
  std::size_t open = 0;
  for (const auto& data : data_of(reply, out)) {
    EXPECT_FALSE(out.ended) << data;
    add_message_event(json::parse(data), open, out);
  }
  out.output.clear(); // of a stream only the parts were kept
  return out;
}

counts count_messages(const json& usage) {
  const auto cached = usage["cache_read_input_tokens"].get<std::int64_t>();
  return {usage["input_tokens"].get<std::int64_t>() +
              usage["cache_creation_input_tokens"].get<std::int64_t>() + cached,
          cached, usage["output_tokens"]};
}

/// A good request whose fields are replaced; null takes one away.
json with_fields(const client_format& format, const std::vector<fragment>& fragments,
                 std::string text) {
  for (const auto& [name, value] : fragments) {
    const auto mark = "<" + name + ">";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), value);
  }
  auto body = format.ask("q", true);
  const auto fields = json::parse(text, nullptr, false);
  EXPECT_TRUE(fields.is_object()) << text;
  for (const auto& [name, value] : fields.items()) {
    if (value.is_null())
      body.erase(name);
    else
      body[name] = value;
  }
  return body;
}

} // namespace

const std::vector<client_format>& client_formats() {
  static const std::vector<client_format> all{
      {"chat_completions",
       "/v1/chat/completions",
       ask_chat,
       hear_chat,
       count_chat,
       {"stop", "tool_calls", "length", "content_filter", "model_context_window_exceeded"},
       ": keep-alive\n\n",
       "max_completion_tokens"},
      {"responses",
       "/v1/responses",
       ask_responses,
       hear_responses,
       count_responses,
       {"completed", "completed", "max_output_tokens", "content_filter", "max_output_tokens"},
       ": keep-alive\n\n",
       "max_output_tokens"},
      {"messages",
       "/v1/messages",
       ask_messages,
       hear_messages,
       count_messages,
       {"end_turn", "tool_use", "max_tokens", "refusal", "model_context_window_exceeded"},
       "event: ping\ndata: {\"type\":\"ping\"}\n\n",
       "max_tokens"},
  };
  return all;
}

const client_format& chat_client() {
  return client_formats()[0];
}

const client_format& responses_client() {
  return client_formats()[1];
}

const client_format& messages_client() {
  return client_formats()[2];
}

const header_list& good_headers() {
  static const header_list headers{{"x-api-key", "k"}, {"anthropic-version", "2023-06-01"}};
  return headers;
}

request_reading read_by(const client_format& format, const json& body,
                        const std::string& conversation, const header_list& headers) {
  return format.server().read({body.dump(), headers, conversation});
}

mock_request request_of(const client_format& format, const json& body,
                        const std::string& conversation) {
  auto reading = read_by(format, body, conversation);
  if (const auto* fault = std::get_if<provider_fault>(&reading)) {
    ADD_FAILURE() << format.name << ": " << fault->message;
    return {};
  }
  return std::get<mock_request>(reading);
}

script rules_of(const std::string& text) {
  auto rules = parse_script(text);
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  return rules ? *rules : script{};
}

mock_reply reply_to(const client_format& format, const std::string& rules, const json& body,
                    const limits& defaults) {
  script_player player{rules_of(rules)};
  const auto request = request_of(format, body);
  return render(format.server(), player.pick(request), request, defaults);
}

std::string bytes_of(const mock_reply& reply) {
  std::string bytes;
  for (const auto& chunk : reply.chunks)
    bytes += chunk.bytes;
  return bytes;
}

void expect_rules(const client_format& format, const std::vector<fragment>& fragments,
                  const std::vector<boundary_rule>& rules) {
  for (const auto& rule : rules) {
    SCOPED_TRACE(rule.rule);
    const auto kept = read_by(format, with_fields(format, fragments, rule.kept));
    if (const auto* fault = std::get_if<provider_fault>(&kept))
      ADD_FAILURE() << "refused: " << fault->message;
    const auto broken = read_by(format, with_fields(format, fragments, rule.broken));
    const auto* fault = std::get_if<provider_fault>(&broken);
    if (fault == nullptr) {
      ADD_FAILURE() << "accepted: " << rule.broken;
      continue;
    }
    EXPECT_EQ(fault->status, rule.status);
    EXPECT_NE(fault->message.find(rule.words), std::string::npos) << fault->message;
  }
}

} // namespace rind::hosts::mock_provider::test
