// libpq in its non-blocking form, with a poll for each wait.
#include "runtime/journal/postgres_connection.hpp"

#include <cerrno>
#include <cstring>

#include <libpq-fe.h>
#include <poll.h>

namespace rind::journal {

namespace {

using namespace std::chrono_literals;

/// The server gives up first, and says so.
constexpr int answer_margin_ms = 1'000;

int ms_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

/// libpq ends its messages with a newline and may write several lines.
std::string one_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' '))
    line.pop_back();
  for (char& c : line)
    if (c == '\n' || c == '\t')
      c = ' ';
  return line;
}

/// States of a server that goes down, is not up yet, or takes nobody in.
bool tells_of_absence(const std::string& sqlstate) {
  return sqlstate.starts_with("08") || sqlstate.starts_with("57P") || sqlstate == "53300";
}

postgres_error error_of(const PGresult* failed) {
  const char* state = PQresultErrorField(failed, PG_DIAG_SQLSTATE);
  // The primary message alone: the detail repeats values.
  const char* text = PQresultErrorField(failed, PG_DIAG_MESSAGE_PRIMARY);
  const std::string sqlstate = state == nullptr ? "" : state;
  return {text == nullptr ? one_line(PQresultErrorMessage(failed)) : one_line(text), sqlstate,
          tells_of_absence(sqlstate)};
}

} // namespace

// -- rows ------------------------------------------------------------------------------------

void postgres_rows::free_rows(PGresult* rows) {
  PQclear(rows);
}

int postgres_rows::count() const {
  return PQntuples(rows_.get());
}

bool postgres_rows::is_null(int row, int column) const {
  return PQgetisnull(rows_.get(), row, column) != 0;
}

std::string postgres_rows::text(int row, int column) const {
  return {PQgetvalue(rows_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(rows_.get(), row, column))};
}

std::int64_t postgres_rows::integer(int row, int column) const {
  return is_null(row, column) ? 0 : std::stoll(text(row, column));
}

// -- the connection --------------------------------------------------------------------------

postgres_connection::postgres_connection(const postgres_options& options)
    : statement_ms_(options.statement_ms) {
  try {
    connect(options);
    const auto limit = std::to_string(options.statement_ms);
    // Nobody waits for a node that vanished in the middle of a transaction.
    run({{"SELECT set_config('statement_timeout', $1, false),"
          " set_config('idle_in_transaction_session_timeout', $1, false),"
          " set_config('client_encoding', 'UTF8', false),"
          " set_config('standard_conforming_strings', 'on', false)",
          {limit}}});
  } catch (...) {
    PQfinish(connection_);
    throw;
  }
}

postgres_connection::~postgres_connection() {
  PQfinish(connection_);
}

void postgres_connection::connect(const postgres_options& options) {
  // What comes later counts: the address itself may say more, but not less.
  const char* keys[] = {"fallback_application_name", "tcp_user_timeout", "dbname", nullptr};
  const auto silence = std::to_string(options.statement_ms);
  const char* values[] = {"rind", silence.c_str(), options.address.c_str(), nullptr};
  connection_ = PQconnectStartParams(keys, values, 1);
  if (connection_ == nullptr)
    throw postgres_error("no memory for a connection", "", true);
  const auto deadline = clock::now() + std::chrono::milliseconds(options.connect_ms);
  auto state =
      PQstatus(connection_) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
    wait(state == PGRES_POLLING_WRITING, deadline);
    state = PQconnectPoll(connection_);
  }
  if (state != PGRES_POLLING_OK)
    lose(one_line(PQerrorMessage(connection_)));
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr); // errors are told, notices are for people
  if (PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1)
    lose(one_line(PQerrorMessage(connection_)));
}

bool postgres_connection::is_broken() const {
  return PQstatus(connection_) == CONNECTION_BAD;
}

void postgres_connection::lose(const std::string& why) {
  throw postgres_error(why.empty() ? "the connection was lost" : why, "", true);
}

void postgres_connection::wait(bool for_writing, clock::time_point deadline) {
  pollfd state{PQsocket(connection_), static_cast<short>(for_writing ? POLLIN | POLLOUT : POLLIN),
               0};
  for (;;) {
    const int ready = ::poll(&state, 1, ms_until(deadline));
    if (ready > 0)
      return;
    if (ready == 0)
      lose("the server did not answer in time");
    if (errno != EINTR)
      lose(std::strerror(errno));
  }
}

void postgres_connection::prepare(const char* sql) {
  if (prepared_.contains(sql))
    return;
  const auto name = std::to_string(reinterpret_cast<std::uintptr_t>(sql));
  if (PQsendPrepare(connection_, name.c_str(), sql, 0, nullptr) != 1)
    lose(one_line(PQerrorMessage(connection_)));
  prepared_.insert(sql);
  being_prepared_.push_back(sql);
}

