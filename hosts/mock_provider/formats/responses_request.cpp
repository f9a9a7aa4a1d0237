// Reading of Responses requests and the rules of the real server: flat tools, ids, calls and
// outputs that pair, reasoning that stays what and where it was.
#include <algorithm>
#include <array>
#include <utility>

#include "hosts/mock_provider/formats/request_fields.hpp"
#include "hosts/mock_provider/formats/responses.hpp"
#include "hosts/mock_provider/formats/responses_items.hpp"
#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

using nlohmann::json;

/// What the server takes as `max_output_tokens`.
constexpr std::int64_t output_limit_tokens_min = 16;

constexpr const char* sealed_reasoning_wanted = "reasoning.encrypted_content";

/// Names of Chat Completions that clients send by mistake, and what they are called here.
constexpr std::array<std::pair<const char*, const char*>, 5> moved_parameters{{
    {"messages", "input"},
    {"max_tokens", "max_output_tokens"},
    {"max_completion_tokens", "max_output_tokens"},
    {"reasoning_effort", "reasoning.effort"},
    {"response_format", "text.format"},
}};

std::string at(std::size_t index, const char* name = nullptr) {
  return "input[" + std::to_string(index) + "]" + (name ? std::string{"."} + name : "");
}

provider_fault missing(const std::string& where) {
  return bad_request("Missing required parameter: '" + where + "'.", where,
                     "missing_required_parameter");
}

/// A message may leave its type out.
std::string type_of(const json& item) {
  const auto type = text_field(item, "type");
  return type.empty() && field(item, "role") != nullptr ? "message" : type;
}

std::string role_of(const json& item) {
  return type_of(item) == "message" ? text_field(item, "role") : std::string{};
}

/// What a model said, so what may come with reasoning.
bool is_output(const json& item) {
  return type_of(item) == "function_call" || role_of(item) == "assistant";
}

/// The whole text of a reasoning item: from its seal, else from its summary.
std::string reasoning_text(const json& item) {
  if (auto text = unsealed(text_field(item, "encrypted_content")))
    return *text;
  return text_of(item.value("summary", json{}));
}

// -- the body ------------------------------------------------------------------------------------

std::optional<provider_fault> check_top(const json& body) {
  if (text_field(body, "model").empty())
    return missing("model");
  for (const auto& [wrong, right] : moved_parameters)
    if (field(body, wrong) != nullptr)
      return bad_request("Unsupported parameter: '" + std::string{wrong} +
                             "'. In the Responses API, this parameter has moved to '" + right +
                             "'.",
                         wrong, "unsupported_parameter");
  if (const auto id = text_field(body, "previous_response_id"); !id.empty())
    return bad_request("Previous response with id '" + id + "' not found.", "previous_response_id",
                       "previous_response_not_found");
  const auto* limit = field(body, "max_output_tokens");
  if (limit != nullptr && limit->is_number_integer() &&
      limit->get<std::int64_t>() < output_limit_tokens_min)
    return bad_request("Invalid 'max_output_tokens': integer below minimum value. Expected a value "
                       ">= 16, but got " +
                           limit->dump() + " instead.",
                       "max_output_tokens", "integer_below_min_value");
  const auto* input = field(body, "input");
  if (input == nullptr)
    return missing("input");
  if (!input->is_string() && (!input->is_array() || input->empty()))
    return bad_request("Invalid type for 'input': expected a string or an array of items that is "
                       "not empty.",
                       "input", "invalid_type");
  return std::nullopt;
}

std::optional<provider_fault> check_tools(const json& body) {
  const auto* tools = field(body, "tools");
  if (tools == nullptr || tools->is_null())
    return std::nullopt;
  if (!tools->is_array())
    return bad_request("Invalid type for 'tools': expected an array.", "tools", "invalid_type");
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const auto where = "tools[" + std::to_string(i) + "]";
    if (text_field((*tools)[i], "type").empty())
      return missing(where + ".type");
    if (text_field((*tools)[i], "type") == "function" && text_field((*tools)[i], "name").empty())
      return missing(where + ".name");
  }
  return std::nullopt;
}

// -- one item ------------------------------------------------------------------------------------

struct item_fields {
  std::string_view type;
  std::string_view id_prefix;                  ///< without the underscore; empty: any
  std::array<const char*, 3> required_strings; ///< null: none
};

