// What every actor of a node may lean on: the environment, the settings, the models and the handles
// of the actors that live as long as the node. Built once by the system (system.cpp), immutable
// afterwards, shared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "actors/actors.hpp"
#include "runtime/config/settings.hpp"
#include "runtime/host/environment.hpp"
#include "runtime/metrics/host_metrics.hpp"

namespace rind::actors {

/// A model and who serves it.
struct model_route {
  std::string wire_name; // what its provider calls it
  context::model_limits limits;
  std::string window_origin; // "settings", "fallback" or "default"
  provider_actor provider;
  std::int64_t request_limit_bytes = 0;
};

struct node {
  std::shared_ptr<host::environment> env;
  config::settings settings;
  std::map<std::string, model_route> models; // also by "provider/model"
  std::vector<std::string> listed_models;    // by their plain names, sorted
  tool_definitions tools;                    // null: none
  journal_actor journal;
  tool_runner_actor tool_runner;
  compaction_service_actor compaction;
  std::shared_ptr<metrics::host_metrics> metrics; // null: nobody counts

  /// The route of a model, or null.
  const model_route* find_model(const std::string& name) const {
    auto i = models.find(name);
    return i == models.end() ? nullptr : &i->second;
  }
};

using node_ptr = std::shared_ptr<const node>;

} // namespace rind::actors
