// Settings from four sources: who beats whom, where each value came from, what is refused and where
// the fault lies.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/config/load.hpp"
#include "runtime/config/models.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::config {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A settings file with one model of which `line` says something.
std::string model_with(const std::string& line) {
  return "[[providers]]\nbase_url = \"https://models.example/v1\"\n"
         "[[providers.models]]\nname = \"m\"\n" +
         line + "\n";
}

class settings_sources : public testing::Test {
protected:
  /// Writes a settings file and makes it the one to read.
  void write(const std::string& text) {
    from_.file = folder_.file("rind.toml");
    std::ofstream(from_.file) << text;
  }

  std::string at_line(int line) const { return from_.file + ":" + std::to_string(line); }

  loaded load_without_problems() const {
    auto out = load(from_);
    for (const auto& p : out.problems)
      ADD_FAILURE() << to_string(p);
    return out;
  }

  std::vector<std::string> problems() const {
    std::vector<std::string> out;
    for (const auto& p : load(from_).problems)
      out.push_back(to_string(p));
    return out;
  }

  static resolved_line line(const loaded& from, const std::string& key) {
    const auto found = std::find_if(from.lines.begin(), from.lines.end(),
                                    [&](const auto& l) { return l.key == key; });
    return found == from.lines.end() ? resolved_line{key, "missing", ""} : *found;
  }

  kit::temp_folder folder_;
  sources from_;
};

constexpr const char* one_provider = R"([[providers]]
name = "house"
base_url = "https://models.example/v1"
[[providers.models]]
name = "large"
context_window = 128000
)";

TEST_F(settings_sources, nothing_given_is_the_defaults_with_the_embedded_model) {
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.journal, "sqlite:rind.db");
  EXPECT_THAT(out.values.providers, IsEmpty());
  EXPECT_EQ(out.values.default_model, "embedded");
  EXPECT_EQ(out.values.compaction.deadline_ms, 120'000);
  EXPECT_THAT(out.warnings, IsEmpty());
  for (const auto& l : out.lines)
    EXPECT_EQ(l.origin, "default") << l.key;
}

TEST_F(settings_sources, each_source_beats_the_one_before_it_and_is_named) {
  write("journal = \"memory\"\nlog_level = \"warn\"\n[compaction]\ndeadline_ms = 1000\nsilence_ms "
        "= 500\n");
  from_.variables = {{"RIND_LOG_LEVEL", "error"}, {"RIND_COMPACTION_DEADLINE_MS", "2000"}};
  from_.flags = {{"compaction.deadline_ms", "3000", "--deadline"}};
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.compaction.deadline_ms, 3'000);
  EXPECT_EQ(line(out, "journal"), (resolved_line{"journal", "\"memory\"", "file " + at_line(1)}));
  EXPECT_EQ(line(out, "log_level"),
            (resolved_line{"log_level", "\"error\"", "env RIND_LOG_LEVEL"}));
  EXPECT_EQ(line(out, "compaction.deadline_ms"),
            (resolved_line{"compaction.deadline_ms", "3000", "flag --deadline"}));
  EXPECT_EQ(line(out, "compaction.silence_ms").origin, "file " + at_line(5));
  EXPECT_EQ(line(out, "session.samplings_max").origin, "default");
}

TEST_F(settings_sources, an_empty_variable_says_nothing) {
  from_.variables = {{"RIND_LOG_LEVEL", ""}, {"RIND_BASE_URL", ""}, {"RIND_API_KEY", ""}};
  const auto out = load_without_problems();
  EXPECT_EQ(line(out, "log_level").origin, "default");
  EXPECT_THAT(out.values.providers, IsEmpty());
}

