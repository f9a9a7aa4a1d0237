// The rules between settings, over a finished struct, whoever made it.
#include <algorithm>
#include <charconv>
#include <set>

#include <nlohmann/json.hpp>

#include "runtime/config/fields.hpp"
#include "runtime/config/load.hpp"
#include "runtime/config/models.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/net/tcp_address.hpp"

namespace rind::config {

namespace {

constexpr std::size_t socket_path_bytes_max = 107; // what sockaddr_un holds, its final zero apart
constexpr std::size_t tool_name_chars_max = 64;
constexpr std::size_t command_words_max = 256;

class validator {
public:
  explicit validator(const settings& values) : values_(values) {}

  std::vector<problem> run() {
    check_ranges();
    check_top();
    for (std::size_t i = 0; i < values_.providers.size(); ++i)
      check_provider(values_.providers[i], element(providers_table, i));
    check_model_names();
    for (std::size_t i = 0; i < values_.tools.size(); ++i)
      check_tool(values_.tools[i], element(tools_table, i));
    return std::move(problems_);
  }

private:
  void refuse(std::string key, std::string text) {
    problems_.push_back({"", std::move(key), std::move(text)});
  }

  void check_ranges() {
    for (const auto& s : sections_of(values_))
      check_fields(s.members, std::string(s.name));
    for (std::size_t p = 0; p < values_.providers.size(); ++p) {
      auto& provider = values_.providers[p];
      const auto key = element(providers_table, p);
      check_fields(fields_of(provider), key);
      for (std::size_t m = 0; m < provider.models.size(); ++m) {
        auto& model = provider.models[m];
        const auto model_key = element(full_key(key, models_table), m);
        check_fields(fields_of(model), model_key);
        check_fields(fields_of(model.price), full_key(model_key, price_table));
        check_price(model.price, full_key(model_key, price_table));
        check_output_limit(provider, model, model_key);
      }
    }
    for (std::size_t t = 0; t < values_.tools.size(); ++t)
      check_fields(fields_of(values_.tools[t]), element(tools_table, t));
  }

  /// Assigning each value to itself finds those that no source could have given.
  void check_fields(const fields& members, const std::string& table) {
    for (const auto& f : members) {
      std::optional<std::string> why_not;
      if (const auto* number = std::get_if<std::int64_t*>(&f.target))
        why_not = assign(f, **number);
      else if (const auto* maybe = std::get_if<std::optional<std::int64_t>*>(&f.target);
               maybe != nullptr && **maybe)
        why_not = assign(f, ***maybe);
      else if (const auto* price = std::get_if<std::optional<double>*>(&f.target);
               price != nullptr && **price)
        why_not = assign(f, ***price);
      else if (const auto* text = std::get_if<std::string*>(&f.target))
        why_not = assign(f, **text);
      if (why_not)
        refuse(full_key(table, f.key), *why_not);
    }
  }

  void check_top() {
    if (const auto problem = journal::journal_problem(values_.journal))
      refuse("journal", *problem);
    check_model("default_model", values_.default_model);
    if (!values_.compaction.model.empty())
      check_model("compaction.model", values_.compaction.model);
    if (values_.server.socket_path.size() > socket_path_bytes_max)
      refuse("server.socket_path", "is longer than " + std::to_string(socket_path_bytes_max) +
                                       " bytes, the longest path that a socket can have");
    if (const auto wrong = front_door_problem(values_.server))
      refuse(full_key("server", wrong->first), wrong->second);
  }

  void check_model(const char* key, const std::string& name) {
    if (const auto found = find_model(values_, name); !found)
      refuse(key, found.error().message + "; the nearest one is `" +
                      nearest(name, model_names(values_)) + "`");
  }

  void check_provider(const provider_settings& provider, const std::string& key) {
    if (provider.name.empty())
      refuse(full_key(key, "name"), "must not be empty");
    else if (!provider_names_.insert(provider.name).second)
      refuse(full_key(key, "name"),
             "a provider before this one has the name `" + provider.name + "` too");
    if (const auto why_not = url_problem(provider.base_url); !why_not.empty())
      refuse(full_key(key, "base_url"), why_not);
    if (!is_plain(provider.proxy))
      refuse(full_key(key, "proxy"), "must not hold spaces or control characters");
    if (provider.models.empty())
      refuse(full_key(key, models_table), "has no model: add [[providers.models]] with a name");
  }

  void check_model_names() {
    for (std::size_t p = 0; p < values_.providers.size(); ++p) {
      std::set<std::string> names;
      const auto& models = values_.providers[p].models;
      for (std::size_t m = 0; m < models.size(); ++m) {
        const auto key = element(full_key(element(providers_table, p), models_table), m);
        if (models[m].name.empty())
          refuse(full_key(key, "name"), "must not be empty");
        else if (!names.insert(models[m].name).second)
          refuse(full_key(key, "name"),
                 "this provider has the model `" + models[m].name + "` twice");
        const auto& limits = models[m].limits;
        if (limits.input_cap_tokens && limits.window_tokens &&
            *limits.input_cap_tokens > *limits.window_tokens)
          refuse(full_key(key, "input_cap"), "must not be above context_window");
      }
    }
  }

  void check_price(const price_settings& price, const std::string& key) {
    const bool is_given = price.input || price.cached_input || price.output;
    if (is_given && !(price.input && price.output))
      refuse(key, "needs both `input` and `output`");
  }

