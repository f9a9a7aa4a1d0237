// Start, wait, stop.
#include "hosts/serve.hpp"

#include <csignal>
#include <iostream>

#include <spdlog/spdlog.h>

#include "actors/system.hpp"
#include "hosts/settings.hpp"
#include "hosts/signals.hpp"
#include "runtime/net/tcp_address.hpp"

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

/// Clients that the descriptors of this process have room for.
unsigned long room_for_clients(const config::server_settings& server) {
  const auto files = raise_file_limit();
  return std::min<unsigned long>(files > 2 * descriptors_kept ? (files - descriptors_kept) / 2
                                                              : files / 4,
                                 static_cast<unsigned long>(server.connections_max));
}

/// The address with the port that it has by now; it has been read before.
std::string with_port(const std::string& text, std::uint16_t port) {
  auto address = *net::read_tcp_address(text);
  address.port = port;
  return net::to_string(address);
}

/// Opens what the settings ask for; a line each on standard output.
result<done> open_doors(actors::system& host, const config::server_settings& server,
                        unsigned long clients) {
  const auto room = " (room for " + std::to_string(clients) + " clients)";
  if (!server.socket_path.empty()) {
    if (auto listening = host.listen_unix(server.socket_path); !listening)
      return listening;
    std::cout << "rind: listening on " << server.socket_path << room << std::endl;
  }
  if (!server.listen.empty()) {
    const auto port = host.listen_tcp();
    if (!port)
      return port.error();
    std::cout << "rind: listening on " << with_port(server.listen, *port)
              << (server.tls_certificate_file.empty() ? " without TLS" : " with TLS") << room
              << std::endl;
  }
  if (!server.status_listen.empty()) {
    const auto port = host.listen_status();
    if (!port)
      return port.error();
    std::cout << "rind: status on " << with_port(server.status_listen, *port) << std::endl;
  }
  return done{};
}

void renew_access(actors::system& host, const settings_reader& read_again) {
  const auto settings = read_again();
  const auto renewed =
      settings ? host.renew_access(settings->server)
               : result<done>(make_failure(error_code::invalid_request, "the settings are faulty"));
  if (renewed)
    spdlog::info("event=access_renewed tokens={}", settings->server.tokens.size());
  else
    spdlog::error("event=access_not_renewed reason=\"{}\"", renewed.error().message);
}

} // namespace

int serve(config::settings settings, const settings_reader& read_again) {
  const auto server = settings.server;
  if (server.socket_path.empty() && server.listen.empty()) {
    std::cerr << "rind: error: serve needs somewhere to listen: --socket PATH or --listen "
                 "HOST:PORT\n";
    return 1;
  }
  signal_waiter signals{SIGTERM, SIGINT, SIGHUP};
  start_logging(settings);
  const auto clients = room_for_clients(server);
  auto host = actors::system::start(std::move(settings));
  if (!host)
    return could_not_start(host.error());
  if (auto opened = open_doors(**host, server, clients); !opened)
    return could_not_start(opened.error());
  while (signals.wait() == SIGHUP)
    renew_access(**host, read_again);
  std::cout << "rind: stopping, running operations have " << server.drain_ms / 1000.0 << " s"
            << std::endl;
  exit_on({SIGTERM, SIGINT}, 1);
  const auto report = (*host)->stop(server.drain_ms);
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
