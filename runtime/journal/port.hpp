// The journal port: the durable, append-only record of all sessions. Implementations: memory (the
// twin and oracle of the contract suite), SQLite, PostgreSQL. Calls block; who must not block talks
// to journal::writer (writer.hpp), which owns a thread and groups commits.
//
// Failures: persistence_failed (the store cannot do it now; nothing of this call was written, or
// only its answer was lost: asked again with the same entry ids, it is written once),
// persistence_conflict (the view moved), not_owner (another writer claimed the session),
// session_exists, session_not_found, invalid_request (a limit out of range, a token that is none,
// an append that no store can write: see append_rules.hpp). A failure of one request never fails
// another of the same group, unless the store itself fails: then all of the group fail and none is
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/journal_entry.hpp"
#include "messages/result.hpp"

namespace rind::journal {

inline constexpr std::int64_t list_limit_max = 100;
inline constexpr std::int64_t read_limit_max = 1'000;

/// One atomic append to one session: all entries or none. An append whose first entry id is already
/// stored with the same session is answered with its receipt and written once (so that a lost
/// answer may be asked again).
struct append_request {
  std::string session_id;
  std::uint64_t epoch = 0; // from claim() or from the append that created the session
  bool create = false;     // the session must not exist; the first entry is session_created
  std::optional<std::int64_t> expected_view_position; // conditional append (S24)
  std::vector<entry> entries; // positions are given by the journal; at least one
};

struct append_receipt {
  std::uint64_t epoch = 0;
  std::int64_t first_position = 0;                   // the others follow without gaps
  std::vector<std::shared_ptr<const entry>> entries; // as stored, with positions
};

/// What the journal says of a session at a glance; kept by the store with each append so that a
/// list reads no history.
struct session_summary {
  std::string session_id;
  std::string title; // excerpt of the first prompt
  std::string model;
  std::int64_t created_at_ms = 0;
  std::int64_t updated_at_ms = 0;
  std::int64_t message_count = 0;
  std::int64_t generation = 0;
  std::string open_turn_id; // empty: no operation without a terminal entry
  operation_kind open_operation = operation_kind::turn;
  std::int64_t last_position = 0;
};

struct session_page {
  std::vector<session_summary> sessions; // newest updated_at first, ties by session_id
  std::string next;                      // token for `after`; empty: no more
};

/// What became of an input of the client's (S3a).
struct input_trace {
  std::string turn_id; // the operation it belonged to
  std::string text;
  std::optional<input_mode> mode; // nullopt: a prompt
  std::optional<entries::turn_outcome>
      ended; // terminal state of that operation; nullopt: running or interrupted
};

struct loaded_session {
  std::uint64_t epoch = 0;
  std::vector<entry_ptr> entries; // all that a projection needs, ascending
};

class store {
public:
  virtual ~store() = default;

  /// One transaction for the group (one fsync). An answer for each request, in order. Durable when
  /// it returns.
  virtual std::vector<result<append_receipt>> append(std::span<const append_request> group) = 0;

  /// Takes the session for this writer: raises its epoch, so that appends with an older one answer
  /// not_owner, and reads it.
  virtual result<loaded_session> claim(const std::string& session_id) = 0;

  /// Entries after a position, ascending, at most `limit` (1…read_limit_max); touches no ownership.
  virtual result<std::vector<entry_ptr>> read(const std::string& session_id,
                                              std::int64_t after_position, std::int64_t limit) = 0;

  /// nullopt: no such session.
  virtual result<std::optional<session_summary>> find(const std::string& session_id) = 0;
  virtual result<session_page> list(std::int64_t limit, const std::string& after) = 0;
  /// nullopt: no such input, or no such session.
  virtual result<std::optional<input_trace>> find_input(const std::string& session_id,
                                                        const std::string& input_id) = 0;

  /// Removes a session and its entries. The epoch must be current (0: the session is not active
  /// anywhere in this process). A session created later under the same id starts with a higher
  /// epoch, so that this one's writer is not taken for its owner.
  virtual result<done> remove(const std::string& session_id, std::uint64_t epoch) = 0;
};

} // namespace rind::journal
