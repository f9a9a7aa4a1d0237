// Which provider serves a model, and with which limits. Filled once from the settings when a host
// is wired, then only read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context/budget.hpp"
#include "runtime/provider/port.hpp"

namespace rind::provider {

/// A model and who serves it. `provider` is owned elsewhere and outlives the set.
struct served_model {
  std::string name;
  std::string provider_name;
  model_provider* provider = nullptr;
  context::model_limits limits;
};

/// Immutable once the host runs; then any thread may read it.
class provider_set {
public:
  /// The first provider that offers a model serves it; false for a name that is taken.
  bool add(served_model model);

  /// Null: no provider serves it.
  const served_model* find(const std::string& model) const;

  /// Names in order.
  std::vector<std::string> models() const;

private:
  std::map<std::string, served_model> models_;
};

/// Sends each request to the provider of its model, and a cancel to all. An unknown model ends as
/// not_found without being sent.
class fan_out_provider final : public model_provider {
public:
  explicit fan_out_provider(std::shared_ptr<const provider_set> providers);

  void start(sampling_request request, sampling_sink sink) override;
  void cancel(const std::string& request_id) override;

private:
  std::shared_ptr<const provider_set> providers_;
  std::vector<model_provider*> distinct_;
};

} // namespace rind::provider
