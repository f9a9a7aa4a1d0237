// The scalar settings as data: each with its key, the place that holds it and the values it takes.
// Reading a file, the environment and flags, the check of ranges and the printed table all walk
// these lists, so that a setting is added in one place.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config/settings.hpp"

namespace rind::config {

/// The smallest window that a model may have: twice the margin below a window, less leaves no room
/// to work in.
inline constexpr std::int64_t window_min_tokens = 2'048;

using field_target = std::variant<std::string*, std::int64_t*, std::optional<std::int64_t>*,
                                  std::optional<double>*, bool*, std::vector<std::string>*>;

/// One setting of one struct. Points into that struct and lives no longer.
struct field {
  std::string_view key; // inside its table
  field_target target;
  std::int64_t min = 0; // of a number
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string_view> words; // the texts that are allowed; empty: any
  bool json = false;                   // a text that holds JSON; a file may give it as a table
};

using fields = std::vector<field>;

fields fields_of(settings& values); // the keys that stand in no table
fields fields_of(provider_settings& values);
fields fields_of(model_settings& values);
fields fields_of(price_settings& values);
fields fields_of(fallback_settings& values);
fields fields_of(compaction_settings& values);
fields fields_of(session_settings& values);
fields fields_of(server_settings& values);
fields fields_of(command_tool_settings& values);

/// A table of settings that exists once. An empty name: the keys that stand in no table.
struct section {
  std::string_view name;
  fields members;
};
std::vector<section> sections_of(settings& values);

/// The arrays of tables and the tables of the file, beside the keys that stand in none.
inline constexpr std::string_view providers_table = "providers";
inline constexpr std::string_view models_table = "models";
inline constexpr std::string_view price_table = "price"; // of one model
inline constexpr std::string_view tools_table = "tools";

/// "compaction" and "deadline_ms" as "compaction.deadline_ms"; an empty table adds nothing.
std::string full_key(std::string_view table, std::string_view key);
/// "tools" and 2 as "tools[2]".
std::string element(std::string_view table, std::size_t index);

/// Each puts a value where the field points, or says why it is not taken and leaves the old one.
std::optional<std::string> assign(const field& f, std::string text);
std::optional<std::string> assign(const field& f, std::int64_t number);
std::optional<std::string> assign(const field& f, double number);
std::optional<std::string> assign(const field& f, bool flag);
/// A value as it stands in the environment or in a flag.
std::optional<std::string> assign_from_text(const field& f, const std::string& text);

/// What a value of the field must be, for people: "a whole number from 1 to 100".
std::string expected(const field& f);

/// The value as JSON text; `null` where a number is absent.
std::string value_of(const field& f);

/// The one of `known` that differs least from `key`; empty where nothing is known.
std::string nearest(std::string_view key, const std::vector<std::string>& known);

} // namespace rind::config
