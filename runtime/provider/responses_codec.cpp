// Requests of OpenAI Responses.
#include "runtime/provider/responses_codec.hpp"

#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/request_parts.hpp"
#include "runtime/provider/resent_reasoning.hpp"
#include "runtime/provider/responses_decoder.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

json message_item(const char* role, const char* content_type, const std::string& text) {
  auto content = json::array();
  content.push_back({{"type", content_type}, {"text", text}});
  return {{"type", "message"}, {"role", role}, {"content", std::move(content)}};
}

json call_item(const tool_call& call, call_ids& ids) {
  return {{"type", "function_call"},
          {"call_id", ids.of_call(call.id)},
          {"name", wire_tool_name(call.name)},
          {"arguments", arguments_text(call.arguments)}};
}

void add_answer(const message& m, call_ids& ids, json& input) {
  for (auto& part : parts_of(m, responses_format)) {
    if (part.kind == part_kind::reasoning)
      input.push_back(std::move(part.item));
    else if (part.kind == part_kind::call)
      input.push_back(call_item(m.tool_calls[part.call], ids));
    else
      input.push_back(message_item("assistant", "output_text", part.text));
  }
}

void add_message(const message& m, call_ids& ids, json& input) {
  if (m.role == message_role::assistant)
    add_answer(m, ids, input);
  else if (m.role == message_role::tool)
    input.push_back({{"type", "function_call_output"},
                     {"call_id", ids.of_result(m.tool_call_id)},
                     {"output", m.content}});
  else
    input.push_back(message_item("user", "input_text", m.content));
}

/// Schemas are the user's own: they are not held to what strict mode allows.
json tools_json(const tool_definitions& tools) {
  auto list = json::array();
  if (tools)
    for (const auto& tool : *tools)
      list.push_back({{"type", "function"},
                      {"name", tool.name},
                      {"description", tool.description},
                      {"parameters", parameters_object(tool)},
                      {"strict", false}});
  return list;
}

} // namespace

responses_codec::responses_codec(reasoning_effort effort) : effort_(effort) {}

std::string responses_codec::path() const {
  return "/responses";
}

std::string responses_codec::request_body(const sampling_request& request) const {
  std::string instructions;
  call_ids ids;
  auto input = json::array();
  for (const auto& m : request.messages) {
    if (m->role == message_role::system)
      instructions += (instructions.empty() ? "" : "\n\n") + m->content;
    else
      add_message(*m, ids, input);
  }
  json body{{"model", request.model},
            {"stream", true},
            {"store", false},
            {"input", std::move(input)},
            {"truncation", "disabled"}};
  if (!instructions.empty())
    body["instructions"] = std::move(instructions);
  if (auto tools = tools_json(request.tools); !tools.empty())
    body["tools"] = std::move(tools);
  if (request.output_limit_tokens > 0)
    body["max_output_tokens"] = request.output_limit_tokens;
  // Models without reasoning refuse to be asked for it.
  if (effort_ != reasoning_effort::none)
    body["include"] = json::array({"reasoning.encrypted_content"});
  if (request.kind == sampling_kind::assistant && is_wish(effort_))
    body["reasoning"] = {{"effort", to_string(effort_)}, {"summary", "auto"}};
  return dump(body);
}

std::unique_ptr<wire_decoder> responses_codec::make_decoder(const sampling_request& request,
                                                            response_head head,
                                                            sent_facts sent) const {
  return std::make_unique<responses_decoder>(answer_origin{request.request_id, request.model},
                                             std::move(head), std::move(sent));
}

} // namespace rind::provider
