// How the journal's file is opened, and what is said where that or anything after it fails.
#include "runtime/journal/sqlite_connection.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "runtime/journal/stored_rows.hpp"

namespace rind::journal {

namespace {

constexpr int primary_code_mask = 0xff;
constexpr const char* write_ahead_log_limit =
    "PRAGMA journal_size_limit = 67108864"; // bytes that stay on disk when it is idle

const char* reason_of(int code) {
  switch (code & primary_code_mask) {
  case SQLITE_NOTADB:
    return "is not a database";
  case SQLITE_CORRUPT:
    return "is damaged";
  case SQLITE_FULL:
    return "cannot grow: the disk is full";
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return "is read-only";
  case SQLITE_CANTOPEN:
    return "cannot be opened (its folder has to exist)";
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return "is busy: another process holds it";
  case SQLITE_IOERR:
    return "cannot be read or written";
  default:
    return "cannot be used";
  }
}

/// A pragma that answers with the value it has set.
void demand(SQLite::Database& db, const char* pragma, std::string_view answer) {
  const std::string got = db.execAndGet(pragma).getString();
  if (got != answer)
    throw std::runtime_error(std::string(pragma) + " answered " + got);
}

} // namespace

statement_use::~statement_use() {
  // The result of the last step has been seen; a reset only repeats it.
  statement_.tryReset();
  statement_.clearBindings(); // SQLite knows no error here
}

statement_use& statement_use::bind(std::int64_t value) {
  statement_.bind(++bound_, value);
  return *this;
}

statement_use& statement_use::bind(const std::string& text) {
  statement_.bindNoCopy(++bound_, text);
  return *this;
}

statement_use& statement_use::bind_null() {
  statement_.bind(++bound_);
  return *this;
}

bool statement_use::step() {
  return statement_.executeStep();
}

std::int64_t statement_use::integer(int column) const {
  return statement_.getColumn(column).getInt64();
}

std::string statement_use::text(int column) const {
  return statement_.getColumn(column).getString();
}

sqlite_connection::sqlite_connection(const sqlite_options& options)
    : database_(std::make_unique<SQLite::Database>(
          options.path,
          options.access == sqlite_access::serve ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE
                                                 : SQLite::OPEN_READWRITE,
          options.busy_timeout_ms, options.vfs)) {}

void sqlite_connection::be_for(connection_use use, sqlite_synchronous synchronous) {
  if (use == connection_use::read) {
    execute("PRAGMA query_only = ON");
    return;
  }
  if (sqlite3_db_readonly(database_->getHandle(), "main") == 1)
    throw SQLite::Exception("no right to write", SQLITE_READONLY);
  demand(*database_, "PRAGMA journal_mode = WAL", "wal");
  execute(synchronous == sqlite_synchronous::full ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = OFF");
  execute("PRAGMA foreign_keys = ON");
  execute(write_ahead_log_limit);
}

sqlite_connection::~sqlite_connection() = default;

statement_use sqlite_connection::use(const char* sql) {
  auto& kept = statements_[sql];
  if (!kept)
    kept = std::make_unique<SQLite::Statement>(*database_, sql);
  return statement_use(*kept);
}

void sqlite_connection::execute(const char* sql) {
  database_->exec(sql);
}

bool sqlite_connection::in_transaction() const {
  return sqlite3_get_autocommit(database_->getHandle()) == 0;
}

bool sqlite_connection::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
             SQLITE_OK &&
         moved != 0;
}

sqlite_transaction::sqlite_transaction(sqlite_connection& connection, connection_use use)
    : connection_(connection) {
  if (connection_.in_transaction()) // an earlier rollback failed
    connection_.execute("ROLLBACK");
  connection_.execute(use == connection_use::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

sqlite_transaction::~sqlite_transaction() {
  // SQLite ends a transaction by itself after some errors; where the rollback fails, the next
  // transaction tries it again and reports.
  if (connection_.in_transaction())
    (void)connection_.database().tryExec("ROLLBACK");
}

void sqlite_transaction::commit() {
  if (connection_.has_moved())
    throw moved_journal();
  connection_.execute("COMMIT");
}

failure explain(const std::exception& error, const std::string& path) {
  if (dynamic_cast<const damaged_session*>(&error) != nullptr)
    return make_failure(error_code::persistence_failed, error.what());
  if (dynamic_cast<const moved_journal*>(&error) != nullptr)
    return make_failure(error_code::persistence_failed, "the journal " + path + " " + error.what());
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&error);
  const char* reason = sqlite != nullptr ? reason_of(sqlite->getErrorCode()) : "cannot be used";
  return make_failure(error_code::persistence_failed,
                      "the journal " + path + " " + reason + " (" + error.what() + ")");
}

} // namespace rind::journal