TEST_F(settings_sources, S41_the_format_of_a_provider_without_a_file_chooses_its_key_too) {
  from_.variables = {{"OPENAI_API_KEY", "k-openai"},
                     {"ANTHROPIC_API_KEY", "k-anthropic"},
                     {"RIND_FORMAT", "anthropic"},
                     {"RIND_MODEL", "large"}};
  from_.flags = {{std::string(base_url_key), "https://models.example/v1", "--base-url"}};
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.providers.at(0).format, "anthropic");
  EXPECT_EQ(out.values.providers.at(0).api_key.reveal(), "k-anthropic");
  EXPECT_EQ(line(out, "providers[0].format").origin, "env RIND_FORMAT");
  from_.flags.push_back({std::string(format_key), "responses", "--format"});
  EXPECT_EQ(load_without_problems().values.providers.at(0).api_key.reveal(), "k-openai");
  from_.flags.back().text = "telepathy";
  EXPECT_EQ(load(from_).problems.size(), 1u);
  from_.variables.clear();
  from_.flags = {{std::string(format_key), "chat", "--format"}};
  ASSERT_EQ(load(from_).problems.size(), 1u) << "there is no such provider";
  EXPECT_EQ(load(from_).problems[0].where, "flag --format");
}

TEST_F(settings_sources, S41_a_refused_address_is_shown_without_what_may_be_secret) {
  for (const auto* url :
       {"https://ann:hush@models.example/v1?key=hush", "https://models.example/v1?key=hu@hush",
        "https://ann:hu/sh-hush@models.example#hush"}) {
    from_.flags = {{std::string(base_url_key), url, "--base-url"},
                   {std::string(model_key), "large", "--model"}};
    const auto out = load(from_);
    EXPECT_FALSE(out.problems.empty()) << url;
    EXPECT_EQ(to_text(out.lines).find("hush"), std::string::npos) << to_text(out.lines);
    for (const auto& p : out.problems)
      EXPECT_EQ(to_string(p).find("hush"), std::string::npos) << to_string(p);
  }
}

TEST_F(settings_sources, a_provider_needs_no_file) {
  from_.variables = {
      {"RIND_API_KEY", "k-rind"}, {"OPENAI_API_KEY", "k-openai"}, {"RIND_MODEL", "small"}};
  from_.flags = {{std::string(base_url_key), "http://localhost:8080/v1/", "--base-url"},
                 {std::string(model_key), "large", "--model"},
                 {std::string(context_window_key), "64000", "--context-window"}};
  const auto out = load_without_problems();
  ASSERT_EQ(out.values.providers.size(), 1u);
  const auto& provider = out.values.providers[0];
  EXPECT_EQ(provider.name, "default");
  EXPECT_EQ(provider.base_url, "http://localhost:8080/v1");
  EXPECT_EQ(provider.api_key.reveal(), "k-rind");
  const auto model = find_model(out.values, "");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->name, "large");
  EXPECT_EQ(model->provider, "default");
  EXPECT_EQ(model->window_tokens, 64'000);
  EXPECT_EQ(model->window_origin, "settings");
  EXPECT_EQ(line(out, "providers[0].base_url").origin, "flag --base-url");
  EXPECT_EQ(line(out, "providers[0].models[0].name").origin, "flag --model");
  EXPECT_EQ(line(out, "providers[0].models[0].context_window").origin, "flag --context-window");
  EXPECT_EQ(line(out, "providers[0].api_key"),
            (resolved_line{"providers[0].api_key", "\"set\"", "env RIND_API_KEY"}));
}

TEST_F(settings_sources, the_key_of_such_a_provider_may_come_from_the_common_variable) {
  from_.variables = {{"RIND_BASE_URL", "https://models.example/v1"},
                     {"RIND_MODEL", "m"},
                     {"OPENAI_API_KEY", "k-openai"}};
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.providers.at(0).api_key.reveal(), "k-openai");
  EXPECT_EQ(line(out, "providers[0].api_key").origin, "env OPENAI_API_KEY");
}

TEST_F(settings_sources, a_provider_of_the_file_gets_no_key_that_it_does_not_name) {
  write(one_provider);
  from_.variables = {{"RIND_API_KEY", "k-rind"}, {"OPENAI_API_KEY", "k-openai"}};
  const auto out = load_without_problems();
  EXPECT_TRUE(out.values.providers.at(0).api_key.empty());
  EXPECT_EQ(line(out, "providers[0].api_key").value, "\"not set\"");
}

