// `rind chat` with the host that it talks to: one inside the process, or a running server.
#pragma once

#include "hosts/chat/chat.hpp"
#include "runtime/config/settings.hpp"
#include "runtime/net/tls.hpp"

namespace rind::hosts {

/// A running server. At most one of the first two is given; neither: a host is started.
struct server_address {
  std::string socket;
  std::string tcp; // HOST:PORT
  net::tls_files tls;
  bool without_tls = false;

  bool is_given() const { return !socket.empty() || !tcp.empty(); }
};

/// The command that finds the sessions of such a chat again; empty where they end with it.
std::string command_again(const config::settings& settings, const server_address& server);

/// Talks with the server, or with a host started for it. The answer is the exit code.
int chat_with_host(config::settings settings, const server_address& server,
                   chat::chat_options options);

} // namespace rind::hosts
