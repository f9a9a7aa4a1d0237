// Reading of fields and messages.
#include "hosts/mock_provider/formats/request_fields.hpp"

#include <utility>

namespace rind::hosts::mock_provider {

using nlohmann::json;

const json* field(const json& object, const char* name) {
  if (!object.is_object())
    return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_field(const json& object, const char* name) {
  const auto* found = field(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string{};
}

bool flag_field(const json& object, const char* name) {
  const auto* found = field(object, name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

bool has_list(const json& object, const char* name) {
  const auto* found = field(object, name);
  return found != nullptr && found->is_array() && !found->empty();
}

std::string text_of(const json& content) {
  if (content.is_string())
    return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const auto& part : content)
      text += text_field(part, "text");
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

provider_fault bad_request(std::string message, std::string param, std::string code) {
  return {400, std::move(message), std::move(code), std::move(param)};
}

void describe(const std::vector<spoken_message>& messages, mock_request& request) {
  auto before = speaker::system;
  bool user_seen = false;
  for (const auto& message : messages) {
    if (message.by == speaker::system)
      continue;
    if (message.by != speaker::assistant || before != speaker::assistant)
      ++request.message_count;
    before = message.by;
    if (message.by != speaker::user)
      continue;
    request.last_user_text = message.text;
    if (!std::exchange(user_seen, true))
      request.first_user_text = message.text;
  }
  if (messages.empty())
    return;
  request.last_text = messages.back().text;
  request.last_is_tool_result = messages.back().by == speaker::tool;
}

void measure(const json& body, std::initializer_list<const char*> counted, mock_request& request) {
  request.has_tools = has_list(body, "tools");
  std::size_t bytes = request.has_tools ? dumped(body["tools"]).size() : 0;
  for (const auto* name : counted)
    if (const auto* value = field(body, name))
      bytes += dumped(*value).size();
  request.prompt_tokens = tokens_in(bytes);
}

std::optional<provider_fault> first_fault(std::initializer_list<request_check> checks,
                                          const json& body) {
  for (const auto check : checks)
    if (auto fault = check(body))
      return fault;
  return std::nullopt;
}

} // namespace rind::hosts::mock_provider
