// Turns, blocks, pairs and thinking of Messages requests.
#include "hosts/mock_provider/formats/messages_blocks.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hosts/mock_provider/formats/request_fields.hpp"
#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

using nlohmann::json;

constexpr std::string_view white_space = " \t\r\n";

std::string at(std::size_t message) {
  return "messages." + std::to_string(message);
}

std::string at(std::size_t message, std::size_t block) {
  return at(message) + ".content." + std::to_string(block);
}

bool is_type(const json& block, std::string_view type) {
  return text_field(block, "type") == type;
}

bool is_thinking(const json& block) {
  return is_type(block, "thinking") || is_type(block, "redacted_thinking");
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(white_space) == std::string::npos;
}

/// The values of `name` in the blocks of a type, in order.
std::vector<std::string> values_of(const json& blocks, std::string_view type, const char* name) {
  std::vector<std::string> values;
  for (const auto& block : blocks)
    if (is_type(block, type))
      values.push_back(text_field(block, name));
  return values;
}

bool holds(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// -- one block -----------------------------------------------------------------------------------

/// Where a block stands.
struct place {
  std::size_t message;
  std::size_t block;
  bool user;
};

provider_fault missing(const place& where, const char* type, const char* name) {
  return bad_request(at(where.message, where.block) + "." + type + "." + name + ": Field required");
}

std::optional<provider_fault> check_text(const json& block, const place&) {
  if (text_field(block, "text").empty())
    return bad_request("messages: text content blocks must be non-empty");
  if (is_blank(text_field(block, "text")))
    return bad_request("messages: text content blocks must contain non-whitespace text");
  return std::nullopt;
}

std::optional<provider_fault> check_call(const json& block, const place& where) {
  if (where.user)
    return bad_request(at(where.message) +
                       ": `tool_use` blocks can only be in `assistant` messages");
  for (const auto* name : {"id", "name"})
    if (text_field(block, name).empty())
      return missing(where, "tool_use", name);
  const auto id = text_field(block, "id");
  const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
  if (!plain)
    return bad_request(at(where.message, where.block) +
                       ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
  const auto* input = field(block, "input");
  if (input == nullptr)
    return missing(where, "tool_use", "input");
  if (!input->is_object())
    return bad_request(at(where.message, where.block) +
                       ".tool_use.input: Input should be a valid dictionary");
  return std::nullopt;
}

std::optional<provider_fault> check_result(const json& block, const place& where) {
  if (!where.user)
    return bad_request(at(where.message) + ": `tool_result` blocks can only be in `user` messages");
  if (text_field(block, "tool_use_id").empty())
    return missing(where, "tool_result", "tool_use_id");
  const auto content = block.value("content", json{});
  if (content.is_array())
    for (const auto& part : content)
      if (is_type(part, "text"))
        if (auto fault = check_text(part, where))
          return fault;
  if (flag_field(block, "is_error") && text_of(content).empty())
    return bad_request(at(where.message, where.block) +
                       ".tool_result: content cannot be empty if `is_error` is true");
  return std::nullopt;
}

std::optional<provider_fault> check_thought(const json& block, const place& where) {
  if (where.user)
    return bad_request(at(where.message) +
                       ": `thinking` blocks can only be in `assistant` messages");
  if (field(block, "cache_control") != nullptr)
    return bad_request(at(where.message, where.block) +
                       ".thinking.cache_control: Extra inputs are not permitted");
  if (is_type(block, "redacted_thinking"))
    return field(block, "data") == nullptr
               ? std::optional{missing(where, "redacted_thinking", "data")}
               : std::nullopt;
  for (const auto* name : {"thinking", "signature"})
    if (field(block, name) == nullptr)
      return missing(where, "thinking", name);
  return std::nullopt;
}

std::optional<provider_fault> pass(const json&, const place&) {
  return std::nullopt;
}

struct block_rule {
  std::string_view type;
  std::optional<provider_fault> (*check)(const json& block, const place& where);
};

constexpr std::array<block_rule, 7> block_rules{{
    {"text", check_text},
    {"tool_use", check_call},
    {"tool_result", check_result},
    {"thinking", check_thought},
    {"redacted_thinking", check_thought},
    {"image", pass},
    {"document", pass},
}};

std::optional<provider_fault> check_block(const json& block, const place& where) {
  const auto type = text_field(block, "type");
  for (const auto& rule : block_rules)
    if (rule.type == type)
      return rule.check(block, where);
  return bad_request(at(where.message, where.block) + ": Input tag '" + type +
                     "' found using 'type' does not match any of the expected tags");
}

/// Only a last assistant turn may be empty, and its text must not end in white space.
std::optional<provider_fault> check_whole(const json& message, std::size_t index, bool last) {
  const auto* content = field(message, "content");
  if (content == nullptr)
    return bad_request(at(index) + ".content: Field required");
  if (!content->is_array())
    return bad_request(at(index) + ".content: Input should be a valid list");
  const bool prefill = last && text_field(message, "role") == "assistant";
  if (content->empty())
    return prefill ? std::nullopt
                   : std::optional{bad_request(at(index) +
                                               ": all messages must have non-empty content except "
                                               "for the optional final assistant message")};
  const auto final_text = text_field(content->back(), "text");
  if (prefill && !final_text.empty() && white_space.find(final_text.back()) != std::string::npos)
    return bad_request("messages: final assistant content cannot end with trailing whitespace");
  return std::nullopt;
}

// -- pairs ---------------------------------------------------------------------------------------

/// The results that stand before anything else.
std::vector<std::string> leading_results(const json& blocks) {
  std::vector<std::string> ids;
  for (const auto& block : blocks) {
    if (!is_type(block, "tool_result"))
      break;
    ids.push_back(text_field(block, "tool_use_id"));
  }
  return ids;
}

std::optional<provider_fault> check_answers(const json& messages, std::size_t index) {
  const auto calls = values_of(blocks_of(messages[index]), "tool_use", "id");
  const auto answered = index + 1 < messages.size()
                            ? leading_results(blocks_of(messages[index + 1]))
                            : std::vector<std::string>{};
  std::vector<std::string> open;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(open),
               [&](const std::string& id) { return !holds(answered, id); });
  if (open.empty())
    return std::nullopt;
  return bad_request(
      at(index) + ": `tool_use` ids were found without `tool_result` blocks immediately after: " +
      listed(open) +
      ". Each `tool_use` block must have a corresponding `tool_result` block in the "
      "next message.");
}

std::optional<provider_fault> check_results(const json& messages, std::size_t index) {
  const auto calls = index == 0 ? std::vector<std::string>{}
                                : values_of(blocks_of(messages[index - 1]), "tool_use", "id");
  const auto& blocks = blocks_of(messages[index]);
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!is_type(blocks[i], "tool_result"))
      continue;
    const auto id = text_field(blocks[i], "tool_use_id");
    if (!holds(calls, id))
      return bad_request(at(index, i) +
                         ": unexpected `tool_use_id` found in `tool_result` blocks: " + id +
                         ". Each `tool_result` block must have a corresponding `tool_use` block in "
                         "the previous message.");
    if (holds(seen, id))
      return bad_request(at(index, i) +
                         ": each tool_use must have a single result. Found multiple `tool_result` "
                         "blocks with id: " +
                         id);
    seen.push_back(id);
  }
  return std::nullopt;
}

