// Makes a scenario that breaks an invariant smaller while it still breaks that one: fewer sessions,
// steps, answers and waits.
#pragma once

#include <functional>

#include "tests/kit/scenario/player.hpp"

namespace rind::kit {

/// Runs that making one scenario smaller may take.
inline constexpr std::size_t minimize_runs_max = 3'000;

/// `fails` plays a scenario and says whether it still fails as the first one did. The answer fails
/// too, unless the first one did not.
scenario minimize(scenario s, const std::function<bool(const scenario&)>& fails);

} // namespace rind::kit
