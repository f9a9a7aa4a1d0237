// What the formats share in reading requests: lenient access to fields, and the conversation in
// words of no format, from which the script's conditions are answered.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

/// Null where `object` is no object or has no such field.
const nlohmann::json* field(const nlohmann::json& object, const char* name);

/// Empty where the field is absent or no string.
std::string text_field(const nlohmann::json& object, const char* name);

bool flag_field(const nlohmann::json& object, const char* name);

/// Present, and neither null nor an empty array.
bool has_list(const nlohmann::json& object, const char* name);

/// Content is a string, or an array of parts of which some have text.
std::string text_of(const nlohmann::json& content);

/// "a", "b": the names that a message lists.
std::string listed(const std::vector<std::string>& names);

provider_fault bad_request(std::string message, std::string param = {}, std::string code = {});

enum class speaker { system, user, assistant, tool };

struct spoken_message {
  speaker by = speaker::user;
  std::string text;
};

/// Fills in what the script can ask of the messages. `message_count` leaves out those of the
/// system, and counts what an assistant says in a row as one, so it is the same in every format.
void describe(const std::vector<spoken_message>& messages, mock_request& request);

/// Sizes and tools: the mock's count of the named fields, and whether there are `tools`.
void measure(const nlohmann::json& body, std::initializer_list<const char*> counted,
             mock_request& request);

/// The fault of the first check that has one. A check takes the whole body.
using request_check = std::optional<provider_fault> (*)(const nlohmann::json& body);
std::optional<provider_fault> first_fault(std::initializer_list<request_check> checks,
                                          const nlohmann::json& body);

} // namespace rind::hosts::mock_provider