// -- thinking ------------------------------------------------------------------------------------

std::optional<provider_fault> check_signatures(const json& blocks, std::size_t index) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& block = blocks[i];
    if (is_type(block, "thinking") &&
        text_field(block, "signature") != signature_of(text_field(block, "thinking")))
      return bad_request(at(index, i) + ": Invalid `signature` in `thinking` block");
    if (is_type(block, "redacted_thinking") && !unsealed(text_field(block, "data")))
      return bad_request(at(index, i) + ": Invalid `data` in `redacted_thinking` block");
  }
  return std::nullopt;
}

/// The turns of the assistant in the tool loop in which the request stands: those since the user
/// last said something that is no result.
std::vector<std::size_t> loop_turns(const json& messages) {
  std::vector<std::size_t> turns;
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (text_field(messages[i], "role") == "assistant")
      turns.insert(turns.begin(), i);
    else if (values_of(blocks_of(messages[i]), "tool_result", "tool_use_id").empty())
      break;
  }
  return turns;
}

std::optional<provider_fault> check_loop(const json& messages) {
  for (const auto turn : loop_turns(messages)) {
    const auto& blocks = blocks_of(messages[turn]);
    if (blocks.empty() || is_thinking(blocks.front()))
      continue;
    return bad_request(at(turn, 0) +
                       ".type: Expected `thinking` or `redacted_thinking`, but found `" +
                       text_field(blocks.front(), "type") +
                       "`. When `thinking` is enabled, a final `assistant` message must start with "
                       "a thinking block (preceeding the lastmost set of `tool_use` and "
                       "`tool_result` blocks).");
  }
  return std::nullopt;
}

} // namespace

