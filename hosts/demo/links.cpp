// Connecting, and connecting again.
#include "hosts/demo/links.hpp"

#include <thread>

#include <nlohmann/json.hpp>

namespace rind::hosts::demo {

links::links(std::string socket_path, int sessions, const run_state& run)
    : socket_path_(std::move(socket_path)), run_(run) {
  const int count = std::max(2, (sessions + sessions_per_link - 1) / sessions_per_link);
  for (int i = 0; i < count; ++i)
    links_.push_back(std::make_unique<link>());
}

result<client_ptr> links::of(int session) {
  auto& mine = *links_[static_cast<std::size_t>(session) % links_.size()];
  const std::lock_guard lock(mine.mutex);
  if (mine.client && mine.client->is_open())
    return mine.client;
  auto opened = connect();
  if (!opened)
    return opened;
  mine.client = *opened;
  if (std::exchange(mine.was_open, true))
    ++reconnects_;
  return opened;
}

result<client_ptr> links::connect() const {
  const auto deadline = run_.deadline();
  const auto connector = [this](net::connect_callback on_connect) {
    return const_cast<net::asio_client&>(network_).connect_unix(socket_path_,
                                                                std::move(on_connect));
  };
  failure last = make_failure(error_code::unavailable, "no attempt was made");
  while (!run_.is_given_up() && steady::now() < deadline) {
    auto opened = client::protocol_client::open(connector, {});
    if (opened) {
      client_ptr made = std::move(*opened);
      const auto hello = made->call("initialize", {{"client", "rind demo"}});
      if (hello)
        return made;
      last = make_failure(error_code::unavailable,
                          "initialize: " + hello.error_type + ": " + hello.error_message);
    } else {
      last = opened.error();
    }
    // The host is being started again; the path says nothing when it listens.
    std::this_thread::sleep_for(wait_slice);
  }
  if (run_.is_given_up())
    return make_failure(error_code::cancelled, run_.reason());
  return make_failure(error_code::unavailable, "no connection to the host: " + last.message);
}

} // namespace rind::hosts::demo
