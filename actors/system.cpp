// Spawned in the order of who needs whom, stopped in the reverse.
#include "actors/system.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/connection.hpp"
#include "actors/wiring.hpp"
#include "runtime/config/load.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/net/asio_server.hpp"
#include "runtime/net/status_server.hpp"
#include "runtime/net/stdio_server.hpp"
#include "runtime/protocol/access_list.hpp"
#include "runtime/protocol/responses.hpp"
#include "runtime/provider/curl_transport.hpp"
#include "runtime/provider/embedded_model.hpp"
#include "runtime/provider/http_provider.hpp"
#include "runtime/tools/command_tool.hpp"

namespace rind::actors {

namespace {

/// What the directory may take to name and end the sessions that are given up.
constexpr std::int64_t abandon_ms = 2'000;

/// What the journal may take to answer before the host is told to be not ready.
constexpr std::int64_t ready_ms = 2'000;

/// What a client may take to read its last answers.
constexpr std::int64_t last_words_ms = 2'000;

} // namespace

struct system::state {
  caf::actor_system_config config;
  std::unique_ptr<rind::provider::curl_transport> transport;
  std::shared_ptr<rind::journal::writer> writer;
  std::unique_ptr<caf::actor_system> actors;
  wired_node wired;
  std::unique_ptr<net::asio_server> server;
  std::shared_ptr<protocol::access_list> access;
  std::shared_ptr<metrics::host_metrics> metrics = std::make_shared<metrics::host_metrics>();
  std::unique_ptr<net::status_server> status;
  std::atomic<bool> stopping = false;
  std::mutex mutex; // guards stdio and open
  std::map<connection_id, connection_actor> open;
  std::condition_variable all_closed;
  std::vector<std::unique_ptr<net::stdio_server>> stdio;
  std::vector<int> owned_fds; // the host's ends of socket pairs
  std::atomic<connection_id> next_connection{1};
  std::int64_t stop_margin_ms = stop_margin_ms_default;
  std::optional<stop_report> report; // set by the first stop

  std::vector<std::string> bring_to_rest(std::int64_t grace_ms);
  void let_clients_read_on();

