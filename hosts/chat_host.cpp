// Where the connection comes from.
#include "hosts/chat_host.hpp"

#include <cstdlib>
#include <iostream>

#include <spdlog/spdlog.h>

#include "actors/system.hpp"
#include "hosts/settings.hpp"

namespace rind::hosts {

int chat_with_host(config::settings settings, const std::string& socket,
                   chat::chat_options options) {
  options.token = settings.server.token.reveal();
  if (const char* home = std::getenv("HOME"); home && *home)
    options.history_file = std::string{home} + "/.rind_history";
  net::asio_client client;
  if (!socket.empty())
    return chat::run_chat(options, [&](net::connect_callback on_connect) {
      return client.connect_unix(socket, std::move(on_connect));
    });
  // A person's screen is no place for a log.
  if (settings.log_file.empty())
    settings.log_level = "off";
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
