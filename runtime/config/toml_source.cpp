// Reads the settings file: TOML into the fields, each value with its line. The only place that
// knows the TOML library.
#include <algorithm>
#include <array>
#include <sstream>

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "runtime/config/reading.hpp"

namespace rind::config {

namespace {

constexpr std::array<std::string_view, 6> secret_keys{"api_key", "apikey", "key",
                                                      "token",   "secret", "password"};

/// One pass over one file.
class toml_reader {
public:
  toml_reader(const std::string& path, reading& out) : path_(path), out_(out) {}

  void read(const toml::table& root) {
    const auto sections = sections_of(out_.values);
    std::vector<std::string> tables{std::string(providers_table), std::string(tools_table)};
    for (const auto& s : sections)
      if (!s.name.empty())
        tables.emplace_back(s.name);
    for (const auto& s : sections) {
      if (s.name.empty())
        read_members(root, "", s.members, tables);
      else
        read_table(root, "", s);
    }
    read_array(root, "", providers_table, providers_max,
               [&](const toml::table& t, const std::string& key) {
                 provider_settings provider;
                 read_provider(t, key, provider);
                 out_.values.providers.push_back(std::move(provider));
               });
    read_array(root, "", tools_table, tools_max, [&](const toml::table& t, const std::string& key) {
      command_tool_settings tool;
      read_members(t, key, fields_of(tool), {});
      out_.values.tools.push_back(std::move(tool));
    });
  }

private:
  /// Reads the table that `parent` has under the section's name, if it has it.
  void read_table(const toml::table& parent, const std::string& parent_key, const section& s) {
    const auto* node = parent.get(s.name);
    if (node == nullptr)
      return;
    const auto key = full_key(parent_key, s.name);
    if (const auto* table = node->as_table())
      read_members(*table, key, s.members, {});
    else
      refuse(*node, key, "must be a table: " + shape_of(parent_key, s));
  }

  /// How the file writes a table: `[fallback]`, and inside of another `price = { input = ... }`.
  static std::string shape_of(const std::string& parent_key, const section& s) {
    const auto name = std::string(s.name);
    if (parent_key.empty())
      return "[" + name + "]";
    return name + " = { " + std::string(s.members.front().key) + " = ... }";
  }

  void read_provider(const toml::table& table, const std::string& key,
                     provider_settings& provider) {
    read_members(table, key, fields_of(provider), {std::string(models_table)});
    read_array(table, key, models_table, models_max,
               [&](const toml::table& t, const std::string& model_key) {
                 model_settings model;
                 read_members(t, model_key, fields_of(model), {std::string(price_table)});
                 read_table(t, model_key, {price_table, fields_of(model.price)});
                 provider.models.push_back(std::move(model));
               });
  }

  /// Calls `one` with each table of an array of tables and its key.
  template <class F>
  void read_array(const toml::table& parent, const std::string& parent_key, std::string_view name,
                  std::size_t count_max, F one) {
    const auto* node = parent.get(name);
    if (node == nullptr)
      return;
    const auto key = full_key(parent_key, name);
    const auto* array = node->as_array();
    if (array == nullptr ||
        !std::all_of(array->begin(), array->end(), [](const auto& e) { return e.is_table(); }))
      return refuse(*node, key, "must be a list of tables: [[" + std::string(name) + "]]");
    if (array->size() > count_max)
      return refuse(*node, key, "has more than " + std::to_string(count_max) + " entries");
    for (std::size_t i = 0; i < array->size(); ++i)
      one(*array->get(i)->as_table(), element(key, i));
  }

  /// Reads what `table` says about `members`; `tables` are the keys in it that others read.
  void read_members(const toml::table& table, const std::string& table_key, const fields& members,
                    const std::vector<std::string>& tables) {
    for (const auto& [name, node] : table) {
      const auto key = std::string(name.str());
      const auto member = std::find_if(members.begin(), members.end(),
                                       [&](const field& f) { return f.key == key; });
      if (member != members.end())
        out_.note(full_key(table_key, key), origin(node), assign_node(*member, node));
      else if (std::find(tables.begin(), tables.end(), key) == tables.end())
        refuse(node, full_key(table_key, key), unknown(key, members, tables));
    }
  }

  static std::string unknown(const std::string& key, const fields& members,
                             const std::vector<std::string>& tables) {
    auto known = tables;
    for (const auto& f : members)
      known.emplace_back(f.key);
    const auto takes = [&](std::string_view name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    if (std::find(secret_keys.begin(), secret_keys.end(), key) != secret_keys.end()) {
      const std::string_view name = takes("token_env") ? "token" : "api_key";
      return "a secret is not read from this file, which is easily copied, shown and backed up; "
             "say where it is: `" +
             std::string(name) + "_env` names a variable of the environment, `" +
             std::string(name) + "_file` a file";
    }
    return "unknown key; the nearest known one is `" + nearest(key, known) + "`";
  }

  std::optional<std::string> assign_node(const field& f, const toml::node& node) {
    if (const auto* text = node.as_string())
      return assign(f, text->get());
    if (const auto* number = node.as_integer())
      return assign(f, number->get());
    if (const auto* fraction = node.as_floating_point())
      return assign(f, fraction->get());
    if (const auto* flag = node.as_boolean())
      return assign(f, flag->get());
    if (const auto* array = node.as_array())
      return assign_list(f, *array);
    if (const auto* table = node.as_table(); table != nullptr && f.json)
      return assign(f, as_json(*table));
    return "must be " + expected(f);
  }

  static std::optional<std::string> assign_list(const field& f, const toml::array& array) {
    const auto* target = std::get_if<std::vector<std::string>*>(&f.target);
    std::vector<std::string> texts;
    for (const auto& node : array)
      if (const auto* text = node.as_string();
          text != nullptr && text->get().find('\0') == std::string::npos)
        texts.push_back(text->get());
    if (target == nullptr || texts.size() != array.size())
      return "must be " + expected(f);
    **target = std::move(texts);
    return std::nullopt;
  }

  static std::string as_json(const toml::table& table) {
    std::ostringstream out;
    out << toml::json_formatter{table};
    const auto json = nlohmann::json::parse(out.str(), nullptr, false);
    return json.is_discarded() ? out.str() : json.dump();
  }

  std::string origin(const toml::node& node) const {
    return "file " + path_ + ":" + std::to_string(node.source().begin.line);
  }

  void refuse(const toml::node& node, const std::string& key, std::string text) {
    out_.refuse(key, origin(node), std::move(text));
  }

  const std::string& path_;
  reading& out_;
};

} // namespace

void read_toml(std::string_view text, const std::string& path, reading& out) {
  try {
    toml_reader(path, out).read(toml::parse(text, path));
  } catch (const toml::parse_error& error) {
    const auto line = std::to_string(error.source().begin.line);
    out.refuse("", "file " + path + ":" + line,
               "no valid TOML: " + std::string(error.description()));
  }
}

} // namespace rind::config
