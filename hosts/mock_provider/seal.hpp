// How the mock provider knows its own reasoning again without keeping any: signatures and sealed
// texts are functions of the text alone, so an edit of either shows. No secret is meant to be kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rind::hosts::mock_provider {

/// SHA-256, hexadecimal.
std::string digest_of(std::string_view text);

/// What the mock signs a thinking text with.
std::string signature_of(std::string_view thinking);

/// The text in a form that only the mock reads.
std::string sealed(std::string_view text);

/// Nothing where `seal` is not what `sealed` gave.
std::optional<std::string> unsealed(std::string_view seal);

} // namespace rind::hosts::mock_provider
