// Statements as constants, rows by the order of their columns.
#include "runtime/journal/postgres_rows.hpp"

#include <stdexcept>

#include "messages/json.hpp"

namespace rind::journal {

namespace {

constexpr const char* sql_lock_states =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position, view_position, epoch, first_epoch"
    " FROM rind.sessions WHERE session_id = ANY($1::text[]) ORDER BY session_id FOR UPDATE";
constexpr const char* sql_select_state =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position, view_position, epoch, first_epoch"
    " FROM rind.sessions WHERE session_id = $1";
constexpr const char* sql_select_highest =
    "SELECT s, (SELECT max(position) FROM rind.entries WHERE session_id = s)"
    " FROM unnest($1::text[]) s";
constexpr const char* sql_select_places =
    "SELECT entry_id, session_id, position FROM rind.entries WHERE entry_id = ANY($1::text[])";
constexpr const char* sql_select_epoch_floor = "SELECT epoch_floor FROM rind.meta FOR SHARE";
constexpr const char* sql_raise_epoch_floor =
    "UPDATE rind.meta SET epoch_floor = greatest(epoch_floor, $1::bigint)";
constexpr const char* sql_upsert_state =
    "INSERT INTO rind.sessions(session_id, title, model, created_at_ms, updated_at_ms,"
    " message_count, generation, open_turn_id, open_operation, last_position, view_position, epoch,"
    " first_epoch) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    " ON CONFLICT(session_id) DO UPDATE SET title = excluded.title, model = excluded.model,"
    " created_at_ms = excluded.created_at_ms, updated_at_ms = excluded.updated_at_ms,"
    " message_count = excluded.message_count, generation = excluded.generation,"
    " open_turn_id = excluded.open_turn_id, open_operation = excluded.open_operation,"
    " last_position = excluded.last_position, view_position = excluded.view_position";
// A session that is made here must not be there: another node's is no conflict to be settled.
constexpr const char* sql_insert_state =
    "INSERT INTO rind.sessions(session_id, title, model, created_at_ms, updated_at_ms,"
    " message_count, generation, open_turn_id, open_operation, last_position, view_position, epoch,"
    " first_epoch) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
constexpr const char* sql_update_epoch =
    "UPDATE rind.sessions SET epoch = $2 WHERE session_id = $1";
constexpr const char* sql_insert_entry =
    "INSERT INTO rind.entries(session_id, position, entry_id, time_ms, turn_id, kind,"
    " message_index, input_id, body) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)";
constexpr const char* sql_select_entries =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM rind.entries"
    " WHERE session_id = $1 AND position > $2 ORDER BY position LIMIT $3";
constexpr const char* sql_select_first_page =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position"
    " FROM rind.sessions ORDER BY updated_at_ms DESC, session_id LIMIT $1";
constexpr const char* sql_select_page =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position"
    " FROM rind.sessions WHERE updated_at_ms <= $1 AND (updated_at_ms < $1 OR session_id > $2)"
    " ORDER BY updated_at_ms DESC, session_id LIMIT $3";
constexpr const char* sql_select_input =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM rind.entries"
    " WHERE session_id = $1 AND input_id = $2 ORDER BY position LIMIT 1";
constexpr const char* sql_select_end =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM rind.entries"
    " WHERE session_id = $1 AND turn_id = $2 AND kind = 'turn_ended' AND position > $3"
    " ORDER BY position DESC LIMIT 1";
constexpr const char* sql_lock_epoch =
    "SELECT epoch FROM rind.sessions WHERE session_id = $1 FOR UPDATE";
constexpr const char* sql_delete_session = "DELETE FROM rind.sessions WHERE session_id = $1";

std::string number(std::int64_t n) {
  return std::to_string(n);
}

std::vector<std::string> to_columns(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const auto& text : texts)
    out.push_back(to_column(text));
  return out;
}

/// The first ten columns of a session.
session_summary summary_in(const postgres_rows& rows, int row) {
  session_summary summary;
  summary.session_id = session_id_in(rows, row);
  summary.title = from_column(rows.text(row, 1));
  summary.model = from_column(rows.text(row, 2));
  summary.created_at_ms = rows.integer(row, 3);
  summary.updated_at_ms = rows.integer(row, 4);
  summary.message_count = rows.integer(row, 5);
  summary.generation = rows.integer(row, 6);
  summary.open_turn_id = from_column(rows.text(row, 7));
  summary.open_operation = decode_operation(summary.session_id, rows.text(row, 8));
  summary.last_position = rows.integer(row, 9);
  return summary;
}

} // namespace

std::string to_column(const std::string& text) {
  if (!is_valid_utf8(text))
    throw std::invalid_argument("a text that is no UTF-8 cannot be stored");
  if (text.find('\0') == std::string::npos && text.find('\\') == std::string::npos)
    return text;
  std::string column;
  for (const char c : text)
    if (c == '\0')
      column += "\\0";
    else if (c == '\\')
      column += "\\\\";
    else
      column += c;
  return column;
}

