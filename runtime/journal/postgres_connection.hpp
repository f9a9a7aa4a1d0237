// One connection to PostgreSQL: statements in pipelines, each round trip with a deadline. For
// postgres_store.cpp and its neighbours only; what they throw never passes the face of the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/journal/postgres_store.hpp"

using PGconn = struct pg_conn;
using PGresult = struct pg_result;

namespace rind::journal {

/// What the server, or the way to it, said. The text holds no parameter of a statement and no
/// password.
class postgres_error : public std::runtime_error {
public:
  postgres_error(const std::string& text, std::string sqlstate, bool is_lost)
      : std::runtime_error(text), sqlstate_(std::move(sqlstate)), is_lost_(is_lost) {}

  /// Five characters of the server's, empty where it said nothing.
  const std::string& sqlstate() const { return sqlstate_; }
  /// The connection is of no use any more, or the server is going down or not up yet: a new one may
  /// work.
  bool is_lost() const { return is_lost_; }

private:
  std::string sqlstate_;
  bool is_lost_;
};

/// A constant of the program with its parameters as text; nullopt is NULL.
struct postgres_statement {
  const char* sql = "";
  std::vector<std::optional<std::string>> parameters{};
};

/// Rows of one statement.
class postgres_rows {
public:
  explicit postgres_rows(PGresult* rows) : rows_(rows, &free_rows) {}

  int count() const;
  bool is_null(int row, int column) const;
  std::string text(int row, int column) const;
  std::int64_t integer(int row, int column) const;

private:
  static void free_rows(PGresult* rows);
  std::unique_ptr<PGresult, void (*)(PGresult*)> rows_;
};

class postgres_connection {
public:
  /// Connects within connect_ms. Throws postgres_error, as everything does here.
  explicit postgres_connection(const postgres_options& options);
  ~postgres_connection();
  postgres_connection(const postgres_connection&) = delete;
  postgres_connection& operator=(const postgres_connection&) = delete;

  /// Sends all of them at once and waits for all answers, within statement_ms. The first one that
  /// fails is thrown, and those after it were not done.
  std::vector<postgres_rows> run(const std::vector<postgres_statement>& statements);
  postgres_rows run_one(postgres_statement statement);

  bool is_broken() const;

private:
  using clock = std::chrono::steady_clock;

  void connect(const postgres_options& options);
  void send(const postgres_statement& statement);
  void prepare(const char* sql);
  PGresult* next_result(clock::time_point deadline);
  void wait(bool for_writing, clock::time_point deadline);
  [[noreturn]] void lose(const std::string& why);
  void synchronize();
  std::vector<postgres_rows> collect(std::size_t statements, clock::time_point deadline);
  std::pair<postgres_rows, bool> take_answer(std::optional<postgres_error>& first,
                                             clock::time_point deadline);
  void take_sync(clock::time_point deadline);

  PGconn* connection_ = nullptr;
  int statement_ms_;
  std::set<const char*> prepared_; // by the address of the constant
  std::vector<const char*> being_prepared_;
};

/// Rolled back at the end of the scope unless it was committed.
class postgres_transaction {
public:
  explicit postgres_transaction(postgres_connection& connection) : connection_(connection) {}
  ~postgres_transaction();
  postgres_transaction(const postgres_transaction&) = delete;
  postgres_transaction& operator=(const postgres_transaction&) = delete;

  /// The first statements of the transaction, in one round trip with its beginning.
  std::vector<postgres_rows> begin(std::vector<postgres_statement> statements,
                                   const char* how = "BEGIN");
  /// The last ones, in one round trip with the commit.
  std::vector<postgres_rows> commit(std::vector<postgres_statement> statements = {});
  /// A whole transaction that only reads, in one round trip: all its statements see one state.
  std::vector<postgres_rows> read(std::vector<postgres_statement> statements);
  /// Whether a commit was sent, so that what failed after it may have been done.
  bool may_be_committed() const { return commit_sent_; }

private:
  postgres_connection& connection_;
  bool is_open_ = false;
  bool commit_sent_ = false;
};

/// An array of texts, as a parameter.
std::string text_array(const std::vector<std::string>& texts);

} // namespace rind::journal
