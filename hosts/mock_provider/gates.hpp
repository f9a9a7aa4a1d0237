// Named gates that hold streams back until somebody opens them: how a test gets many streams to run
// at once without measuring time. A gate that was opened stays open.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace rind::hosts::mock_provider {

/// Gates that are known at once; further ones count as open.
inline constexpr std::size_t gates_max = 1'024;

/// All functions may be called from any thread.
class gates {
public:
  /// Calls `then` once the gate is open: at once on this thread, or later on the opener's.
  void when_open(const std::string& name, std::function<void()> then);

  void open(const std::string& name);

  /// Forgets who waits: nobody is called any more.
  void clear();

  /// How many have come to a gate that is closed, those included that have gone since.
  std::size_t waiting(const std::string& name) const;

  /// Blocks until that are at least `count`; false after `timeout_ms`.
  bool wait(const std::string& name, std::size_t count, std::int64_t timeout_ms) const;

private:
  struct gate {
    bool is_open = false;
    std::vector<std::function<void()>> waiting;
  };

  std::size_t count_at(const std::string& name) const; // with the mutex held

  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::map<std::string, gate> gates_;
};

} // namespace rind::hosts::mock_provider
