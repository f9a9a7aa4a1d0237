// The thread that waits for all programs at once.
#include "runtime/tools/process_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/tools/child_process.hpp"

extern char** environ;

namespace rind::tools {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t poll_ms_max = 60'000; // then the clock is looked at again
constexpr std::size_t descriptors_of_run = 3;

std::int64_t now_ms() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count();
}

/// One run from its acceptance to its end. Times are on the steady clock.
struct run {
  process_request request;
  process_handler on_end;
  std::int64_t deadline_at_ms = never;
  std::unique_ptr<child_process> child;   // null while it waits for a place
  std::optional<process_fate> ended_by;   // why the pool ends it; empty while it may go on
  std::int64_t kill_at_ms = never;        // SIGKILL
  std::int64_t give_up_at_ms = never;     // unkillable
  std::int64_t leftover_until_ms = never; // the program has ended, others may still write
};

std::int64_t next_time(const run& r) {
  const auto deadline = r.ended_by || r.leftover_until_ms != never ? never : r.deadline_at_ms;
  return std::min({deadline, r.kill_at_ms, r.give_up_at_ms, r.leftover_until_ms});
}

process_end end_of(const run& r) {
  process_end end;
  if (r.child) {
    end.output = r.child->output();
    end.error_output = r.child->error_output();
    end.fate = r.child->exit().by_signal ? process_fate::signalled : process_fate::exited;
    end.code = r.child->exit().code;
    end.reason = r.child->start_error();
    if (!end.reason.empty())
      end.fate = process_fate::not_started;
  }
  if (r.ended_by)
    end.fate = *r.ended_by;
  return end;
}

process_end refused(std::string why) {
  process_end end;
  end.reason = std::move(why);
  return end;
}

} // namespace

class process_pool::loop {
public:
  explicit loop(process_pool_options options)
      : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_.is_open()) {
      broken_ = std::system_category().message(errno);
      return;
    }
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
      broken_ = error.what();
    }
  }

  void start(process_request request, process_handler on_end) {
    auto why_not = accept(request, on_end);
    if (why_not.empty())
      wake();
    else
      on_end(refused(std::move(why_not)));
  }

  void cancel(const std::string& id) {
    {
      const std::lock_guard lock(mutex_);
      if (ids_.count(id) == 0)
        return;
      cancels_.insert(id);
    }
    wake();
  }

  void stop() {
    const std::lock_guard joining(join_mutex_);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    if (!thread_.joinable())
      return;
    wake();
    thread_.join();
  }

  std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return ids_.size();
  }

