// `rind replay` as a program: recordings of the test's own, and what it prints of them.
#include <gtest/gtest.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using nlohmann::json;

/// A recording in which each turn reads a file, thinks and answers, with what a provider counted.
class long_recording {
public:
  explicit long_recording(int turns, int lines_a_file = 30) {
    for (int t = 0; t < turns; ++t) {
      const auto n = std::to_string(t);
      say({{"role", "user"}, {"content", "Read file " + n + " and tell me what it does, please."}});
      const auto arguments = json{{"path", "src/file_" + n + ".cpp"}}.dump();
      answer("I look.",
             json::array({{{"id", "call_" + n}, {"name", "read"}, {"arguments", arguments}}}));
      std::string body;
      for (int line = 0; line < lines_a_file; ++line)
        body +=
            "  total_" + std::to_string(line * 7 + t) + " += items[" + n + "].tokens; // a sum\n";
      say({{"role", "tool"},
           {"tool_call_id", "call_" + n},
           {"name", "read"},
           {"is_error", false},
           {"content", body}});
      answer("File " + n + " adds up the tokens of its items, one line for each of them.", nullptr);
    }
  }
  const std::string& text() const { return text_; }
  std::size_t messages() const { return messages_; }

private:
  static constexpr double tokens_per_byte = 0.33;

  void say(const json& m) {
    text_ += m.dump() + "\n";
    ++messages_;
    bytes_ += m.value("content", "").size();
    for (const auto& call : m.contains("tool_calls") ? m["tool_calls"] : json::array())
      bytes_ += call.at("name").get<std::string>().size() +
                call.at("arguments").get<std::string>().size();
  }
  void answer(const std::string& text, const json& calls) {
    const auto input =
        400 + static_cast<std::int64_t>(static_cast<double>(bytes_) * tokens_per_byte);
    json m{{"role", "assistant"},
           {"content", text},
           {"usage", {{"input_tokens", input}, {"cached_tokens", 0}, {"output_tokens", 20}}},
           {"finish", calls.is_null() ? "stop" : "toolUse"}};
    if (!calls.is_null())
      m["tool_calls"] = calls;
    say(m);
  }

  std::string text_;
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
};

class replay : public testing::Test {
protected:
  /// Runs it and reads its one line of JSON; null where it printed none.
  json run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "replay");
    arguments.push_back("--json");
    last_ = host_.run(std::move(arguments));
    return json::parse(last_.output, nullptr, false);
  }
  std::string write(const std::string& text) {
    kit::write_file(host_.file("recording.jsonl"), text);
    return host_.file("recording.jsonl");
  }
  void expect_clean(const json& found) {
    ASSERT_TRUE(found.is_object()) << last_.output << last_.errors;
    EXPECT_EQ(last_.exit_code, 0) << last_.errors;
    EXPECT_EQ(found["boundary_violations"], 0) << last_.errors;
    EXPECT_EQ(found["requests_over_window"], 0) << last_.errors;
    EXPECT_EQ(found["lost_messages"], 0) << last_.errors;
    EXPECT_EQ(found["failed_turns"], 0) << last_.errors;
  }

  lone_host host_;
  lone_host::finished last_;
};

TEST_F(replay, every_shape_of_recorded_message_is_played) {
  const auto found = run({RIND_TEST_DATA "/replay/shapes.jsonl", "--window", "32000"});
  expect_clean(found);
  EXPECT_EQ(found["messages"], 16);
  EXPECT_EQ(found["journal_messages"], 11);
  EXPECT_EQ(found["discarded_messages"], 2);
  EXPECT_EQ(found["skipped_messages"], 3);
}

