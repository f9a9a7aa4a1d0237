// The embedded model's answers at a pace that people can follow: piece by piece on a thread of its
// own, a pause before each. What is said is the model's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/provider/port.hpp"

namespace rind::provider {

class embedded_pace {
public:
  explicit embedded_pace(std::int64_t pause_ms);
  /// What still streams ends as cancelled.
  ~embedded_pace() = default;
  embedded_pace(const embedded_pace&) = delete;
  embedded_pace& operator=(const embedded_pace&) = delete;

  /// The pieces as deltas, then the outcome; the sink is called on the pace's thread. As many
  /// answers stream at once as the caller starts (the provider actor bounds the requests in
  /// flight).
  void start(std::string request_id, std::vector<std::string> pieces, sampling_sink sink,
             sampling_outcome outcome);
  /// Its sink hears sampling_cancelled next. Unknown ids are ignored; may be called by a sink.
  void cancel(const std::string& request_id);

private:
  using clock = std::chrono::steady_clock;
  struct answer {
    std::string request_id;
    std::vector<std::string> pieces; // these four are the thread's alone
    std::size_t next = 0;
    sampling_sink sink;
    sampling_outcome outcome;
    clock::time_point due; // these two are guarded
    bool cancelled = false;
  };

  void run(const std::stop_token& stop);
  /// One delta or the end, without the lock; true: that was the end.
  static bool go_on(answer& a, bool cancelled);

  const std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool has_changed_ = false;  // since the thread last looked
  std::list<answer> running_; // only the thread takes out
  std::jthread thread_;       // last: it ends first
};

} // namespace rind::provider
