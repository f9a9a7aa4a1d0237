// Spawns the actors of one node in the order of who needs whom: the only wiring, used by system.hpp
// with threads and by the simulated world without. Everything that is not deterministic is handed
// in.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <caf/fwd.hpp>

#include "actors/node.hpp"
#include "runtime/journal/writer.hpp"
#include "runtime/provider/port.hpp"

namespace rind::actors {

struct wiring_parts {
  std::shared_ptr<host::environment> env;
  std::shared_ptr<rind::journal::writer> writer;
  std::shared_ptr<const rind::tools::registry> tools;
  std::int64_t tool_deadline_ms = rind::tools::default_deadline_ms;
  /// Who serves a provider of the settings; null stands for the embedded model.
  std::function<std::shared_ptr<rind::provider::model_provider>(const config::provider_settings*)>
      make_provider;
  std::shared_ptr<metrics::host_metrics> metrics{}; // null: nobody counts
};

/// A node that runs. stop_actors ends what it holds; sessions and connections are the directory's
/// and their own.
struct wired_node {
  node_ptr node;
  directory_actor directory;
  std::vector<provider_actor> providers;
};

/// Fails where the settings name a model that no provider has.
result<wired_node> wire_node(caf::actor_system& system, config::settings settings,
                             const wiring_parts& parts);

/// Ends the node's own actors, helpers first and the journal last.
void stop_actors(wired_node& n);

} // namespace rind::actors
