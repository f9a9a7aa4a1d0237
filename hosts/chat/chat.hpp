// The terminal client: a person (or a pipe) talks with one session of a host. Where the connection
// comes from is the caller's.
#pragma once

#include <optional>
#include <string>

#include "hosts/client/protocol_client.hpp"

namespace rind::hosts::chat {

struct chat_options {
  std::string session_id;      // empty: the one that the server offers
  std::string model;           // empty: the server's default
  std::string token;           // for a server that asks for one; empty: none
  std::string again;           // the command that talks with this host again, `rind chat`; empty:
                               // the sessions end with this program
  std::string history_file;    // of typed lines, mode 0600; empty: none is kept
  std::optional<bool> colours; // default: at a terminal, unless NO_COLOR is set
  int in_fd = 0;
  int out_fd = 1;
  int error_fd = 2;
};

/// Talks until the user leaves or the input ends. At a terminal (both descriptors, TERM not
/// `dumb`): line editing, streamed text, a gauge. Else: a line of the input is a prompt or a
/// command, one after the other; answers go to out_fd, errors to error_fd. Answers the exit code:
/// 0; 1 where the connection failed, the session cannot be had or, without a terminal, a turn
/// failed or a line was refused; 130 after Ctrl-C without a terminal. Takes over SIGINT, SIGTERM,
/// SIGHUP and SIGWINCH while it runs.
int run_chat(const chat_options& options, const client::connector& connect);

} // namespace rind::hosts::chat
