// `rind sessions`: reads a journal without activating anything.
#pragma once

#include <string>

#include "runtime/config/settings.hpp"

namespace rind::hosts {

int list_sessions(const config::settings& settings);
int show_session(const config::settings& settings, const std::string& session_id);
/// Every entry as one JSON line: position, id, ts, turn_id, kind, body.
int export_session(const config::settings& settings, const std::string& session_id);

} // namespace rind::hosts