TEST_F(replay, S14_a_long_conversation_stays_inside_a_small_window) {
  const long_recording recording(30);
  const auto found = run({write(recording.text()), "--window", "8000"});
  expect_clean(found);
  EXPECT_EQ(found["messages"], recording.messages());
  EXPECT_EQ(found["journal_messages"], recording.messages());
  EXPECT_EQ(found["samplings"], 60);
  EXPECT_GE(found["compactions"]["auto"], 2);
  EXPECT_LE(found["max_view_tokens"], 8'000);
  EXPECT_EQ(found["budget_error"]["anchored"]["n"].get<int>() +
                found["budget_error"]["unanchored"]["n"].get<int>(),
            60);
  EXPECT_LE(found["budget_error"]["anchored"]["median"], 0.05);
}

TEST_F(replay, S29_a_model_that_refuses_earlier_is_recovered_from) {
  const auto found =
      run({write(long_recording(20, 150).text()), "--window", "16000", "--reject-above", "12000"});
  expect_clean(found);
  EXPECT_GE(found["compactions"]["context_length_error"], 1);
}

TEST_F(replay, S27_manual_compactions_come_between_prompts_and_the_journal_may_be_a_file) {
  const auto file = write(long_recording(12).text());
  const auto found =
      run({file, "--window", "16000", "--manual-every", "4", "--journal", host_.journal()});
  expect_clean(found);
  EXPECT_EQ(found["compactions"]["manual"], 3);
  EXPECT_EQ(found["compactions"]["auto"], 0);
  EXPECT_EQ(found["rescues"], 0);
}

TEST_F(replay, S14_the_threshold_follows_the_percent) {
  const auto file = write(long_recording(20).text());
  const auto early = run({file, "--window", "16000", "--percent", "30"});
  expect_clean(early);
  EXPECT_LE(early["max_view_tokens"], 4'800);
}

TEST_F(replay, what_cannot_be_played_is_told_and_fails) {
  run({write("{\"role\":\"user\",\"content\":\"a\"}\nrubbish\n"), "--window", "8000"});
  EXPECT_NE(last_.exit_code, 0);
  EXPECT_NE(last_.errors.find("line 2: no JSON"), std::string::npos) << last_.errors;
  run({host_.file("no_such_file"), "--window", "8000"});
  EXPECT_NE(last_.exit_code, 0);
  run({write(""), "--window", "0"});
  EXPECT_NE(last_.exit_code, 0);
  EXPECT_NE(last_.errors.find("--window: must be above 0"), std::string::npos) << last_.errors;
}

TEST_F(replay, S40_a_message_that_does_not_fit_is_lost_and_the_exit_code_says_so) {
  const auto long_prompt = std::string(60'000, 'x') + " y";
  const auto found = run(
      {write(json{{"role", "user"}, {"content", long_prompt}}.dump() + "\n"), "--window", "4000"});
  ASSERT_TRUE(found.is_object());
  EXPECT_EQ(found["lost_messages"], 1);
  EXPECT_EQ(last_.exit_code, 1);
  EXPECT_NE(last_.errors.find("line 1"), std::string::npos) << last_.errors;
}

TEST_F(replay, a_recording_without_a_message_is_refused) {
  for (const auto* text : {"", "\n \n", "{\"kind\":\"compaction\",\"summary\":\"s\"}\n"}) {
    run({write(text), "--window", "8000"});
    EXPECT_EQ(last_.exit_code, 1) << text;
    EXPECT_NE(last_.errors.find("there is no message in it"), std::string::npos) << last_.errors;
    EXPECT_EQ(last_.output, "");
  }
}

TEST_F(replay, a_window_without_room_to_work_in_is_refused_with_the_least) {
  const auto file = write(json{{"role", "user"}, {"content", "a"}}.dump() + "\n");
  run({file, "--window", "2047"});
  EXPECT_EQ(last_.exit_code, 1);
  EXPECT_NE(last_.errors.find("--window: must be at least 2048"), std::string::npos)
      << last_.errors;
  run({file, "--window", "2048"});
  EXPECT_EQ(last_.errors.find("--window"), std::string::npos) << last_.errors;
}

TEST_F(replay, people_get_a_table) {
  const auto shown =
      host_.run({"replay", RIND_TEST_DATA "/replay/shapes.jsonl", "--window", "32000"});
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_NE(shown.output.find("lost messages"), std::string::npos) << shown.output;
}

} // namespace
} // namespace rind::e2e
