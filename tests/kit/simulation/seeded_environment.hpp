// Ids, chance and time of a simulated node: ids count on over restarts, chance comes from a seed,
// the clock is the world's.
#pragma once

#include <functional>
#include <random>

#include "runtime/host/environment.hpp"

namespace rind::kit {

class seeded_environment final : public host::environment {
public:
  seeded_environment(std::uint64_t seed, std::function<std::int64_t()> clock)
      : chance_(seed), clock_(std::move(clock)) {}

  std::int64_t now_ms() override { return clock_(); }
  double chance() override { return std::uniform_real_distribution<double>{0.0, 1.0}(chance_); }
  std::string new_id(const char* prefix) override {
    return std::string{prefix} + "-" + std::to_string(++last_id_);
  }

private:
  std::mt19937_64 chance_;
  std::function<std::int64_t()> clock_;
  std::int64_t last_id_ = 0;
};

} // namespace rind::kit
