// The order of the sources, and the table of what came out.
#include "runtime/config/load.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/config/fields.hpp"
#include "runtime/config/reading.hpp"
#include "runtime/journal/open_journal.hpp"

extern char** environ;

namespace rind::config {

namespace {

constexpr std::string_view variable_prefix = "RIND_";
constexpr std::string_view model_name =
    "model"; // default_model's short name in the environment and as a flag

std::string short_key(std::string_view key) {
  return std::string(key == model_key ? model_name : key);
}

/// The fields that the environment and flags may set, by their full key.
std::vector<std::pair<std::string, field>> single_fields(settings& values) {
  std::vector<std::pair<std::string, field>> out;
  for (const auto& s : sections_of(values))
    for (const auto& f : s.members)
      out.emplace_back(full_key(s.name, f.key), f);
  return out;
}

void read_file(const std::string& path, reading& out) {
  std::string why_not;
  if (const auto text = read_bounded_file(path, settings_file_bytes_max, why_not))
    read_toml(*text, path, out);
  else
    out.refuse("", "file " + path, why_not);
}

void read_variables(const environment& variables, reading& out) {
  for (const auto& [key, f] : single_fields(out.values)) {
    const auto found = variables.find(variable_of(key));
    if (found != variables.end() && !found->second.empty())
      out.note(key, "env " + found->first, assign_from_text(f, found->second));
  }
}

void read_flags(const std::vector<flag_value>& flags, reading& out) {
  const auto known = single_fields(out.values);
  for (const auto& flag : flags) {
    if (flag.key == base_url_key || flag.key == format_key || flag.key == context_window_key)
      continue;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& k) { return k.first == flag.key; });
    if (found != known.end()) {
      out.note(flag.key, "flag " + flag.flag, assign_from_text(found->second, flag.text));
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& k : known)
      keys.push_back(k.first);
    out.refuse(flag.key, "flag " + flag.flag,
               "unknown key; the nearest known one is `" + nearest(flag.key, keys) + "`");
  }
}

/// Warns about variables that look like settings and are none.
void warn_about_variables(const environment& variables, reading& out) {
  std::vector<std::string> known{std::string(rind_key_variable), std::string(token_variable),
                                 std::string(file_variable),     variable_of(base_url_key),
                                 variable_of(format_key),        variable_of(context_window_key)};
  for (const auto& [key, f] : single_fields(out.values))
    known.push_back(variable_of(key));
  const auto secrets = secret_variables(out.values);
  for (auto at = variables.lower_bound(std::string(variable_prefix));
       at != variables.end() && at->first.rfind(variable_prefix, 0) == 0; ++at) {
    const auto is = [&](const std::string& name) { return name == at->first; };
    if (std::none_of(known.begin(), known.end(), is) &&
        std::none_of(secrets.begin(), secrets.end(), is))
      out.warnings.push_back(
          {"env " + at->first, at->first,
           "is no setting; the nearest one is `" + nearest(at->first, known) + "`"});
  }
}

void warn_about_plain_keys(reading& out) {
  constexpr std::string_view plain = "http://";
  for (std::size_t i = 0; i < out.values.providers.size(); ++i) {
    const auto& provider = out.values.providers[i];
    const auto host = std::string_view(provider.base_url)
                          .substr(std::min(plain.size(), provider.base_url.size()));
    const auto on = [&](std::string_view name) {
      return host.substr(0, name.size()) == name &&
             (host.size() == name.size() || host[name.size()] == ':' || host[name.size()] == '/');
    };
    const bool here = on("localhost") || on("127.0.0.1") || on("[::1]");
    if (provider.base_url.rfind(plain, 0) == 0 && !provider.api_key.empty() && !here) {
      const auto key = full_key(element(providers_table, i), "base_url");
      out.warnings.push_back(
          {place_of(out.origin_of(key)), key, "the key goes over the network unencrypted"});
    }
  }
}

/// A URL without what may be a secret in it: user and password before the host, and the query.
std::string without_secrets(std::string url) {
  if (const auto query = url.find_first_of("?#"); query != std::string::npos)
    url.replace(query + 1, std::string::npos, "***");
  const auto at = url.rfind('@');
  const auto scheme = url.find("://");
  if (at == std::string::npos)
    return url;
  return (scheme == std::string::npos || scheme > at ? "" : url.substr(0, scheme + 3)) + "***" +
         url.substr(at);
}

class line_writer {
public:
  explicit line_writer(reading& from) : from_(from) {}

  std::vector<resolved_line> run() {
    auto values = from_.values;
    if (journal::journal_problem(values.journal))
      values.journal = without_secrets(values.journal); // a password may be what is wrong with it
    for (const auto& s : sections_of(values))
      add(s.members, std::string(s.name));
    add_tokens(values.server.tokens);
    for (std::size_t p = 0; p < values.providers.size(); ++p)
      add_provider(values.providers[p], element(providers_table, p));
    for (std::size_t t = 0; t < values.tools.size(); ++t)
      add(fields_of(values.tools[t]), element(tools_table, t));
    return std::move(lines_);
  }

private:
  void add(const fields& members, const std::string& table) {
    for (const auto& f : members) {
      const auto key = full_key(table, f.key);
      lines_.push_back({key, value_of(f), from_.origin_of(key)});
    }
  }

  void add_provider(const provider_settings& provider, const std::string& key) {
    auto shown = provider;
    shown.proxy = without_secrets(provider.proxy);
    shown.base_url = without_secrets(provider.base_url);
    add(fields_of(shown), key);
    add_secret(full_key(key, "api_key"), provider.api_key);
    for (std::size_t m = 0; m < shown.models.size(); ++m) {
      const auto model_key = element(full_key(key, models_table), m);
      add(fields_of(shown.models[m]), model_key);
      add(fields_of(shown.models[m].price), full_key(model_key, price_table));
    }
  }

