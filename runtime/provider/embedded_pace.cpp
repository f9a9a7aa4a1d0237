// One loop: the answer that is due first goes on.
#include "runtime/provider/embedded_pace.hpp"

#include <algorithm>
#include <utility>

namespace rind::provider {

embedded_pace::embedded_pace(std::int64_t pause_ms)
    : pause_(pause_ms), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void embedded_pace::start(std::string request_id, std::vector<std::string> pieces,
                          sampling_sink sink, sampling_outcome outcome) {
  const std::lock_guard lock{mutex_};
  running_.push_back({std::move(request_id), std::move(pieces), 0, std::move(sink),
                      std::move(outcome), clock::now() + pause_, false});
  has_changed_ = true;
  changed_.notify_one();
}

void embedded_pace::cancel(const std::string& request_id) {
  const std::lock_guard lock{mutex_};
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const answer& a) { return a.request_id == request_id; });
  if (found == running_.end())
    return;
  found->cancelled = true;
  found->due = clock::time_point::min();
  has_changed_ = true;
  changed_.notify_one();
}

void embedded_pace::run(const std::stop_token& stop) {
  const auto news = [this] { return std::exchange(has_changed_, false); };
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    const auto first =
        std::min_element(running_.begin(), running_.end(),
                         [](const answer& a, const answer& b) { return a.due < b.due; });
    if (first == running_.end()) {
      changed_.wait(lock, stop, news);
      continue;
    }
    const auto due = first->due; // a copy: the wait reads it without the lock
    if (due > clock::now()) {
      changed_.wait_until(lock, stop, due, news);
      continue;
    }
    const bool cancelled = first->cancelled;
    lock.unlock();
    const bool ended = go_on(*first, cancelled);
    lock.lock();
    if (ended)
      running_.erase(first);
    else if (!first->cancelled)
      first->due = clock::now() + pause_;
  }
  auto left = std::exchange(running_, {});
  lock.unlock();
  for (auto& a : left)
    go_on(a, true);
}

bool embedded_pace::go_on(answer& a, bool cancelled) {
  if (!cancelled && a.next < a.pieces.size()) {
    a.sink.on_delta({std::move(a.pieces[a.next++]), {}});
    return false;
  }
  a.sink.on_end(cancelled ? sampling_outcome{sampling_cancelled{}} : std::move(a.outcome));
  return true;
}

} // namespace rind::provider
