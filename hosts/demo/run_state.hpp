// What all threads of the demo look at while they wait: whether to give up, and why.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace rind::hosts::demo {

using steady = std::chrono::steady_clock;

/// How often a wait looks whether the run was given up.
inline constexpr std::chrono::milliseconds wait_slice{50};

class run_state {
public:
  /// `wait_limit_ms` bounds every single wait of the run.
  explicit run_state(std::int64_t wait_limit_ms) : wait_limit_(wait_limit_ms) {}

  /// The first reason stays.
  void give_up(std::string why) {
    const std::lock_guard lock(mutex_);
    if (!given_up_)
      reason_ = std::move(why);
    given_up_ = true;
  }
  bool is_given_up() const { return given_up_; }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  /// When a wait that begins now has to end.
  steady::time_point deadline() const { return steady::now() + wait_limit_; }

private:
  std::chrono::milliseconds wait_limit_;
  std::atomic<bool> given_up_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

} // namespace rind::hosts::demo
