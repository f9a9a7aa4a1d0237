// `rind sessions`: reads a journal without activating anything.
#pragma once

#include <string>

#include "runtime/config/settings.hpp"

namespace rind::hosts {

/// A line a session; with `json` an object a line, as a row of `session/list`.
int list_sessions(const config::settings& settings, bool json);
int show_session(const config::settings& settings, const std::string& session_id);
/// Every entry as one JSON line: position, id, ts, turn_id, kind, body.
int export_session(const config::settings& settings, const std::string& session_id);
/// What the models counted, a line for each session and model, then the total; of all sessions
/// where `session_id` is empty. With `json` an object a line. `cost` is there where the settings
/// have a price, in the total where they have all prices that it needs.
int show_usage(const config::settings& settings, const std::string& session_id, bool json);

} // namespace rind::hosts
