// The lookup of models.
#include "runtime/config/models.hpp"

#include <algorithm>

namespace rind::config {

namespace {

constexpr std::size_t listed_models_max = 20;

resolved_model resolve(const std::string& provider, bool embedded, const model_settings& model) {
  resolved_model out{provider, model.name, embedded, model.limits, 0, ""};
  out.window_tokens = model.limits.window_tokens.value_or(context::default_window_tokens);
  out.window_origin = model.limits.window_tokens ? "settings" : "default";
  return out;
}

failure unknown(const settings& values, const std::string& name) {
  const auto names = model_names(values);
  auto text = "unknown model `" + name + "`; known:";
  for (std::size_t i = 0; i < std::min(names.size(), listed_models_max); ++i)
    text += (i == 0 ? " " : ", ") + names[i];
  if (names.size() > listed_models_max)
    text += " and " + std::to_string(names.size() - listed_models_max) + " more";
  return make_failure(error_code::unknown_model, std::move(text));
}

} // namespace

result<resolved_model> find_model(const settings& values, const std::string& name) {
  const auto& wanted = name.empty() ? values.default_model : name;
  const auto search = [&](bool with_provider) -> std::optional<resolved_model> {
    for (const auto& provider : values.providers)
      for (const auto& model : provider.models)
        if (wanted == (with_provider ? provider.name + "/" + model.name : model.name))
          return resolve(provider.name, provider.base_url.empty(), model);
    return std::nullopt;
  };
  if (auto found = search(false))
    return *std::move(found);
  if (auto found = search(true))
    return *std::move(found);
  if (wanted != embedded_model)
    return unknown(values, wanted);
  model_settings embedded{std::string(embedded_model), {}};
  embedded.limits.window_tokens = values.embedded_window_tokens;
  return resolve(std::string(embedded_model), true, embedded);
}

std::vector<std::string> model_names(const settings& values) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (std::find(out.begin(), out.end(), name) == out.end())
      out.push_back(name);
  };
  for (const auto& provider : values.providers)
    for (const auto& model : provider.models)
      add(model.name);
  add(std::string(embedded_model));
  return out;
}

} // namespace rind::config
