// One connection at a time, which is all that a store has.
#include "tests/contract/cutting_proxy.hpp"

#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rind::test {

namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

bool send_all(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto sent = ::send(to, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

} // namespace

cutting_proxy::cutting_proxy(std::string server_socket) : server_socket_(std::move(server_socket)) {
  const auto address = address_of(folder_.file(".s.PGSQL.5432"));
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 8) != 0 || ::pipe(stop_) != 0)
    throw std::runtime_error("no proxy");
  thread_ = std::thread([this] { serve(); });
}

cutting_proxy::~cutting_proxy() {
  ::close(stop_[1]);
  thread_.join();
  ::close(stop_[0]);
  ::close(listener_);
}

std::string cutting_proxy::address(const std::string& database) const {
  auto folder = folder_.file("");
  folder.pop_back();
  const auto host = database.find("host=");
  const auto end = database.find('&', host);
  return database.substr(0, host) + "host=" + folder + database.substr(end);
}

void cutting_proxy::cut(cut_at where, int flight) {
  where_ = where;
  flights_left_ = flight;
}

bool cutting_proxy::reaches_cut() {
  return flights_left_ > 0 && --flights_left_ == 0;
}

void cutting_proxy::serve() {
  for (;;) {
    pollfd fds[2] = {{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0)
      return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = address_of(server_socket_);
    ++accepted_;
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      carry(client, server);
    ::close(client);
    ::close(server);
  }
}

void cutting_proxy::carry(int client, int server) {
  char bytes[64 * 1024];
  bool mute = false; // the next answer is the last one, and stays here
  for (;;) {
    pollfd fds[3] = {{client, POLLIN, 0}, {server, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    ::poll(fds, 3, -1);
    if (fds[2].revents != 0)
      return;
    if (fds[1].revents != 0) {
      const auto got = ::recv(server, bytes, sizeof bytes, 0);
      if (got <= 0 || mute || !send_all(client, bytes, static_cast<std::size_t>(got)))
        return;
    }
    if (fds[0].revents != 0) {
      const auto got = ::recv(client, bytes, sizeof bytes, 0);
      const bool is_cut = got > 0 && reaches_cut();
      if (got <= 0 || (is_cut && where_ == cut_at::request) ||
          !send_all(server, bytes, static_cast<std::size_t>(got)))
        return;
      mute = mute || is_cut;
    }
  }
}

} // namespace rind::test