void postgres_connection::send(const postgres_statement& statement) {
  const auto name = std::to_string(reinterpret_cast<std::uintptr_t>(statement.sql));
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const auto& p : statement.parameters) {
    values.push_back(p ? p->c_str() : nullptr);
    lengths.push_back(p ? static_cast<int>(p->size()) : 0);
  }
  if (PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(values.size()), values.data(),
                          lengths.data(), nullptr, 0) != 1)
    lose(one_line(PQerrorMessage(connection_)));
}

std::vector<postgres_rows>
postgres_connection::run(const std::vector<postgres_statement>& statements) {
  if (is_broken())
    lose({});
  const auto deadline = clock::now() + std::chrono::milliseconds(statement_ms_ + answer_margin_ms);
  being_prepared_.clear();
  for (const auto& one : statements)
    prepare(one.sql);
  if (!being_prepared_.empty())
    synchronize(); // else what is begun next would stand in the transaction of preparing
  for (const auto& one : statements)
    send(one);
  synchronize();
  return collect(statements.size(), deadline);
}

void postgres_connection::synchronize() {
  if (PQpipelineSync(connection_) != 1)
    lose(one_line(PQerrorMessage(connection_)));
}

postgres_rows postgres_connection::run_one(postgres_statement statement) {
  return std::move(run({std::move(statement)}).front());
}

/// The next answer, or null between the answers of two statements.
PGresult* postgres_connection::next_result(clock::time_point deadline) {
  for (;;) {
    const int unsent = PQflush(connection_);
    if (unsent < 0)
      lose(one_line(PQerrorMessage(connection_)));
    if (PQisBusy(connection_) == 0)
      break;
    wait(unsent > 0, deadline);
    if (PQconsumeInput(connection_) != 1)
      lose(one_line(PQerrorMessage(connection_)));
  }
  return PQgetResult(connection_);
}

// Every answer is taken, so that the connection is ready for the next pipeline whatever failed.
std::vector<postgres_rows> postgres_connection::collect(std::size_t statements,
                                                        clock::time_point deadline) {
  std::optional<postgres_error> first;
  for (const char* sql : being_prepared_)
    if (!take_answer(first, deadline).second)
      prepared_.erase(sql);
  if (!being_prepared_.empty())
    take_sync(deadline);
  std::vector<postgres_rows> answers;
  for (std::size_t i = 0; i < statements; ++i)
    answers.push_back(take_answer(first, deadline).first);
  take_sync(deadline);
  if (first)
    throw postgres_error(first->what(), first->sqlstate(), first->is_lost() || is_broken());
  return answers;
}

/// The answer to one statement, and whether it was done; the first error is kept.
std::pair<postgres_rows, bool>
postgres_connection::take_answer(std::optional<postgres_error>& first, clock::time_point deadline) {
  auto* raw = next_result(deadline);
  if (raw == nullptr)
    lose(first ? first->what() : one_line(PQerrorMessage(connection_)));
  postgres_rows rows(raw);
  const auto status = PQresultStatus(raw);
  if (status == PGRES_FATAL_ERROR && !first)
    first = error_of(raw);
  if (is_broken())
    lose(first ? first->what() : one_line(PQerrorMessage(connection_)));
  if (auto* end = next_result(deadline); end != nullptr) {
    PQclear(end);
    lose("the server answered out of turn");
  }
  return {std::move(rows), status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK};
}

void postgres_connection::take_sync(clock::time_point deadline) {
  auto* sync = next_result(deadline);
  const bool is_sync = sync != nullptr && PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
  PQclear(sync);
  if (!is_sync)
    lose(one_line(PQerrorMessage(connection_)));
}

// -- transactions ----------------------------------------------------------------------------

postgres_transaction::~postgres_transaction() {
  if (!is_open_ || connection_.is_broken())
    return;
  try {
    connection_.run({{"ROLLBACK"}});
  } catch (const postgres_error&) {
    // The server rolls back by itself when the connection goes, and a broken one is not used again.
  }
}

std::vector<postgres_rows> postgres_transaction::begin(std::vector<postgres_statement> statements,
                                                       const char* how) {
  statements.insert(statements.begin(), postgres_statement{how});
  is_open_ = true;
  auto answers = connection_.run(statements);
  answers.erase(answers.begin());
  return answers;
}

std::vector<postgres_rows>
postgres_transaction::commit(std::vector<postgres_statement> statements) {
  statements.push_back({"COMMIT"});
  commit_sent_ = true;
  auto answers = connection_.run(statements);
  is_open_ = false;
  answers.pop_back();
  return answers;
}

std::vector<postgres_rows> postgres_transaction::read(std::vector<postgres_statement> statements) {
  statements.push_back({"COMMIT"});
  auto answers = begin(std::move(statements), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  is_open_ = false;
  answers.pop_back();
  return answers;
}

std::string text_array(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const auto& text : texts) {
    out += out.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\')
        out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

} // namespace rind::journal
