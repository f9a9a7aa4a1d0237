// Models and their providers.
#include "runtime/provider/provider_set.hpp"

#include <algorithm>

namespace rind::provider {

bool provider_set::add(served_model model) {
  auto name = model.name;
  return models_.emplace(std::move(name), std::move(model)).second;
}

const served_model* provider_set::find(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? nullptr : &found->second;
}

std::vector<std::string> provider_set::models() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_)
    names.push_back(name);
  return names;
}

fan_out_provider::fan_out_provider(std::shared_ptr<const provider_set> providers)
    : providers_(std::move(providers)) {
  for (const auto& name : providers_->models()) {
    auto* provider = providers_->find(name)->provider;
    if (std::find(distinct_.begin(), distinct_.end(), provider) == distinct_.end())
      distinct_.push_back(provider);
  }
}

void fan_out_provider::start(sampling_request request, sampling_sink sink) {
  if (const auto* served = providers_->find(request.model)) {
    served->provider->start(std::move(request), std::move(sink));
    return;
  }
  provider_error error;
  error.error_class = provider_error_class::not_found;
  error.code = "unknown_model";
  error.message = "no provider serves the model " + request.model;
  error.sent = false;
  sink.on_end(std::move(error));
}

void fan_out_provider::cancel(const std::string& request_id) {
  for (auto* provider : distinct_) // ids are unique in the process: at most one of them knows it
    provider->cancel(request_id);
}

} // namespace rind::provider