TEST_F(settings_sources, a_given_provider_stands_before_those_of_the_file) {
  write(one_provider);
  from_.flags = {{std::string(base_url_key), "http://localhost:1/v1", "--base-url"},
                 {std::string(model_key), "large", "--model"}};
  const auto out = load_without_problems();
  ASSERT_EQ(out.values.providers.size(), 2u);
  EXPECT_EQ(find_model(out.values, "")->provider, "default");
  EXPECT_EQ(find_model(out.values, "house/large")->provider, "house");
  EXPECT_EQ(line(out, "providers[1].name").origin, "file " + at_line(2));
  EXPECT_EQ(line(out, "providers[1].models[0].context_window").origin, "file " + at_line(6));
}

TEST_F(settings_sources, a_given_address_replaces_the_one_of_the_provider_named_default) {
  write("[[providers]]\nbase_url = \"https://models.example/v1\"\nidle_timeout_ms = "
        "5\n[[providers.models]]\nname = \"large\"\n");
  from_.variables = {{"RIND_BASE_URL", "http://localhost:1/v1"}};
  const auto out = load_without_problems();
  ASSERT_EQ(out.values.providers.size(), 1u);
  EXPECT_EQ(out.values.providers[0].base_url, "http://localhost:1/v1");
  EXPECT_EQ(out.values.providers[0].idle_timeout_ms, 5);
  EXPECT_EQ(out.values.default_model, "large");
}

TEST_F(settings_sources, a_given_window_is_that_of_the_default_model) {
  from_.flags = {{std::string(context_window_key), "8000", "--context-window"}};
  EXPECT_EQ(load_without_problems().values.embedded_window_tokens, 8'000);
  write(one_provider);
  EXPECT_EQ(find_model(load_without_problems().values, "large")->window_tokens, 8'000);
}

TEST_F(settings_sources, the_first_model_of_the_file_is_the_default) {
  write(one_provider);
  EXPECT_EQ(load_without_problems().values.default_model, "large");
}

// -- keys
// --------------------------------------------------------------------------------------------

TEST_F(settings_sources, S41_a_key_comes_from_the_variable_that_the_file_names) {
  write(std::string(
      "[[providers]]\nname = \"house\"\nbase_url = \"https://models.example\"\napi_key_env = "
      "\"HOUSE_KEY\"\n[[providers.models]]\nname = \"m\"\n"));
  from_.variables = {{"HOUSE_KEY", "k-house"}, {"RIND_API_KEY", "k-rind"}};
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.providers.at(0).api_key.reveal(), "k-house");
  EXPECT_EQ(line(out, "providers[0].api_key").origin, "env HOUSE_KEY");
  EXPECT_THAT(secret_variables(out.values), Contains("HOUSE_KEY"));
  from_.variables.erase("HOUSE_KEY");
  EXPECT_THAT(
      problems(),
      ElementsAre(at_line(4) + ": providers[0].api_key_env: the variable HOUSE_KEY is not set"));
}

TEST_F(settings_sources, S41_a_key_comes_from_a_file_beside_the_settings) {
  const auto text = [](const std::string& rest) {
    return "[[providers]]\nbase_url = \"https://models.example\"\n" + rest +
           "[[providers.models]]\nname = \"m\"\n";
  };
  std::ofstream(folder_.file("key")) << "  k-file\n";
  write(text("api_key_file = \"key\"\n"));
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.providers.at(0).api_key.reveal(), "k-file");
  EXPECT_EQ(line(out, "providers[0].api_key").origin, "file " + folder_.file("key"));

  write(text("api_key_file = \"absent\"\n"));
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr(at_line(3) + ": providers[0].api_key_file: cannot read ")));
  std::ofstream(folder_.file("empty")) << "\n";
  write(text("api_key_file = \"empty\"\n"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("it is empty")));
  std::ofstream(folder_.file("huge")) << std::string(secret_file_bytes_max + 1, 'x');
  write(text("api_key_file = \"huge\"\n"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is larger than")));
  std::ofstream(folder_.file("two")) << "one\ntwo";
  write(text("api_key_file = \"two\"\n"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("a character that a request header cannot carry")));
  write(text("api_key_file = \"key\"\napi_key_env = \"RIND_API_KEY\"\n"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("from a variable or from a file, not from both")));
}

TEST_F(settings_sources, S42_a_token_file_holds_a_token_a_line_perhaps_with_a_name) {
  write("[server]\ntoken_file = \"tokens\"\n");
  std::ofstream(folder_.file("tokens")) << "# who may come\n\nalone-1\n  bob\tb-2 \r\nalone-3";
  const auto out = load_without_problems();
  std::string read;
  for (const auto& token : out.values.server.tokens)
    read += token.name + "=" + token.value.reveal() + " ";
  EXPECT_EQ(read, "token-1=alone-1 bob=b-2 token-3=alone-3 ");
  EXPECT_EQ(line(out, "server.token").value, "\"3 set\"");
  const std::pair<std::string, std::string> refused[]{
      {"", "holds no secret"},
      {"# nobody\n", "holds no secret"},
      {"a b c\n", "line 1: a line holds a token, or a name and a token"},
      {"x\ny\nx\n", "line 3: a line before it has the same token"},
      {"n x\n\nn y\n", "line 3: a line before it has the same name"},
      {"n \xc3\xa9t\xc3\xa9\n", "line 1: a token holds visible characters"},
  };
  for (const auto& [text, words] : refused) {
    std::ofstream(folder_.file("tokens")) << text;
    EXPECT_THAT(problems(), ElementsAre(HasSubstr(words))) << text;
  }
  std::ofstream many(folder_.file("tokens"));
  for (std::size_t i = 0; i <= tokens_max; ++i)
    many << "t" << i << "\n";
  many.close();
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("more than 1000 tokens")));
}

