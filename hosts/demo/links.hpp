// The demo's connections to its host, each shared by many sessions, and their return after the host
// was killed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hosts/client/protocol_client.hpp"
#include "hosts/demo/run_state.hpp"
#include "messages/result.hpp"

namespace rind::hosts::demo {

/// Sessions on one connection.
inline constexpr int sessions_per_link = 16;

using client_ptr = std::shared_ptr<client::protocol_client>;

/// All functions may be called from any thread.
class links {
public:
  links(std::string socket_path, int sessions, const run_state& run);

  /// The open connection of a session, after `initialize`. Connects where there is none or the last
  /// one was closed; tries until the wait limit while no host listens.
  result<client_ptr> of(int session);

  /// Connections made after the first one of each.
  std::int64_t reconnects() const { return reconnects_; }

private:
  struct link {
    std::mutex mutex; // held while connecting: who comes second waits
    client_ptr client;
    bool was_open = false;
  };

  result<client_ptr> connect() const;

  std::string socket_path_;
  const run_state& run_;
  net::asio_client network_; // outlives the clients, so it stands before them
  std::vector<std::unique_ptr<link>> links_;
  std::atomic<std::int64_t> reconnects_ = 0;
};

} // namespace rind::hosts::demo
