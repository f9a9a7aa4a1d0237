// Reading of Messages requests and the rules of the real server: roles that alternate, calls that
// the next turn answers first of all, thinking that stays what and where it was, nothing empty.
#include <algorithm>
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/messages.hpp"
#include "hosts/mock_provider/formats/messages_blocks.hpp"
#include "hosts/mock_provider/formats/request_fields.hpp"

namespace rind::hosts::mock_provider {

namespace {

using nlohmann::json;

constexpr std::size_t cache_marks_max = 4;
constexpr std::int64_t thinking_budget_tokens_min = 1024;

constexpr std::array<std::string_view, 22> known_parameters{
    "model",       "max_tokens",     "messages",      "system",        "tools",
    "tool_choice", "thinking",       "stream",        "temperature",   "top_p",
    "top_k",       "stop_sequences", "metadata",      "service_tier",  "container",
    "mcp_servers", "cache_control",  "output_config", "output_format", "context_management",
    "speed",       "inference_geo"};

std::optional<provider_fault> check_headers(const header_list& headers) {
  const auto has = [&](std::string_view name) {
    return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
      return header.first == name && !header.second.empty();
    });
  };
  if (!has("x-api-key") && !has("authorization"))
    return provider_fault{401, "x-api-key header is required", "", ""};
  if (!has("anthropic-version"))
    return bad_request("anthropic-version: header is required");
  return std::nullopt;
}

std::optional<provider_fault> check_top(const json& body) {
  for (const auto& [name, value] : body.items())
    if (std::find(known_parameters.begin(), known_parameters.end(), name) == known_parameters.end())
      return bad_request(name + ": Extra inputs are not permitted");
  for (const auto* name : {"model", "max_tokens", "messages"})
    if (field(body, name) == nullptr)
      return bad_request(std::string{name} + ": Field required");
  if (text_field(body, "model").empty())
    return bad_request("model: String should have at least 1 character");
  if (!body["max_tokens"].is_number_integer())
    return bad_request("max_tokens: Input should be a valid integer");
  if (body["max_tokens"].get<std::int64_t>() < 1)
    return bad_request("max_tokens: Input should be greater than or equal to 1");
  if (!body["messages"].is_array())
    return bad_request("messages: Input should be a valid list");
  if (body["messages"].empty())
    return bad_request("messages: at least one message is required");
  return std::nullopt;
}

std::optional<provider_fault> check_system(const json& body) {
  const auto* system = field(body, "system");
  if (system == nullptr || system->is_string())
    return std::nullopt;
  if (!system->is_array())
    return bad_request("system: Input should be a valid list");
  for (const auto& block : *system) {
    if (text_field(block, "type") != "text")
      return bad_request("system: Input tag should be 'text'");
    if (text_field(block, "text").empty())
      return bad_request("system: text content blocks must be non-empty");
  }
  return std::nullopt;
}

std::optional<provider_fault> check_tools(const json& body) {
  const auto* tools = field(body, "tools");
  if (tools == nullptr)
    return std::nullopt;
  if (!tools->is_array())
    return bad_request("tools: Input should be a valid list");
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const auto& tool = (*tools)[i];
    const auto type = text_field(tool, "type");
    if (!type.empty() && type != "custom" && type != "function")
      continue; // the server's own tools have other fields
    const auto where = "tools." + std::to_string(i) + ".custom.";
    if (type == "function" || text_field(tool, "name").empty())
      return bad_request(where + "name: Field required");
    const auto* schema = field(tool, "input_schema");
    if (schema == nullptr)
      return bad_request(where + "input_schema: Field required");
    if (text_field(*schema, "type") != "object")
      return bad_request(where + "input_schema.type: Input should be 'object'");
  }
  return std::nullopt;
}

std::optional<provider_fault> check_thinking_parameter(const json& body) {
  if (!thinking_enabled(body))
    return std::nullopt;
  const auto* budget = field(body["thinking"], "budget_tokens");
  if (budget == nullptr || !budget->is_number_integer())
    return bad_request("thinking.enabled.budget_tokens: Field required");
  const auto tokens = budget->get<std::int64_t>();
  if (tokens < thinking_budget_tokens_min)
    return bad_request("thinking.enabled.budget_tokens: Input should be greater than or equal to " +
                       std::to_string(thinking_budget_tokens_min));
  if (tokens >= body["max_tokens"].get<std::int64_t>())
    return bad_request("`max_tokens` must be greater than `thinking.budget_tokens`.");
  return std::nullopt;
}

/// Marks of caching, wherever they stand. Arguments and schemas are no place for any.
std::size_t cache_marks(const json& value) {
  std::size_t marks = 0;
  if (value.is_object()) {
    const auto* mark = field(value, "cache_control");
    marks += mark != nullptr && mark->is_object() ? 1 : 0;
    if (const auto* content = field(value, "content"))
      marks += cache_marks(*content);
  } else if (value.is_array()) {
    for (const auto& entry : value)
      marks += cache_marks(entry);
  }
  return marks;
}

std::optional<provider_fault> check_cache_marks(const json& body) {
  std::size_t marks = 0;
  for (const auto* name : {"tools", "system", "messages"})
    if (const auto* value = field(body, name))
      marks += cache_marks(*value);
  if (marks <= cache_marks_max)
    return std::nullopt;
  return bad_request("A maximum of " + std::to_string(cache_marks_max) +
                     " blocks with cache_control may be provided. Found " + std::to_string(marks) +
                     ".");
}

// -- what the script asks ------------------------------------------------------------------------

/// Each block of text and each result is a message of its own, as other formats send them.
std::vector<spoken_message> conversation_of(const json& messages) {
  std::vector<spoken_message> said;
  for (const auto& message : messages) {
    const bool user = text_field(message, "role") == "user";
    for (const auto& block : blocks_of(message)) {
      if (text_field(block, "type") == "tool_result")
        said.push_back({speaker::tool, text_of(block.value("content", json{}))});
      else
        said.push_back({user ? speaker::user : speaker::assistant, text_field(block, "text")});
    }
  }
  return said;
}

} // namespace

request_reading messages_format::read(arrived_request arrived) const {
  if (auto fault = check_headers(arrived.headers))
    return *fault;
  const auto sent = json::parse(arrived.body, nullptr, false);
  if (!sent.is_object())
    return bad_request("The request body is not valid JSON.");
  const auto body = with_blocks(sent);
  if (auto fault =
          first_fault({check_top, check_system, check_tools, check_thinking_parameter, check_turns,
                       check_blocks, check_pairs, check_thinking, check_cache_marks},
                      body))
    return *fault;
  mock_request request;
  request.conversation = std::move(arrived.conversation);
  request.model = text_field(body, "model");
  describe(conversation_of(body["messages"]), request);
  measure(sent, {"messages", "system"}, request);
  request.stream = flag_field(body, "stream");
  request.include_usage = true;
  request.must_reason = thinking_enabled(body);
  request.output_limit_tokens = body["max_tokens"].get<std::int64_t>();
  return request;
}

} // namespace rind::hosts::mock_provider