TEST_F(settings_sources, S42_the_files_of_tls_start_where_the_settings_file_is) {
  write("[server]\ntls_certificate_file = \"c.pem\"\ntls_key_file = \"/k.pem\"\n");
  const auto out = load_without_problems();
  EXPECT_EQ(out.values.server.tls_certificate_file, folder_.file("c.pem"));
  EXPECT_EQ(out.values.server.tls_key_file, "/k.pem");
}

TEST_F(settings_sources, S41_a_key_in_the_file_is_refused_with_the_reason) {
  for (const std::string name : {"api_key", "key", "secret"}) {
    write(std::string(one_provider) +
          "[[providers]]\nname = \"b\"\nbase_url = \"https://b.example\"\n" + name +
          " = \"sk-live-1\"\nmodels = [{name = \"x\"}]\n");
    EXPECT_THAT(problems(),
                ElementsAre(testing::AllOf(HasSubstr(at_line(10) + ": providers[1]." + name +
                                                     ": a secret is not read from this file"),
                                           HasSubstr("`api_key_env`"))))
        << name;
  }
  write("[server]\ntoken = \"t-live-1\"\n");
  EXPECT_THAT(problems(), ElementsAre(testing::AllOf(HasSubstr("a secret is not read"),
                                                     HasSubstr("`token_env`"))));
}

TEST_F(settings_sources, S41_nothing_that_is_printed_holds_a_key) {
  const std::string key = "sk-very-secret";
  from_.variables = {{"RIND_API_KEY", key},
                     {"RIND_TOKEN", key},
                     {"RIND_MODEL", "m"},
                     {"RIND_BASE_URL", "http://models.example/v1"}};
  std::vector<std::string> files{"",
                                 "[[providers]]\nname=\"b\"\nbase_url=\"https://u:" + key +
                                     "@h\"\nproxy=\"http://u:" + key + "@h:1\"\n",
                                 "[[providers]]\napi_key = \"" + key + "\"\n",
                                 "[[providers]]\napi_key = " + key + "\n",
                                 "[[providers]]\napi_key = \"" + key + "\n",
                                 "api_key = '''" + key + "\n",
                                 "[server]\ntoken = \"" + key + "\"\n"};
  for (const auto& text : files) {
    write(text);
    const auto out = load(from_);
    auto printed = to_text(out.lines) + to_json_text(out.lines);
    for (const auto* list : {&out.problems, &out.warnings})
      for (const auto& p : *list)
        printed += to_string(p) + "\n";
    EXPECT_EQ(printed.find(key), std::string::npos) << text << printed;
    EXPECT_THAT(printed, HasSubstr("server.token = \"set\"  # env RIND_TOKEN"));
  }
}

