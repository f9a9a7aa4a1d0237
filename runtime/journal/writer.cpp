// The queue, the thread and the grouping of the journal writer.
#include "runtime/journal/writer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#ifdef RIND_CANARY_ANSWER_BEFORE_COMMIT
#include <map>
#endif

namespace rind::journal {

namespace {

failure store_threw(const std::exception& e) {
  return make_failure(error_code::persistence_failed,
                      std::string("the journal failed: ") + e.what());
}

/// Turns what a store throws into failures, so that a fault of the store ends neither the thread
/// nor the process (S43).
class guarded_store final : public store {
public:
  explicit guarded_store(std::unique_ptr<store> inner) : inner_(std::move(inner)) {}

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override {
    auto error =
        make_failure(error_code::persistence_failed, "the journal lost count of its answers");
    try {
      auto answers = inner_->append(group);
      if (answers.size() == group.size())
        return answers;
    } catch (const std::exception& e) {
      error = store_threw(e);
    }
    return std::vector<result<append_receipt>>(group.size(), error);
  }

  result<loaded_session> claim(const std::string& session_id) override {
    return guard<loaded_session>([&] { return inner_->claim(session_id); });
  }
  result<std::vector<entry_ptr>> read(const std::string& session_id, std::int64_t after_position,
                                      std::int64_t limit) override {
    return guard<std::vector<entry_ptr>>(
        [&] { return inner_->read(session_id, after_position, limit); });
  }
  result<std::optional<session_summary>> find(const std::string& session_id) override {
    return guard<std::optional<session_summary>>([&] { return inner_->find(session_id); });
  }
  result<session_page> list(std::int64_t limit, const std::string& after) override {
    return guard<session_page>([&] { return inner_->list(limit, after); });
  }
  result<std::optional<input_trace>> find_input(const std::string& session_id,
                                                const std::string& input_id) override {
    return guard<std::optional<input_trace>>(
        [&] { return inner_->find_input(session_id, input_id); });
  }
  result<done> remove(const std::string& session_id, std::uint64_t epoch) override {
    return guard<done>([&] { return inner_->remove(session_id, epoch); });
  }

private:
  template <class T, class Call>
  static result<T> guard(Call call) {
    try {
      return call();
    } catch (const std::exception& e) {
      return store_threw(e);
    }
  }

  std::unique_ptr<store> inner_;
};

struct append_job {
  append_request request;
  writer::append_callback done;
};

using job = std::variant<append_job, writer::read_job>;

#ifndef RIND_CANARY_ANSWER_BEFORE_COMMIT
/// The appends that the store could not do, but for those that a later one of their session has
/// passed: made now they would stand out of order.
std::vector<std::size_t> to_repeat(std::span<const append_request> group,
                                   const std::vector<result<append_receipt>>& answers) {
  std::vector<std::size_t> indices;
  std::set<std::string_view> passed; // sessions that a later append was written to
  for (std::size_t i = group.size(); i-- > 0;) {
    if (answers[i])
      passed.insert(group[i].session_id);
    else if (answers[i].error().code == error_code::persistence_failed &&
             passed.count(group[i].session_id) == 0)
      indices.push_back(i);
  }
  std::reverse(indices.begin(), indices.end());
  return indices;
}

std::vector<result<append_receipt>> append_with_repeats(store& backend,
                                                        std::span<const append_request> group) {
  auto answers = backend.append(group);
  for (int attempt = 1; attempt < append_attempts_max; ++attempt) {
    const auto indices = to_repeat(group, answers);
    if (indices.empty())
      break;
    std::vector<append_request> failed;
    failed.reserve(indices.size());
    for (const auto i : indices)
      failed.push_back(group[i]);
    auto again = backend.append(failed);
    for (std::size_t k = 0; k < indices.size(); ++k)
      answers[indices[k]] = std::move(again[k]);
  }
  return answers;
}
#else
/// The fault of this canary: receipts as they will be if all goes well, guessed before anything is
/// written.
std::vector<result<append_receipt>> foretell(store& backend,
                                             std::span<const append_request> group) {
  std::map<std::string, std::int64_t> last_positions;
  std::vector<result<append_receipt>> answers;
  for (const append_request& request : group) {
    auto& last = last_positions[request.session_id];
    if (auto found = backend.find(request.session_id); last == 0 && found && *found)
      last = (*found)->last_position;
    append_receipt receipt{request.create ? 1 : request.epoch, last + 1, {}};
    for (const entry& e : request.entries) {
      auto told = std::make_shared<entry>(e);
      told->position = ++last;
      receipt.entries.push_back(std::move(told));
    }
    answers.push_back(std::move(receipt));
  }
  return answers;
}
#endif

} // namespace

struct writer::state {
  guarded_store backend;
  const writer_mode mode;
  const std::function<void()> waiting;                       // may be empty
  const std::function<void(const commit_report&)> committed; // may be empty

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<job> queue; // at most queue_limit
  bool stopping = false;
  bool finished = false;  // the thread is on its way out
  bool abandoned = false; // and owns this
  std::condition_variable has_finished;
  writer_stats stats;

