// An actor system on one thread in virtual time: CAF's test coordinator, a clock that moves only
// when it is told to, and timers of the script's own. Runs actors in order, or in an order drawn
// from a seed. Knows every actor that ever ran and to which node it belongs, so that a crash can
// end them and a test can count them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string_view>

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace caf::scheduler {
class test_coordinator;
}

namespace rind::kit {

struct virtual_time_options {
  std::uint64_t seed = 1;
  bool shuffled = false; // the next actor is drawn from the seed, else the order of arrival counts
  std::int64_t start_ms = 1'767'225'600'000; // wall clock at the beginning
};

/// Actors that die together: those of one node.
using actor_group = std::size_t;
inline constexpr actor_group outside_group = 0; // of whom a script spawns

/// Messages that one call of run() delivers at most; more means that the actors never come to rest.
inline constexpr std::size_t deliveries_max = 2'000'000;

class virtual_time {
public:
  explicit virtual_time(virtual_time_options options);
  ~virtual_time();
  virtual_time(const virtual_time&) = delete;
  virtual_time& operator=(const virtual_time&) = delete;

  caf::actor_system& system() { return *system_; }
  std::int64_t now_ms() const;

  /// Delivers messages until no actor has any left; no time passes. Throws std::runtime_error past
  /// deliveries_max.
  void run();
  /// Delivers at most that many messages; answers how many there were.
  std::size_t step(std::size_t deliveries);
  /// Runs, then lets time pass, timer by timer, running after each.
  void advance(std::int64_t ms);
  /// Lets time pass from timer to timer until `reached`, `limit_ms` at most; answers whether it
  /// was.
  bool advance_until(const std::function<bool()>& reached, std::int64_t limit_ms);
  /// Calls `then` once, `delay_ms` from now.
  void at(std::int64_t delay_ms, std::function<void()> then);
  /// Forgets what at() was asked for.
  void drop_timers();

  /// Called before each delivery with the name of the actor.
  void watch(std::function<void(std::string_view)> delivery) { watch_ = std::move(delivery); }

  /// What is spawned until the next call belongs to this group, and so does what its actors spawn.
  void enter_group(actor_group group);
  /// Ends every actor of the group that ever ran or is about to.
  void kill_group(actor_group group);
  /// Ends the actors of that name (abstract_actor::name), as a fault in each of them would.
  void kill_actors_named(std::string_view name);
  /// Actors that have not ended.
  std::size_t actors_alive() const;
  std::size_t delivered() const { return delivered_; }

private:
  struct known_actor {
    caf::weak_actor_ptr handle;
    actor_group group = outside_group;
  };
  std::int64_t next_timer_ms() const; // time of the earliest timer; far away where there is none
  void pass_until(std::int64_t ms);
  void know_waiting(std::size_t first_job, actor_group spawned_by);
  bool deliver_one();
  void kill(const std::function<bool(const known_actor&)>& whom);

  virtual_time_options options_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  std::mt19937_64 chance_;
  std::multimap<std::int64_t, std::function<void()>> timers_; // by time
  std::map<caf::actor_id, known_actor> known_;
  actor_group entered_ = outside_group;
  std::function<void(std::string_view)> watch_;
  std::size_t delivered_ = 0;
};

} // namespace rind::kit
