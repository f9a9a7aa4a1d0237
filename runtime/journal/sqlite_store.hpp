// The journal in one SQLite file: WAL, an fsync a group, one connection that writes and one that
// reads. Several processes may open the same file: each append is decided inside its transaction,
// so the epoch and the view position hold between them as well.
//
// A file that cannot be used (missing folder, no database, damaged, read-only, full disk, locked
// for longer than the timeout, written by a newer version, removed or replaced under the host) is
// persistence_failed with the reason in words, for the operation that met it; the next one tries
// again. Not for use from several threads at a time.
#pragma once

#include "runtime/journal/port.hpp"

namespace rind::journal {

/// `off` leaves the order and the time of writes to the operating system: it loses acknowledged
/// appends in a power cut. It is here so that a test can prove that `full` does not.
enum class sqlite_synchronous : std::uint8_t { full, off };

/// `look` finds a journal and changes nothing: no file is created, migrated or switched to another
/// mode, and what would write fails.
enum class sqlite_access : std::uint8_t { serve, look };

struct sqlite_options {
  std::string path{}; // to serve, created if it is missing; its folder is not
  sqlite_synchronous synchronous = sqlite_synchronous::full;
  std::string vfs{}; // a registered SQLite file system; empty: the default one
  int busy_timeout_ms = 5'000;
  sqlite_access access = sqlite_access::serve;
};

/// Opens or creates the file and brings its schema up to date; to look, opens what is up to date.
/// A file that is not the journal's is left as it is.
result<std::unique_ptr<store>> open_sqlite(const sqlite_options& options);

} // namespace rind::journal