  net::connection_events accept(net::connection_ptr wire, client_options options,
                                std::function<void()> on_closed, bool over_network = false);
};

net::connection_events system::state::accept(net::connection_ptr wire, client_options options,
                                             std::function<void()> on_closed, bool over_network) {
  connection_options o;
  o.id = next_connection++;
  o.default_session = std::move(options.default_session);
  o.resume_latest = options.resume_latest;
  o.stop_host_on_shutdown = options.stop_host_on_shutdown;
  o.access = access;
  o.over_network = over_network;
  const auto id = o.id;
  auto handle = connection_actor{
      actors->spawn<connection>(wired.node, wired.directory, std::move(wire), std::move(o))};
  {
    std::lock_guard guard{mutex};
    open.emplace(id, handle);
  }
  net::connection_events events;
  events.on_bytes = [handle](std::string bytes) {
    caf::anon_send(handle, bytes_received{std::move(bytes)});
  };
  events.on_written = [handle](std::size_t bytes) { caf::anon_send(handle, bytes_written{bytes}); };
  events.on_end = [handle] { caf::anon_send(handle, input_ended{}); };
  events.on_closed = [this, id, handle, on_closed = std::move(on_closed)] {
    caf::anon_send(handle, connection_closed{});
    {
      std::lock_guard guard{mutex};
      open.erase(id);
    }
    all_closed.notify_all();
    if (on_closed)
      on_closed();
  };
  return events;
}

// What the sessions answered as they came to rest stands in the connections' mailboxes and queues:
// it is written before they end.
void system::state::let_clients_read_on() {
  std::unique_lock lock{mutex};
  for (const auto& [id, handle] : open)
    caf::anon_send(handle, close_connection{});
  all_closed.wait_for(lock, std::chrono::milliseconds(last_words_ms),
                      [this] { return open.empty(); });
}

system::system(std::unique_ptr<state> s) : state_(std::move(s)) {
  // nop
}

result<std::unique_ptr<system>> system::start(config::settings settings, system_parts parts) {
  auto s = std::make_unique<state>();
  s->stop_margin_ms = parts.stop_margin_ms;
  if (!parts.store) {
    auto opened =
        rind::journal::open_journal(settings.journal, rind::journal::journal_access::serve);
    if (!opened)
      return opened.error();
    parts.store = std::move(*opened);
  }
  s->writer = std::make_shared<rind::journal::writer>(
      std::move(parts.store), rind::journal::writer_mode::own_thread, std::function<void()>(),
      [counts = s->metrics](const rind::journal::commit_report& r) {
        counts->committed(r.appends, r.entries, r.seconds);
      });
  s->transport = std::make_unique<rind::provider::curl_transport>();
  s->actors = std::make_unique<caf::actor_system>(s->config);
  wiring_parts wiring;
  wiring.env = parts.environment ? parts.environment : host::make_system_environment();
  wiring.writer = s->writer;
  wiring.metrics = s->metrics;
  wiring.tools =
      parts.tools
          ? parts.tools
          : std::make_shared<const rind::tools::registry>(rind::tools::make_registry(settings));
  wiring.make_provider =
      [&](const config::provider_settings* p) -> std::shared_ptr<rind::provider::model_provider> {
    if (parts.model)
      return parts.model;
    if (!p)
      return std::make_shared<rind::provider::embedded_model>(rind::provider::embedded_options{
          settings.embedded_window_tokens, settings.embedded_delta_ms.value_or(0)});
    return std::make_shared<rind::provider::http_provider>(*p, rind::provider::make_codecs(*p),
                                                           *s->transport);
  };
  auto wired = wire_node(*s->actors, settings, wiring);
  if (!wired)
    return wired.error();
  s->wired = std::move(*wired);
  const auto& limits = s->wired.node->settings.server;
  s->access = std::make_shared<protocol::access_list>(
      limits.tokens, protocol::token_limits{limits.token_connections_max, limits.token_requests_max,
                                            limits.token_sessions_max});
  net::server_options server;
  server.connections_max = static_cast<std::size_t>(s->wired.node->settings.server.connections_max);
  auto full = protocol::error_frame(
      nullptr, make_failure(error_code::unavailable, "the server has as many clients as it may"));
  server.full_line = full.head + full.tail;
  server.on_problem = [](const failure& why) {
    spdlog::warn("event=listener_problem reason=\"{}\"", why.message);
  };
  s->server = std::make_unique<net::asio_server>(std::move(server));
  return std::unique_ptr<system>(new system(std::move(s)));
}

system::~system() {
  if (!stop(0).journal_finished)
    (void)
        state_.release(); // a thread that nobody can end uses it, for as long as the process lives
}

result<done> system::listen_unix(const std::string& path) {
  auto* s = state_.get();
  return s->server->listen_unix(
      path, [s](net::connection_ptr wire) -> std::variant<net::connection_events, net::refusal> {
        return s->accept(std::move(wire), {}, {});
      });
}

namespace {

/// Null: no TLS.
result<net::tls_side_ptr> tls_of(const config::server_settings& server) {
  if (server.tls_certificate_file.empty())
    return net::tls_side_ptr();
  return net::tls_server(
      {server.tls_certificate_file, server.tls_key_file, server.tls_client_ca_file});
}

} // namespace

result<std::uint16_t> system::listen_tcp() {
  auto* s = state_.get();
  const auto& server = s->wired.node->settings.server;
  if (const auto wrong = config::front_door_problem(server))
    return make_failure(error_code::invalid_request,
                        "server." + wrong->first + " " + wrong->second);
  const auto address = net::read_tcp_address(server.listen);
  if (!address)
    return address.error();
  const auto tls = tls_of(server);
  if (!tls)
    return tls.error();
  return s->server->listen_tcp(
      *address, *tls,
      [s](net::connection_ptr wire) -> std::variant<net::connection_events, net::refusal> {
        return s->accept(std::move(wire), {}, {}, true);
      });
}

bool system::is_ready() const {
  auto& s = *state_;
  if (s.stopping)
    return false;
  bool answers = false;
  caf::scoped_actor self{*s.actors};
  self->request(s.wired.node->journal, std::chrono::milliseconds(ready_ms),
                list_sessions_command{1, {}})
      .receive([&](const list_sessions_reply& r) { answers = bool(r.value); },
               [](const caf::error&) {});
  return answers;
}

std::string system::metrics_text() const {
  metrics::host_metrics::now now;
  now.connections = static_cast<std::int64_t>(connections());
  now.journal_waiting = static_cast<std::int64_t>(state_->writer->stats().waiting);
  return state_->metrics->text(now);
}

namespace {

net::status_page page_of(const system& host, const std::string& path) {
  if (path == "/healthz")
    return {200, "text/plain; charset=utf-8", "alive\n"};
  if (path == "/readyz" && host.is_ready())
    return {200, "text/plain; charset=utf-8", "ready\n"};
  if (path == "/readyz")
    return {503, "text/plain; charset=utf-8",
            "not ready: the host stops, or its journal does not answer\n"};
  if (path == "/metrics")
    return {200, "text/plain; version=0.0.4; charset=utf-8", host.metrics_text()};
  return {404, "text/plain; charset=utf-8", "there are /metrics, /healthz and /readyz\n"};
}

} // namespace

result<std::uint16_t> system::listen_status() {
  auto& s = *state_;
  const auto& server = s.wired.node->settings.server;
  if (const auto wrong = config::front_door_problem(server))
    return make_failure(error_code::invalid_request,
                        "server." + wrong->first + " " + wrong->second);
  const auto address = net::read_tcp_address(server.status_listen);
  if (!address)
    return address.error();
  net::status_options options;
  options.page = [this](const std::string& path) { return page_of(*this, path); };
  net::tls_side_ptr tls;
  if (!net::is_loopback(*address)) {
    auto made = tls_of(server);
    if (!made)
      return made.error();
    tls = std::move(*made);
    options.lets_in = [access = s.access](const std::string& token) {
      return access->knows(token);
    };
  }
  s.status = std::make_unique<net::status_server>(std::move(options));
  return s.status->listen(*address, std::move(tls));
}

result<done> system::renew_access(const config::server_settings& server) {
  auto tls = tls_of(server);
  if (!tls)
    return tls.error();
  if (*tls && state_->status)
    state_->status->renew_tls(*tls);
  if (*tls)
    state_->server->renew_tls(std::move(*tls));
  state_->access->replace(server.tokens);
  std::lock_guard guard{state_->mutex};
  for (const auto& [id, handle] : state_->open)
    caf::anon_send(handle, tokens_changed{});
  return done{};
}

result<done> system::serve_descriptors(int in_fd, int out_fd, client_options options,
                                       std::function<void()> on_closed) {
  auto server = std::make_unique<net::stdio_server>();
  auto* s = state_.get();
  auto opened = server->open(in_fd, out_fd, [s, options, on_closed](net::connection_ptr wire) {
    return s->accept(std::move(wire), options, on_closed);
  });
  if (!opened)
    return opened.error();
  std::lock_guard guard{s->mutex};
  s->stdio.push_back(std::move(server));
  return done{};
}

result<net::connection_ptr> system::connect(net::asio_client& client,
                                            net::connect_callback on_connect) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return make_failure(error_code::unavailable,
                        "no socket pair: " + std::string{std::strerror(errno)});
  if (auto served = serve_descriptors(fds[0], fds[0], {}, {}); !served) {
    ::close(fds[0]);
    ::close(fds[1]);
    return served.error();
  }
  {
    std::lock_guard guard{state_->mutex};
    state_->owned_fds.push_back(fds[0]);
  }
  return client.adopt(fds[1], std::move(on_connect));
}

