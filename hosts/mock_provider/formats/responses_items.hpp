// How the items of a response are named, so that the mock knows again which belong together: an
// item that came with reasoning carries a key of that reasoning at the end of its id.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rind::hosts::mock_provider {

/// What item ids begin with.
inline constexpr std::string_view reasoning_id_prefix = "rs_";
inline constexpr std::string_view message_id_prefix = "msg_";
inline constexpr std::string_view call_id_prefix = "fc_";

/// Characters of an id, of a call's too.
inline constexpr std::size_t item_id_chars_max = 64;

/// The key of a reasoning text.
std::string reasoning_key(std::string_view reasoning);

/// The id of the item `index` of the response `tag`; `key` is that of the reasoning just before
/// it, or empty.
std::string item_id(std::string_view prefix, std::string_view tag, std::size_t index,
                    std::string_view key);

/// The key in an id that the mock made, or empty.
std::string key_in(std::string_view id);

/// Whether the mock made the id.
bool is_own_id(std::string_view id);

} // namespace rind::hosts::mock_provider
