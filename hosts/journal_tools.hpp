// `rind journal`: brings a journal up to date, looks whether it makes sense, copies it into another
// store.
#pragma once

#include <string>

#include "runtime/config/settings.hpp"

namespace rind::hosts {

/// Makes the tables that are missing and migrates older ones. Exit code 0, or 1.
int migrate_journal(const config::settings& settings);

/// Reads every entry of every session and holds what the store says of a session against them.
/// Tells each session that makes no sense. Exit code 0 where all do, else 1.
int check_journal(const config::settings& settings);

/// Copies every session, entry by entry with ids and times, and reads both sides again to compare
/// them. Sessions that stand there already are gone on with where they are the beginning of the
/// same, and refused where they are others. Exit code 0 where everything was copied and is the
/// same, else 1. The source must not be served meanwhile.
int copy_journal(const std::string& from, const std::string& to);

} // namespace rind::hosts
