// `rind serve` and `rind app-server`: a host for clients over a Unix socket or TCP, or for one
// client over standard input and output.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/config/settings.hpp"

namespace rind::hosts {

/// Serves on a Unix socket, over TCP, or both, until SIGTERM or SIGINT. SIGHUP reads the tokens and
/// the certificate anew: `read_again` loads the settings, and tells what is wrong with them itself
/// where it answers none. At the end new work is refused, what runs may end within the drain time,
/// the rest is cancelled and committed. A second signal ends the process at once. Exit code 0, or 1
/// where it could not start.
using settings_reader = std::function<std::optional<config::settings>()>;
int serve(config::settings settings, const settings_reader& read_again);

struct app_server_options {
  std::string session;        // --session; empty: none
  bool resume_latest = false; // -c
};

/// Serves one client over descriptors 0 and 1 until `shutdown`, the end of the input, or SIGTERM.
/// SIGINT does not end it.
int app_server(config::settings settings, app_server_options options);

} // namespace rind::hosts
