// The tables of the SQLite journal and their history. A version that was released is frozen: a
// change is a new step from the version before it. For sqlite_store.cpp only.
#pragma once

#include <cstdint>
#include <optional>

#include "messages/errors.hpp"
#include "runtime/journal/sqlite_store.hpp"

namespace SQLite {
class Database;
}

namespace rind::journal {

inline constexpr std::int64_t sqlite_schema_version = 2;

/// Why a journal cannot be served (or looked into) from this file, nullopt where it can. Reads
/// only; throws SQLite::Exception.
std::optional<failure> refuse_file(SQLite::Database& db, sqlite_access access);

/// Creates the tables of an empty file or migrates those of an older version, in one transaction;
/// nothing is written where they are up to date. Answers persistence_failed for a file of a newer
/// version and for one that is no journal; throws SQLite::Exception.
std::optional<failure> prepare_schema(SQLite::Database& db);

} // namespace rind::journal
