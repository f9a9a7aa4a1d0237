// Requests of Anthropic Messages.
#include "runtime/provider/anthropic_codec.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "runtime/provider/anthropic_decoder.hpp"
#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/request_parts.hpp"
#include "runtime/provider/resent_reasoning.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

/// Stands where a user's message or a failed result has no text: the format takes none without.
constexpr const char* no_text = "(empty)";

/// Stands between two answers in a row of which the second begins with thinking: such an answer
/// may not be joined to another, because thinking has to come first.
constexpr const char* between_answers = "Continue.";

json text_block(std::string_view text) {
  return {{"type", "text"}, {"text", text}};
}

bool is_thinking(const json& block) {
  const auto type = text_member(block, "type");
  return type == "thinking" || type == "redacted_thinking";
}

json result_block(const message& m, const call_ids& ids) {
  json block{{"type", "tool_result"}, {"tool_use_id", ids.of_result(m.tool_call_id)}};
  if (!is_blank(m.content))
    block["content"] = m.content;
  else if (m.is_error)
    block["content"] = no_text;
  if (m.is_error)
    block["is_error"] = true;
  return block;
}

json call_block(const tool_call& call, call_ids& ids) {
  return {{"type", "tool_use"},
          {"id", ids.of_call(call.id)},
          {"name", wire_tool_name(call.name)},
          {"input", arguments_object(call.arguments)}};
}

json assistant_blocks(const message& m, call_ids& ids) {
  auto blocks = json::array();
  for (auto& part : parts_of(m, anthropic_format)) {
    if (part.kind == part_kind::reasoning)
      blocks.push_back(std::move(part.item));
    else if (part.kind == part_kind::call)
      blocks.push_back(call_block(m.tool_calls[part.call], ids));
    else if (!is_blank(part.text))
      blocks.push_back(text_block(part.text));
  }
  while (!blocks.empty() && is_thinking(blocks.back()))
    blocks.erase(blocks.size() - 1);
  return blocks;
}

/// Messages in their alternating order.
class conversation {
public:
  void add(const message& m) {
    if (m.role == message_role::system)
      system_.push_back(text_block(m.content));
    else if (m.role == message_role::assistant)
      add_answer(assistant_blocks(m, ids_));
    else
      append("user", m.role == message_role::tool
                         ? result_block(m, ids_)
                         : text_block(is_blank(m.content) ? no_text : m.content));
  }

  json take_system() {
    system_.erase(std::remove_if(system_.begin(), system_.end(),
                                 [](const json& b) { return is_blank(text_member(b, "text")); }),
                  system_.end());
    return std::move(system_);
  }

  json take_messages() {
    trim_last_answer();
    return std::move(messages_);
  }

private:
  bool ends_with(const char* role) const {
    return !messages_.empty() && text_member(messages_.back(), "role") == role;
  }

  void append(const char* role, json block) {
    if (!ends_with(role))
      messages_.push_back({{"role", role}, {"content", json::array()}});
    messages_.back()["content"].push_back(std::move(block));
  }

  void add_answer(json blocks) {
    if (!blocks.empty() && is_thinking(blocks.front()) && ends_with("assistant"))
      append("user", text_block(between_answers));
    for (auto& block : blocks)
      append("assistant", std::move(block));
  }

  void trim_last_answer() {
    if (!ends_with("assistant"))
      return;
    auto& last = messages_.back()["content"].back();
    if (auto text = text_member(last, "text"); !text.empty()) {
      text.erase(text.find_last_not_of(" \t\r\n\f\v") + 1);
      last["text"] = std::move(text);
    }
  }

  call_ids ids_;
  json system_ = json::array();
  json messages_ = json::array();
};

constexpr std::size_t message_marks = 2;
static_assert(1 + message_marks <= cache_marks_max);

void mark(json& block) {
  block["cache_control"] = {{"type", "ephemeral"}};
}

