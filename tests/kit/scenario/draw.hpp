// Draws a scenario from a seed: a workload of several sessions, what model and tools answer, and
// faults. Pure: the same numbers give the same scenario.
#pragma once

#include "tests/kit/scenario/scenario.hpp"

namespace rind::kit {

enum class fault_level : std::uint8_t { none, some, many };
const char* to_string(fault_level level);

struct draw_options {
  std::uint64_t seed = 1;
  std::size_t sessions = 4;
  std::size_t steps = 45;
  std::size_t nodes = 1;
  fault_level faults = fault_level::many;
};

scenario draw(const draw_options& options);

} // namespace rind::kit