std::string from_column(const std::string& column) {
  if (column.find('\\') == std::string::npos)
    return column;
  std::string text;
  for (std::size_t i = 0; i < column.size(); ++i)
    if (column[i] == '\\' && i + 1 < column.size())
      text += column[++i] == '0' ? '\0' : column[i];
    else
      text += column[i];
  return text;
}

postgres_statement lock_states(const std::vector<std::string>& session_ids) {
  return {sql_lock_states, {text_array(to_columns(session_ids))}};
}

postgres_statement select_state(const std::string& session_id) {
  return {sql_select_state, {to_column(session_id)}};
}

postgres_statement select_highest(const std::vector<std::string>& session_ids) {
  return {sql_select_highest, {text_array(to_columns(session_ids))}};
}

postgres_statement select_places(const std::vector<std::string>& entry_ids) {
  return {sql_select_places, {text_array(to_columns(entry_ids))}};
}

postgres_statement select_epoch_floor() {
  return {sql_select_epoch_floor};
}

postgres_statement raise_epoch_floor(std::uint64_t epoch) {
  return {sql_raise_epoch_floor, {std::to_string(epoch)}};
}

postgres_statement upsert_state(const session_state& state, bool is_new) {
  const auto& s = state.tracker.summary();
  return {is_new ? sql_insert_state : sql_upsert_state,
          {to_column(s.session_id), to_column(s.title), to_column(s.model), number(s.created_at_ms),
           number(s.updated_at_ms), number(s.message_count), number(s.generation),
           to_column(s.open_turn_id), std::string(to_string(s.open_operation)),
           number(s.last_position), number(state.tracker.view_position()),
           std::to_string(state.epoch), std::to_string(state.first_epoch)}};
}

postgres_statement update_epoch(const std::string& session_id, std::uint64_t epoch) {
  return {sql_update_epoch, {to_column(session_id), std::to_string(epoch)}};
}

postgres_statement insert_entry(const std::string& session_id, const entry& e,
                                const encoded_entry& encoded,
                                std::optional<std::int64_t> message_index) {
  std::optional<std::string> index;
  if (message_index)
    index = number(*message_index);
  std::optional<std::string> input;
  if (!encoded.input_id.empty())
    input = to_column(encoded.input_id);
  return {sql_insert_entry,
          {to_column(session_id), number(e.position), to_column(e.id), number(e.time_ms),
           to_column(e.turn_id), encoded.kind, std::move(index), std::move(input), encoded.body}};
}

postgres_statement select_entries(const std::string& session_id, std::int64_t after_position,
                                  std::int64_t limit) {
  return {sql_select_entries, {to_column(session_id), number(after_position), number(limit)}};
}

postgres_statement select_page(std::int64_t limit, const std::optional<page_start>& start) {
  if (!start)
    return {sql_select_first_page, {number(limit + 1)}};
  return {sql_select_page,
          {number(start->updated_at_ms), to_column(start->session_id), number(limit + 1)}};
}

postgres_statement select_input(const std::string& session_id, const std::string& input_id) {
  return {sql_select_input, {to_column(session_id), to_column(input_id)}};
}

postgres_statement select_end(const std::string& session_id, const std::string& turn_id,
                              std::int64_t after_position) {
  return {sql_select_end, {to_column(session_id), to_column(turn_id), number(after_position)}};
}

postgres_statement lock_epoch(const std::string& session_id) {
  return {sql_lock_epoch, {to_column(session_id)}};
}

postgres_statement delete_session(const std::string& session_id) {
  return {sql_delete_session, {to_column(session_id)}};
}

session_state state_in(const postgres_rows& rows, int row) {
  return {summary_tracker(summary_in(rows, row), rows.integer(row, 10)),
          static_cast<std::uint64_t>(rows.integer(row, 11)),
          static_cast<std::uint64_t>(rows.integer(row, 12))};
}

std::string session_id_in(const postgres_rows& rows, int row) {
  return from_column(rows.text(row, 0));
}

std::pair<std::string, entry_place> place_in(const postgres_rows& rows, int row) {
  return {from_column(rows.text(row, 0)), {from_column(rows.text(row, 1)), rows.integer(row, 2)}};
}

entry_ptr entry_in(const postgres_rows& rows, int row, const std::string& session_id) {
  return decode(session_id,
                {rows.integer(row, 0), from_column(rows.text(row, 1)), rows.integer(row, 2),
                 from_column(rows.text(row, 3)), rows.text(row, 4), rows.text(row, 5)});
}

std::vector<entry_ptr> entries_in(const postgres_rows& rows, const session_summary& session,
                                  std::int64_t after_position, std::int64_t limit) {
  entry_run run(session, after_position, limit);
  for (int row = 0; row < rows.count(); ++row)
    run.take(entry_in(rows, row, session.session_id));
  return run.finish();
}

session_page page_in(const postgres_rows& rows, std::int64_t limit) {
  session_page page;
  for (int row = 0; row < rows.count(); ++row) {
    if (row == limit) {
      page.next = page_token(page.sessions.back());
      break;
    }
    page.sessions.push_back(summary_in(rows, row));
  }
  return page;
}

} // namespace rind::journal
