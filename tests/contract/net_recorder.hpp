// What a connection told its owner, for tests that wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/net/asio_client.hpp"

namespace rind::net {

/// Records what a connection tells and lets a test wait for it.
class recorder : public std::enable_shared_from_this<recorder> {
public:
  bool consume = true;   // acknowledge at once
  bool watch_end = true; // false: the connection sees an empty on_end

  connection_events events(connection_ptr link) {
    {
      const std::lock_guard lock(mutex_);
      link_ = link;
    }
    changed_.notify_all();
    connection_events made;
    made.on_bytes = [self = shared_from_this(), link](std::string bytes) {
      if (self->consume)
        link->consumed(bytes.size());
      self->note([&] { self->received_ += bytes; });
    };
    made.on_written = [self = shared_from_this()](std::size_t bytes) {
      self->note([&] { self->written_ += bytes; });
    };
    if (watch_end)
      made.on_end = [self = shared_from_this()] { self->note([&] { self->ended_ = true; }); };
    made.on_closed = [self = shared_from_this()] { self->note([&] { ++self->closed_; }, true); };
    return made;
  }

  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }
  bool wait_received(std::size_t bytes) {
    return wait([&] { return received_.size() >= bytes; });
  }
  bool wait_written(std::size_t bytes) {
    return wait([&] { return written_ >= bytes; });
  }
  bool wait_closed() {
    return wait([&] { return closed_ > 0; });
  }
  bool wait_end() {
    return wait([&] { return ended_; });
  }
  connection_ptr link() {
    wait([&] { return link_ != nullptr; });
    return link_;
  }

  std::string received() { return read(received_); }
  std::size_t written() { return read(written_); }
  int closed() { return read(closed_); }
  int told_after_closed() { return read(late_); }

private:
  template <class Change>
  void note(Change change, bool is_close = false) {
    const std::lock_guard lock(mutex_);
    if (closed_ > 0)
      ++late_;
    change();
    if (is_close)
      link_ = nullptr;
    changed_.notify_all();
  }
  template <class T>
  T read(const T& value) {
    const std::lock_guard lock(mutex_);
    return value;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  connection_ptr link_;
  std::string received_;
  std::size_t written_ = 0;
  bool ended_ = false;
  int closed_ = 0;
  int late_ = 0;
};

using recorder_ptr = std::shared_ptr<recorder>;

inline accept_callback accept_into(recorder_ptr into) {
  return [into](connection_ptr link) { return into->events(std::move(link)); };
}

inline connect_callback connect_into(recorder_ptr into) {
  return [into](connection_ptr link) { return into->events(std::move(link)); };
}

} // namespace rind::net
