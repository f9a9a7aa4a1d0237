// Whether a journal's compactions kept the conversation whole. Pure.
#pragma once

#include <string>
#include <vector>

#include "messages/journal_entry.hpp"

namespace rind::hosts::demo {

/// Plays a session's journal and names what is wrong with it: a boundary that does not follow the
/// one before, a digest of other messages than the record names, a handoff without the person's
/// newest words, a view after a boundary or before an answer that must not be sent, an entry that
/// contradicts those before it.
std::vector<std::string> boundary_violations(const std::vector<entry>& journal);

} // namespace rind::hosts::demo
