// Reading JSON that comes from outside: bounded in depth, forgiving about broken text inside
// strings. Leaves meaning to its callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rind::provider {

/// Deepest nesting that is read; deeper text counts as no JSON.
inline constexpr std::size_t outside_json_depth_max = 96;

/// The value, or nothing. Invalid UTF-8 and lone surrogate escapes inside strings become U+FFFD.
std::optional<nlohmann::json> parse_outside_json(std::string_view text);

/// A member of an object, or null where there is none or `value` is no object.
const nlohmann::json& member(const nlohmann::json& value, const char* key);

/// The text of a string member, or "".
std::string text_member(const nlohmann::json& value, const char* key);

/// A member that is a whole number of at least 0, or nothing.
std::optional<std::int64_t> count_member(const nlohmann::json& value, const char* key);

/// Compact text; never throws (broken UTF-8 is replaced).
std::string dump(const nlohmann::json& value);

} // namespace rind::provider
