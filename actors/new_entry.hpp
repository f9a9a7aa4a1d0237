// How an entry is born: its id and its time from the environment, and a boundary's record named
// after it.
#pragma once

#include "messages/journal_entry.hpp"
#include "runtime/host/environment.hpp"

namespace rind::actors {

/// An entry that is about to be appended; its position is given by the journal.
entry new_entry(host::environment& env, const std::string& turn_id, std::int64_t now_ms,
                entry_body body);

} // namespace rind::actors
