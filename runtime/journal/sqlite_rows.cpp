// The statements of the SQLite journal, and what their rows mean.
#include "runtime/journal/sqlite_rows.hpp"

#include "messages/json.hpp"

namespace rind::journal {

namespace {

constexpr const char* select_state =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position, view_position, epoch, first_epoch"
    " FROM sessions WHERE session_id = ?";
constexpr const char* select_first_page =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position"
    " FROM sessions ORDER BY updated_at_ms DESC, session_id LIMIT ?";
constexpr const char* select_page =
    "SELECT session_id, title, model, created_at_ms, updated_at_ms, message_count, generation,"
    " open_turn_id, open_operation, last_position"
    " FROM sessions WHERE updated_at_ms <= ?1 AND (updated_at_ms < ?1 OR session_id > ?2)"
    " ORDER BY updated_at_ms DESC, session_id LIMIT ?3";
constexpr const char* upsert_state =
    "INSERT INTO sessions(session_id, title, model, created_at_ms, updated_at_ms, message_count,"
    " generation, open_turn_id, open_operation, last_position, view_position, epoch, first_epoch)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT(session_id) DO UPDATE SET title = excluded.title, model = excluded.model,"
    " created_at_ms = excluded.created_at_ms, updated_at_ms = excluded.updated_at_ms,"
    " message_count = excluded.message_count, generation = excluded.generation,"
    " open_turn_id = excluded.open_turn_id, open_operation = excluded.open_operation,"
    " last_position = excluded.last_position, view_position = excluded.view_position";
constexpr const char* select_entries =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM entries"
    " WHERE session_id = ? AND position > ? ORDER BY position LIMIT ?";
constexpr const char* insert_entry =
    "INSERT INTO entries(session_id, position, entry_id, time_ms, turn_id, kind, body,"
    " message_index, input_id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* select_highest = "SELECT max(position) FROM entries WHERE session_id = ?";
constexpr const char* select_place = "SELECT session_id, position FROM entries WHERE entry_id = ?";
constexpr const char* select_input =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM entries"
    " WHERE session_id = ? AND input_id = ? ORDER BY position LIMIT 1";
constexpr const char* select_end =
    "SELECT position, entry_id, time_ms, turn_id, kind, body FROM entries"
    " WHERE session_id = ? AND turn_id = ? AND kind = 'turn_ended' AND position > ?"
    " ORDER BY position DESC LIMIT 1";

/// The columns of select_state, select_page and select_first_page up to last_position.
session_summary summary_of(const statement_use& row) {
  session_summary summary;
  summary.session_id = row.text(0);
  summary.title = row.text(1);
  summary.model = row.text(2);
  summary.created_at_ms = row.integer(3);
  summary.updated_at_ms = row.integer(4);
  summary.message_count = row.integer(5);
  summary.generation = row.integer(6);
  summary.open_turn_id = row.text(7);
  summary.open_operation = decode_operation(summary.session_id, row.text(8));
  summary.last_position = row.integer(9);
  return summary;
}

/// The columns of select_entries, select_input and select_end.
entry_ptr entry_of(const statement_use& row, const std::string& session_id) {
  return decode(session_id, {row.integer(0), row.text(1), row.integer(2), row.text(3), row.text(4),
                             row.text(5)});
}

} // namespace

std::optional<session_state> read_state(sqlite_connection& db, const std::string& session_id) {
  auto row = db.use(select_state);
  if (!row.bind(session_id).step())
    return std::nullopt;
  return session_state{summary_tracker(summary_of(row), row.integer(10)),
                       static_cast<std::uint64_t>(row.integer(11)),
                       static_cast<std::uint64_t>(row.integer(12))};
}

void write_state(sqlite_connection& db, const session_state& state) {
  const session_summary& summary = state.tracker.summary();
  const std::string operation = to_string(summary.open_operation);
  auto row = db.use(upsert_state);
  row.bind(summary.session_id).bind(summary.title).bind(summary.model);
  row.bind(summary.created_at_ms).bind(summary.updated_at_ms).bind(summary.message_count);
  row.bind(summary.generation).bind(summary.open_turn_id).bind(operation);
  row.bind(summary.last_position).bind(state.tracker.view_position());
  row.bind(static_cast<std::int64_t>(state.epoch));
  row.bind(static_cast<std::int64_t>(state.first_epoch));
  row.step();
}

session_page read_page(sqlite_connection& db, std::int64_t limit,
                       const std::optional<page_start>& start) {
  auto row = db.use(start ? select_page : select_first_page);
  if (start)
    row.bind(start->updated_at_ms).bind(start->session_id);
  row.bind(limit + 1); // one more tells whether there is another page
  session_page page;
  while (row.step()) {
    if (static_cast<std::int64_t>(page.sessions.size()) == limit) {
      page.next = page_token(page.sessions.back());
      break;
    }
    page.sessions.push_back(summary_of(row));
  }
  return page;
}

std::vector<entry_ptr> read_entries(sqlite_connection& db, const session_summary& session,
                                    std::int64_t after_position, std::int64_t limit) {
  entry_run run(session, after_position, limit);
  auto row = db.use(select_entries);
  row.bind(session.session_id).bind(run.after_position()).bind(limit);
  while (row.step())
    run.take(entry_of(row, session.session_id));
  return run.finish();
}

void write_entry(sqlite_connection& db, const std::string& session_id, const entry& e,
                 const encoded_entry& encoded, std::optional<std::int64_t> message_index) {
  auto row = db.use(insert_entry);
  row.bind(session_id).bind(e.position).bind(e.id).bind(e.time_ms).bind(e.turn_id);
  row.bind(encoded.kind).bind(encoded.body);
  if (message_index)
    row.bind(*message_index);
  else
    row.bind_null();
  if (!encoded.input_id.empty())
    row.bind(encoded.input_id);
  else
    row.bind_null();
  row.step();
}

std::int64_t highest_position(sqlite_connection& db, const std::string& session_id) {
  auto row = db.use(select_highest);
  row.bind(session_id).step();
  return row.integer(0);
}

std::optional<entry_place> find_entry(sqlite_connection& db, const std::string& entry_id) {
  auto row = db.use(select_place);
  if (!row.bind(entry_id).step())
    return std::nullopt;
  return entry_place{row.text(0), row.integer(1)};
}

std::optional<input_trace> read_trace(sqlite_connection& db, const std::string& session_id,
                                      const std::string& input_id) {
  auto row = db.use(select_input);
  if (!row.bind(session_id).bind(input_id).step())
    return std::nullopt;
  const entry_ptr carrier = entry_of(row, session_id);
  if (input_id_of(carrier->body) != input_id)
    damaged(session_id, "entry " + std::to_string(carrier->position) + " has another input id");
  input_trace trace = trace_of(*carrier);
  auto end = db.use(select_end);
  if (end.bind(session_id).bind(carrier->turn_id).bind(carrier->position).step()) {
    const entry_ptr ended = entry_of(end, session_id);
    trace.ended = std::get<entries::turn_ended>(ended->body).outcome;
  }
  return trace;
}

} // namespace rind::journal
