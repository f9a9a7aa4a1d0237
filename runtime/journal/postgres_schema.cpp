// The steps from an empty database to the newest tables.
#include "runtime/journal/postgres_schema.hpp"

#include <array>
#include <span>

namespace rind::journal {

namespace {

// Any number that no other program is likely to lock.
constexpr const char* lock_migrations = "SELECT pg_advisory_xact_lock(8243720163418001)";
constexpr const char* select_encoding = "SHOW server_encoding";
// By the catalogue's rows: its names may be cached from before the lock was had.
constexpr const char* select_tables =
    "SELECT (SELECT 1 FROM pg_class c JOIN pg_namespace n ON c.relnamespace = n.oid"
    "  WHERE n.nspname = 'rind' AND c.relname = 'meta'),"
    " (SELECT 1 FROM pg_namespace WHERE nspname = 'rind')";
constexpr const char* select_version = "SELECT schema_version FROM rind.meta";

// Version 1. Ids are compared byte by byte, as everywhere else.
constexpr std::array version_1{
    "CREATE SCHEMA IF NOT EXISTS rind",
    "CREATE TABLE rind.meta(schema_version bigint NOT NULL, epoch_floor bigint NOT NULL)",
    "INSERT INTO rind.meta VALUES(1, 0)",
    "CREATE TABLE rind.sessions("
    " session_id text COLLATE \"C\" PRIMARY KEY,"
    " epoch bigint NOT NULL,"
    " first_epoch bigint NOT NULL,"
    " title text NOT NULL,"
    " model text NOT NULL,"
    " created_at_ms bigint NOT NULL,"
    " updated_at_ms bigint NOT NULL,"
    " message_count bigint NOT NULL,"
    " generation bigint NOT NULL,"
    " open_turn_id text NOT NULL,"
    " open_operation text NOT NULL,"
    " last_position bigint NOT NULL,"
    " view_position bigint NOT NULL)",
    "CREATE TABLE rind.entries("
    " session_id text COLLATE \"C\" NOT NULL REFERENCES rind.sessions ON DELETE CASCADE,"
    " position bigint NOT NULL,"
    " entry_id text COLLATE \"C\" NOT NULL,"
    " time_ms bigint NOT NULL,"
    " turn_id text COLLATE \"C\" NOT NULL,"
    " kind text NOT NULL,"
    " message_index bigint,"
    " input_id text COLLATE \"C\","
    " body text NOT NULL,"
    " PRIMARY KEY(session_id, position))",
    "CREATE UNIQUE INDEX entries_by_id ON rind.entries(entry_id)",
    "CREATE INDEX entries_that_end ON rind.entries(session_id, turn_id) WHERE kind = 'turn_ended'",
    "CREATE INDEX entries_by_input ON rind.entries(session_id, input_id)"
    " WHERE input_id IS NOT NULL",
    "CREATE INDEX sessions_by_update ON rind.sessions(updated_at_ms DESC, session_id)",
};

constexpr std::array<std::span<const char* const>, postgres_schema_version> steps{version_1};

failure unusable(const std::string& reason) {
  return make_failure(error_code::persistence_failed, "the journal's database " + reason);
}

struct found_version {
  std::int64_t version = 0; // 0: no tables
  std::optional<failure> error;
};

found_version read_version(postgres_connection& db) {
  const auto tables = db.run_one({select_tables});
  if (tables.is_null(0, 0)) {
    if (!tables.is_null(0, 1))
      return {0, unusable("has a schema `rind` that is no journal")};
    return {};
  }
  const auto meta = db.run_one({select_version});
  if (meta.count() != 1 || meta.integer(0, 0) < 1)
    return {0, unusable("is damaged: it does not say its version")};
  const auto version = meta.integer(0, 0);
  if (version > postgres_schema_version)
    return {version, unusable("was written by a newer version of this program")};
  return {version, std::nullopt};
}

std::optional<failure> migrate(postgres_connection& db) {
  postgres_transaction transaction(db);
  transaction.begin({{lock_migrations}});
  const auto found = read_version(db); // another node may have been faster
  if (found.error)
    return found.error;
  for (auto i = static_cast<std::size_t>(found.version); i < steps.size(); ++i)
    for (const char* sql : steps[i])
      // Each needs the one before it, so they cannot be prepared together.
      db.run_one({sql});
  transaction.commit();
  return std::nullopt;
}

} // namespace

std::optional<failure> prepare_tables(postgres_connection& db, postgres_access access) {
  if (const auto encoding = db.run_one({select_encoding}).text(0, 0); encoding != "UTF8")
    return unusable("stores " + encoding + ", and a journal needs UTF8");
  const auto found = read_version(db);
  if (found.error || found.version == postgres_schema_version)
    return found.error;
  if (access == postgres_access::serve)
    return migrate(db);
  return unusable(found.version == 0
                      ? "holds no journal"
                      : "was written by an older version of this program; serving it migrates it");
}

} // namespace rind::journal
