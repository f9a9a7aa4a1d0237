// The rules of the Messages format for turns and their blocks. A check answers with the first
// fault, in the words of the real server. Each relies on those before it.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

/// Content that is a string becomes one block of text, or none. All below expect it so.
nlohmann::json with_blocks(nlohmann::json body);

/// The blocks of a message that has content.
const nlohmann::json& blocks_of(const nlohmann::json& message);

/// Thinking with a budget, which has to come back with its calls.
bool thinking_enabled(const nlohmann::json& body);

/// Roles: they are known, the user begins, they alternate.
std::optional<provider_fault> check_turns(const nlohmann::json& body);

/// Each block by itself: whole, not empty, and in a turn where it may stand.
std::optional<provider_fault> check_blocks(const nlohmann::json& body);

/// Each call of a turn is answered once, at the head of the next turn; tools are declared.
std::optional<provider_fault> check_pairs(const nlohmann::json& body);

/// Signatures, and the places of thinking blocks.
std::optional<provider_fault> check_thinking(const nlohmann::json& body);

} // namespace rind::hosts::mock_provider
