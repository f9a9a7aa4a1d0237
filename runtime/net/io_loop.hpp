// The thread that all sockets of one server or client share. Knows Asio, so only the .cpp files of
// this folder include it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility> // Asio of Boost 1.74 does not include it itself

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace rind::net {

/// Owns the thread. Everything that hangs on the context holds the loop, so a late call on a
/// connection finds it alive.
class io_loop {
public:
  io_loop();
  ~io_loop();
  io_loop(const io_loop&) = delete;
  io_loop& operator=(const io_loop&) = delete;

  /// Runs the task on the thread of the loop, never inside this call. False: the loop has finished
  /// and the task was dropped.
  bool post(std::function<void()> task);
  /// Runs `last` on the thread, refuses every later task, and joins as soon as nothing is pending.
  /// `last` has to close all that could be pending. The first call does it; others wait for it. Not
  /// on the thread of the loop.
  void finish(std::function<void()> last);

  boost::asio::io_context& context() { return context_; }

private:
  boost::asio::io_context context_{1};
  std::mutex gate_;
  bool open_ = true; // guarded by gate_
  std::once_flag finished_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

/// Starts a thread that takes no signal: they belong to the main thread, and a closed pipe is an
/// error value.
std::thread thread_without_signals(std::function<void()> body);

} // namespace rind::net