json with_blocks(json body) {
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array())
    return body;
  for (auto& message : *messages) {
    if (!message.is_object() || !message.contains("content") || !message["content"].is_string())
      continue;
    auto& content = message["content"];
    auto blocks = json::array();
    if (content != "")
      blocks.push_back({{"type", "text"}, {"text", content}});
    content = std::move(blocks);
  }
  return body;
}

const json& blocks_of(const json& message) {
  return message["content"];
}

bool thinking_enabled(const json& body) {
  const auto* thinking = field(body, "thinking");
  return thinking != nullptr && text_field(*thinking, "type") == "enabled";
}

std::optional<provider_fault> check_turns(const json& body) {
  std::string before;
  for (const auto& message : body["messages"]) {
    const auto role = text_field(message, "role");
    if (role != "user" && role != "assistant")
      return bad_request("messages: Unexpected role \"" + role +
                         "\". The Messages API accepts a top-level `system` parameter, not "
                         "\"system\" as an input message role.");
    if (before.empty() && role != "user")
      return bad_request("messages: first message must use the \"user\" role");
    if (role == before)
      return bad_request("messages: roles must alternate between \"user\" and \"assistant\", but "
                         "found multiple \"" +
                         role + "\" roles in a row");
    before = role;
  }
  return std::nullopt;
}

std::optional<provider_fault> check_blocks(const json& body) {
  const auto& messages = body["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (auto fault = check_whole(messages[i], i, i + 1 == messages.size()))
      return fault;
    const auto& blocks = blocks_of(messages[i]);
    const bool user = text_field(messages[i], "role") == "user";
    for (std::size_t k = 0; k < blocks.size(); ++k)
      if (auto fault = check_block(blocks[k], {i, k, user}))
        return fault;
  }
  return std::nullopt;
}

std::optional<provider_fault> check_pairs(const json& body) {
  const auto& messages = body["messages"];
  std::vector<std::string> all;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (auto fault = check_results(messages, i))
      return fault;
    if (auto fault = check_answers(messages, i))
      return fault;
    for (const auto& id : values_of(blocks_of(messages[i]), "tool_use", "id")) {
      if (holds(all, id))
        return bad_request("messages: `tool_use` ids must be unique");
      all.push_back(id);
    }
  }
  if (!all.empty() && !has_list(body, "tools"))
    return bad_request("Requests which have `tool_use` or `tool_result` blocks in messages must "
                       "define tools");
  return std::nullopt;
}

std::optional<provider_fault> check_thinking(const json& body) {
  const auto& messages = body["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& blocks = blocks_of(messages[i]);
    if (auto fault = check_signatures(blocks, i))
      return fault;
    if (!blocks.empty() && is_thinking(blocks.back()))
      return bad_request(at(i) + ": The final block in an assistant message cannot be `thinking`.");
  }
  return thinking_enabled(body) ? check_loop(messages) : std::nullopt;
}

} // namespace rind::hosts::mock_provider
