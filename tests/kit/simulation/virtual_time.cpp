// Steps and timers.
#include "tests/kit/simulation/virtual_time.hpp"

#include <limits>
#include <stdexcept>

#include <caf/atom.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

namespace rind::kit {

namespace {

constexpr std::int64_t never_ms = std::numeric_limits<std::int64_t>::max();

std::int64_t ms_of(caf::detail::test_actor_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

} // namespace

virtual_time::virtual_time(virtual_time_options options)
    : options_(options), chance_(options.seed) {
  config_.set("scheduler.policy", caf::atom("testing"));
  config_.set("logger.verbosity", caf::atom("quiet"));
  system_ = std::make_unique<caf::actor_system>(config_);
  scheduler_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
  if (!scheduler_)
    throw std::runtime_error("the actor system has no test coordinator");
}

virtual_time::~virtual_time() {
  // An actor that is left over would keep the system's destructor waiting for ever.
  kill([](const known_actor&) { return true; });
  timers_.clear();
}

std::int64_t virtual_time::now_ms() const {
  return options_.start_ms + ms_of(scheduler_->clock().current_time);
}

// Whoever is new among those that wait was spawned since the last look.
void virtual_time::know_waiting(std::size_t first_job, actor_group spawned_by) {
  const auto& jobs = scheduler_->jobs;
  for (auto i = first_job; i < jobs.size(); ++i)
    if (auto* a = dynamic_cast<caf::scheduled_actor*>(jobs[i]))
      known_.try_emplace(a->id(), known_actor{caf::weak_actor_ptr{a->ctrl()}, spawned_by});
}

bool virtual_time::deliver_one() {
  auto& jobs = scheduler_->jobs;
  if (jobs.empty())
    return false;
  if (options_.shuffled && jobs.size() > 1)
    std::swap(jobs.front(), jobs[chance_() % jobs.size()]);
  auto group = entered_;
  if (auto* a = dynamic_cast<caf::scheduled_actor*>(jobs.front())) {
    group = known_.try_emplace(a->id(), known_actor{caf::weak_actor_ptr{a->ctrl()}, entered_})
                .first->second.group;
    if (watch_)
      watch_(a->name());
  }
  const auto others = jobs.size() - 1;
  scheduler_->run_once();
  ++delivered_;
  know_waiting(others, group);
  return true;
}

void virtual_time::enter_group(actor_group group) {
  know_waiting(0, entered_);
  entered_ = group;
}

std::size_t virtual_time::step(std::size_t deliveries) {
  std::size_t n = 0;
  while (n < deliveries && deliver_one())
    ++n;
  return n;
}

void virtual_time::run() {
  if (step(deliveries_max) == deliveries_max)
    throw std::runtime_error("the actors never come to rest");
}

std::int64_t virtual_time::next_timer_ms() const {
  auto next = timers_.empty() ? never_ms : timers_.begin()->first;
  const auto& scheduled = scheduler_->clock().schedule();
  if (!scheduled.empty())
    next = std::min(next, options_.start_ms + ms_of(scheduled.begin()->first));
  return next;
}

void virtual_time::pass_until(std::int64_t ms) {
  scheduler_->advance_time(std::chrono::milliseconds(std::max<std::int64_t>(ms - now_ms(), 0)));
  while (!timers_.empty() && timers_.begin()->first <= now_ms()) {
    auto then = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    then();
  }
  run();
}

void virtual_time::advance(std::int64_t ms) {
  const auto until = now_ms() + ms;
  run();
  while (next_timer_ms() <= until)
    pass_until(next_timer_ms());
  pass_until(until);
}

bool virtual_time::advance_until(const std::function<bool()>& reached, std::int64_t limit_ms) {
  const auto until = now_ms() + limit_ms;
  run();
  while (!reached()) {
    const auto next = next_timer_ms();
    if (next > until)
      return false;
    pass_until(next);
  }
  return true;
}

void virtual_time::at(std::int64_t delay_ms, std::function<void()> then) {
  timers_.emplace(now_ms() + delay_ms, std::move(then));
}

void virtual_time::drop_timers() {
  timers_.clear();
}

void virtual_time::kill(const std::function<bool(const known_actor&)>& whom) {
  know_waiting(0, entered_);
  for (const auto& [id, known] : known_)
    if (whom(known))
      if (auto strong = known.handle.lock())
        caf::anon_send_exit(caf::actor_cast<caf::actor>(strong), caf::exit_reason::kill);
  run();
  std::erase_if(known_, [](const auto& k) { return k.second.handle.lock() == nullptr; });
}

void virtual_time::kill_group(actor_group group) {
  kill([group](const known_actor& a) { return a.group == group; });
}

void virtual_time::kill_actors_named(std::string_view name) {
  kill([name](const known_actor& known) {
    auto strong = known.handle.lock();
    if (!strong)
      return false;
    auto* a = dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(strong));
    return a && a->name() == name;
  });
}

std::size_t virtual_time::actors_alive() const {
  return system_->registry().running();
}

} // namespace rind::kit
