// What makes no sense in a scenario although it can be read: numbers out of bounds, what has no
// effect, expectations that cannot fail. Each answers the fault in words, or nothing.
#pragma once

#include "tests/kit/scenario/scenario.hpp"

namespace rind::kit {

std::string fault_of(const scenario_world& world, const scenario_world&);
std::string fault_of(const model_line& line, const scenario_world& world);
std::string fault_of(const tool_line& line, const scenario_world& world);
std::string fault_of(const step_line& line, const scenario_world& world);
std::string fault_of(const expect_line& line, const scenario_world& world);

/// What no line can be blamed for alone.
std::string fault_between_lines(const scenario& s);

/// Types of the events that a client may hear (docs/protocol.md).
const std::vector<std::string_view>& event_types();

} // namespace rind::kit
