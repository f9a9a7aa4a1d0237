// Journal, tools, providers, compaction service, directory.
#include "actors/wiring.hpp"

#include <algorithm>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include "actors/compaction_service.hpp"
#include "actors/directory.hpp"
#include "actors/journal.hpp"
#include "actors/provider.hpp"
#include "actors/tool_runner.hpp"
#include "runtime/config/models.hpp"

namespace rind::actors {

result<wired_node> wire_node(caf::actor_system& system, config::settings settings,
                             const wiring_parts& parts) {
  // One actor a provider; the models point at theirs.
  wired_node w;
  std::map<std::string, provider_actor> by_provider;
  const auto serve = [&](const std::string& name, const config::provider_settings* p) {
    const auto defaults = config::provider_settings{};
    const auto& s = p ? *p : defaults;
    auto handle = provider_actor{system.spawn<rind::actors::provider>(provider_parts{
        name, parts.make_provider(p), parts.env, static_cast<std::size_t>(s.requests_in_flight_max),
        s.total_timeout_ms, parts.metrics})};
    w.providers.push_back(handle);
    by_provider[name] = std::move(handle);
  };
  for (const auto& p : settings.providers)
    serve(p.name, &p);
  const std::string embedded{config::embedded_model};
  if (!by_provider.count(embedded))
    serve(embedded, nullptr);
  auto n = std::make_shared<rind::actors::node>();
  n->env = parts.env;
  n->metrics = parts.metrics;
  n->journal = system.spawn<rind::actors::journal>(parts.writer);
  n->tools = parts.tools->definitions();
  n->tool_runner = system.spawn<rind::actors::tool_runner>(parts.tools, parts.tool_deadline_ms);
  n->listed_models = config::model_names(settings);
  std::sort(n->listed_models.begin(), n->listed_models.end());
  for (const auto& name : config::all_model_names(settings)) {
    auto found = config::find_model(settings, name);
    if (!found)
      return found.error();
    n->models[name] = {found->name, found->limits, found->window_origin,
                       by_provider.at(found->provider), found->request_limit_bytes};
  }
  if (auto first = config::find_model(settings, settings.default_model); !first)
    return first.error();
  auto dependencies = std::make_shared<compaction_dependencies>();
  dependencies->env = n->env;
  dependencies->settings = settings.compaction;
  dependencies->models = n->models;
  dependencies->journal = n->journal;
  n->compaction = system.spawn<compaction_service>(std::move(dependencies));
  n->settings = std::move(settings);
  w.node = std::move(n);
  w.directory = system.spawn<rind::actors::directory>(w.node);
  return w;
}

void stop_actors(wired_node& n) {
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(n.directory);
  end(n.node->compaction);
  end(n.node->tool_runner);
  for (const auto& p : n.providers)
    end(p);
  end(n.node->journal);
  n = {};
}

} // namespace rind::actors
