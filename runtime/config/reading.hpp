// What the steps of loading share: the settings so far, where each came from, and what was wrong.
// Private to this folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/fields.hpp"
#include "runtime/config/load.hpp"

namespace rind::config {

/// Settings while they are loaded. A key without an origin has its default.
struct reading {
  settings values;
  std::map<std::string, std::string, std::less<>> origins;
  std::vector<problem> problems;
  std::vector<problem> warnings;

  /// The origin of a key, "default" where it was not set.
  std::string origin_of(std::string_view key) const;
  bool is_set(std::string_view key) const { return origins.find(key) != origins.end(); }
  /// Notes the origin of `key`, or the problem if there is one.
  void note(const std::string& key, const std::string& origin,
            const std::optional<std::string>& why_not);
  void refuse(const std::string& key, const std::string& origin, std::string text);
};

/// Where a problem is, from an origin: the same without "file ", empty for a default.
std::string place_of(const std::string& origin);

/// Reads the text of a settings file. `path` is only for the origins.
void read_toml(std::string_view text, const std::string& path, reading& out);

/// Adds the provider that was given without a file, and finds the default model. Runs after all
/// plain settings are read.
void settle_models(const sources& from, reading& out);

/// A path of the settings file starts where that file is; any other stays as it is.
std::string beside_its_file(const std::string& path, std::string_view key, const sources& from,
                            const reading& out);

/// Reads the keys of the providers and the server's tokens from where the settings say.
void read_secrets(const sources& from, reading& out);

/// Whether the provider with this index was given by the environment or a flag: such a one takes
/// its key from the variables that every program knows.
bool given_without_file(const reading& from, std::size_t provider);

/// The bytes of a file of at most `bytes_max`, or what is wrong with it in `why_not`.
std::optional<std::string> read_bounded_file(const std::string& path, std::size_t bytes_max,
                                             std::string& why_not);

} // namespace rind::config
