// Settings for the programs that host: from flags, environment and file, with every problem told
// before anything starts.
#pragma once

#include <optional>

#include "runtime/config/load.hpp"

namespace rind::hosts {

/// What the command line says about settings.
struct settings_flags {
  std::string file; // --config; empty: the usual places
  std::vector<config::flag_value> values;
};

/// Loads and validates. Problems are printed on standard error, a line each, and answer nullopt;
/// warnings are printed too.
std::optional<config::settings> load_settings(const settings_flags& flags);

/// The same for a client of a running host: of the settings it needs its token and nothing else, so
/// only what is wrong with that counts, and flags for other settings are warned about.
std::optional<config::settings> load_client_settings(const settings_flags& flags);

/// The same for who looks into a journal: only what is wrong with the file as a whole, with the
/// journal or with a flag counts. A faulty price is warned about,
/// and is none.
std::optional<config::settings> load_journal_settings(const settings_flags& flags);

/// `rind config check`: prints the resolved settings with their origins. Exit code 0, or 1 where
/// there are problems.
int check_settings(const settings_flags& flags, bool json);

/// Sends the log where the settings say.
void start_logging(const config::settings& settings);

} // namespace rind::hosts
