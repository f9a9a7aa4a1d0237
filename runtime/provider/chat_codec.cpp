// Requests of Chat Completions.
#include "runtime/provider/chat_codec.hpp"

#include "runtime/provider/chat_decoder.hpp"
#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/request_parts.hpp"
#include "runtime/provider/resent_reasoning.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

const char* role_name(message_role role) {
  switch (role) {
  case message_role::system:
    return "system";
  case message_role::user:
    return "user";
  case message_role::assistant:
    return "assistant";
  case message_role::tool:
    return "tool";
  }
  return "user";
}

json call_json(const tool_call& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", arguments_text(call.arguments)}}}};
}

void add_assistant_members(json& object, const message& m) {
  if (m.content.empty() && !m.tool_calls.empty())
    object["content"] = nullptr;
  for (const auto& call : m.tool_calls)
    object["tool_calls"].push_back(call_json(call));
  const auto members = members_of(m, chat_format);
  for (const auto& [key, value] : members.items())
    if (!object.contains(key))
      object[key] = value;
}

} // namespace

std::string render_message(const message& m) {
  json object{{"role", role_name(m.role)}, {"content", m.content}};
  if (m.role == message_role::assistant)
    add_assistant_members(object, m);
  else if (m.role == message_role::tool)
    object["tool_call_id"] = m.tool_call_id;
  return dump(object);
}

std::string render_tools(const tool_definitions& tools) {
  if (!tools || tools->empty())
    return {};
  auto list = json::array();
  for (const auto& tool : *tools)
    list.push_back({{"type", "function"},
                    {"function",
                     {{"name", tool.name},
                      {"description", tool.description},
                      {"parameters", parameters_object(tool)}}}});
  return dump(list);
}

std::string join_body(const sampling_request& request, const chat_options& options,
                      const std::vector<std::string>& rendered_messages) {
  std::size_t bytes = 0;
  for (const auto& text : rendered_messages)
    bytes += text.size() + 1;
  const auto tools = render_tools(request.tools);
  std::string body;
  body.reserve(bytes + tools.size() + 256);
  body += "{\"model\":" + dump(json(request.model)) + ",\"messages\":[";
  for (std::size_t i = 0; i < rendered_messages.size(); ++i) {
    if (i > 0)
      body += ',';
    body += rendered_messages[i];
  }
  body += ']';
  if (!tools.empty())
    body += ",\"tools\":" + tools;
  if (request.output_limit_tokens > 0)
    body += ',' + dump(json(options.max_tokens_field)) + ':' +
            std::to_string(request.output_limit_tokens);
  if (request.kind == sampling_kind::assistant && is_wish(options.effort))
    body += ",\"reasoning_effort\":" + dump(json(to_string(options.effort)));
  body += ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
  return body;
}

chat_codec::chat_codec(chat_options options) : options_(std::move(options)) {}

std::string chat_codec::path() const {
  return "/chat/completions";
}

std::string chat_codec::request_body(const sampling_request& request) const {
  std::vector<std::string> rendered;
  rendered.reserve(request.messages.size());
  for (const auto& m : request.messages)
    rendered.push_back(render_message(*m));
  return join_body(request, options_, rendered);
}

std::unique_ptr<wire_decoder> chat_codec::make_decoder(const sampling_request& request,
                                                       response_head head, sent_facts sent) const {
  return std::make_unique<chat_decoder>(answer_origin{request.request_id, request.model},
                                        std::move(head), std::move(sent));
}

} // namespace rind::provider