TEST_F(settings_sources, a_key_that_would_go_over_the_network_unencrypted_is_warned_about) {
  from_.variables = {
      {"RIND_API_KEY", "k"}, {"RIND_MODEL", "m"}, {"RIND_BASE_URL", "http://models.example/v1"}};
  ASSERT_EQ(load(from_).warnings.size(), 1u);
  EXPECT_EQ(to_string(load(from_).warnings[0]),
            "env RIND_BASE_URL: providers[0].base_url: the key goes over the network unencrypted");
  for (const auto* here :
       {"http://localhost:1/v1", "http://127.0.0.1", "http://[::1]:1", "https://models.example"}) {
    from_.variables["RIND_BASE_URL"] = here;
    EXPECT_THAT(load(from_).warnings, IsEmpty()) << here;
  }
}

// -- what is refused
// ---------------------------------------------------------------------------------

TEST_F(settings_sources, faults_of_the_file_are_named_with_their_line) {
  struct row {
    const char* text;
    int line;
    const char* problem;
  };
  const row table[]{
      {"jurnal = \"memory\"", 1, "jurnal: unknown key; the nearest known one is `journal`"},
      {"\n[compaction]\ndeadline = 5", 3,
       "compaction.deadline: unknown key; the nearest known one is `deadline_ms`"},
      {"[sesion]\n", 1, "sesion: unknown key; the nearest known one is `session`"},
      {"[[providers]]\nbase_url=\"https://a\"\n[[providers.model]]\nname=\"m\"", 3,
       "providers[0].model: unknown key; the nearest known one is `models`"},
      {"journal = 1", 1, "journal: must be a text"},
      {"log_level = \"loud\"", 1, "log_level: must be one of trace, debug, info, warn, error, off"},
      {"compaction = 1", 1, "compaction: must be a table: [compaction]"},
      {"[compaction]\nauto_compact = \"yes\"", 2, "compaction.auto_compact: must be true or false"},
      {"[compaction]\ndeadline_ms = 0", 2,
       "compaction.deadline_ms: must be a whole number from 1 to 86400000"},
      {"[compaction]\ndeadline_ms = 1.5", 2,
       "compaction.deadline_ms: must be a whole number from 1 to 86400000"},
      {"[compaction]\ndeadline_ms = \"5\"", 2,
       "compaction.deadline_ms: must be a whole number from 1 to 86400000"},
      {"embedded_window_tokens = 100", 1,
       "embedded_window_tokens: must be a whole number from 2048 to 1000000000"},
      {"providers = 1", 1, "providers: must be a list of tables: [[providers]]"},
      {"[tools]\nname = \"x\"", 1, "tools: must be a list of tables: [[tools]]"},
      {"[[tools]]\nname = \"x\"\ncommand = \"ls\"", 3, "tools[0].command: must be a list of texts"},
      {"[[tools]]\nname = \"x\"\ncommand = [\"ls\", 1]", 3,
       "tools[0].command: must be a list of texts"},
      {"journal = \"a\\u0000b\"", 1, "journal: must not hold a zero character"},
      {"journal = \"mysql:x\"", 1, "journal: must be `memory`, `sqlite:PATH` or `postgresql://…`"},
  };
  for (const auto& row : table) {
    write(row.text);
    EXPECT_THAT(problems(), Contains(at_line(row.line) + ": " + row.problem)) << row.text;
  }
}

