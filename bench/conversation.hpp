// Conversations to measure with: as journal entries and as a view. Always the same ones.
#pragma once

#include "runtime/view/projection.hpp"

namespace rind::bench {

/// Prose, code and other scripts in the mixture of a working session; `bytes` long, at a character.
std::string mixed_text(std::size_t bytes);

/// The entries of a session whose turns have a prompt, a tool call with its result, and an answer:
/// four messages a turn.
std::vector<entry> working_session(std::int64_t turns);

/// Their messages in order.
std::vector<message_ptr> messages_of(const std::vector<entry>& entries);

view::projection projection_of(const std::vector<entry>& entries);

/// The next turn of such a session, with positions that follow `last_position`.
std::vector<entry> next_turn(std::int64_t turn, std::int64_t last_position);

} // namespace rind::bench
