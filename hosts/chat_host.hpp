// `rind chat` with the host that it talks to: one inside the process, or a running server's socket.
#pragma once

#include "hosts/chat/chat.hpp"
#include "runtime/config/settings.hpp"

namespace rind::hosts {

/// The command that finds the sessions of such a chat again; empty where they end with it.
std::string command_again(const config::settings& settings, const std::string& socket);

/// Talks over `socket`, or where it is empty with a host started for it. The answer is the exit
/// code.
int chat_with_host(config::settings settings, const std::string& socket,
                   chat::chat_options options);

} // namespace rind::hosts
