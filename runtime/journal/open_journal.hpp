// The journal that a setting names: `memory`, `sqlite:PATH`, or the URI of a PostgreSQL database.
#pragma once

#include "runtime/journal/port.hpp"

namespace rind::journal {

/// `look` finds a journal and changes nothing: nothing is made or migrated, and what would write
/// fails.
enum class journal_access : std::uint8_t { serve, look };

/// What is wrong with such a setting, nullopt where nothing is. Never repeats it: an address may
/// hold a password.
std::optional<std::string> journal_problem(const std::string& where);

/// Opens it; to serve, it is made if it is missing and migrated if it is older. Fails with
/// invalid_request (the setting; to look: `memory`, which holds nothing yet, and a file that is not
/// there) and as the stores do.
result<std::unique_ptr<store>> open_journal(const std::string& where, journal_access access);

} // namespace rind::journal
