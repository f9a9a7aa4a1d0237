// Rows of the SQLite journal and the values they stand for. For sqlite_store.cpp only; throws
// damaged_session and SQLite::Exception.
#pragma once

#include "runtime/journal/sqlite_connection.hpp"
#include "runtime/journal/stored_rows.hpp"

namespace rind::journal {

std::optional<session_state> read_state(sqlite_connection& db, const std::string& session_id);
void write_state(sqlite_connection& db, const session_state& state);
session_page read_page(sqlite_connection& db, std::int64_t limit,
                       const std::optional<page_start>& start);

/// At most `limit` entries after a position, checked for gaps up to the session's last position.
std::vector<entry_ptr> read_entries(sqlite_connection& db, const session_summary& session,
                                    std::int64_t after_position, std::int64_t limit);
void write_entry(sqlite_connection& db, const std::string& session_id, const entry& e,
                 const encoded_entry& encoded, std::optional<std::int64_t> message_index);
/// The highest position among the session's entries, 0 for none: last_position, or the session is
/// damaged.
std::int64_t highest_position(sqlite_connection& db, const std::string& session_id);

std::optional<entry_place> find_entry(sqlite_connection& db, const std::string& entry_id);

std::optional<input_trace> read_trace(sqlite_connection& db, const std::string& session_id,
                                      const std::string& input_id);

} // namespace rind::journal
