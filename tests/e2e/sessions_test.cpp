// `rind sessions` over a journal that a host has written.
#include <csignal>
#include <sstream>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using kit::result_of;
using nlohmann::json;

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    out.push_back(json::parse(line, nullptr, false));
  return out;
}

/// Two sessions: one with answers and a summary, one with an answer of another model.
class sessions_of_a_journal : public testing::Test {
protected:
  void SetUp() override {
    kit::write_file(host_.file("rind.toml"), settings(""));
    auto running = host_.serve({"--config", host_.file("rind.toml"), "--demo-tools"}, false);
    auto one = client_of(running.socket_path(), "one");
    for (int i = 0; i < answers; ++i)
      ask(*one, "Tell me " + std::string(20'000, 'x'));
    const auto compacted = one->call("rind/session/compact");
    ASSERT_FALSE(result_of(compacted).is_null()) << compacted.dump();
    kit::protocol_peer two(running.socket_path());
    two.call("initialize");
    two.call("session/new", {{"session_id", "two"}, {"model", "other"}});
    ask(two, "Hello");
    running.child().signal(SIGTERM);
    ASSERT_EQ(running.child().wait().exit_code, 0);
  }

  /// Of a provider with two models, each with what `large` says.
  std::string settings(const std::string& large) const {
    return "journal = \"" + host_.journal() + "\"\n[[providers]]\nname = \"p\"\nbase_url = \"" +
           host_.provider_url() +
           "\"\n[[providers.models]]\nname = \"large\"\ncontext_window = 64000\n" + large +
           "\n[[providers.models]]\nname = \"other\"\ncontext_window = 64000\n";
  }

  static void ask(kit::protocol_peer& peer, const std::string& text) {
    ASSERT_EQ(result_of(peer.call("session/prompt", {{"input", text}})).value("outcome", ""),
              "completed");
  }

  lone_host::finished run(std::vector<std::string> words, const std::string& file_text) const {
    kit::write_file(host_.file("rind.toml"), file_text);
    words.insert(words.begin(), "sessions");
    words.insert(words.end(), {"--config", host_.file("rind.toml")});
    return host_.run(std::move(words));
  }

  static constexpr int answers = 5; // so many that there is something to summarise
  const lone_host host_{std::vector<json>{
      {{"match", {{"has_tools", false}}},
       {"times", 0},
       {"answer",
        {{"text", "They asked for a tale and got one."},
         {"usage", {{"input", 9'000}, {"output", 80}, {"cached", 0}}}}}},
      {{"times", 0},
       {"answer",
        {{"text", "Fine."},
         {"usage",
          {{"input", 20'000}, {"output", 100}, {"cached", 12'000}, {"reasoning", 40}}}}}}}};
};

TEST_F(sessions_of_a_journal, S23_usage_is_added_by_session_and_model_with_its_cost) {
  const auto shown = run({"usage", "--json"},
                         settings("price = { input = 3, cached_input = 0.5, output = 15.0 }"));
  ASSERT_EQ(shown.exit_code, 0) << shown.errors;
  const auto rows = json_lines(shown.output);
  ASSERT_EQ(rows.size(), 3u) << shown.output;
  EXPECT_EQ(rows[0]["session_id"], "two");
  EXPECT_EQ(rows[0]["model"], "other");
  EXPECT_FALSE(rows[0].contains("cost")) << "it has no price";
  auto one = rows[1];
  // 49,000 plain, 60,000 cached and 580 output tokens
  EXPECT_NEAR(one.value("cost", 0.0), 0.147 + 0.03 + 0.0087, 1e-9);
  one.erase("cost");
  EXPECT_EQ(one, (json{{"session_id", "one"},
                       {"model", "large"},
                       {"samplings", answers},
                       {"summaries", 1},
                       {"uncounted", 0},
                       {"input_tokens", 109'000},
                       {"cached_input_tokens", 60'000},
                       {"output_tokens", 580},
                       {"reasoning_tokens", 200}}));
  EXPECT_EQ(rows[2]["total"], true);
  EXPECT_EQ(rows[2]["input_tokens"], 129'000);
  EXPECT_FALSE(rows[2].contains("cost")) << "a part of it has no price";
}

TEST_F(sessions_of_a_journal, the_usage_of_one_session_is_a_table_with_a_total) {
  const auto shown = run({"usage", "one"}, settings("price = { input = 3, output = 15 }"));
  ASSERT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_NE(shown.output.find("109,000"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("0.3357  one large\n"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("0.3357  total\n"), std::string::npos) << shown.output;
  EXPECT_EQ(shown.output.find("two"), std::string::npos);
  const auto none = run({"usage", "three"}, settings(""));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.errors.find("there is no session three"), std::string::npos) << none.errors;
}

TEST_F(sessions_of_a_journal, the_list_is_an_object_a_line) {
  const auto shown = run({"list", "--json"}, settings(""));
  ASSERT_EQ(shown.exit_code, 0) << shown.errors;
  const auto rows = json_lines(shown.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["session_id"], "two");
  EXPECT_EQ(rows[0]["model"], "other");
  EXPECT_EQ(rows[1]["title"], json("Tell me " + std::string(71, 'x') + "…"));
  EXPECT_EQ(rows[1]["generation"], 1);
  EXPECT_EQ(rows[1]["turn_state"], nullptr);
}

TEST_F(sessions_of_a_journal, what_cannot_be_read_is_named_and_hides_nobody_else) {
  const auto path = host_.journal().substr(std::string_view("sqlite:").size());
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec("UPDATE entries SET body = '[]' WHERE session_id = 'one' AND position = 3");
  const auto shown = run({"usage", "--json"}, settings(""));
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_NE(shown.errors.find("not counted: "), std::string::npos) << shown.errors;
  EXPECT_NE(shown.errors.find("session one"), std::string::npos) << shown.errors;
  const auto rows = json_lines(shown.output);
  ASSERT_EQ(rows.size(), 2u) << shown.output;
  EXPECT_EQ(rows[0]["session_id"], "two");
  EXPECT_EQ(rows[1]["input_tokens"], 20'000);
}

TEST_F(sessions_of_a_journal, a_price_with_a_faulty_part_is_none) {
  for (const auto* part : {"\"x\"", "-1", "true"}) {
    const auto shown = run(
        {"usage", "one", "--json"},
        settings("price = { input = 3, cached_input = " + std::string(part) + ", output = 15 }"));
    EXPECT_EQ(shown.exit_code, 0) << part;
    EXPECT_NE(shown.errors.find("price.cached_input"), std::string::npos) << shown.errors;
    EXPECT_FALSE(json_lines(shown.output).at(0).contains("cost")) << part << shown.output;
  }
}

TEST_F(sessions_of_a_journal, faulty_settings_of_a_provider_hide_no_journal) {
  const auto faulty = "default_model = \"gone\"\n" + settings("price = { input = 3 }\nwindow = 1") +
                      "[[providers]]\nname = \"q\"\nbase_url = \"none\"\napi_key_env = \"UNSET\"\n";
  for (const auto& words :
       {std::vector<std::string>{"list"}, {"show", "one"}, {"export", "one"}, {"usage"}}) {
    const auto shown = run(words, faulty);
    EXPECT_EQ(shown.exit_code, 0) << words[0] << ": " << shown.errors;
    EXPECT_NE(shown.output.find("one"), std::string::npos) << words[0];
    EXPECT_NE(shown.errors.find("needs both `input` and `output`"), std::string::npos) << words[0];
  }
  EXPECT_EQ(run({"list"}, "journal = 3\n").exit_code, 1);
  EXPECT_EQ(run({"list"}, "journal = \n").exit_code, 1);
  EXPECT_EQ(run({"list", "--set", "jurnal=x"}, settings("")).exit_code, 1);
}

} // namespace
} // namespace rind::e2e
