// What rows of a journal in a database mean, whichever database it is: bodies in their stored form,
// entries that follow each other, rows that make no sense. For the stores and their neighbours
// only; throws damaged_session, which never passes the face of a store.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/journal/append_rules.hpp"

namespace rind::journal {

/// Rows of one session that make no sense (S39). The other sessions are none the worse.
class damaged_session : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Bytes of one encoded entry.
inline constexpr std::size_t body_limit_bytes = 256 * 1024 * 1024;

/// What is to be written of an entry, encoded before the transaction so that a text that cannot be
/// encoded fails its own request only.
struct encoded_entry {
  std::string kind;
  std::string body;
  std::string input_id; // empty: none
};

/// Throws std::exception for what has no stored form, and for what is larger than body_limit_bytes.
std::vector<encoded_entry> encode(const std::vector<entry>& entries);

struct entry_place {
  std::string session_id;
  std::int64_t position = 0;
};

/// The columns of an entry.
struct entry_columns {
  std::int64_t position = 0;
  std::string id;
  std::int64_t time_ms = 0;
  std::string turn_id;
  std::string kind;
  std::string body;
};

entry_ptr decode(const std::string& session_id, entry_columns columns);

operation_kind decode_operation(const std::string& session_id, const std::string& word);

/// Takes entries in the order of their rows and looks that each follows the one before it.
class entry_run {
public:
  /// From `after_position` on, at most `limit` of them.
  entry_run(const session_summary& session, std::int64_t after_position, std::int64_t limit);

  /// Where the first one has to come after.
  std::int64_t after_position() const { return last_; }
  void take(entry_ptr e);
  /// All of them; a session that ends before its last position is damaged.
  std::vector<entry_ptr> finish();

private:
  const session_summary& session_;
  std::int64_t last_;
  std::int64_t limit_;
  std::vector<entry_ptr> entries_;
};

/// Looks that the highest position among a session's entries is its last one.
void check_end(const std::string& session_id, std::int64_t last_position, std::int64_t highest);

/// An append as it is stored: entries with their positions, the state after them, and the message
/// index of each entry that carries a message.
struct placed_append {
  session_state state;
  append_receipt receipt;
  std::vector<std::optional<std::int64_t>> message_indices;
};
placed_append place(session_state before, const append_request& request);

/// The receipt of an append that is asked for again; `stored` are as many entries of the session
/// from where its first one stands on as there are.
result<append_receipt> repeated(const append_request& request, const session_state& state,
                                std::vector<entry_ptr> stored);

[[noreturn]] void damaged(const std::string& session_id, const std::string& what);

} // namespace rind::journal