std::size_t system::connections() const {
  std::lock_guard guard{state_->mutex};
  return state_->open.size();
}

/// Answers the sessions that did not, within the grace and the margin; they are ended all the same.
std::vector<std::string> system::state::bring_to_rest(std::int64_t grace_ms) {
  caf::scoped_actor self{*actors};
  bool at_rest = true;
  self->request(wired.directory, std::chrono::milliseconds(grace_ms + stop_margin_ms),
                stop_command{grace_ms, cancel_reason::shutdown})
      .receive([](const done_reply&) {}, [&](const caf::error&) { at_rest = false; });
  std::vector<std::string> abandoned;
  if (at_rest)
    return abandoned;
  self->request(wired.directory, std::chrono::milliseconds(abandon_ms), abandon_sessions_command{})
      .receive([&](const abandoned_sessions_reply& r) { abandoned = r.session_ids; },
               [](const caf::error&) {});
  spdlog::error("event=stop_overdue sessions={}", abandoned.size());
  return abandoned;
}

stop_report system::stop(std::int64_t grace_ms) {
  auto& s = *state_;
  if (s.report)
    return *s.report;
  s.report.emplace();
  s.stopping = true;
  s.server->stop_listening();
  s.report->abandoned_sessions = s.bring_to_rest(grace_ms);
  s.let_clients_read_on();
  s.status.reset(); // it asks what ends next
  s.server->stop();
  for (auto& io : s.stdio)
    io->stop();
  for (int fd : s.owned_fds)
    ::close(fd);
  s.transport->stop();
  stop_actors(s.wired);
  s.report->journal_finished = s.writer->finish(s.stop_margin_ms);
  if (!s.report->journal_finished) {
    spdlog::error("event=journal_abandoned reason=\"what it was asked for does not end\"");
    return *s.report; // its late answers go to actors, whose system has to be there (see ~system)
  }
  s.actors.reset(); // waits for every actor
  s.writer.reset();
  return *s.report;
}

} // namespace rind::actors
