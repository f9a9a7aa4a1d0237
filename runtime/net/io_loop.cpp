// The loop's thread: start, tasks from outside, end.
#include "runtime/net/io_loop.hpp"

#include <cassert>
#include <csignal>

#include <boost/asio/post.hpp>

namespace rind::net {

std::thread thread_without_signals(std::function<void()> body) {
  // The mask is inherited, so there is no moment in which the thread could take one; the caller
  // gets its own mask back.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

io_loop::io_loop()
    : work_(context_.get_executor()), thread_(thread_without_signals([this] { context_.run(); })) {}

io_loop::~io_loop() {
  finish([] {});
}

bool io_loop::post(std::function<void()> task) {
  std::lock_guard lock(gate_);
  if (open_)
    boost::asio::post(context_, std::move(task));
  return open_;
}

void io_loop::finish(std::function<void()> last) {
  assert(std::this_thread::get_id() != thread_.get_id());
  std::call_once(finished_, [&] {
    {
      std::lock_guard lock(gate_);
      open_ = false;
      boost::asio::post(context_, std::move(last));
    }
    work_.reset();
    thread_.join();
  });
}

} // namespace rind::net
