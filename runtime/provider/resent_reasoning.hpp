// Reasoning that the next request has to carry, as the text that a message keeps
// (reasoning_block::opaque): tagged with its wire format, so that no other format sends it, and
// with its place between text and calls. Pure; what a piece holds is its format's matter, its
// strings are never touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/conversation.hpp"

namespace rind::provider {

enum class part_kind : std::uint8_t { reasoning, text, call };

/// One piece of an answer, in the order in which the model wrote them.
struct answer_part {
  part_kind kind = part_kind::text;
  nlohmann::json item;  // reasoning: as it is resent
  std::string text;     // text
  std::size_t call = 0; // call: its position among the message's calls
};

/// The opaque text of an answer with these parts (of `call` only the kind counts); "" where no
/// reasoning has to be resent. Reasoning that nothing follows is left out: it can not be resent. So
/// is all of it where a character of it was lost on the way, because what is signed may be left out
/// but not changed.
std::string opaque_of(std::string_view format, const std::vector<answer_part>& parts);

/// The same for reasoning that is no part of its own but members of the message.
std::string opaque_of_members(std::string_view format, const nlohmann::json& members);

/// An assistant's message in its parts: all text and all calls, each once. Reasoning is among them
/// only where `format` wrote it.
std::vector<answer_part> parts_of(const message& m, std::string_view format);

/// The members that `format` has to add to a message; null: none.
nlohmann::json members_of(const message& m, std::string_view format);

} // namespace rind::provider
