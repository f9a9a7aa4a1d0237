// The tables of the PostgreSQL journal and their history. A version that was released is frozen: a
// change is a new step from the version before it. For postgres_store.cpp only.
#pragma once

#include <cstdint>
#include <optional>

#include "messages/errors.hpp"
#include "runtime/journal/postgres_connection.hpp"

namespace rind::journal {

inline constexpr std::int64_t postgres_schema_version = 1;

/// Makes or migrates the tables, one node at a time and in one transaction; to look, only sees that
/// they are up to date. Answers persistence_failed for a database of a newer version, one that is
/// no journal, and one that does not store UTF-8; throws postgres_error.
std::optional<failure> prepare_tables(postgres_connection& db, postgres_access access);

} // namespace rind::journal
