// A local guess at what a tokenizer would count. One estimator for the trigger, the cut and the
// summary budget (F14). Script-aware: Latin prose, code and digits, CJK, and other scripts have
// densities of their own; the unit is Unicode code points.
#pragma once

#include <cstdint>
#include <string_view>

#include "messages/conversation.hpp"

namespace rind::context {

/// Tokens of a text. Additive up to rounding: the estimate of a concatenation is within 1 token a
/// piece of the sum. 0 only for "".
std::int64_t estimate_text(std::string_view text);

/// Tokens of JSON text that a provider takes apart and shows to the model in its own form, such as
/// the arguments of a call: an escape costs about what the character that it stands for does.
std::int64_t estimate_json(std::string_view text);

/// Tokens of one message in a request: text, calls, reasoning that is resent, and the envelope
/// around them. At least 1.
std::int64_t estimate_message(const message& m);

/// Tokens of the tool schemas.
std::int64_t estimate_tools(const std::vector<tool_definition>& tools);

} // namespace rind::context
