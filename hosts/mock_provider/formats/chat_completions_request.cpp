// Reading of Chat Completions requests, with the rules of its stricter servers: calls and results
// pair, no empty assistant message, the user begins, the user or a tool ends.
#include <algorithm>
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/chat_completions.hpp"
#include "hosts/mock_provider/formats/request_fields.hpp"

namespace rind::hosts::mock_provider {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, speaker>, 5> roles{{
    {"system", speaker::system},
    {"developer", speaker::system},
    {"user", speaker::user},
    {"assistant", speaker::assistant},
    {"tool", speaker::tool},
}};

std::optional<speaker> speaker_of(const json& message) {
  const auto role = text_field(message, "role");
  const auto found =
      std::find_if(roles.begin(), roles.end(), [&](const auto& r) { return r.first == role; });
  return found == roles.end() ? std::nullopt : std::optional{found->second};
}

std::string at(std::size_t index, const char* name = nullptr) {
  return "messages[" + std::to_string(index) + "]" + (name ? std::string{"."} + name : "");
}

// -- one message ---------------------------------------------------------------------------------

std::optional<provider_fault> check_calls(const json& message, std::size_t index) {
  const auto* calls = field(message, "tool_calls");
  if (calls == nullptr || calls->is_null())
    return std::nullopt;
  const auto where = at(index, "tool_calls");
  if (speaker_of(message) != speaker::assistant)
    return bad_request("Only an assistant message can have '" + where + "'.", where);
  if (!calls->is_array() || calls->empty())
    return bad_request("Invalid '" + where + "': expected an array that is not empty.", where,
                       "empty_array");
  for (const auto& call : *calls) {
    const auto* function = field(call, "function");
    const bool whole = function != nullptr && !text_field(*function, "name").empty() &&
                       field(*function, "arguments") != nullptr &&
                       function->at("arguments").is_string();
    if (!whole || text_field(call, "id").empty() || text_field(call, "type") != "function")
      return bad_request("Invalid '" + where +
                             "': each call needs an id, the type 'function', and a function with a "
                             "name and arguments that are a string.",
                         where);
  }
  return std::nullopt;
}

std::optional<provider_fault> check_content(const json& message, std::size_t index) {
  const auto where = at(index, "content");
  const auto* content = field(message, "content");
  const bool assistant = speaker_of(message) == speaker::assistant;
  const bool calls = has_list(message, "tool_calls");
  if (content == nullptr || content->is_null()) {
    if (assistant && calls)
      return std::nullopt;
    return bad_request("Invalid value for 'content': expected a string, got null.", where);
  }
  const bool parts = content->is_array() && !content->empty() &&
                     std::all_of(content->begin(), content->end(), [](const json& part) {
                       return !text_field(part, "type").empty();
                     });
  if (!content->is_string() && !parts)
    return bad_request("Invalid type for '" + where +
                           "': expected a string or an array of parts with a type.",
                       where, "invalid_type");
  if (assistant && !calls && content->is_string() && text_of(*content).empty())
    return bad_request("Invalid '" + at(index) +
                           "': an assistant message must have either content or tool_calls.",
                       at(index));
  return std::nullopt;
}

std::optional<provider_fault> check_each_message(const json& body) {
  const auto& messages = body["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!speaker_of(messages[i]))
      return bad_request("Invalid value: '" + text_field(messages[i], "role") +
                             "'. Supported values are: 'system', 'developer', 'user', 'assistant' "
                             "and 'tool'.",
                         at(i, "role"), "invalid_value");
    if (auto fault = check_calls(messages[i], i))
      return fault;
    if (auto fault = check_content(messages[i], i))
      return fault;
  }
  return std::nullopt;
}

// -- all messages --------------------------------------------------------------------------------

std::optional<provider_fault> check_top(const json& body) {
  const auto* messages = field(body, "messages");
  if (messages == nullptr || !messages->is_array() || messages->empty())
    return bad_request("'messages' must be an array that is not empty.", "messages");
  if (!std::all_of(messages->begin(), messages->end(), [](const json& m) { return m.is_object(); }))
    return bad_request("'messages' must hold objects.", "messages");
  if (text_field(body, "model").empty())
    return bad_request("'model' must be a string that is not empty.", "model");
  return std::nullopt;
}

provider_fault unanswered(const std::vector<std::string>& ids, std::size_t index) {
  return bad_request("An assistant message with 'tool_calls' must be followed by tool messages "
                     "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                     "response messages: " +
                         listed(ids),
                     at(index, "role"));
}

/// Each call is answered once, before anything else is said.
std::optional<provider_fault> check_pairs(const json& body) {
  const auto& messages = body["messages"];
  std::vector<std::string> open;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (speaker_of(messages[i]) == speaker::tool) {
      const auto id = text_field(messages[i], "tool_call_id");
      const auto found = std::find(open.begin(), open.end(), id);
      if (found == open.end())
        return bad_request("Invalid parameter: messages with role 'tool' must be a response to a "
                           "preceeding message with 'tool_calls'.",
                           at(i, "role"));
      open.erase(found);
      continue;
    }
    if (!open.empty())
      return unanswered(open, i);
    if (has_list(messages[i], "tool_calls"))
      for (const auto& call : messages[i]["tool_calls"])
        open.push_back(text_field(call, "id"));
  }
  return open.empty() ? std::nullopt : std::optional{unanswered(open, messages.size() - 1)};
}

