// Start, wait, stop.
#include "hosts/serve.hpp"

#include <csignal>
#include <iostream>

#include <spdlog/spdlog.h>

#include "actors/system.hpp"
#include "hosts/settings.hpp"
#include "hosts/signals.hpp"

namespace rind::hosts {

namespace {

/// Descriptors that a host needs for itself: journal, provider connections, logs, threads.
constexpr unsigned long descriptors_kept = 256;

int could_not_start(const failure& why) {
  std::cerr << "rind: error: " << why.message << "\n";
  return 1;
}

/// Something did not come to rest and was given up; the log names it.
constexpr int exit_stopped_by_force = 3;

int exit_code_of(const actors::stop_report& report) {
  if (report.is_clean())
    return 0;
  for (const auto& id : report.abandoned_sessions)
    std::cerr << "rind: error: session " << id << " did not come to rest and was given up\n";
  if (!report.journal_finished)
    std::cerr << "rind: error: the journal did not finish an append and was given up\n";
  return exit_stopped_by_force;
}

} // namespace

int serve(config::settings settings) {
  if (settings.server.socket_path.empty()) {
    std::cerr << "rind: error: serve needs a socket: --socket PATH\n";
    return 1;
  }
  signal_waiter signals{SIGTERM, SIGINT};
  start_logging(settings);
  const auto files = raise_file_limit();
  const auto path = settings.server.socket_path;
  const auto drain_ms = settings.server.drain_ms;
  const auto clients = std::min<unsigned long>(
      files > 2 * descriptors_kept ? (files - descriptors_kept) / 2 : files / 4,
      static_cast<unsigned long>(settings.server.connections_max));
  auto host = actors::system::start(std::move(settings));
  if (!host)
    return could_not_start(host.error());
  if (auto listening = (*host)->listen_unix(path); !listening)
    return could_not_start(listening.error());
  std::cout << "rind: listening on " << path << " (room for " << clients << " clients)"
            << std::endl;
  signals.wait();
  std::cout << "rind: stopping, running operations have " << drain_ms / 1000.0 << " s" << std::endl;
  exit_on({SIGTERM, SIGINT}, 1);
  const auto report = (*host)->stop(drain_ms);
  std::cout << "rind: stopped" << std::endl;
  return exit_code_of(report);
}

int app_server(config::settings settings, app_server_options options) {
  signal_waiter signals{SIGTERM};
  std::signal(SIGINT, SIG_IGN);
  start_logging(settings);
  const auto drain_ms = settings.server.drain_ms;
  auto host = actors::system::start(std::move(settings));
  if (!host)
    return could_not_start(host.error());
  actors::client_options client;
  client.default_session = std::move(options.session);
  client.resume_latest = options.resume_latest;
  client.stop_host_on_shutdown = true;
  if (auto served =
          (*host)->serve_descriptors(0, 1, std::move(client), [&signals] { signals.wake(); });
      !served)
    return could_not_start(served.error());
  const bool asked_to_stop = signals.wait() == SIGTERM;
  exit_on({SIGTERM}, 1);
  return exit_code_of((*host)->stop(asked_to_stop ? drain_ms : 0));
}

} // namespace rind::hosts
