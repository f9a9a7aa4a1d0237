// The statements of the PostgreSQL journal, and what their rows mean. For postgres_store.cpp only;
// throws damaged_session.
#pragma once

#include "runtime/journal/postgres_connection.hpp"
#include "runtime/journal/stored_rows.hpp"

namespace rind::journal {

/// PostgreSQL holds no character 0 in a text: ids and titles are stored with `\0` in its place, and
/// `\\` for a backslash. Throws std::invalid_argument for what is no UTF-8.
std::string to_column(const std::string& text);
std::string from_column(const std::string& column);

// -- statements --
/// Locks the sessions' rows until the end of the transaction, in one order for everybody.
postgres_statement lock_states(const std::vector<std::string>& session_ids);
postgres_statement select_state(const std::string& session_id);
postgres_statement select_highest(const std::vector<std::string>& session_ids);
postgres_statement select_places(const std::vector<std::string>& entry_ids);
postgres_statement select_epoch_floor();
postgres_statement raise_epoch_floor(std::uint64_t epoch);
/// `is_new`: of a session that this transaction makes; fails where another one was faster.
postgres_statement upsert_state(const session_state& state, bool is_new);
postgres_statement update_epoch(const std::string& session_id, std::uint64_t epoch);
postgres_statement insert_entry(const std::string& session_id, const entry& e,
                                const encoded_entry& encoded,
                                std::optional<std::int64_t> message_index);
postgres_statement select_entries(const std::string& session_id, std::int64_t after_position,
                                  std::int64_t limit);
postgres_statement select_page(std::int64_t limit, const std::optional<page_start>& start);
postgres_statement select_input(const std::string& session_id, const std::string& input_id);
postgres_statement select_end(const std::string& session_id, const std::string& turn_id,
                              std::int64_t after_position);
postgres_statement lock_epoch(const std::string& session_id);
postgres_statement delete_session(const std::string& session_id);

// -- rows --
/// Of lock_states and select_state.
session_state state_in(const postgres_rows& rows, int row);
std::string session_id_in(const postgres_rows& rows, int row);
/// Of select_places: the entry's id, and where it is.
std::pair<std::string, entry_place> place_in(const postgres_rows& rows, int row);
/// Of select_entries.
std::vector<entry_ptr> entries_in(const postgres_rows& rows, const session_summary& session,
                                  std::int64_t after_position, std::int64_t limit);
/// Of select_page, which was asked for one more than `limit`.
session_page page_in(const postgres_rows& rows, std::int64_t limit);
/// Of select_input and select_end.
entry_ptr entry_in(const postgres_rows& rows, int row, const std::string& session_id);

} // namespace rind::journal
