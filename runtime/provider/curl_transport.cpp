// The transport's thread: takes commands from a guarded queue, drives curl, and looks at the
// clocks of its transfers. Only the queue and the set of live ids are shared between threads.
#include "runtime/provider/curl_transport.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/provider/curl_transfer.hpp"

namespace rind::provider {

namespace {

/// The longest sleep of the thread; commands and bytes wake it earlier.
constexpr std::chrono::milliseconds poll_max{10'000};

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

/// Blocks all signals while it lives, so that a thread started meanwhile takes none.
class signal_shield {
public:
  signal_shield() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signal_shield(const signal_shield&) = delete;
  signal_shield& operator=(const signal_shield&) = delete;
  ~signal_shield() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

struct start_command {
  http_request request;
  std::shared_ptr<http_handler> handler;
};

struct command_batch {
  std::vector<start_command> starts;
  std::vector<http_request_id> cancels;
  bool stopping = false;
};

} // namespace

class curl_transport::loop {
public:
  explicit loop(const curl_transport_options& options);
  ~loop();

  void start(http_request request, std::shared_ptr<http_handler> handler);
  void cancel(http_request_id id);
  void stop();
  std::size_t in_flight() const;

private:
  struct running {
    std::unique_ptr<curl_transfer> transfer;
    transfer_time look_at;
  };

  using running_map = std::unordered_map<http_request_id, running>;

  // -- on the callers' threads --
  std::optional<http_result> admit(http_request& request, std::shared_ptr<http_handler>& handler);

  // -- on the transport's thread --
  void run();
  command_batch take_commands();
  void begin(start_command command);
  void drive();
  void reap();
  void look_at_clocks();
  void wait();
  void end(running_map::iterator where, const http_result& result);
  void end_all(const http_result& result);
  void retire(http_request_id id);

  const std::size_t in_flight_max_;
  CURLM* multi_;

  mutable std::mutex mutex_; // guards the next two groups
  std::unordered_set<http_request_id> live_;
  std::unordered_set<http_request_id> cancelled_; // a subset of `live_`, not yet taken

  std::vector<start_command> starts_;
  bool stopping_ = false;

  // Of the transport's thread alone.
  running_map transfers_;
  std::set<std::pair<transfer_time, http_request_id>> looks_;

  std::thread thread_;
};

curl_transport::loop::loop(const curl_transport_options& options)
    : in_flight_max_(options.in_flight_max) {
  init_curl_once();
  multi_ = curl_multi_init();
  if (multi_ == nullptr)
    throw std::runtime_error{"curl_multi_init failed"};
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options.kept_connections_max));
  const signal_shield shield;
  thread_ = std::thread{[this] { run(); }};
}

curl_transport::loop::~loop() {
  stop();
  curl_multi_cleanup(multi_);
}

void curl_transport::loop::start(http_request request, std::shared_ptr<http_handler> handler) {
  assert(handler);
  if (const auto refused = admit(request, handler))
    handler->on_end(*refused);
}

/// Takes both arguments over unless it refuses.
std::optional<http_result> curl_transport::loop::admit(http_request& request,
                                                       std::shared_ptr<http_handler>& handler) {
  const std::lock_guard lock{mutex_};
  if (stopping_)
    return http_result{http_error::cancelled, "the transport has stopped"};
  if (live_.size() >= in_flight_max_)
    return http_result{http_error::overloaded, "too many requests in flight"};
  if (!live_.insert(request.id).second)
    return http_result{http_error::invalid_request, "the id of the request is in use"};
  starts_.push_back({std::move(request), std::move(handler)});
  curl_multi_wakeup(multi_);
  return std::nullopt;
}

void curl_transport::loop::cancel(http_request_id id) {
  const std::lock_guard lock{mutex_};
  if (stopping_ || !live_.contains(id))
    return;
  cancelled_.insert(id);
  curl_multi_wakeup(multi_);
}

void curl_transport::loop::stop() {
  assert(std::this_thread::get_id() != thread_.get_id());
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(stopping_, true))
      return;
    curl_multi_wakeup(multi_);
  }
  thread_.join();
}

std::size_t curl_transport::loop::in_flight() const {
  const std::lock_guard lock{mutex_};
  return live_.size();
}

