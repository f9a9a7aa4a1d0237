// Commits of many sessions in one transaction, against a bare loop over SQLite that inserts the
// same rows, and against commits one by one. Files lie in the folder for temporary files: on a
// memory disk an fsync costs nothing and grouping gains little.
#include <filesystem>

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "bench/comparison.hpp"
#include "bench/conversation.hpp"
#include "messages/json.hpp"
#include "runtime/journal/sqlite_store.hpp"

namespace rind::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t sessions = 64;
constexpr std::int64_t commits = 20; // of each session, in one run of a body

class scratch_folder {
public:
  scratch_folder()
      : path_(fs::temp_directory_path() /
              ("rind_bench_" + std::to_string(::getpid()) + "_" + std::to_string(++count))) {
    fs::create_directories(path_);
  }
  ~scratch_folder() {
    std::error_code ignored; // what is left behind is the temporary folder's matter
    fs::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string file() const { return (path_ / "journal.db").string(); }

private:
  static inline int count = 0;
  fs::path path_;
};

entry numbered(std::size_t session, std::int64_t n, entry_body body) {
  return {0, std::to_string(session) + "/" + std::to_string(n), 1'000 * n, "turn-1",
          std::move(body)};
}

entry_body answer() {
  auto m = std::make_shared<message>();
  m->role = message_role::assistant;
  m->content = mixed_text(600);
  entries::assistant_message body;
  body.msg = std::move(m);
  return body;
}

std::string session_name(std::size_t session) {
  return "s" + std::to_string(session);
}

/// A store with its sessions; answers their epochs.
std::vector<std::uint64_t> create_sessions(journal::store& store) {
  std::vector<journal::append_request> group(sessions);
  for (std::size_t i = 0; i < sessions; ++i) {
    group[i].session_id = session_name(i);
    group[i].create = true;
    group[i].entries = {numbered(i, 0, entries::session_created{"measured", ""})};
  }
  std::vector<std::uint64_t> epochs;
  for (const auto& r : store.append(group))
    epochs.push_back(r ? r->epoch : 0);
  return epochs;
}

/// Appends of all sessions, `together` at a time in one transaction.
body append_to_store(std::size_t together) {
  return [together](benchmark::State& state) {
    const auto message = answer();
    std::int64_t n = 0;
    scratch_folder folder;
    auto store = journal::open_sqlite({.path = folder.file()});
    if (!store)
      return state.SkipWithError(store.error().message.c_str());
    const auto epochs = create_sessions(**store);
    for (auto _ : state) {
      ++n;
      for (std::size_t first = 0; first < sessions; first += together) {
        std::vector<journal::append_request> group(together);
        for (std::size_t i = 0; i < together; ++i) {
          group[i].session_id = session_name(first + i);
          group[i].epoch = epochs[first + i];
          group[i].entries = {numbered(first + i, n, message)};
        }
        for (const auto& r : (*store)->append(group))
          if (!r)
            state.SkipWithError(r.error().message.c_str());
      }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(sessions));
  };
}

/// What the store has to do at the least: a row an entry, its session's row moved on, one commit.
void append_bare(benchmark::State& state) {
  scratch_folder folder;
  SQLite::Database db(folder.file(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
          "CREATE TABLE entries(session TEXT, position INTEGER, id TEXT UNIQUE, body TEXT,"
          " PRIMARY KEY(session, position)) WITHOUT ROWID;"
          "CREATE TABLE sessions(session TEXT PRIMARY KEY, last INTEGER) WITHOUT ROWID;");
  SQLite::Statement insert(db, "INSERT INTO entries VALUES(?, ?, ?, ?)");
  SQLite::Statement update(db, "INSERT INTO sessions VALUES(?, ?)"
                               " ON CONFLICT(session) DO UPDATE SET last = excluded.last");
  const auto message = answer();
  std::int64_t n = 0;
  for (auto _ : state) {
    ++n;
    db.exec("BEGIN IMMEDIATE");
    for (std::size_t i = 0; i < sessions; ++i) {
      const auto e = numbered(i, n, message);
      insert.bind(1, session_name(i));
      insert.bind(2, n);
      insert.bind(3, e.id);
      insert.bind(4, encode_body(e.body));
      insert.exec();
      insert.reset();
      update.bind(1, session_name(i));
      update.bind(2, n);
      update.exec();
      update.reset();
    }
    db.exec("COMMIT");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(sessions));
}

} // namespace

std::vector<comparison> journal_comparisons() {
  return {
      {"commits of 64 sessions in a group, against bare SQLite", "ns/commit", 3,
       append_to_store(sessions), append_bare, commits, true},
      {"commits of 64 sessions in a group, against one by one", "ns/commit", 0.7,
       append_to_store(sessions), append_to_store(1), commits, true},
  };
}

} // namespace rind::bench