constexpr std::array<item_fields, 4> known_items{{
    {"message", "msg", {"role", nullptr, nullptr}},
    {"function_call", "fc", {"call_id", "name", "arguments"}},
    {"function_call_output", "fc", {"call_id", nullptr, nullptr}},
    {"reasoning", "rs", {nullptr, nullptr, nullptr}},
}};

std::optional<provider_fault> check_id_length(const json& item, std::size_t index,
                                              const char* name) {
  const auto length = text_field(item, name).size();
  if (length <= item_id_chars_max)
    return std::nullopt;
  return bad_request("Invalid '" + at(index, name) +
                         "': string too long. Expected a string with maximum length " +
                         std::to_string(item_id_chars_max) + ", but got a string with length " +
                         std::to_string(length) + " instead.",
                     at(index, name), "string_above_max_length");
}

std::optional<provider_fault> check_ids(const json& item, std::size_t index,
                                        const item_fields& known) {
  for (const auto* name : {"id", "call_id"})
    if (auto fault = check_id_length(item, index, name))
      return fault;
  const auto id = text_field(item, "id");
  if (id.empty() || id.starts_with(known.id_prefix))
    return std::nullopt;
  return bad_request("Invalid '" + at(index, "id") + "': '" + id +
                         "'. Expected an ID that begins with '" + std::string{known.id_prefix} +
                         "'.",
                     at(index, "id"), "invalid_value");
}

std::optional<provider_fault> check_parts(const json& item, std::size_t index) {
  const auto* content = field(item, "content");
  if (content == nullptr || (!content->is_string() && !content->is_array()))
    return missing(at(index, "content"));
  const auto role = text_field(item, "role");
  if (role != "user" && role != "assistant" && role != "system" && role != "developer")
    return bad_request("Invalid value: '" + role +
                           "'. Supported values are: 'assistant', 'system', 'developer', and "
                           "'user'.",
                       at(index, "role"), "invalid_value");
  if (content->is_string())
    return std::nullopt;
  for (const auto& part : *content) {
    const auto type = text_field(part, "type");
    const bool output = type == "output_text" || type == "refusal";
    if (type.empty() || output != (role == "assistant"))
      return bad_request("Invalid value: '" + type + "'. Supported values are: " +
                             (role == "assistant" ? "'output_text' and 'refusal'."
                                                  : "'input_text', 'input_image', and "
                                                    "'input_file'."),
                         at(index, "content"), "invalid_value");
  }
  return std::nullopt;
}

std::optional<provider_fault> check_item(const json& item, std::size_t index) {
  const auto type = type_of(item);
  const auto known = std::find_if(known_items.begin(), known_items.end(),
                                  [&](const auto& entry) { return entry.type == type; });
  if (known == known_items.end())
    return bad_request("Invalid value: '" + type +
                           "'. Supported values are: 'message', 'function_call', "
                           "'function_call_output', and 'reasoning'.",
                       at(index), "invalid_value");
  for (const auto* name : known->required_strings)
    if (name != nullptr && (field(item, name) == nullptr || !field(item, name)->is_string()))
      return missing(at(index, name));
  if (type == "function_call_output") {
    const auto* output = field(item, "output");
    if (output == nullptr || (!output->is_string() && !output->is_array()))
      return missing(at(index, "output"));
  }
  if (type == "message")
    if (auto fault = check_parts(item, index))
      return fault;
  return check_ids(item, index, *known);
}

std::optional<provider_fault> check_items(const json& body) {
  const auto& input = body["input"];
  if (!input.is_array())
    return std::nullopt;
  for (std::size_t i = 0; i < input.size(); ++i)
    if (auto fault = check_item(input[i], i))
      return fault;
  return std::nullopt;
}

// -- items that belong together ------------------------------------------------------------------

std::optional<provider_fault> check_pairs(const json& body) {
  std::vector<std::string> open;
  for (const auto& item : body["input"]) {
    const auto type = type_of(item);
    if (type == "function_call")
      open.push_back(text_field(item, "call_id"));
    if (type != "function_call_output")
      continue;
    const auto id = text_field(item, "call_id");
    const auto found = std::find(open.begin(), open.end(), id);
    if (found == open.end())
      return bad_request("No tool call found for function call output with call_id " + id + ".",
                         "input");
    open.erase(found);
  }
  if (open.empty())
    return std::nullopt;
  return bad_request("No tool output found for function call " + open.front() + ".", "input");
}

