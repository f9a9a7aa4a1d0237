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

} // namespace

std::string command_again(const config::settings& settings, const std::string& socket) {
  constexpr std::string_view scheme = "sqlite:";
  const std::string program = "rind chat";
  if (!socket.empty())
    return program + " --socket " + shell_word(socket);
  if (settings.journal.compare(0, scheme.size(), scheme) != 0)
    return {};
  return settings.journal == config::settings{}.journal
             ? program
             : program + " --journal " + shell_word(settings.journal);
}

int chat_with_host(config::settings settings, const std::string& socket,
                   chat::chat_options options) {
  options.token = settings.server.token.reveal();
  if (const char* home = std::getenv("HOME"); home && *home)
    options.history_file = std::string{home} + "/.rind_history";
  options.again = command_again(settings, socket);
  net::asio_client client;
  if (!socket.empty())
    return chat::run_chat(options, [&](net::connect_callback on_connect) {
      return client.connect_unix(socket, std::move(on_connect));
    });
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
