// What the program says of its own command line: to those who ask, and to those who mistype.
#include <sstream>

#include <gtest/gtest.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

/// A row of a help text: its name, and the words that explain it.
struct help_row {
  std::string section; // "Options", "Positionals", "Subcommands"
  std::string name;
  std::string words;
};

/// Rows begin after two spaces; their words follow after more, or on a line of their own.
std::vector<help_row> rows_of(const std::string& help) {
  std::vector<help_row> rows;
  std::istringstream in(help);
  std::string section;
  for (std::string line; std::getline(in, line);) {
    const auto indent = line.find_first_not_of(' ');
    if (indent == std::string::npos)
      continue;
    if (indent == 0) {
      section = line.ends_with(':') ? line.substr(0, line.size() - 1) : "";
      continue;
    }
    if (section.empty())
      continue;
    if (indent > 2) {
      rows.back().words += line.substr(indent);
      continue;
    }
    constexpr std::size_t words_column = 30;
    const auto gap = line.find(' ', indent);
    rows.push_back({section, line.substr(indent, gap - indent),
                    line.size() > words_column && line[words_column - 1] == ' '
                        ? line.substr(words_column)
                        : ""});
  }
  return rows;
}

class command_line : public testing::Test {
protected:
  std::string help_of(std::vector<std::string> words) const {
    words.push_back("--help");
    const auto shown = host_.run(words);
    EXPECT_EQ(shown.exit_code, 0);
    return shown.output;
  }

  /// Every row below `words`, its subcommands' too; the answer is how many there are.
  std::size_t expect_words_everywhere(const std::vector<std::string>& words) const {
    std::string title = "rind";
    for (const auto& word : words)
      title += " " + word;
    const auto rows = rows_of(help_of(words));
    auto count = rows.size();
    EXPECT_GT(count, 0u) << title;
    for (const auto& row : rows) {
      EXPECT_NE(row.words.find_first_not_of(' '), std::string::npos)
          << title << ": " << row.name << " has no help text";
      if (row.section != "Subcommands")
        continue;
      auto deeper = words;
      deeper.push_back(row.name);
      count += expect_words_everywhere(deeper);
    }
    return count;
  }

  lone_host host_;
};

TEST_F(command_line, every_option_of_every_subcommand_is_explained) {
  EXPECT_GT(expect_words_everywhere({}), 50u);
}

TEST(help_rows, an_option_without_words_is_seen) {
  const auto rows =
      rows_of("about\nUsage: x\n\nPositionals:\n  file TEXT REQUIRED          a file\n"
              "  bare TEXT                   \n\nOptions:\n  --long-option-with TEXT "
              "REQUIRED\n                              its words\n  --json"
              "                      \n");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].words, "a file");
  EXPECT_EQ(rows[1].words, "");
  EXPECT_EQ(rows[2].words, "its words");
  EXPECT_EQ(rows[3].words, "");
}

TEST_F(command_line, an_unknown_subcommand_is_named_with_the_nearest_one) {
  const struct {
    std::vector<std::string> words;
    std::vector<std::string> told;
  } rows[] = {
      {{"chatt"}, {"no subcommand `chatt`", "`chat`", "subcommands: serve, app-server, chat"}},
      {{"sessions", "lst"},
       {"no subcommand `lst`", "`list`", "subcommands: list, show, export, usage"}},
      {{"config", "chek"}, {"no subcommand `chek`", "`check`"}},
      {{}, {"A subcommand is required", "subcommands: serve, app-server, chat"}},
      {{"sessions"}, {"A subcommand is required", "subcommands: list, show, export, usage"}},
      {{"chat", "--bogus"}, {"--bogus"}},
      {{"chat", "--set", "no-equals-sign"}, {"--set", "is not KEY=VALUE"}},
      {{"chat", "--session"}, {"--session"}},
      {{"replay", "file"}, {"--window is required"}},
      {{"replay", "file", "--window", "0"}, {"--window: must be above 0"}},
      {{"replay", "file", "--window", "x"}, {"--window"}},
  };
  for (const auto& row : rows) {
    const auto shown = host_.run(row.words);
    EXPECT_EQ(shown.exit_code, 2);
    for (const auto& part : row.told)
      EXPECT_NE(shown.errors.find(part), std::string::npos) << part << " in\n" << shown.errors;
  }
}

TEST_F(command_line, a_value_that_is_none_is_told_with_its_flag) {
  for (const auto& model : {std::vector<std::string>{}, {"--base-url", "http://127.0.0.1:9/v1"}}) {
    std::vector<std::string> words{"chat", "--journal", "memory", "--context-window", "abc"};
    words.insert(words.end(), model.begin(), model.end());
    const auto shown = host_.run(words);
    EXPECT_EQ(shown.exit_code, 1);
    EXPECT_NE(shown.errors.find("--context-window: "), std::string::npos) << shown.errors;
    EXPECT_NE(shown.errors.find("must be a whole number from 2048"), std::string::npos)
        << shown.errors;
  }
}

TEST_F(command_line, the_url_of_a_request_is_no_base_url) {
  const auto shown = host_.run({"chat", "--base-url", "http://127.0.0.1:9/v1/chat/completions",
                                "--model", "m", "--journal", "memory"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_NE(shown.errors.find("must end before `/chat/completions`"), std::string::npos)
      << shown.errors;
}

} // namespace
} // namespace rind::e2e