TEST_F(settings_sources, a_price_is_whole_or_a_fraction_and_shown_with_its_line) {
  write(model_with("price = { input = 3, output = 15.5 }"));
  const auto out = load_without_problems();
  EXPECT_THAT(to_text(out.lines),
              AllOf(HasSubstr("providers[0].models[0].price.input = 3.0  # file "),
                    HasSubstr("providers[0].models[0].price.cached_input = null  # default"),
                    HasSubstr("providers[0].models[0].price.output = 15.5  # file ")));
}

TEST_F(settings_sources, a_faulty_price_is_refused_and_says_what_it_must_be) {
  const std::pair<const char*, const char*> table[]{
      {"price = 3", "price: must be a table: price = { input = ... }"},
      {"price = { input = \"3\", output = 1 }", "price.input: must be a number from 0 to "},
      {"price = { input = -0.1, output = 1 }", "price.input: must be a number from 0 to "},
      {"price = { input = nan, output = 1 }", "price.input: must be a number from 0 to "},
      {"price = { input = 1, output = inf }", "price.output: must be a number from 0 to "},
      {"price = { input = 1, output = true }", "price.output: must be a number from 0 to "},
      {"price = { input = 1, cached_inputs = 1 }",
       "price.cached_inputs: unknown key; the nearest known one is `cached_input`"},
      {"price = { cached_input = 1 }", "price: needs both `input` and `output`"},
  };
  for (const auto& [text, problem] : table) {
    write(model_with(text));
    EXPECT_THAT(problems(), Contains(HasSubstr(std::string("providers[0].models[0].") + problem)))
        << text;
  }
}

TEST_F(settings_sources, all_faults_are_told_not_only_the_first) {
  write("jurnal = 1\nlog_level = 2\n[compaction]\ndeadline_ms = 0\nsilence = 1\n");
  from_.variables = {{"RIND_SESSION_SAMPLINGS_MAX", "many"}};
  from_.flags = {{"server.drain_ms", "-1", "--drain"}, {"server.drain", "1", "--set"}};
  EXPECT_THAT(
      problems(),
      testing::UnorderedElementsAre(
          HasSubstr(":1: jurnal:"), HasSubstr(":2: log_level:"),
          HasSubstr(":4: compaction.deadline_ms:"), HasSubstr(":5: compaction.silence:"),
          "env RIND_SESSION_SAMPLINGS_MAX: session.samplings_max: must be a whole number from 1 to "
          "1000000",
          "flag --drain: server.drain_ms: must be a whole number from 0 to 86400000",
          "flag --set: server.drain: unknown key; the nearest known one is `server.drain_ms`"));
}

TEST_F(settings_sources, a_flood_of_faults_is_cut_short) {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "unknown" + std::to_string(i) + " = 1\n";
  write(text);
  const auto all = problems();
  ASSERT_EQ(all.size(), problems_max + 1);
  EXPECT_EQ(all.back(), "and 400 more");
}

TEST_F(settings_sources, a_file_that_is_no_toml_is_refused_with_its_line) {
  for (const auto* text : {"a = 1\nb = \n", "\n[x\n", "a = 1\na = 2\n", "x = \"\xFF\"\n", "\x01"}) {
    write(text);
    EXPECT_THAT(problems(), Contains(HasSubstr("no valid TOML: "))) << text;
  }
  write("journal = \"memory\"\njournal = \"memory\"\n");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr(at_line(2) + ": no valid TOML: ")));
}

TEST_F(settings_sources, a_file_that_cannot_be_read_is_refused) {
  from_.file = folder_.file("absent.toml");
  EXPECT_THAT(problems(), ElementsAre(from_.file + ": cannot read " + from_.file +
                                      ": No such file or directory"));
  from_.file = folder_.file("");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("Is a directory")));
  write("#" + std::string(settings_file_bytes_max, 'x'));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is larger than 1048576 bytes")));
}

