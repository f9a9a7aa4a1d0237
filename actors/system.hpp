// A whole node in one object: the only wiring. Builds the journal, the providers, the tools and the
// actors from settings, serves clients, and stops in two steps. The door for programs that embed
// rind; CAF stays behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messages/result.hpp"
#include "runtime/config/settings.hpp"
#include "runtime/host/environment.hpp"
#include "runtime/journal/port.hpp"
#include "runtime/net/asio_client.hpp"
#include "runtime/net/connection_port.hpp"
#include "runtime/provider/port.hpp"
#include "runtime/tools/port.hpp"

namespace rind::actors {

/// Beyond the grace of a stop: what cancelling and committing may take before the stop goes on
/// without it.
inline constexpr std::int64_t stop_margin_ms_default = 15'000;

/// What an embedding program may bring along; what is left out follows the settings.
struct system_parts {
  std::shared_ptr<host::environment> environment; // null: the system's clock and chance
  std::shared_ptr<const tools::registry> tools; // null: the demo and command tools of the settings
  std::unique_ptr<journal::store> store;        // null: as settings.journal says
  std::shared_ptr<provider::model_provider>
      model; // null: as settings.providers say; else it serves every model of the settings
  std::int64_t stop_margin_ms = stop_margin_ms_default;
};

/// How a stop went.
struct stop_report {
  std::vector<std::string> abandoned_sessions; // they did not come to rest
  bool journal_finished = true; // false: it hangs; its thread and the actors were left behind

  bool is_clean() const { return abandoned_sessions.empty() && journal_finished; }
};

/// How a connection greets its client; see connection_options.
struct client_options {
  std::string default_session;
  bool resume_latest = false;
  bool stop_host_on_shutdown = false;
};

class system {
public:
  /// Builds and starts everything but the listeners. Fails with invalid_request or unknown_model
  /// for what is wrong with the settings, with persistence_failed for the journal; nothing is left
  /// running then.
  static result<std::unique_ptr<system>> start(config::settings settings, system_parts parts = {});
  /// Stops with no grace, if stop() was not called.
  ~system();
  system(const system&) = delete;
  system& operator=(const system&) = delete;

  /// Serves clients on a Unix socket, mode 0600. A stale socket file is replaced; a live one is
  /// refused (unavailable), as is a path of more than 107 bytes (invalid_request).
  result<done> listen_unix(const std::string& path);

  /// Serves clients over TCP as settings.server says, and answers the port. Fails with
  /// invalid_request where a rule of S42 is not kept or a file of TLS cannot be used, and with
  /// unavailable where the port is taken.
  result<std::uint16_t> listen_tcp();

  /// Serves /metrics, /healthz and /readyz over HTTP as settings.server says, and answers the port;
  /// fails as listen_tcp does. Once.
  result<std::uint16_t> listen_status();
  /// Whether the host takes new work and its journal answers; waits for that answer.
  bool is_ready() const;
  /// In the text format of Prometheus.
  std::string metrics_text() const;

  /// The tokens, and the certificate over TCP, from here on; nothing else of these settings counts.
  /// Clients whose token is gone are told so and disconnected. Fails with invalid_request where a
  /// file of TLS cannot be used: then nothing changes.
  result<done> renew_access(const config::server_settings& server);

  /// Serves one client over a pair of descriptors; they stay the caller's. `on_closed` is called
  /// once, on another thread, when that client is gone.
  result<done> serve_descriptors(int in_fd, int out_fd, client_options options,
                                 std::function<void()> on_closed);

  /// A client inside the process, over a socket pair. The caller keeps `client` until the
  /// connection is closed; its callbacks run on the thread of `client`.
  result<net::connection_ptr> connect(net::asio_client& client, net::connect_callback on_connect);

  /// Two steps: new work is refused with ServerStopping and what runs may end within `grace_ms`;
  /// then it is cancelled and committed, the clients are closed and the threads joined. Blocks, but
  /// never for a session or a journal that does not come to rest: past the margin of the parts they
  /// are given up, logged and reported, and what they had not committed is as after a crash. A
  /// second call does nothing and answers as the first.
  stop_report stop(std::int64_t grace_ms);

  /// Clients that are connected.
  std::size_t connections() const;

private:
  struct state;
  explicit system(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

} // namespace rind::actors
