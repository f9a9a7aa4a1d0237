// Looks a model up in the settings: the one resolver of a model's name and of its configured
// limits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/result.hpp"
#include "runtime/config/settings.hpp"

namespace rind::config {

inline constexpr std::string_view embedded_model = "embedded"; // also the name of its provider

/// What a million tokens cost, each kind for itself.
struct token_price {
  double input = 0; // of what was not read from the provider's cache; what was written to it too
  double cached_input = 0;
  double output = 0;
  friend bool operator==(const token_price&, const token_price&) = default;
};

struct resolved_model {
  std::string provider;         // the provider's name
  std::string name;             // as the provider knows it
  bool embedded = false;        // runs in the process, no network
  context::model_limits limits; // its own, else the fallback's; for resolve_budget
  std::int64_t window_tokens = 0;
  std::string window_origin; // "settings", "fallback" or "default"
  std::int64_t request_limit_bytes = 0;
  std::optional<token_price> price;
};

/// The model `name`: a model's name (the first provider that has it), "provider/model", or empty
/// for the default model. "embedded" is always there, unless a provider has a model of that name.
/// Else a failure, unknown_model, that lists what there is.
result<resolved_model> find_model(const settings& values, const std::string& name);

/// The wire format of a model of this provider.
const std::string& format_of(const provider_settings& provider, const model_settings& model);

/// The names of the models, in the order of the settings, the embedded model last.
std::vector<std::string> model_names(const settings& values);

/// All names that find_model knows: those of model_names, then each with its provider's.
std::vector<std::string> all_model_names(const settings& values);

} // namespace rind::config