private:
  // -- any thread ---------------------------------------------------------------------------------

  /// Takes the run in, or says why not and leaves the handler.
  std::string accept(process_request& request, process_handler& on_end) {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty())
      return "no programs can be run: " + broken_;
    if (stopping_)
      return "the host is stopping";
    if (ids_.size() >= options_.running_max + options_.waiting_max)
      return "too many programs wait for their turn, " + std::to_string(ids_.size());
    if (!ids_.insert(request.id).second)
      return "a run of the id " + request.id + " has not ended yet";
    run accepted;
    accepted.deadline_at_ms = now_ms() + request.deadline_ms;
    accepted.request = std::move(request);
    accepted.on_end = std::move(on_end);
    starts_.push_back(std::move(accepted));
    return "";
  }

  void wake() {
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then the thread is awake anyway.
    [[maybe_unused]] const auto wrote = ::write(wake_.get(), &one, sizeof one);
  }

  // -- the pool's thread --------------------------------------------------------------------------

  void work() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all,
                      nullptr); // signals are the host's
    for (;;) {
      const bool stopping = take_inbox();
      look_at_clock();
      start_waiting();
      end_finished();
      if (stopping && waiting_.empty() && running_.empty())
        return; // nothing came in since, for a pool that stops takes nothing
      wait();
    }
  }

  /// Takes what other threads left. True when the pool stops.
  bool take_inbox() {
    std::vector<run> starts;
    std::set<std::string> cancels;
    bool stopping = false;
    {
      const std::lock_guard lock(mutex_);
      starts.swap(starts_);
      cancels.swap(cancels_);
      stopping = stopping_;
    }
    std::move(starts.begin(), starts.end(), std::back_inserter(waiting_));
    const auto judge = [&](run& r) {
      if (stopping || cancels.count(r.request.id) != 0)
        end_early(r, process_fate::cancelled);
    };
    std::for_each(waiting_.begin(), waiting_.end(), judge);
    std::for_each(running_.begin(), running_.end(), judge);
    return stopping;
  }

  /// Begins the end of a run that has not ended by itself.
  void end_early(run& r, process_fate fate) {
    if (r.ended_by || r.leftover_until_ms != never)
      return;
    r.ended_by = fate;
    if (!r.child)
      return;
    r.child->signal_group(SIGTERM);
    r.kill_at_ms = now_ms() + options_.grace_ms;
  }

  void look_at_clock() {
    const auto now = now_ms();
    for (auto& r : waiting_)
      if (now >= r.deadline_at_ms)
        end_early(r, process_fate::timed_out);
    for (auto& r : running_) {
      if (now >= r.deadline_at_ms)
        end_early(r, process_fate::timed_out);
      if (now >= r.kill_at_ms) {
        r.child->signal_group(SIGKILL);
        r.kill_at_ms = never;
        r.give_up_at_ms = now + unkillable_wait_ms;
      }
    }
  }

  /// Ends the waiting runs that may not start, and fills the free places, first come first served.
  void start_waiting() {
    const auto first = std::stable_partition(waiting_.begin(), waiting_.end(),
                                             [](const run& r) { return !r.ended_by; });
    std::vector<run> ended(std::make_move_iterator(first), std::make_move_iterator(waiting_.end()));
    waiting_.erase(first, waiting_.end());
    for (auto& r : ended)
      tell(r);
    while (!waiting_.empty() && running_.size() < options_.running_max) {
      running_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      running_.back().child =
          std::make_unique<child_process>(running_.back().request, options_.environment);
    }
  }

  static bool is_finished(const run& r, std::int64_t now) {
    if (!r.child->start_error().empty() || now >= r.give_up_at_ms)
      return true;
    return r.child->has_exited() && (r.child->output_is_closed() || now >= r.leftover_until_ms);
  }

  void end_finished() {
    const auto now = now_ms();
    const auto first = std::stable_partition(running_.begin(), running_.end(),
                                             [&](const run& r) { return !is_finished(r, now); });
    std::vector<run> ended(std::make_move_iterator(first), std::make_move_iterator(running_.end()));
    running_.erase(first, running_.end());
    for (auto& r : ended) {
      r.child->reap();
      tell(r);
    }
  }

  void tell(run& r) {
    {
      const std::lock_guard lock(mutex_);
      ids_.erase(r.request.id);
      cancels_.erase(r.request.id);
    }
    r.on_end(end_of(r));
  }

  void wait() {
    std::vector<pollfd> fds;
    fds.reserve(1 + running_.size() * descriptors_of_run);
    fds.push_back({wake_.get(), POLLIN, 0});
    auto until = waiting_for_place_until();
    for (const auto& r : running_) {
      fds.push_back({r.child->exit_fd(), POLLIN, 0});
      fds.push_back({r.child->output_fd(), POLLIN, 0});
      fds.push_back({r.child->error_fd(), POLLIN, 0});
      until = std::min(until, next_time(r));
    }
    const auto timeout =
        std::clamp<std::int64_t>(until == never ? poll_ms_max : until - now_ms(), 0, poll_ms_max);
    const bool places = running_.size() < options_.running_max && !waiting_.empty();
    if (::poll(fds.data(), fds.size(), places ? 0 : static_cast<int>(timeout)) <= 0)
      return;
    if (fds[0].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
    }
    for (std::size_t i = 0; i < running_.size(); ++i)
      serve(running_[i], &fds[1 + i * descriptors_of_run]);
  }

  std::int64_t waiting_for_place_until() const {
    auto until = never;
    for (const auto& r : waiting_)
      until = std::min(until, r.deadline_at_ms);
    return until;
  }

  /// Moves what can be moved. Output first, so that what was written before the exit is there when
  /// the exit is seen.
  void serve(run& r, const pollfd* fds) {
    auto& child = *r.child;
    if (fds[1].revents != 0)
      child.read_output();
    if (fds[2].revents != 0)
      child.read_error();
    if (fds[0].revents == 0)
      return;
    child.look_for_exit();
    if (!child.has_exited())
      return;
    r.kill_at_ms = never;
    r.give_up_at_ms = never;
    r.leftover_until_ms = now_ms() + options_.leftover_ms;
    if (r.ended_by)
      child.signal_group(SIGKILL); // whoever of the group did not heed SIGTERM
  }

  const process_pool_options options_;
  descriptor wake_;
  std::string broken_; // set by the constructor only

  mutable std::mutex mutex_; // guards the next four
  std::vector<run> starts_;
  std::set<std::string> cancels_;
  std::set<std::string> ids_; // accepted and not ended
  bool stopping_ = false;

  std::deque<run> waiting_; // the thread's own, as is the rest
  std::vector<run> running_;

  std::mutex join_mutex_;
  std::thread thread_;
};

process_pool::process_pool(process_pool_options options)
    : loop_(std::make_unique<loop>(std::move(options))) {}

process_pool::~process_pool() {
  stop();
}

void process_pool::start(process_request request, process_handler on_end) {
  loop_->start(std::move(request), std::move(on_end));
}

void process_pool::cancel(const std::string& id) {
  loop_->cancel(id);
}

void process_pool::stop() {
  loop_->stop();
}

std::size_t process_pool::in_flight() const {
  return loop_->in_flight();
}

std::vector<std::string> environment_without(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string entry = *at;
    const auto name = entry.substr(0, entry.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end())
      out.push_back(entry);
  }
  return out;
}

} // namespace rind::tools
