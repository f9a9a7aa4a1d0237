// The steps from an empty file to the newest tables.
#include "runtime/journal/sqlite_schema.hpp"

#include <array>

#include <SQLiteCpp/SQLiteCpp.h>

#include "messages/json.hpp"
#include "runtime/journal/summary_tracker.hpp"

namespace rind::journal {

namespace {

// Version 1. `body` comes after all that is read without it: a large one lies on pages of its own.
constexpr const char* create_tables = R"sql(
CREATE TABLE meta(schema_version INTEGER NOT NULL);
INSERT INTO meta(schema_version) VALUES(1);
CREATE TABLE sessions(
  session_id TEXT PRIMARY KEY NOT NULL,
  epoch INTEGER NOT NULL,
  title TEXT NOT NULL,
  model TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  message_count INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  open_turn_id TEXT NOT NULL,
  open_operation TEXT NOT NULL,
  last_position INTEGER NOT NULL,
  view_position INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries(
  session_id TEXT NOT NULL REFERENCES sessions(session_id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  entry_id TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  message_index INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY(session_id, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX entries_by_id ON entries(entry_id);
CREATE INDEX entries_that_end ON entries(session_id, turn_id) WHERE kind = 'turn_ended';
CREATE INDEX sessions_by_update ON sessions(updated_at_ms DESC, session_id);
)sql";

void step_to_1(SQLite::Database& db) {
  db.exec(create_tables);
}

// Version 2: inputs are found by the client's id; a name that is used again does not start with an
// epoch that was used before.
constexpr const char* add_inputs = R"sql(
ALTER TABLE meta ADD COLUMN epoch_floor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN first_epoch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE entries ADD COLUMN input_id TEXT;
)sql";
constexpr const char* index_inputs = R"sql(
CREATE INDEX entries_by_input ON entries(session_id, input_id) WHERE input_id IS NOT NULL;
UPDATE meta SET schema_version = 2;
)sql";

void step_to_2(SQLite::Database& db) {
  db.exec(add_inputs);
  SQLite::Statement carriers(db, "SELECT session_id, position, kind, body FROM entries"
                                 " WHERE kind IN ('user_message', 'input_accepted')");
  SQLite::Statement fill(db,
                         "UPDATE entries SET input_id = ? WHERE session_id = ? AND position = ?");
  while (carriers.executeStep()) {
    const auto body =
        decode_body(carriers.getColumn(2).getString(), carriers.getColumn(3).getString());
    // What cannot be read is reported when its session is; it does not keep the other sessions from
    // being served.
    const std::string input_id = body ? input_id_of(*body) : std::string();
    if (input_id.empty())
      continue;
    fill.bind(1, input_id);
    fill.bind(2, carriers.getColumn(0).getString());
    fill.bind(3, carriers.getColumn(1).getInt64());
    fill.exec();
    fill.reset();
  }
  db.exec(index_inputs);
}

using step = void (*)(SQLite::Database&);
constexpr std::array<step, sqlite_schema_version> steps{step_to_1, step_to_2};

struct found_version {
  std::int64_t version = 0; // 0: an empty file
  std::optional<failure> error;
};

failure unusable(const char* reason) {
  return make_failure(error_code::persistence_failed, std::string("the journal's file ") + reason);
}

found_version read_version(SQLite::Database& db) {
  if (!db.tableExists("meta")) {
    const bool is_empty = db.execAndGet("SELECT count(*) FROM sqlite_master").getInt64() == 0;
    if (!is_empty)
      return {0, unusable("is another program's database")};
    return {};
  }
  SQLite::Statement meta(db, "SELECT schema_version FROM meta");
  if (!meta.executeStep())
    return {0, unusable("is damaged: it does not say its version")};
  const std::int64_t version = meta.getColumn(0).getInt64();
  if (version > sqlite_schema_version)
    return {version, unusable("was written by a newer version of this program")};
  if (version < 1)
    return {version, unusable("is damaged: its version makes no sense")};
  return {version, std::nullopt};
}

} // namespace

std::optional<failure> refuse_file(SQLite::Database& db, sqlite_access access) {
  const auto found = read_version(db);
  if (found.error || access == sqlite_access::serve || found.version == sqlite_schema_version)
    return found.error;
  return unusable(found.version == 0
                      ? "is empty"
                      : "was written by an older version of this program; serving it migrates it");
}

std::optional<failure> prepare_schema(SQLite::Database& db) {
  auto found = read_version(db);
  if (found.error || found.version == sqlite_schema_version)
    return found.error;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  found = read_version(db); // another process may have been faster
  if (found.error)
    return found.error;
  for (auto i = static_cast<std::size_t>(found.version); i < steps.size(); ++i)
    steps[i](db);
  transaction.commit();
  return std::nullopt;
}

} // namespace rind::journal
