// The journal in a PostgreSQL database that several nodes share: each append is decided inside its
// transaction under a lock of its session's row, so epoch and view position hold between nodes.
// Groups of appends go in two round trips and one commit. Knows libpq; not for use from several
// threads at a time.
//
// A connection that breaks is made again, with growing pauses, and the call is asked anew: appends
// are known by their entry ids, so a commit whose answer was lost is looked up and not guessed.
// What does not come back within the patience is persistence_failed, for the operation that met it;
// the next one tries once more.
#pragma once

#include "runtime/journal/port.hpp"

namespace rind::journal {

/// `look` finds a journal and changes nothing: no tables are made or migrated.
enum class postgres_access : std::uint8_t { serve, look };

struct postgres_options {
  /// A connection URI ("postgresql://host/db?sslmode=verify-full") or key=value pairs, without a
  /// password: libpq takes it from PGPASSWORD or a password file.
  std::string address;
  postgres_access access = postgres_access::serve;
  int connect_ms = 5'000;    // one try
  int statement_ms = 15'000; // one round trip, and what the server gives a statement
  int patience_ms = 30'000;  // for a server that is away, over all tries of one call
};

/// Whether a journal setting names a PostgreSQL database.
bool is_postgres_address(const std::string& address);

/// What is wrong with an address, nullopt where nothing is. Never repeats it: it may hold a
/// password.
std::optional<std::string> postgres_address_problem(const std::string& address);

/// Connects and brings the tables up to date (several nodes may do so at once); to look, opens what
/// is up to date. Fails with invalid_request (the address) and persistence_failed.
result<std::unique_ptr<store>> open_postgres(const postgres_options& options);

} // namespace rind::journal