std::optional<provider_fault> check_ends(const json& body) {
  const auto& messages = body["messages"];
  const auto first = std::find_if(messages.begin(), messages.end(), [](const json& message) {
    return speaker_of(message) != speaker::system;
  });
  if (first != messages.end() && speaker_of(*first) != speaker::user)
    return bad_request("Expected the first message after the system's to have the role user, got " +
                           text_field(*first, "role") + ".",
                       "messages");
  const auto last = speaker_of(messages.back());
  if (last != speaker::user && last != speaker::tool)
    return bad_request("Expected last role User or Tool for serving but got " +
                           text_field(messages.back(), "role") + ".",
                       "messages");
  return std::nullopt;
}

std::optional<provider_fault> check_tools(const json& body) {
  const auto* tools = field(body, "tools");
  if (tools == nullptr)
    return std::nullopt;
  if (!tools->is_array())
    return bad_request("Invalid type for 'tools': expected an array.", "tools", "invalid_type");
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const auto& tool = (*tools)[i];
    const auto where = "tools[" + std::to_string(i) + "]";
    if (text_field(tool, "type") == "function" && field(tool, "function") == nullptr)
      return bad_request("Missing required parameter: '" + where + ".function'.",
                         where + ".function", "missing_required_parameter");
  }
  return std::nullopt;
}

} // namespace

request_reading chat_completions_format::read(arrived_request arrived) const {
  const auto body = json::parse(arrived.body, nullptr, false);
  if (!body.is_object())
    return bad_request("The body is not a JSON object.");
  if (auto fault =
          first_fault({check_top, check_each_message, check_pairs, check_ends, check_tools}, body))
    return *fault;
  std::vector<spoken_message> messages;
  for (const auto& message : body["messages"])
    messages.push_back(
        {speaker_of(message).value_or(speaker::system), text_of(message.value("content", json{}))});
  mock_request request;
  request.conversation = std::move(arrived.conversation);
  request.model = text_field(body, "model");
  describe(messages, request);
  measure(body, {"messages"}, request);
  request.stream = flag_field(body, "stream");
  const auto* options = field(body, "stream_options");
  request.include_usage = options != nullptr && flag_field(*options, "include_usage");
  for (const auto* name : {"max_completion_tokens", "max_tokens"})
    if (const auto* limit = field(body, name); limit != nullptr && limit->is_number_integer())
      request.output_limit_tokens = limit->get<std::int64_t>();
  return request;
}

} // namespace rind::hosts::mock_provider
