// One thread that polls: it reads and writes only what poll has promised, so nothing blocks
// although the descriptors may.
#include "runtime/net/stdio_server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <deque>
#include <mutex>
#include <optional>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/net/io_loop.hpp"

namespace rind::net {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
// A writable pipe takes this much without blocking.
constexpr std::size_t pipe_write_bytes = PIPE_BUF;
using steady = std::chrono::steady_clock;

bool is_retry(int error) {
  return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

bool is_socket(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode);
}

} // namespace

class stdio_server::channel final : public connection,
                                    public std::enable_shared_from_this<channel> {
public:
  channel(int in_fd, int out_fd, int wake_fd)
      : in_fd_(in_fd), out_fd_(out_fd), wake_fd_(wake_fd), out_is_socket_(is_socket(out_fd)) {}
  ~channel() override { ::close(wake_fd_); }

  void send(std::string bytes) override {
    command([&] {
      if (closing_)
        return;
      overrun_ = overrun_ || waiting_.size() >= waiting_sends_max;
      waiting_.push_back(std::move(bytes));
    });
  }
  void consumed(std::size_t bytes) override {
    command([&] { consumed_bytes_ += bytes; });
  }
  void close_after_writes() override {
    command([&] { closing_ = true; });
  }
  void close_now() override {
    command([&] { close_now_ = true; });
  }

  void start(connect_callback on_connect) {
    thread_ = thread_without_signals([this, callback = std::move(on_connect)] { run(callback); });
  }
  void join() {
    std::call_once(joined_, [this] { thread_.join(); });
  }

private:
  template <class Change>
  void command(Change change) {
    const std::lock_guard lock(mutex_);
    if (finished_)
      return;
    change();
    const std::uint64_t one = 1;
    // Fails only where the counter is full, and then the thread is awake anyway.
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
  }

  void run(const connect_callback& on_connect);
  bool take_commands();
  bool wait(bool& readable, bool& writable);
  bool read_some(std::string& buffer);
  bool write_some();

  const int in_fd_;
  const int out_fd_;
  const int wake_fd_;
  const bool out_is_socket_;

  std::mutex mutex_;
  std::deque<std::string> waiting_; // these are guarded by mutex_
  std::size_t consumed_bytes_ = 0;
  bool overrun_ = false;
  bool closing_ = false;
  bool close_now_ = false;
  bool finished_ = false;

  connection_events events_; // from here on the thread's own
  std::string out_;
  std::size_t out_done_bytes_ = 0;
  std::size_t unconsumed_bytes_ = 0;
  bool ended_ = false;
  std::optional<steady::time_point> give_up_at_;

  std::once_flag joined_;
  std::thread thread_;
};

void stdio_server::channel::run(const connect_callback& on_connect) {
  events_ = on_connect(shared_from_this());
  std::string buffer(read_bytes, '\0');
  for (;;) {
    bool readable = false;
    bool writable = false;
    if (!take_commands() || !wait(readable, writable))
      break;
    if (writable && !write_some())
      break;
    if (readable && !read_some(buffer))
      break;
  }
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    waiting_.clear();
  }
  const auto events = std::exchange(events_, {});
  if (events.on_closed)
    events.on_closed();
}

/// False: it is over.
bool stdio_server::channel::take_commands() {
  const std::lock_guard lock(mutex_);
  unconsumed_bytes_ -= std::min(unconsumed_bytes_, std::exchange(consumed_bytes_, 0));
  if (close_now_ || overrun_)
    return false;
  if (out_.empty() && !waiting_.empty()) {
    out_ = std::move(waiting_.front());
    waiting_.pop_front();
    out_done_bytes_ = 0;
  }
  if (!closing_)
    return true;
  if (out_.empty())
    return false;
  if (!give_up_at_)
    give_up_at_ = steady::now() + std::chrono::milliseconds(close_write_ms);
  return steady::now() < *give_up_at_;
}

bool stdio_server::channel::wait(bool& readable, bool& writable) {
  const bool want_input = !ended_ && !give_up_at_ && unconsumed_bytes_ < read_ahead_limit_bytes;
  // The output is always watched: a reader that goes away shows there.
  pollfd fds[3] = {{wake_fd_, POLLIN, 0},
                   {want_input ? in_fd_ : -1, POLLIN, 0},
                   {out_fd_, static_cast<short>(out_.empty() ? 0 : POLLOUT), 0}};
  int timeout_ms = -1;
  if (give_up_at_)
    timeout_ms = static_cast<int>(std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::milliseconds>(*give_up_at_ - steady::now())
               .count()));
  if (::poll(fds, 3, timeout_ms) < 0)
    return errno == EINTR;
  if (fds[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_fd_, &count, sizeof count);
  }
  if ((fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
    return false;
  readable = fds[1].revents != 0;
  writable = (fds[2].revents & POLLOUT) != 0;
  return true;
}

bool stdio_server::channel::read_some(std::string& buffer) {
  const auto count = ::read(in_fd_, buffer.data(), buffer.size());
  if (count < 0)
    return is_retry(errno);
  if (count > 0) {
    unconsumed_bytes_ += static_cast<std::size_t>(count);
    if (events_.on_bytes)
      events_.on_bytes(buffer.substr(0, static_cast<std::size_t>(count)));
    return true;
  }
  ended_ = true;
  if (events_.on_end)
    events_.on_end();
  else
    close_after_writes();
  return true;
}

bool stdio_server::channel::write_some() {
  const char* data = out_.data() + out_done_bytes_;
  const auto left = out_.size() - out_done_bytes_;
  const auto count = out_is_socket_ ? ::send(out_fd_, data, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                    : ::write(out_fd_, data, std::min(left, pipe_write_bytes));
  if (count < 0)
    return is_retry(errno);
  out_done_bytes_ += static_cast<std::size_t>(count);
  if (out_done_bytes_ < out_.size())
    return true;
  const auto written = out_.size();
  out_.clear();
  if (events_.on_written)
    events_.on_written(written);
  return true;
}

stdio_server::stdio_server() = default;

stdio_server::~stdio_server() {
  stop();
}

result<connection_ptr> stdio_server::open(int in_fd, int out_fd, connect_callback on_connect) {
  const int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0)
    return make_failure(error_code::unavailable,
                        "no descriptor left to watch the standard streams with");
  channel_ = std::make_shared<channel>(in_fd, out_fd, wake_fd);
  channel_->start(std::move(on_connect));
  return connection_ptr(channel_);
}

void stdio_server::stop() {
  if (!channel_)
    return;
  channel_->close_now();
  channel_->join();
}

} // namespace rind::net
