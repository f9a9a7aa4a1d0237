// The example file and the page about settings name every key there is, and the example holds what
// the page says are the defaults.
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/config/fields.hpp"
#include "runtime/config/load.hpp"
#include "runtime/config/models.hpp"

namespace rind::config {
namespace {

const std::string root = std::string(RIND_TEST_DATA) + "/../../";

std::string text_of(const std::string& path) {
  std::ifstream in(root + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct table_of_keys {
  std::string heading; // in the page
  fields members;
};

std::vector<table_of_keys> all_tables() {
  static settings values;
  static provider_settings provider;
  static model_settings model;
  static price_settings price;
  static command_tool_settings tool;
  std::vector<table_of_keys> out{{"## `[[providers]]`", fields_of(provider)},
                                 {"## `[[providers.models]]`", fields_of(model)},
                                 {"## `[[providers.models]]`", fields_of(price)},
                                 {"## `[[tools]]`", fields_of(tool)}};
  for (auto& s : sections_of(values))
    out.push_back(
        {s.name.empty() ? "## Keys without a table" : "## `[" + std::string(s.name) + "]`",
         std::move(s.members)});
  return out;
}

TEST(settings_documentation, the_page_describes_every_key_in_its_table) {
  const auto page = text_of("docs/configuration.md");
  for (const auto& table : all_tables()) {
    const auto begin = page.find(table.heading);
    ASSERT_NE(begin, std::string::npos) << table.heading;
    const auto part = page.substr(begin, page.find("\n## ", begin) - begin);
    for (const auto& f : table.members)
      EXPECT_NE(part.find("`" + std::string(f.key) + "`"), std::string::npos)
          << table.heading << " " << f.key;
  }
}

TEST(settings_documentation, the_example_has_every_key_and_loads) {
  sources from;
  from.file = root + "examples/rind.toml";
  from.variables = {{"HOUSE_API_KEY", "k"}};
  const auto out = load(from);
  for (const auto& p : out.problems)
    ADD_FAILURE() << to_string(p);
  ASSERT_EQ(out.values.providers.size(), 1u);
  EXPECT_EQ(out.values.providers[0].api_key.reveal(), "k");
  EXPECT_EQ(find_model(out.values, "")->window_tokens, 128'000);
  // Those of which the file can give only one, and the keys of the second model.
  const std::set<std::string> absent{"providers[0].api_key_file", "server.token_file",
                                     "server.token"};
  for (const auto& l : out.lines)
    if (l.key.find("models[1]") == std::string::npos && absent.count(l.key) == 0) {
      EXPECT_NE(l.origin, "default") << l.key;
    }
}

TEST(settings_documentation, the_example_shows_the_defaults) {
  sources from;
  from.file = root + "examples/rind.toml";
  from.variables = {{"HOUSE_API_KEY", "k"}};
  const auto shown = load(from);
  sources bare;
  bare.variables = {{"RIND_BASE_URL", "https://models.example/v1"},
                    {"RIND_MODEL", "large"},
                    {"RIND_API_KEY", "k"}};
  const std::set<std::string> own{"providers[0].name",
                                  "providers[0].api_key_env",
                                  "providers[0].models[0].context_window",
                                  "providers[0].models[0].input_cap",
                                  "providers[0].models[0].max_output",
                                  "providers[0].models[0].auto_compact_tokens",
                                  "providers[0].models[0].auto_compact_percent",
                                  "providers[0].models[0].request_limit_bytes",
                                  "providers[0].models[0].price.input",
                                  "providers[0].models[0].price.cached_input",
                                  "providers[0].models[0].price.output",
                                  "embedded_delta_ms",
                                  "session.system_prompt",
                                  "session.demo_tools",
                                  "server.socket_path"};
  for (const auto& defaulted : load(bare).lines)
    for (const auto& l : shown.lines)
      if (l.key == defaulted.key && own.count(l.key) == 0 && !l.key.starts_with("fallback.")) {
        EXPECT_EQ(l.value, defaulted.value) << l.key;
      }
}

} // namespace
} // namespace rind::config
