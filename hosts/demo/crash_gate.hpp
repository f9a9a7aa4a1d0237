// Where the sessions meet before the host is killed: each comes to it in the middle of something.
#pragma once

#include <condition_variable>
#include <mutex>

#include "hosts/demo/run_state.hpp"

namespace rind::hosts::demo {

class crash_gate {
public:
  explicit crash_gate(int sessions) : missing_(sessions) {}

  /// Once a session, also by one that failed before.
  void arrive() {
    const std::lock_guard lock(mutex_);
    --missing_;
    changed_.notify_all();
  }
  /// Waits a slice; how many are missing still.
  int wait_a_while() const {
    std::unique_lock lock(mutex_);
    if (missing_ > 0)
      changed_.wait_for(lock, wait_slice);
    return missing_;
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int missing_;
};

} // namespace rind::hosts::demo
