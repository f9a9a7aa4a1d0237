// Closed until opened.
#include "hosts/mock_provider/gates.hpp"

#include <chrono>
#include <utility>

namespace rind::hosts::mock_provider {

void gates::when_open(const std::string& name, std::function<void()> then) {
  {
    const std::lock_guard lock{mutex_};
    const bool is_known = gates_.count(name) != 0;
    if ((is_known || gates_.size() < gates_max) && !gates_[name].is_open) {
      gates_[name].waiting.push_back(std::move(then));
      came_.notify_all();
      return;
    }
  }
  then();
}

void gates::open(const std::string& name) {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock{mutex_};
    if (gates_.count(name) == 0 && gates_.size() >= gates_max)
      return;
    gates_[name].is_open = true;
    waiting = std::exchange(gates_[name].waiting, {});
  }
  for (const auto& then : waiting)
    then();
}

void gates::clear() {
  std::map<std::string, gate> forgotten;
  const std::lock_guard lock{mutex_};
  forgotten.swap(gates_);
}

std::size_t gates::waiting(const std::string& name) const {
  const std::lock_guard lock{mutex_};
  return count_at(name);
}

bool gates::wait(const std::string& name, std::size_t count, std::int64_t timeout_ms) const {
  std::unique_lock lock{mutex_};
  return came_.wait_for(lock, std::chrono::milliseconds{timeout_ms},
                        [&] { return count_at(name) >= count; });
}

std::size_t gates::count_at(const std::string& name) const {
  const auto found = gates_.find(name);
  return found == gates_.end() ? 0 : found->second.waiting.size();
}

} // namespace rind::hosts::mock_provider