/// Where the provider may keep what it has read: behind tools and system messages, which no
/// compaction changes; behind the newest message, which the next request begins with; and behind
/// the user's message before it, where the last request put its mark: from there the kept part is
/// found however many results have come since. A summary request is never repeated, and a mark
/// would only cost.
void mark_for_cache(json& body) {
  if (body.contains("system"))
    mark(body["system"].back());
  else if (body.contains("tools"))
    mark(body["tools"].back());
  auto left = message_marks;
  auto& messages = body["messages"];
  for (auto m = messages.rbegin(); m != messages.rend() && left > 0; ++m) {
    if (text_member(*m, "role") != "user")
      continue;
    mark((*m)["content"].back());
    --left;
  }
}

json tool_json(const tool_definition& tool) {
  return {{"name", wire_tool_name(tool.name)},
          {"description", tool.description},
          {"input_schema", parameters_object(tool)}};
}

/// The tools of the request. Calls in the conversation demand tools also where none is left to
/// offer: then each that was called is named, and says so.
json tools_json(const tool_definitions& tools, const json& messages) {
  auto list = json::array();
  if (tools)
    for (const auto& tool : *tools)
      list.push_back(tool_json(tool));
  if (!list.empty())
    return list;
  std::set<std::string> called;
  for (const auto& m : messages)
    for (const auto& block : m["content"])
      if (text_member(block, "type") == "tool_use" && called.insert(block["name"]).second)
        list.push_back(tool_json({block["name"], "No longer available.", {}}));
  return list;
}

/// Whether an answer of the tool loop in which the request stands began without thinking: then
/// thinking has to be off until the loop ends.
bool is_in_loop_without_thinking(const json& messages) {
  for (auto m = messages.rbegin(); m != messages.rend(); ++m) {
    const auto& first = (*m)["content"].front();
    const bool is_answer = text_member(*m, "role") == "assistant";
    if (is_answer && !is_thinking(first))
      return true;
    if (!is_answer && text_member(first, "type") != "tool_result")
      return false;
  }
  return false;
}

/// The part of the output limit that thinking may take, in percent.
std::int64_t thinking_percent(reasoning_effort effort) {
  switch (effort) {
  case reasoning_effort::low:
    return 25;
  case reasoning_effort::medium:
    return 50;
  case reasoning_effort::high:
    return 75;
  default:
    return 0;
  }
}

} // namespace

anthropic_codec::anthropic_codec(reasoning_effort effort) : effort_(effort) {}

std::string anthropic_codec::path() const {
  return "/messages";
}

key_header anthropic_codec::auth() const {
  return {"x-api-key", ""};
}

std::vector<http_header> anthropic_codec::fixed_headers() const {
  return {{"anthropic-version", std::string{anthropic_version}}};
}

std::string anthropic_codec::request_body(const sampling_request& request) const {
  conversation all;
  for (const auto& m : request.messages)
    all.add(*m);
  const auto limit = request.output_limit_tokens > 0 ? request.output_limit_tokens
                                                     : anthropic_default_output_tokens;
  json body{{"model", request.model}, {"max_tokens", limit}, {"stream", true}};
  if (auto system = all.take_system(); !system.empty())
    body["system"] = std::move(system);
  body["messages"] = all.take_messages();
  if (auto tools = tools_json(request.tools, body["messages"]); !tools.empty())
    body["tools"] = std::move(tools);
  if (request.kind != sampling_kind::assistant)
    return dump(body);
  const auto budget = limit * thinking_percent(effort_) / 100;
  if (budget >= thinking_budget_min_tokens && !is_in_loop_without_thinking(body["messages"]))
    body["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
  mark_for_cache(body);
  return dump(body);
}

std::unique_ptr<wire_decoder> anthropic_codec::make_decoder(const sampling_request& request,
                                                            response_head head,
                                                            sent_facts sent) const {
  return std::make_unique<anthropic_decoder>(answer_origin{request.request_id, request.model},
                                             std::move(head), std::move(sent));
}

} // namespace rind::provider
