// What every store has to decide alike: whether a request is well formed, whether a session takes
// it, and how pages are named. Pure.
#pragma once

#include "runtime/journal/summary_tracker.hpp"

namespace rind::journal {

/// What a store knows of a session when it decides about an append.
struct session_state {
  summary_tracker tracker;
  std::uint64_t epoch = 0;       // of the writer that owns it
  std::uint64_t first_epoch = 0; // of the writer that created it
};

/// A request that no store can write, whatever it holds (invalid_request): no entry, an empty or
/// doubled id, session_created anywhere but first in a create, a message or a record that is not
/// there.
std::optional<failure> malformed(const append_request& request);

/// Why the session does not take this request now (session_exists, session_not_found, not_owner,
/// persistence_conflict), or nothing. `state` is null for a session that is not there.
std::optional<failure> refusal(const append_request& request, const session_state* state);

/// The receipt of an append that stands among `stored` (entries of its session, ascending), found
/// by the ids; nothing where it does not. The epoch is the request's: of a session that this append
/// created, only the store knows it.
std::optional<append_receipt> receipt_among(const append_request& request,
                                            const std::vector<entry_ptr>& stored);

/// The answer where an entry id is stored already and the request is not the one that stored it.
failure id_in_use(const std::string& entry_id);

failure no_such_session(const std::string& session_id);
failure not_the_owner(const std::string& session_id);

/// invalid_request where `limit` is not in 1…`max`.
std::optional<failure> wrong_limit(std::int64_t limit, std::int64_t max);

/// The place in the list after which a page starts.
struct page_start {
  std::int64_t updated_at_ms = 0;
  std::string session_id;
};

std::string page_token(const session_summary& last_of_page);
/// The place that a token names; invalid_request for a text that is no token.
result<page_start> parse_page_token(const std::string& token);

} // namespace rind::journal