  void add_tokens(const std::vector<named_secret>& tokens) {
    constexpr const char* key = "server.token";
    if (tokens.size() < 2)
      return add_secret(key, tokens.empty() ? secret{} : tokens.front().value);
    lines_.push_back({key, "\"" + std::to_string(tokens.size()) + " set\"", from_.origin_of(key)});
  }

  void add_secret(const std::string& key, const secret& value) {
    lines_.push_back({key, value.empty() ? R"("not set")" : R"("set")", from_.origin_of(key)});
  }

  reading& from_;
  std::vector<resolved_line> lines_;
};

/// Keeps a list of problems readable.
void bound(std::vector<problem>& problems) {
  if (problems.size() <= problems_max)
    return;
  const auto more = problems.size() - problems_max;
  problems.resize(problems_max);
  problems.push_back({"", "", "and " + std::to_string(more) + " more"});
}

} // namespace

std::string reading::origin_of(std::string_view key) const {
  const auto found = origins.find(key);
  return found == origins.end() ? "default" : found->second;
}

void reading::note(const std::string& key, const std::string& origin,
                   const std::optional<std::string>& why_not) {
  if (why_not)
    refuse(key, origin, *why_not);
  else
    origins[key] = origin;
}

void reading::refuse(const std::string& key, const std::string& origin, std::string text) {
  problems.push_back({place_of(origin), key, std::move(text)});
}

std::string place_of(const std::string& origin) {
  constexpr std::string_view file = "file ";
  if (origin == "default")
    return "";
  return origin.rfind(file, 0) == 0 ? origin.substr(file.size()) : origin;
}

std::optional<std::string> read_bounded_file(const std::string& path, std::size_t bytes_max,
                                             std::string& why_not) {
  const auto refuse = [&](int error) {
    why_not = "cannot read " + path + ": " + std::system_category().message(error);
    return std::nullopt;
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return refuse(errno);
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  struct stat about {};
  const bool usable = ::fstat(fd, &about) == 0 && !S_ISDIR(about.st_mode);
  while (usable && size < text.size() &&
         (got = ::read(fd, text.data() + size, text.size() - size)) != 0) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  const int error = usable ? errno : EISDIR;
  ::close(fd);
  if (!usable || got < 0)
    return refuse(error);
  if (size > bytes_max) {
    why_not = path + " is larger than " + std::to_string(bytes_max) + " bytes";
    return std::nullopt;
  }
  text.resize(size);
  return text;
}

environment read_environment() {
  environment out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos)
      out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

std::string to_string(const problem& p) {
  std::string out;
  for (const auto* part : {&p.where, &p.key})
    if (!part->empty() && !(part == &p.key && p.where == "env " + p.key))
      out += *part + ": ";
  return out + p.text;
}

loaded load(const sources& from) {
  reading out;
  if (!from.file.empty())
    read_file(from.file, out);
  read_variables(from.variables, out);
  read_flags(from.flags, out);
  settle_models(from, out);
  read_secrets(from, out);
  for (auto& p : validate(out.values)) {
    // What a source was refused for is not told twice.
    const auto same_key = [&](const problem& other) { return other.key == p.key; };
    if (std::any_of(out.problems.begin(), out.problems.end(), same_key))
      continue;
    p.where = place_of(out.origin_of(p.key));
    out.problems.push_back(std::move(p));
  }
  bound(out.problems);
  warn_about_variables(from.variables, out);
  warn_about_plain_keys(out);
  auto lines = line_writer(out).run();
  return {std::move(out.values), std::move(lines), std::move(out.problems),
          std::move(out.warnings)};
}

std::string find_settings_file(const std::string& flag, const environment& variables) {
  if (!flag.empty())
    return flag;
  const auto value = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  if (auto named = value(std::string(file_variable)); !named.empty())
    return named;
  std::filesystem::path folder = value("XDG_CONFIG_HOME");
  if (folder.empty() && !value("HOME").empty())
    folder = std::filesystem::path(value("HOME")) / ".config";
  if (folder.empty())
    return "";
  const auto path = folder / "rind" / "rind.toml";
  std::error_code ignored; // what cannot be looked at is as good as not there
  return std::filesystem::exists(path, ignored) ? path.string() : "";
}

std::string variable_of(std::string_view key) {
  auto out = short_key(key);
  for (auto& c : out)
    c = c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return std::string(variable_prefix) + out;
}

std::string flag_of(std::string_view key) {
  auto out = "--" + short_key(key);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return out;
}

std::string to_text(const std::vector<resolved_line>& lines) {
  std::string out;
  for (const auto& line : lines)
    out += line.key + " = " + line.value + "  # " + line.origin + "\n";
  return out;
}

std::string to_json_text(const std::vector<resolved_line>& lines) {
  auto all = nlohmann::json::array();
  for (const auto& line : lines)
    all.push_back(
        {{"key", line.key}, {"value", nlohmann::json::parse(line.value)}, {"origin", line.origin}});
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> secret_variables(const settings& values) {
  std::vector<std::string> out{std::string(rind_key_variable), std::string(openai_key_variable),
                               std::string(anthropic_key_variable), std::string(token_variable),
                               std::string(database_password_variable)};
  for (const auto& provider : values.providers)
    if (!provider.api_key_env.empty())
      out.push_back(provider.api_key_env);
  if (!values.server.token_env.empty())
    out.push_back(values.server.token_env);
  return out;
}

} // namespace rind::config
