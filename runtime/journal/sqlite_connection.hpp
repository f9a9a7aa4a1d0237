// One connection to the journal's file with its kept statements, and the words for what goes wrong
// with it. For sqlite_store.cpp and its neighbours only; what they throw never passes the face of
// the store.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "messages/errors.hpp"
#include "runtime/journal/sqlite_store.hpp"

namespace SQLite {
class Database;
class Statement;
} // namespace SQLite

namespace rind::journal {

/// The path names another file by now, or none: what is written would not be found there.
class moved_journal : public std::runtime_error {
public:
  moved_journal() : std::runtime_error("was removed or replaced while it was open") {}
};

enum class connection_use : std::uint8_t { write, read };

/// A statement that is ready to be bound and stepped; whatever happens, it is reset at the end of
/// the scope.
class statement_use {
public:
  explicit statement_use(SQLite::Statement& statement) : statement_(statement) {}
  ~statement_use();
  statement_use(const statement_use&) = delete;
  statement_use& operator=(const statement_use&) = delete;

  /// Binds the next parameter, from the left. The text has to live as long as this.
  statement_use& bind(std::int64_t value);
  statement_use& bind(const std::string& text);
  statement_use& bind_null();

  bool step(); // false: no further row
  std::int64_t integer(int column) const;
  std::string text(int column) const;

private:
  SQLite::Statement& statement_;
  int bound_ = 0;
};

class sqlite_connection {
public:
  /// Changes nothing in the file. Throws SQLite::Exception, like what follows.
  explicit sqlite_connection(const sqlite_options& options);
  ~sqlite_connection();

  /// Decides what this connection is for, before its first transaction. For writing the file is
  /// switched to a write-ahead log: it has to be known as the journal's, or to be empty.
  void be_for(connection_use use, sqlite_synchronous synchronous);

  /// `sql` is a constant of the program: statements are kept by its address.
  statement_use use(const char* sql);
  void execute(const char* sql);
  bool in_transaction() const;
  /// Whether the file was renamed, replaced or removed since it was opened (one stat). A file
  /// system that cannot say, says no.
  bool has_moved() const;
  SQLite::Database& database() { return *database_; }

private:
  std::unique_ptr<SQLite::Database> database_;
  std::unordered_map<const char*, std::unique_ptr<SQLite::Statement>>
      statements_; // goes before the database
};

/// Rolled back at the end of the scope unless it was committed.
class sqlite_transaction {
public:
  sqlite_transaction(sqlite_connection& connection, connection_use use);
  ~sqlite_transaction();
  sqlite_transaction(const sqlite_transaction&) = delete;
  sqlite_transaction& operator=(const sqlite_transaction&) = delete;

  /// Throws moved_journal, and commits nothing, where the file is not at its path any more: what is
  /// told as durable, or as read, stands in the file that the next start opens.
  void commit();

private:
  sqlite_connection& connection_;
};

/// A failure in words for whatever the store's own code may have thrown.
failure explain(const std::exception& error, const std::string& path);

} // namespace rind::journal
