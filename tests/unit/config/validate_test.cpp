// The rules between settings, and the lookup of models.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/load.hpp"
#include "runtime/config/models.hpp"

namespace rind::config {
namespace {

using testing::HasSubstr;

provider_settings provider(const std::string& name, const std::vector<std::string>& models) {
  provider_settings out;
  out.name = name;
  out.base_url = "https://models.example/v1";
  for (const auto& model : models)
    out.models.push_back({model, {}, {}});
  return out;
}

command_tool_settings command(const std::string& name) {
  command_tool_settings out;
  out.name = name;
  out.command = {"ls"};
  return out;
}

settings good() {
  settings out;
  out.providers = {provider("a", {"large", "small"}), provider("b", {"small"})};
  out.tools = {command("list"), command("other")};
  out.default_model = "large";
  return out;
}

void listens(settings& s, const std::string& address) {
  s.server.listen = address;
  s.server.tokens = {{"one", secret("t")}};
}

TEST(settings_rules, S42_over_tcp_there_is_a_token_and_past_loopback_tls) {
  for (const auto* address : {"127.0.0.1:0", "localhost:1", "[::1]:65535"}) {
    auto s = good();
    listens(s, address);
    EXPECT_TRUE(validate(s).empty()) << address;
  }
  auto s = good();
  listens(s, "0.0.0.0:1");
  s.server.tls_certificate_file = "c";
  s.server.tls_key_file = "k";
  s.server.tls_client_ca_file = "a";
  EXPECT_TRUE(validate(s).empty());
}

TEST(settings_rules, defaults_and_a_full_example_pass) {
  EXPECT_TRUE(validate(settings{}).empty());
  for (const auto& p : validate(good()))
    ADD_FAILURE() << to_string(p);
}

TEST(settings_rules, each_broken_rule_names_its_key) {
  struct row {
    std::function<void(settings&)> breaks;
    const char* key;
    const char* text;
  };
  const row table[]{
      {[](auto& s) { s.journal = "sqlite:"; }, "journal", "must be `memory`, `sqlite:PATH` or"},
      {[](auto& s) { s.default_model = "larg"; }, "default_model", "the nearest one is `large`"},
      {[](auto& s) { s.compaction.model = "tiny"; }, "compaction.model", "unknown model `tiny`"},
      {[](auto& s) { s.compaction.deadline_ms = 0; }, "compaction.deadline_ms",
       "must be a whole number"},
      {[](auto& s) { s.log_level = "x"; }, "log_level", "must be one of"},
      {[](auto& s) { s.server.status_listen = "0.0.0.0:1"; }, "server.status_listen",
       "needs a token"},
      {[](auto& s) { s.server.listen = "here"; }, "server.listen", "is no address"},
      {[](auto& s) { s.server.listen = "127.0.0.1:1"; }, "server.listen", "needs a token"},
      {[](auto& s) { listens(s, "0.0.0.0:1"); }, "server.listen", "so it needs TLS"},
      {[](auto& s) { listens(s, "[::]:1"); }, "server.listen", "so it needs TLS"},
      {[](auto& s) { s.server.tls_key_file = "k"; }, "server.tls_certificate_file", "go together"},
      {[](auto& s) { s.server.tls_certificate_file = "c"; }, "server.tls_key_file", "go together"},
      {[](auto& s) { s.server.tls_client_ca_file = "a"; }, "server.tls_client_ca_file",
       "needs tls_certificate_file"},
      {[](auto& s) { s.server.socket_path = std::string(108, 'x'); }, "server.socket_path",
       "longer than 107 bytes"},
      {[](auto& s) { s.providers[1].name = ""; }, "providers[1].name", "must not be empty"},
      {[](auto& s) { s.providers[1].name = "a"; }, "providers[1].name", "has the name `a` too"},
      {[](auto& s) { s.providers[1].models.clear(); }, "providers[1].models", "has no model"},
      {[](auto& s) { s.providers[0].models[1].name = "large"; }, "providers[0].models[1].name",
       "`large` twice"},
      {[](auto& s) { s.providers[0].models[1].name = ""; }, "providers[0].models[1].name",
       "must not be empty"},
      {[](auto& s) { s.providers[0].models[1].limits.threshold_percent = 101; },
       "providers[0].models[1].auto_compact_percent", "from 1 to 100"},
      {[](auto& s) { s.providers[0].models[0].limits.window_tokens = 0; },
       "providers[0].models[0].context_window", "from 2048"},
      {[](auto& s) {
         s.providers[0].models[0].limits.window_tokens = 10'000;
         s.providers[0].models[0].limits.input_cap_tokens = 10'001;
       },
       "providers[0].models[0].input_cap", "must not be above context_window"},
      {[](auto& s) {
         s.providers[0].format = "responses";
         s.providers[0].models[0].limits.max_output_tokens = 15;
       },
       "providers[0].models[0].max_output", "at least 16 for the model `large`"},
      {[](auto& s) {
         s.providers[0].models[1].format = "responses";
         s.fallback.limits.max_output_tokens = 15;
       },
       "fallback.max_output", "at least 16 for the model `small`"},
      {[](auto& s) { s.providers[0].models[0].price.output = 1; }, "providers[0].models[0].price",
       "needs both `input` and `output`"},
      {[](auto& s) {
         s.providers[0].models[0].price.input = -1;
         s.providers[0].models[0].price.output = 1;
       },
       "providers[0].models[0].price.input", "a number from 0"},
      {[](auto& s) { s.providers[0].proxy = "a b"; }, "providers[0].proxy", "must not hold spaces"},
      {[](auto& s) { s.providers[0].max_tokens_field = "tokens"; }, "providers[0].max_tokens_field",
       "must be one of"},
      {[](auto& s) { s.tools[1].name = "list"; }, "tools[1].name", "has the name `list` too"},
      {[](auto& s) { s.tools[1].name = "a b"; }, "tools[1].name", "letters, digits"},
      {[](auto& s) { s.tools[1].name = ""; }, "tools[1].name", "letters, digits"},
      {[](auto& s) { s.tools[1].name = std::string(65, 'x'); }, "tools[1].name", "1 to 64"},
      {[](auto& s) {
         s.tools[1].name = "calculate";
         s.session.demo_tools = true;
       },
       "tools[1].name", "is the name of a demo tool"},
      {[](auto& s) { s.tools[1].command.clear(); }, "tools[1].command",
       "must begin with the program"},
      {[](auto& s) {
         s.tools[1].command = {"", "x"};
       },
       "tools[1].command", "must begin with the program"},
      {[](auto& s) { s.tools[1].command.resize(257, "x"); }, "tools[1].command", "more than 256"},
      {[](auto& s) { s.tools[1].parameters = "{"; }, "tools[1].parameters", "JSON object"},
      {[](auto& s) { s.tools[1].parameters = "[]"; }, "tools[1].parameters", "JSON object"},
  };
  for (const auto& row : table) {
    auto values = good();
    row.breaks(values);
    const auto problems = validate(values);
    ASSERT_EQ(problems.size(), 1u) << row.key << ": " << row.text;
    EXPECT_EQ(problems[0].key, row.key);
    EXPECT_THAT(problems[0].text, HasSubstr(row.text)) << row.key;
  }
}

TEST(settings_rules, few_output_tokens_are_refused_for_that_format_alone) {
  auto values = good();
  auto& model = values.providers[0].models[0];
  model.limits.max_output_tokens = 15;
  EXPECT_TRUE(validate(values).empty());
  values.providers[0].format = "responses";
  EXPECT_EQ(validate(values).size(), 1u);
  model.limits.max_output_tokens = 16;
  EXPECT_TRUE(validate(values).empty());
}

TEST(settings_rules, a_price_reaches_the_model_with_the_cache_at_the_input_price) {
  auto values = good();
  EXPECT_FALSE(find_model(values, "large")->price);
  auto& price = values.providers[0].models[0].price;
  price.input = 3;
  price.output = 15;
  EXPECT_EQ(find_model(values, "a/large")->price, (token_price{3, 3, 15}));
  price.cached_input = 0.3;
  EXPECT_EQ(find_model(values, "large")->price, (token_price{3, 0.3, 15}));
}

TEST(settings_rules, an_address_is_http_with_a_host_and_nothing_secret) {
  const std::pair<const char*, const char*> bad[]{
      {"", "begins with https://"},
      {"ftp://h", "begins with https://"},
      {"models.example", "begins with https://"},
      {"https://a b", "without spaces"},
      {"https://", "names no host"},
      {"https:///v1", "names no host"},
      {"https://:1", "names no host"},
      {"https://h:", "has a port"},
      {"https://h:0", "has a port"},
      {"https://h:65536", "has a port"},
      {"https://h:1x", "has a port"},
      {"https://h?key=1", "must not hold `?`"},
      {"https://h/#x", "must not hold `?`"},
      {"https://u:p@h", "must not hold a user name"},
      {"https://h/v1/chat/completions", "must end before `/chat/completions`"},
      {"https://h/v1/responses/", "must end before `/responses`"},
      {"https://h/v1/messages", "must end before `/messages`"},
      {"localhost:8000/v1", "begins with https://"},
  };
  for (const auto& [url, text] : bad) {
    auto values = good();
    values.providers[0].base_url = url;
    const auto problems = validate(values);
    ASSERT_EQ(problems.size(), 1u) << url;
    EXPECT_EQ(problems[0].key, "providers[0].base_url");
    EXPECT_THAT(problems[0].text, HasSubstr(text)) << url;
  }
  for (const auto* url : {"https://h", "http://h:1", "http://h:65535/v1", "https://[::1]",
                          "https://[::1]:8080/v1", "http://127.0.0.1:80"}) {
    auto values = good();
    values.providers[0].base_url = url;
    EXPECT_TRUE(validate(values).empty()) << url;
  }
}

TEST(models, S14_the_window_comes_from_the_settings_else_from_the_default) {
  auto values = good();
  values.providers[0].models[0].limits.window_tokens = 64'000;
  const auto set = find_model(values, "large");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->window_tokens, 64'000);
  EXPECT_EQ(set->window_origin, "settings");
  EXPECT_FALSE(set->embedded);
  const auto unset = find_model(values, "small");
  ASSERT_TRUE(unset);
  EXPECT_EQ(unset->provider, "a") << "the first provider that has it";
  EXPECT_EQ(unset->window_tokens, context::default_window_tokens);
  EXPECT_EQ(unset->window_origin, "default");
  EXPECT_EQ(unset->limits.window_tokens, std::nullopt);
}

TEST(models, a_model_may_be_named_with_its_provider) {
  auto values = good();
  values.providers[1].models.push_back({"family/large", {}, {}});
  EXPECT_EQ(find_model(values, "b/small")->provider, "b");
  EXPECT_EQ(find_model(values, "b/small")->name, "small");
  EXPECT_EQ(find_model(values, "family/large")->provider, "b") << "a slash in a name is part of it";
}

TEST(models, the_embedded_model_is_always_there) {
  settings values;
  values.embedded_window_tokens = 9'000;
  for (const auto* name : {"", "embedded"}) {
    const auto found = find_model(values, name);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->embedded);
    EXPECT_EQ(found->name, "embedded");
    EXPECT_EQ(found->window_tokens, 9'000);
    EXPECT_EQ(found->limits.window_tokens, 9'000);
  }
  EXPECT_TRUE(find_model(good(), "embedded")->embedded);
}

TEST(models, an_unknown_model_is_refused_with_what_there_is) {
  const auto found = find_model(good(), "huge");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::unknown_model);
  EXPECT_EQ(found.error().message, "unknown model `huge`; known: large, small, embedded");
}

} // namespace
} // namespace rind::config