  std::thread thread; // last: it uses all of the above

  state(std::unique_ptr<store> inner, writer_mode m, std::function<void()> told,
        std::function<void(const commit_report&)> report)
      : backend(std::move(inner)), mode(m), waiting(std::move(told)), committed(std::move(report)) {
    if (mode == writer_mode::own_thread)
      thread = std::thread([this] {
        run();
        if (is_abandoned())
          delete this; // nobody else knows of it any more
      });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_one();
  }

  /// Waits that long for the thread's end. False: the thread goes on alone and owns this from now
  /// on; it must not be touched.
  bool finishes_within(std::int64_t ms) {
    std::unique_lock lock(mutex);
    if (has_finished.wait_for(lock, std::chrono::milliseconds(ms), [this] { return finished; }))
      return true;
    abandoned = true;
    thread.detach();
    return false;
  }

  bool is_abandoned() const {
    const std::lock_guard lock(mutex);
    return abandoned;
  }

  /// Keeps the job unless the queue is full or the writer is on its way out; then the job is left
  /// untouched.
  bool enqueue(job& j) {
    {
      const std::lock_guard lock(mutex);
      if (stopping || queue.size() >= queue_limit)
        return false;
      queue.push_back(std::move(j));
    }
    wake.notify_one();
    if (waiting)
      waiting();
    return true;
  }

  void commit(std::span<const append_request> group, std::span<append_callback> callbacks) {
    const auto begin = std::chrono::steady_clock::now();
#ifdef RIND_CANARY_ANSWER_BEFORE_COMMIT
    auto answers = foretell(backend, group);
#else
    auto answers = append_with_repeats(backend, group);
#endif
    commit_report report;
    report.appends = static_cast<std::int64_t>(group.size());
    for (const append_request& request : group)
      report.entries += static_cast<std::int64_t>(request.entries.size());
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    {
      const std::lock_guard lock(mutex);
      ++stats.groups;
      stats.appends += group.size();
      stats.entries += static_cast<std::uint64_t>(report.entries);
    }
    if (committed)
      committed(report);
    for (std::size_t i = 0; i < answers.size(); ++i)
      callbacks[i](std::move(answers[i]));
#ifdef RIND_CANARY_ANSWER_BEFORE_COMMIT
    (void)backend.append(group);
#endif
  }

  /// Does what waits first. The lock is held, and let go of while it works; something waits.
  void do_next(std::unique_lock<std::mutex>& lock) {
    if (auto* first = std::get_if<read_job>(&queue.front())) {
      read_job work = std::move(*first);
      queue.pop_front();
      lock.unlock();
      work(backend);
      work = nullptr; // what the job holds is given back outside of the lock
    } else {
      std::vector<append_request> group;
      std::vector<append_callback> callbacks;
      while (!queue.empty() && group.size() < group_limit) {
        auto* next = std::get_if<append_job>(&queue.front());
        if (next == nullptr)
          break;
        group.push_back(std::move(next->request));
        callbacks.push_back(std::move(next->done));
        queue.pop_front();
      }
      lock.unlock();
      commit(group, callbacks);
    }
    lock.lock();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [this] { return stopping || !queue.empty(); });
      if (queue.empty()) {
        finished = true;
        has_finished.notify_all();
        return;
      }
      do_next(lock);
    }
  }
};

writer::writer(std::unique_ptr<store> backend, writer_mode mode, std::function<void()> waiting,
               std::function<void(const commit_report&)> committed)
    : state_(std::make_unique<state>(std::move(backend), mode, std::move(waiting),
                                     std::move(committed))) {}

writer::~writer() {
  if (!state_)
    return;
  if (state_->mode == writer_mode::when_told) {
    (void)finish(0);
    return;
  }
  state_->stop();
  if (state_->thread.joinable())
    state_->thread.join();
}

bool writer::run_next() {
  std::unique_lock lock(state_->mutex);
  if (state_->queue.empty())
    return false;
  state_->do_next(lock);
  return true;
}

bool writer::finish(std::int64_t within_ms) {
  if (!state_)
    return false;
  if (state_->mode == writer_mode::when_told) {
    state_->stop();
    while (run_next()) {
    }
    return true;
  }
  if (!state_->thread.joinable())
    return true;
  state_->stop();
  if (state_->finishes_within(within_ms)) {
    state_->thread.join();
    return true;
  }
  (void)state_.release();
  return false;
}

void writer::append(append_request request, append_callback done) {
  job waiting = append_job{std::move(request), std::move(done)};
  if (!state_->enqueue(waiting))
    std::get<append_job>(waiting).done(
        make_failure(error_code::persistence_failed, "the journal takes no more appends now"));
}

bool writer::post(read_job work) {
  job waiting = std::move(work);
  return state_->enqueue(waiting);
}

writer_stats writer::stats() const {
  const std::lock_guard lock(state_->mutex);
  auto stats = state_->stats;
  stats.waiting = state_->queue.size();
  return stats;
}

} // namespace rind::journal