  /// What the fallback says is only wrong for a model that speaks this format.
  void check_output_limit(const provider_settings& provider, const model_settings& model,
                          const std::string& key) {
    const auto& own = model.limits.max_output_tokens;
    const auto limit = own ? own : values_.fallback.limits.max_output_tokens;
    if (format_of(provider, model) != "responses" || !limit ||
        *limit >= responses_output_min_tokens)
      return;
    refuse(full_key(own ? key : "fallback", "max_output"),
           "must be at least " + std::to_string(responses_output_min_tokens) + " for the model `" +
               model.name + "`: with the format `responses` servers refuse less");
  }

  void check_tool(const command_tool_settings& tool, const std::string& key) {
    const auto in_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    };
    const bool well_formed = !tool.name.empty() && tool.name.size() <= tool_name_chars_max &&
                             std::all_of(tool.name.begin(), tool.name.end(), in_name);
    if (!well_formed)
      refuse(full_key(key, "name"), "must be 1 to " + std::to_string(tool_name_chars_max) +
                                        " letters, digits, `_` or `-`");
    else if (!tool_names_.insert(tool.name).second)
      refuse(full_key(key, "name"), "a tool before this one has the name `" + tool.name + "` too");
    else if (values_.session.demo_tools && is_demo_tool(tool.name))
      refuse(full_key(key, "name"),
             "is the name of a demo tool; rename it or turn session.demo_tools off");
    if (tool.command.empty() || tool.command.front().empty())
      refuse(full_key(key, "command"), "must begin with the program to run");
    else if (tool.command.size() > command_words_max)
      refuse(full_key(key, "command"),
             "has more than " + std::to_string(command_words_max) + " words");
    if (!nlohmann::json::parse(tool.parameters, nullptr, false).is_object())
      refuse(full_key(key, "parameters"), "must hold a JSON object, the schema of the arguments");
  }

  static bool is_demo_tool(const std::string& name) {
    return std::find(std::begin(demo_tool_names), std::end(demo_tool_names), name) !=
           std::end(demo_tool_names);
  }

  static bool is_plain(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  }

  /// What is wrong with a base URL; empty if it can be used. Does not repeat it: it might hold a
  /// password.
  static std::string url_problem(std::string_view url) {
    constexpr std::string_view schemes[]{"https://", "http://"};
    const auto scheme = std::find_if(std::begin(schemes), std::end(schemes),
                                     [&](auto s) { return url.substr(0, s.size()) == s; });
    if (scheme == std::end(schemes) || !is_plain(std::string(url)))
      return "must be a URL that begins with https:// or http://, without spaces";
    if (url.find_first_of("?#") != std::string_view::npos)
      return "must not hold `?` or `#`: the path of the request is added to it";
    if (const auto path = request_path_of(url); !path.empty())
      return "must end before `" + std::string(path) + "`: the path of the request is added to it";
    const auto rest = url.substr(scheme->size());
    const auto authority = rest.substr(0, rest.find('/'));
    if (authority.find('@') != std::string_view::npos)
      return "must not hold a user name or password; a key goes into api_key_env or api_key_file";
    const auto host_end = authority.rfind(':') == std::string_view::npos || authority.back() == ']'
                              ? authority.size()
                              : authority.rfind(':');
    if (host_end == 0)
      return "names no host";
    return host_end == authority.size() || is_port(authority.substr(host_end + 1))
               ? ""
               : "has a port that is no number from 1 to 65535";
  }

  /// The path of a request where somebody took a request's whole URL for the base.
  static std::string_view request_path_of(std::string_view url) {
    constexpr std::string_view paths[]{"/chat/completions", "/completions", "/responses",
                                       "/messages"};
    while (url.ends_with('/'))
      url.remove_suffix(1);
    const auto path =
        std::find_if(std::begin(paths), std::end(paths), [&](auto p) { return url.ends_with(p); });
    return path == std::end(paths) ? std::string_view{} : *path;
  }

  static bool is_port(std::string_view text) {
    unsigned port = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && port >= 1 &&
           port <= 65'535;
  }

  settings values_; // a copy, for the fields point into what they may write
  std::vector<problem> problems_;
  std::set<std::string> provider_names_;
  std::set<std::string> tool_names_;
};

} // namespace

std::optional<std::pair<std::string, std::string>>
front_door_problem(const server_settings& server) {
  using found = std::pair<std::string, std::string>;
  const bool has_certificate = !server.tls_certificate_file.empty();
  if (has_certificate != !server.tls_key_file.empty())
    return found{has_certificate ? "tls_key_file" : "tls_certificate_file",
                 "a certificate and its key go together"};
  if (!server.tls_client_ca_file.empty() && !has_certificate)
    return found{"tls_client_ca_file", "needs tls_certificate_file: without TLS nothing is asked"};
  for (const auto& [key, text] : {std::pair<std::string, std::string>{"listen", server.listen},
                                  {"status_listen", server.status_listen}}) {
    if (text.empty())
      continue;
    const auto address = net::read_tcp_address(text);
    if (!address)
      return found{key, address.error().message};
    const bool is_here = net::is_loopback(*address);
    if (server.tokens.empty() && (key == "listen" || !is_here))
      return found{key, "who comes over TCP needs a token: set token_file, token_env or " +
                            std::string(token_variable)};
    if (!has_certificate && !is_here)
      return found{key, "is no address of this machine alone, so it needs TLS: set "
                        "tls_certificate_file and tls_key_file"};
  }
  return std::nullopt;
}

std::vector<problem> validate(const settings& values) {
  return validator(values).run();
}

} // namespace rind::config