TEST_F(settings_sources, deep_nesting_is_refused_and_harms_nobody) {
  write("journal = " + std::string(100'000, '['));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("no valid TOML: ")));
}

TEST_F(settings_sources, a_variable_that_is_no_setting_is_warned_about) {
  from_.variables = {
      {"RIND_CONTEXT_WINDOWS", "5"}, {"RIND_CONFIG", "x"}, {"RINDX", "y"}, {"RIND_OWN_KEY", "k"}};
  write("[[providers]]\nbase_url=\"https://"
        "a\"\napi_key_env=\"RIND_OWN_KEY\"\nmodels=[{name=\"m\"}]\n");
  const auto out = load_without_problems();
  ASSERT_EQ(out.warnings.size(), 1u);
  EXPECT_EQ(to_string(out.warnings[0]),
            "env RIND_CONTEXT_WINDOWS: is no setting; the nearest one is `RIND_CONTEXT_WINDOW`");
}

TEST_F(settings_sources, a_provider_without_a_model_is_refused) {
  from_.flags = {{std::string(base_url_key), "http://localhost:1", "--base-url"}};
  EXPECT_THAT(problems(), ElementsAre("flag --base-url: providers[0].models: a provider was given "
                                      "without a model: set --model or RIND_MODEL"));
}

TEST_F(settings_sources, a_tools_schema_may_be_a_table_or_a_text) {
  write(R"([[tools]]
name = "a"
command = ["ls", "-l"]
parameters = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
[[tools]]
name = "b"
command = ["ls"]
parameters = '{"type":"object"}'
[[tools]]
name = "c"
command = ["ls"]
)");
  const auto out = load_without_problems();
  ASSERT_EQ(out.values.tools.size(), 3u);
  EXPECT_THAT(out.values.tools[0].command, ElementsAre("ls", "-l"));
  EXPECT_EQ(
      nlohmann::json::parse(out.values.tools[0].parameters),
      nlohmann::json::parse(
          R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]})"));
  EXPECT_EQ(out.values.tools[1].parameters, R"({"type":"object"})");
  EXPECT_EQ(nlohmann::json::parse(out.values.tools[2].parameters)["type"], "object");
}

// -- names and tables
// --------------------------------------------------------------------------------

TEST(settings_names, a_key_has_one_variable_and_one_flag) {
  EXPECT_EQ(variable_of("compaction.deadline_ms"), "RIND_COMPACTION_DEADLINE_MS");
  EXPECT_EQ(flag_of("compaction.deadline_ms"), "--compaction-deadline-ms");
  EXPECT_EQ(variable_of(model_key), "RIND_MODEL");
  EXPECT_EQ(flag_of(model_key), "--model");
  EXPECT_EQ(variable_of(base_url_key), "RIND_BASE_URL");
  EXPECT_EQ(flag_of(context_window_key), "--context-window");
}

TEST_F(settings_sources, the_table_is_text_and_json) {
  from_.flags = {{"session.auto_resume", "on", "--auto-resume"}};
  const auto out = load_without_problems();
  EXPECT_THAT(to_text(out.lines), HasSubstr("session.auto_resume = true  # flag --auto-resume\n"));
  const auto json = nlohmann::json::parse(to_json_text(out.lines));
  EXPECT_EQ(json.size(), out.lines.size());
  EXPECT_THAT(json, Contains(nlohmann::json{{"key", "session.auto_resume"},
                                            {"value", true},
                                            {"origin", "flag --auto-resume"}}));
}

TEST(settings_file, is_the_named_one_else_that_of_the_user) {
  const kit::temp_folder home;
  const auto users = home.file(".config/rind/rind.toml");
  environment variables{{"HOME", home.file("")}};
  EXPECT_EQ(find_settings_file("", variables), "");
  std::filesystem::create_directories(home.file(".config/rind"));
  std::ofstream{users};
  EXPECT_TRUE(std::filesystem::equivalent(find_settings_file("", variables), users));
  variables["XDG_CONFIG_HOME"] = home.file("elsewhere");
  EXPECT_EQ(find_settings_file("", variables), "");
  variables["RIND_CONFIG"] = "named.toml";
  EXPECT_EQ(find_settings_file("", variables), "named.toml");
  EXPECT_EQ(find_settings_file("flag.toml", variables), "flag.toml");
}

} // namespace
} // namespace rind::config
