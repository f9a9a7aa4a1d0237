// Settings from defaults, a TOML file, the environment and flags, each beating the one before it,
// with the origin of each value. The file format is described in docs/configuration.md. Which flags
// a program has is the program's own matter: they arrive here as keys and texts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/settings.hpp"

namespace rind::config {

inline constexpr std::size_t settings_file_bytes_max = 1u << 20;
inline constexpr std::size_t secret_file_bytes_max = 128u << 10;
inline constexpr std::size_t tokens_max = 1'000; // of a server
inline constexpr std::size_t providers_max = 64;
inline constexpr std::size_t models_max = 256; // of one provider
inline constexpr std::size_t tools_max = 128;
inline constexpr std::size_t problems_max = 100; // listed; further ones are left out

inline constexpr std::string_view default_provider = "default"; // the one that needs no file
inline constexpr std::string_view rind_key_variable = "RIND_API_KEY";
inline constexpr std::string_view openai_key_variable = "OPENAI_API_KEY";
inline constexpr std::string_view anthropic_key_variable = "ANTHROPIC_API_KEY";
inline constexpr std::string_view token_variable = "RIND_TOKEN";
inline constexpr std::string_view database_password_variable = "PGPASSWORD"; // libpq reads it
inline constexpr std::string_view file_variable = "RIND_CONFIG"; // names the settings file

/// Keys that only the environment and flags have: the provider that needs no file.
inline constexpr std::string_view base_url_key = "base_url";
inline constexpr std::string_view format_key = "format";
inline constexpr std::string_view context_window_key = "context_window";
inline constexpr std::string_view model_key = "default_model"; // RIND_MODEL, --model

using environment = std::map<std::string, std::string>;

/// The variables of this process. Reads them once; call it in `main`, before there are threads.
environment read_environment();

/// A setting given on the command line.
struct flag_value {
  std::string key; // "compaction.deadline_ms", or one of the keys above
  std::string text;
  std::string flag; // as the user wrote it, "--deadline"; names the origin
};

struct sources {
  std::string file; // path; empty: no file
  environment variables;
  std::vector<flag_value> flags;
};

/// Something wrong with a setting. `where` is "PATH:LINE", "env NAME", "flag --x" or empty.
struct problem {
  std::string where;
  std::string key;
  std::string text;
  friend bool operator==(const problem&, const problem&) = default;
};
std::string to_string(const problem& p);

/// One resolved setting. `value` is JSON text; of a key or a token it is only "set" or "not set".
struct resolved_line {
  std::string key;
  std::string value;
  std::string origin; // "default", "file PATH:LINE", "env NAME", "flag --x"
  friend bool operator==(const resolved_line&, const resolved_line&) = default;
};

/// The outcome of `load`. With problems the settings must not be used; the lines show what was
/// understood all the same.
struct loaded {
  settings values;
  std::vector<resolved_line> lines;
  std::vector<problem> problems;
  std::vector<problem> warnings; // worth telling, nothing stops
};

/// Never throws for what the sources hold. Reads the settings file and the files that hold keys,
/// nothing else.
loaded load(const sources& from);

/// The rules that hold between settings. Keys of the problems are those of the lines; `where` is
/// empty.
std::vector<problem> validate(const settings& values);

/// S42: the key below [server] that is wrong about clients over TCP, and why.
std::optional<std::pair<std::string, std::string>>
front_door_problem(const server_settings& server);

/// The settings file to use: `flag` if it is not empty, else $RIND_CONFIG, else rind/rind.toml
/// below $XDG_CONFIG_HOME or ~/.config if there is one, else none (empty).
std::string find_settings_file(const std::string& flag, const environment& variables);

/// The variable that sets a key (RIND_COMPACTION_DEADLINE_MS), and what a flag for it is called in
/// a program that has one (--compaction-deadline-ms).
std::string variable_of(std::string_view key);
std::string flag_of(std::string_view key);

/// The table of `rind config check`, for people (a line each) and as a JSON array of objects.
std::string to_text(const std::vector<resolved_line>& lines);
std::string to_json_text(const std::vector<resolved_line>& lines);

/// The variables that hold secrets by these settings; no child process inherits them.
std::vector<std::string> secret_variables(const settings& values);

} // namespace rind::config