/// A reasoning item is what it was: its seal is the mock's, and its summary says what the seal
/// does.
std::optional<provider_fault> check_seal(const json& item, std::size_t index, bool stored) {
  const auto* seal = field(item, "encrypted_content");
  const auto id = text_field(item, "id");
  if (seal == nullptr || seal->is_null()) {
    if (stored)
      return std::nullopt;
    return provider_fault{404,
                          "Item with id '" + id +
                              "' not found. Items are not persisted when `store` is set to false. "
                              "Try again with `store` set to true, or remove this item from your "
                              "input.",
                          "", "input"};
  }
  const auto text = unsealed(seal->is_string() ? seal->get<std::string>() : std::string{});
  const bool summarised = has_list(item, "summary");
  if (text && (!summarised || text_of(item["summary"]) == *text))
    return std::nullopt;
  return bad_request("The encrypted content for item " + id +
                         " could not be verified. Reason: Encrypted content could not be decrypted "
                         "or parsed.",
                     at(index, "encrypted_content"), "invalid_encrypted_content");
}

/// Reasoning goes before the item that it came with. Ids that are not the mock's say nothing about
/// that.
bool came_with(const json& item, const json& reasoning) {
  const auto id = text_field(item, "id");
  return is_output(item) &&
         (!is_own_id(id) || key_in(id) == reasoning_key(reasoning_text(reasoning)));
}

std::optional<provider_fault> check_reasoning(const json& body) {
  const auto& input = body["input"];
  const bool stored = !body.contains("store") || body["store"] != false;
  for (std::size_t i = 0; input.is_array() && i < input.size(); ++i) {
    const auto id = text_field(input[i], "id");
    if (type_of(input[i]) == "reasoning") {
      if (auto fault = check_seal(input[i], i, stored))
        return fault;
      if (i + 1 == input.size() || !came_with(input[i + 1], input[i]))
        return bad_request("Item '" + id +
                               "' of type 'reasoning' was provided without its required following "
                               "item.",
                           "input");
    } else if (!key_in(id).empty() && (i == 0 || type_of(input[i - 1]) != "reasoning")) {
      return bad_request("Item '" + id + "' of type '" + type_of(input[i]) +
                             "' was provided without its required 'reasoning' item.",
                         "input");
    }
  }
  return std::nullopt;
}

// -- what the script asks ------------------------------------------------------------------------

std::vector<spoken_message> conversation_of(const json& input) {
  if (input.is_string())
    return {{speaker::user, input.get<std::string>()}};
  std::vector<spoken_message> messages;
  for (const auto& item : input) {
    if (type_of(item) == "function_call_output")
      messages.push_back({speaker::tool, text_of(item["output"])});
    else if (is_output(item) || type_of(item) == "reasoning")
      messages.push_back({speaker::assistant, text_of(item.value("content", json{}))});
    else
      messages.push_back(
          {role_of(item) == "user" ? speaker::user : speaker::system, text_of(item["content"])});
  }
  return messages;
}

bool wants_seal(const json& body) {
  const auto* include = field(body, "include");
  return include != nullptr && include->is_array() &&
         std::find(include->begin(), include->end(), sealed_reasoning_wanted) != include->end();
}

} // namespace

request_reading responses_format::read(arrived_request arrived) const {
  const auto body = json::parse(arrived.body, nullptr, false);
  if (!body.is_object())
    return bad_request("We could not parse the JSON body of your request.");
  if (auto fault =
          first_fault({check_top, check_tools, check_items, check_pairs, check_reasoning}, body))
    return *fault;
  mock_request request;
  request.conversation = std::move(arrived.conversation);
  request.model = text_field(body, "model");
  describe(conversation_of(body["input"]), request);
  measure(body, {"input", "instructions"}, request);
  request.stream = flag_field(body, "stream");
  request.include_usage = true;
  request.seal_reasoning = wants_seal(body);
  if (const auto* limit = field(body, "max_output_tokens");
      limit != nullptr && limit->is_number_integer())
    request.output_limit_tokens = limit->get<std::int64_t>();
  return request;
}

} // namespace rind::hosts::mock_provider
