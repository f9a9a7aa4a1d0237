// Where the connection comes from.
#include "hosts/chat_host.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/system.hpp"
#include "hosts/settings.hpp"
#include "runtime/net/tcp_address.hpp"

namespace rind::hosts {

namespace {

/// The embedded model's pause before a delta where a person follows: time to read and to steer.
constexpr std::int64_t followed_delta_ms = 60;

/// A word of a command line, quoted where a shell would change it.
std::string shell_word(const std::string& text) {
  constexpr std::string_view marks = "_-./:,+@%=";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || marks.find(c) != marks.npos;
  });
  if (is_plain)
    return text;
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// How to reach a server over TCP; the token is never sent where others can read it.
result<client::connector> connector_of(const server_address& server, net::asio_client& client) {
  const auto address = net::read_tcp_address(server.tcp);
  if (!address)
    return address.error();
  if (server.without_tls && !net::is_loopback(*address))
    return make_failure(error_code::invalid_request,
                        "--no-tls is for this machine's own addresses; " + server.tcp +
                            " would see the token go over the network unencrypted");
  net::tls_side_ptr tls;
  if (!server.without_tls) {
    auto made = net::tls_client(server.tls, address->host);
    if (!made)
      return made.error();
    tls = std::move(*made);
  }
  return client::connector([&client, address = *address, tls](net::connect_callback on_connect) {
    return client.connect_tcp(address, tls, std::move(on_connect));
  });
}

std::string flag_again(const std::string& flag, const std::string& value) {
  return value.empty() ? std::string() : " " + flag + " " + shell_word(value);
}

} // namespace

std::string command_again(const config::settings& settings, const server_address& server) {
  const std::string program = "rind chat";
  if (server.is_given())
    return program + flag_again("--socket", server.socket) + flag_again("--connect", server.tcp) +
           flag_again("--tls-ca", server.tls.ca_file) +
           flag_again("--tls-certificate", server.tls.certificate_file) +
           flag_again("--tls-key", server.tls.key_file) + (server.without_tls ? " --no-tls" : "");
  if (settings.journal == "memory")
    return {};
  return settings.journal == config::settings{}.journal
             ? program
             : program + " --journal " + shell_word(settings.journal);
}

int chat_with_host(config::settings settings, const server_address& server,
                   chat::chat_options options) {
  if (!settings.server.tokens.empty())
    options.token = settings.server.tokens.front().value.reveal();
  if (const char* home = std::getenv("HOME"); home && *home)
    options.history_file = std::string{home} + "/.rind_history";
  options.again = command_again(settings, server);
  net::asio_client client;
  if (!server.socket.empty())
    return chat::run_chat(options, [&](net::connect_callback on_connect) {
      return client.connect_unix(server.socket, std::move(on_connect));
    });
  if (!server.tcp.empty()) {
    const auto connect = connector_of(server, client);
    if (connect)
      return chat::run_chat(options, *connect);
    std::cerr << "rind: error: " << connect.error().message << "\n";
    return 1;
  }
  // A person's screen is no place for a log.
  if (settings.log_file.empty())
    settings.log_level = "off";
  const bool for_a_person = ::isatty(options.in_fd) == 1 && ::isatty(options.out_fd) == 1;
  if (for_a_person && !settings.embedded_delta_ms)
    settings.embedded_delta_ms = followed_delta_ms;
  start_logging(settings);
  auto host = actors::system::start(std::move(settings));
  if (!host) {
    std::cerr << "rind: error: " << host.error().message << "\n";
    return 1;
  }
  const auto code = chat::run_chat(options, [&](net::connect_callback on_connect) {
    return (*host)->connect(client, std::move(on_connect));
  });
  (*host)->stop(0);
  return code;
}

} // namespace rind::hosts
