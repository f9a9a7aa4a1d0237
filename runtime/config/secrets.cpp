// Keys and tokens from variables and files. Nothing that is told about them repeats them.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "runtime/config/reading.hpp"

namespace rind::config {

namespace {

constexpr std::size_t token_words_max = 2; // a name and the token

constexpr bool visible(char c) {
  return c > ' ' && c <= '~';
}

/// The secret inside of the text, or what is wrong with it.
std::optional<secret> secret_from(std::string text, std::string& why_not) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), blank));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), blank).base(), text.end());
  if (text.empty())
    why_not = "holds no secret, it is empty";
  else if (!std::all_of(text.begin(), text.end(), visible))
    why_not = "holds a character that a request header cannot carry";
  else
    return secret(std::move(text));
  return std::nullopt;
}

/// Tokens, one a line: the token, or a name and the token. Empty lines and those that begin with
/// `#` tell nothing.
class token_lines {
public:
  std::optional<std::vector<named_secret>> read(const std::string& text, std::string& why_not) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number)
      if (auto wrong = take(line, number)) {
        why_not = *std::move(wrong);
        return std::nullopt;
      }
    if (!tokens_.empty())
      return std::move(tokens_);
    why_not = "holds no secret, it is empty";
    return std::nullopt;
  }

private:
  std::optional<std::string> take(const std::string& line, int number) {
    const auto wrong = [&](const std::string& what) {
      return "line " + std::to_string(number) + ": " + what;
    };
    std::istringstream split(line);
    std::vector<std::string> words;
    for (std::string word; words.size() <= token_words_max && split >> word;)
      words.push_back(std::move(word));
    if (words.empty() || words.front().front() == '#')
      return std::nullopt;
    if (words.size() > token_words_max)
      return wrong("a line holds a token, or a name and a token");
    auto& token = words.back();
    if (!std::all_of(token.begin(), token.end(), visible))
      return wrong("a token holds visible characters of ASCII only");
    auto name = words.size() == 1 ? "token-" + std::to_string(tokens_.size() + 1) : words.front();
    for (const auto& other : tokens_) {
      if (other.name == name)
        return wrong("a line before it has the same name");
      if (other.value.reveal() == token)
        return wrong("a line before it has the same token");
    }
    if (tokens_.size() == tokens_max)
      return wrong("more than " + std::to_string(tokens_max) + " tokens");
    tokens_.push_back({std::move(name), secret(std::move(token))});
    return std::nullopt;
  }

  std::vector<named_secret> tokens_;
};

/// Where a secret may come from.
struct secret_place {
  std::string key;      // of the resolved table
  std::string env_key;  // the setting that names a variable
  std::string file_key; // the setting that names a file
  std::string variable; // the values of these two
  std::string file;
  std::vector<std::string_view> fallbacks; // variables that are looked at where nothing is named
};

/// A text that holds a secret, and where it stood.
struct found_text {
  std::string text;
  std::string source;
  std::string blamed_key; // what is refused where the text is no good
  std::string blamed;
};

class secret_reader {
public:
  secret_reader(const sources& from, reading& out) : from_(from), out_(out) {}

  /// What `parse` makes of the text at that place; nothing where there is none, or it is refused.
  template <class Parse>
  auto read(const secret_place& place, Parse parse) {
    std::string why_not;
    auto found = find(place);
    auto parsed = found ? parse(std::move(found->text), why_not) : std::nullopt;
    if (parsed)
      out_.origins[place.key] = found->source;
    else if (found)
      out_.refuse(found->blamed_key, found->blamed, found->source + " " + why_not);
    return parsed;
  }

private:
  std::optional<found_text> find(const secret_place& place) {
    if (!place.variable.empty() && !place.file.empty()) {
      out_.refuse(place.file_key, out_.origin_of(place.file_key),
                  "a secret comes from a variable or from a file, not from both");
      return std::nullopt;
    }
    if (!place.variable.empty())
      return from_variable(place);
    if (!place.file.empty())
      return from_file(place);
    for (const auto name : place.fallbacks)
      if (const auto* text = variable(std::string(name)))
        return found_text{*text, "env " + std::string(name), place.key, "env " + std::string(name)};
    return std::nullopt;
  }

  const std::string* variable(const std::string& name) const {
    const auto found = from_.variables.find(name);
    return found == from_.variables.end() || found->second.empty() ? nullptr : &found->second;
  }

  std::optional<found_text> from_variable(const secret_place& place) {
    const auto origin = out_.origin_of(place.env_key);
    if (const auto* text = variable(place.variable))
      return found_text{*text, "env " + place.variable, place.key, origin};
    out_.refuse(place.env_key, origin, "the variable " + place.variable + " is not set");
    return std::nullopt;
  }

  std::optional<found_text> from_file(const secret_place& place) {
    const auto origin = out_.origin_of(place.file_key);
    const auto path = beside_its_file(place.file, place.file_key, from_, out_);
    std::string why_not;
    if (auto text = read_bounded_file(path, secret_file_bytes_max, why_not))
      return found_text{*std::move(text), "file " + path, place.key, origin};
    out_.refuse(place.file_key, origin, why_not);
    return std::nullopt;
  }

  const sources& from_;
  reading& out_;
};

} // namespace

std::string beside_its_file(const std::string& path, std::string_view key, const sources& from,
                            const reading& out) {
  const std::filesystem::path named = path;
  if (path.empty() || !named.is_relative() || out.origin_of(key).rfind("file ", 0) != 0)
    return path;
  return (std::filesystem::path(from.file).parent_path() / named).string();
}

void read_secrets(const sources& from, reading& out) {
  secret_reader secrets(from, out);
  auto& providers = out.values.providers;
  for (std::size_t i = 0; i < providers.size(); ++i) {
    const auto table = element(providers_table, i);
    secret_place place{full_key(table, "api_key"),      full_key(table, "api_key_env"),
                       full_key(table, "api_key_file"), providers[i].api_key_env,
                       providers[i].api_key_file,       {}};
    if (given_without_file(out, i))
      place.fallbacks = {rind_key_variable, providers[i].format == "anthropic"
                                                ? anthropic_key_variable
                                                : openai_key_variable};
    providers[i].api_key = secrets.read(place, secret_from).value_or(secret{});
  }
  auto& server = out.values.server;
  const secret_place tokens{"server.token",   "server.token_env", "server.token_file",
                            server.token_env, server.token_file,  {token_variable}};
  server.tokens =
      secrets
          .read(tokens, [](const std::string& text,
                           std::string& why_not) { return token_lines().read(text, why_not); })
          .value_or(std::vector<named_secret>{});
  for (const auto& [key, path] :
       {std::pair{"server.tls_certificate_file", &server.tls_certificate_file},
        {"server.tls_key_file", &server.tls_key_file},
        {"server.tls_client_ca_file", &server.tls_client_ca_file}})
    *path = beside_its_file(*path, key, from, out);
}

} // namespace rind::config
