// A group of appends to a journal in PostgreSQL, decided in memory between two round trips: what
// the first one read, and what the second one has to write. For postgres_store.cpp only.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/journal/postgres_rows.hpp"

namespace rind::journal {

class postgres_group {
public:
  /// Encodes what can be encoded and refuses the rest. `group` outlives this.
  explicit postgres_group(std::span<const append_request> group);

  /// Whether anything is left to ask the database for.
  bool is_decided() const { return entry_ids_.empty(); }
  /// What to read, under the locks that hold until the end of the transaction.
  std::vector<postgres_statement> questions() const;
  /// Takes the answers to them, decides on every request, and gives what to write. `db` is asked
  /// for the entries of appends that were made before. May be called again, after a transaction
  /// that came to nothing.
  std::vector<postgres_statement> decide(const std::vector<postgres_rows>& read,
                                         postgres_connection& db);
  /// An answer for each request, in order.
  std::vector<result<append_receipt>> take_answers() { return std::move(answers_); }

private:
  struct known_session {
    std::optional<session_state> stored; // in the database
    std::optional<session_state> now;    // after the requests of this group so far
    std::optional<failure> damage;       // why it cannot be used
    std::int64_t highest_position = 0;   // of its entries in the database
    std::vector<entry_ptr> appended;     // by this group
  };

  void take_rows(const std::vector<postgres_rows>& read);
  result<append_receipt> decide_one(std::size_t index, postgres_connection& db);
  result<append_receipt> repeat(const append_request& request, const entry_place& first,
                                postgres_connection& db);
  result<append_receipt> add(std::size_t index, known_session& session);

  std::span<const append_request> group_;
  std::vector<std::vector<encoded_entry>> encoded_; // by request; empty: refused
  std::vector<std::optional<failure>> refused_;     // before anything was asked
  std::vector<std::string> session_ids_;
  std::vector<std::string> entry_ids_;
  std::vector<result<append_receipt>> answers_;
  // of the transaction that is under way
  std::map<std::string, known_session> sessions_;
  std::unordered_map<std::string, entry_place> places_;
  std::uint64_t epoch_floor_ = 0;
  std::vector<postgres_statement> inserts_;
};

} // namespace rind::journal