void curl_transport::loop::run() {
  for (;;) {
    auto commands = take_commands();
    for (auto& command : commands.starts)
      begin(std::move(command));
    for (const auto id : commands.cancels) {
      // It may have ended since, or failed to begin.
      const auto where = transfers_.find(id);
      if (where != transfers_.end())
        end(where, {http_error::cancelled, "cancelled"});
    }
    if (commands.stopping)
      break;
    drive();
    reap();
    look_at_clocks();
    wait();
  }
  end_all({http_error::cancelled, "the transport stops"});
}

command_batch curl_transport::loop::take_commands() {
  const std::lock_guard lock{mutex_};
  command_batch batch;
  batch.starts = std::exchange(starts_, {});
  batch.cancels.assign(cancelled_.begin(), cancelled_.end());
  cancelled_.clear();
  batch.stopping = stopping_;
  return batch;
}

void curl_transport::loop::begin(start_command command) {
  const auto now = std::chrono::steady_clock::now();
  const auto id = command.request.id;
  auto transfer =
      std::make_unique<curl_transfer>(std::move(command.request), std::move(command.handler), now);
  auto refused = transfer->prepare();
  if (!refused) {
    const auto code = curl_multi_add_handle(multi_, transfer->handle());
    if (code != CURLM_OK)
      refused = http_result{http_error::internal, curl_multi_strerror(code)};
  }
  if (refused) {
    retire(id);
    transfer->end(*refused);
    return;
  }
  const auto look_at = transfer->next_look(now);
  looks_.emplace(look_at, id);
  transfers_.emplace(id, running{std::move(transfer), look_at});
}

void curl_transport::loop::drive() {
  int still_running = 0;
  const auto code = curl_multi_perform(multi_, &still_running);
  if (code != CURLM_OK)
    end_all({http_error::internal, curl_multi_strerror(code)});
}

void curl_transport::loop::reap() {
  int left = 0;
  while (const auto* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE)
      continue;
    const auto code = message->data.result;
    curl_transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    end(transfers_.find(transfer->id()), transfer->result_of(code));
  }
}

void curl_transport::loop::look_at_clocks() {
  const auto now = std::chrono::steady_clock::now();
  while (!looks_.empty() && looks_.begin()->first <= now) {
    const auto id = looks_.begin()->second;
    const auto where = transfers_.find(id);
    auto& [transfer, look_at] = where->second;
    if (const auto expired = transfer->expired(now)) {
      end(where, *expired);
      continue;
    }
    looks_.erase(looks_.begin());
    look_at = transfer->next_look(now);
    looks_.emplace(look_at, id);
  }
}

void curl_transport::loop::wait() {
  using std::chrono::milliseconds;
  auto sleep = poll_max;
  if (!looks_.empty() && looks_.begin()->first != transfer_time::max()) {
    const auto left = looks_.begin()->first - std::chrono::steady_clock::now();
    sleep = std::clamp(std::chrono::ceil<milliseconds>(left), milliseconds{0}, poll_max);
  }
  const auto code = curl_multi_poll(multi_, nullptr, 0, static_cast<int>(sleep.count()), nullptr);
  if (code != CURLM_OK)
    end_all({http_error::internal, curl_multi_strerror(code)});
}

/// The connection of an unfinished transfer is closed before its handler hears of the end.
void curl_transport::loop::end(running_map::iterator where, const http_result& result) {
  const auto owned = std::move(where->second);
  looks_.erase({owned.look_at, where->first});
  transfers_.erase(where);
  curl_multi_remove_handle(multi_, owned.transfer->handle());
  retire(owned.transfer->id());
  owned.transfer->end(result);
}

void curl_transport::loop::end_all(const http_result& result) {
  while (!transfers_.empty())
    end(transfers_.begin(), result);
}

void curl_transport::loop::retire(http_request_id id) {
  const std::lock_guard lock{mutex_};
  live_.erase(id);
  cancelled_.erase(id);
}

curl_transport::curl_transport(curl_transport_options options)
    : loop_(std::make_unique<loop>(options)) {}

curl_transport::~curl_transport() = default;

void curl_transport::start(http_request request, std::shared_ptr<http_handler> handler) {
  loop_->start(std::move(request), std::move(handler));
}

void curl_transport::cancel(http_request_id id) {
  loop_->cancel(id);
}

void curl_transport::stop() {
  loop_->stop();
}

std::size_t curl_transport::in_flight() const {
  return loop_->in_flight();
}

} // namespace rind::provider
