// poll, read, write.
#include "tests/kit/line_channel.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rind::kit {

namespace {

constexpr std::size_t read_bytes = 256 * 1024;

void make_nonblocking(int fd) {
  if (fd >= 0)
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

line_channel::line_channel(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {
  make_nonblocking(in_fd_);
  make_nonblocking(out_fd_);
  std::signal(SIGPIPE, SIG_IGN);
}

line_channel::~line_channel() {
  if (in_fd_ >= 0)
    ::close(in_fd_);
  if (out_fd_ >= 0 && out_fd_ != in_fd_)
    ::close(out_fd_);
}

std::unique_ptr<line_channel> line_channel::connect(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (fd >= 0)
      ::close(fd);
    throw std::system_error(error, std::generic_category(), "connect " + path);
  }
  return std::make_unique<line_channel>(fd, fd);
}

void line_channel::send(const std::string& bytes) {
  unsent_ += bytes;
  write_some();
}

void line_channel::close_input() {
  close_when_written_ = true;
  write_some();
}

void line_channel::write_some() {
  while (!unsent_.empty() && out_fd_ >= 0) {
    const auto written = ::write(out_fd_, unsent_.data(), unsent_.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno == EAGAIN)
      return;
    if (written < 0) {
      unsent_.clear(); // nobody reads any more; the end of input tells
      break;
    }
    unsent_.erase(0, static_cast<std::size_t>(written));
  }
  if (!unsent_.empty() || !close_when_written_ || out_fd_ < 0)
    return;
  if (out_fd_ == in_fd_)
    ::shutdown(out_fd_, SHUT_WR);
  else
    ::close(out_fd_);
  out_fd_ = -1;
}

void line_channel::read_some() {
  static thread_local std::string buffer(read_bytes, '\0');
  const auto got = ::read(in_fd_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0) {
    ended_ = true;
    return;
  }
  std::size_t start = 0;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', start)) {
    lines_.push_back(std::exchange(partial_, {}).append(bytes.substr(start, end - start)));
    start = end + 1;
  }
  partial_.append(bytes.substr(start));
}

bool line_channel::move_bytes(const std::vector<line_channel*>& channels,
                              std::int64_t deadline_ms) {
  std::vector<pollfd> waits;
  for (auto* c : channels) {
    waits.push_back({c->ended_ ? -1 : c->in_fd_, POLLIN, 0});
    waits.push_back({c->unsent_.empty() ? -1 : c->out_fd_, POLLOUT, 0});
  }
  if (::poll(waits.data(), waits.size(), static_cast<int>(deadline_ms)) <= 0)
    return false;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (waits[2 * i].revents != 0)
      channels[i]->read_some();
    if (waits[2 * i + 1].revents != 0)
      channels[i]->write_some();
  }
  return true;
}

std::optional<std::string> line_channel::take_line() {
  if (lines_.empty())
    return std::nullopt;
  auto line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

std::optional<std::string> line_channel::next_line(std::int64_t deadline_ms) {
  const auto end_ms = now_ms() + deadline_ms;
  while (lines_.empty() && !ended_ && now_ms() < end_ms)
    move_bytes({this}, end_ms - now_ms());
  return take_line();
}

void line_channel::read_to_end(std::int64_t deadline_ms) {
  const auto end_ms = now_ms() + deadline_ms;
  while (!ended_ && now_ms() < end_ms)
    move_bytes({this}, end_ms - now_ms());
}

} // namespace rind::kit
