// The lookup of models.
#include "runtime/config/models.hpp"

#include <algorithm>

namespace rind::config {

namespace {

constexpr std::size_t listed_models_max = 20;

std::optional<std::int64_t> first_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a ? a : b;
}

context::model_limits limits_of(const model_settings& model, const fallback_settings& fallback) {
  const auto& own = model.limits;
  const auto& other = fallback.limits;
  context::model_limits out;
  out.window_tokens = first_of(own.window_tokens, other.window_tokens);
  out.input_cap_tokens = first_of(own.input_cap_tokens, other.input_cap_tokens);
  out.max_output_tokens = first_of(own.max_output_tokens, other.max_output_tokens);
  out.auto_compact_limit_tokens =
      first_of(own.auto_compact_limit_tokens, other.auto_compact_limit_tokens);
  out.threshold_percent = first_of(own.threshold_percent, other.threshold_percent);
  return out;
}

const char* window_origin_of(const model_settings& model, const fallback_settings& fallback) {
  if (model.limits.window_tokens)
    return "settings";
  return fallback.limits.window_tokens ? "fallback" : "default";
}

std::optional<token_price> price_of(const price_settings& price) {
  if (!price.input || !price.output)
    return std::nullopt;
  return token_price{*price.input, price.cached_input.value_or(*price.input), *price.output};
}

resolved_model resolve(const provider_settings& provider, const model_settings& model,
                       const fallback_settings& fallback) {
  resolved_model out;
  out.provider = provider.name;
  out.name = model.name;
  out.embedded = provider.base_url.empty();
  out.limits = limits_of(model, fallback);
  out.window_tokens = out.limits.window_tokens.value_or(context::default_window_tokens);
  out.window_origin = window_origin_of(model, fallback);
  out.request_limit_bytes = first_of(model.request_limit_bytes, fallback.request_limit_bytes)
                                .value_or(provider.request_limit_bytes);
  out.price = price_of(model.price);
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
          return resolve(provider, model, values.fallback);
    return std::nullopt;
  };
  if (auto found = search(false))
    return *std::move(found);
  if (auto found = search(true))
    return *std::move(found);
  if (wanted != embedded_model)
    return unknown(values, wanted);
  provider_settings inside;
  inside.name = embedded_model;
  model_settings embedded;
  embedded.name = embedded_model;
  embedded.limits.window_tokens = values.embedded_window_tokens;
  return resolve(inside, embedded, values.fallback);
}

const std::string& format_of(const provider_settings& provider, const model_settings& model) {
  return model.format == providers_format ? provider.format : model.format;
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

std::vector<std::string> all_model_names(const settings& values) {
  auto out = model_names(values);
  for (const auto& provider : values.providers)
    for (const auto& model : provider.models)
      out.push_back(provider.name + "/" + model.name);
  return out;
}

} // namespace rind::config
