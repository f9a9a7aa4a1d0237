// The provider that is given without a file, and the default model: what is worked out after the
// plain settings are read.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "runtime/config/models.hpp"
#include "runtime/config/reading.hpp"

namespace rind::config {

namespace {

struct given_value {
  std::string text;
  std::string origin;
};

/// The last word on a key among environment and flags.
std::optional<given_value> given(const sources& from, std::string_view key) {
  for (auto flag = from.flags.rbegin(); flag != from.flags.rend(); ++flag)
    if (flag->key == key)
      return given_value{flag->text, "flag " + flag->flag};
  const auto variable = from.variables.find(variable_of(key));
  if (variable == from.variables.end() || variable->second.empty())
    return std::nullopt;
  return given_value{variable->second, "env " + variable->first};
}

std::string provider_key(std::size_t index, std::string_view key) {
  return full_key(element(providers_table, index), key);
}

std::string model_key_of(std::size_t provider, std::size_t model, std::string_view key) {
  return full_key(element(provider_key(provider, models_table), model), key);
}

/// Makes room for a provider at the front: the keys of the others count one more.
void shift_provider_keys(reading& out) {
  const auto prefix = std::string(providers_table) + "[";
  std::map<std::string, std::string, std::less<>> shifted;
  for (auto& [key, origin] : out.origins) {
    if (key.rfind(prefix, 0) != 0) {
      shifted.emplace(key, std::move(origin));
      continue;
    }
    std::size_t index = 0;
    const auto read = std::from_chars(key.data() + prefix.size(), key.data() + key.size(), index);
    shifted.emplace(element(providers_table, index + 1) +
                        std::string(read.ptr + 1, key.data() + key.size()),
                    std::move(origin));
  }
  out.origins = std::move(shifted);
}

/// The index of the provider named `default`, which is put in front if there is none.
std::size_t default_provider_index(reading& out) {
  auto& providers = out.values.providers;
  for (std::size_t i = 0; i < providers.size(); ++i)
    if (providers[i].name == default_provider)
      return i;
  shift_provider_keys(out);
  providers.emplace(providers.begin());
  return 0;
}

void add_given_provider(const given_value& url, reading& out) {
  const auto index = default_provider_index(out);
  auto& provider = out.values.providers[index];
  provider.base_url = url.text;
  out.note(provider_key(index, "base_url"), url.origin, std::nullopt);
  if (!out.is_set(model_key)) {
    if (provider.models.empty())
      out.refuse(provider_key(index, models_table), url.origin,
                 "a provider was given without a model: set " + flag_of(model_key) + " or " +
                     variable_of(model_key));
    return;
  }
  const auto& name = out.values.default_model;
  const auto has = [&](const model_settings& m) { return m.name == name; };
  if (std::any_of(provider.models.begin(), provider.models.end(), has))
    return;
  out.note(model_key_of(index, provider.models.size(), "name"), out.origin_of(model_key),
           std::nullopt);
  provider.models.push_back({name, {}, {}});
}

/// The wire format that the environment or a flag states for the provider that is given without a
/// file.
void set_given_format(const given_value& format, bool has_url, reading& out) {
  if (!has_url)
    return out.refuse(std::string(format_key), format.origin,
                      "says what the provider of " + flag_of(base_url_key) + " or " +
                          variable_of(base_url_key) + " speaks, and there is none");
  const auto index = default_provider_index(out);
  const auto members = fields_of(out.values.providers[index]);
  const auto member = std::find_if(members.begin(), members.end(),
                                   [](const field& f) { return f.key == format_key; });
  out.note(provider_key(index, format_key), format.origin, assign_from_text(*member, format.text));
}

void choose_default_model(reading& out) {
  if (out.is_set(model_key))
    return;
  for (const auto& provider : out.values.providers) {
    if (!provider.models.empty()) {
      out.values.default_model = provider.models.front().name;
      return;
    }
  }
}

/// Gives the default model the window that the environment or a flag states.
void set_given_window(const given_value& window, reading& out) {
  auto& values = out.values;
  for (std::size_t p = 0; p < values.providers.size(); ++p) {
    auto& models = values.providers[p].models;
    for (std::size_t m = 0; m < models.size(); ++m) {
      const auto& name = models[m].name;
      if (name != values.default_model &&
          values.providers[p].name + "/" + name != values.default_model)
        continue;
      const auto members = fields_of(models[m]);
      const auto member = std::find_if(members.begin(), members.end(),
                                       [](const field& f) { return f.key == context_window_key; });
      return out.note(model_key_of(p, m, context_window_key), window.origin,
                      assign_from_text(*member, window.text));
    }
  }
  constexpr std::string_view embedded_key = "embedded_window_tokens";
  const auto members = fields_of(values);
  const auto member = std::find_if(members.begin(), members.end(),
                                   [&](const field& f) { return f.key == embedded_key; });
  if (values.default_model == embedded_model)
    out.note(std::string(embedded_key), window.origin, assign_from_text(*member, window.text));
}

} // namespace

bool given_without_file(const reading& from, std::size_t provider) {
  const auto origin = from.origin_of(provider_key(provider, "base_url"));
  return origin.rfind("env ", 0) == 0 || origin.rfind("flag ", 0) == 0;
}

void settle_models(const sources& from, reading& out) {
  for (auto& provider : out.values.providers)
    while (!provider.base_url.empty() && provider.base_url.back() == '/')
      provider.base_url.pop_back();
  auto url = given(from, base_url_key);
  if (url) {
    while (!url->text.empty() && url->text.back() == '/')
      url->text.pop_back();
    add_given_provider(*url, out);
  }
  if (const auto format = given(from, format_key))
    set_given_format(*format, url.has_value(), out);
  choose_default_model(out);
  if (const auto window = given(from, context_window_key))
    set_given_window(*window, out);
}

} // namespace rind::config
