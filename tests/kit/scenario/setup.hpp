// What a scenario says of the world, as the options of one.
#pragma once

#include "tests/kit/power_cut_vfs.hpp"
#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

/// The name that the disk of a simulated database has to have.
inline constexpr const char* simulated_disk = "simulated";

/// `disk`: where the journal is a database; it has to outlive the world. Null: it is in memory.
world_options world_options_of(const scenario_world& w, power_cut_vfs* disk);

/// How a session is made: what the world says of it, else as the settings say.
actors::open_session_command opening_of(const std::string& session, const scenario_world& w);

} // namespace rind::kit
