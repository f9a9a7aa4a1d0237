// Time, chance and ids: what is not deterministic comes in through here. One object a node; a
// simulated one answers from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rind::host {

class environment {
public:
  virtual ~environment() = default;
  /// Wall clock, ms since the Unix epoch. May be called on any thread.
  virtual std::int64_t now_ms() = 0;
  /// In [0, 1). May be called on any thread.
  virtual double chance() = 0;
  /// A new id with this prefix ("turn", "evt", …), unique over restarts; only [A-Za-z0-9_-]. May be
  /// called on any thread.
  virtual std::string new_id(const char* prefix) = 0;
};

/// The real one: the system clock, a random device.
std::shared_ptr<environment> make_system_environment();

} // namespace rind::host
