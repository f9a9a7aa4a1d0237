// The built host over each of the three wire formats and the mock provider, which refuses what the
// real servers would: the same conversation leaves the same journal, and every way to refuse a
// length is recovered from.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/contract/started_mock.hpp"
#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using nlohmann::json;

constexpr std::size_t long_text_chars = 12'000;
constexpr const char* session = "s";

std::string long_text() {
  std::string text;
  for (int word = 0; text.size() < long_text_chars; ++word)
    text += "word" + std::to_string(word) + " ";
  return text;
}

/// The host with one model in one wire format, and the mock provider with its script.
class formatted_host {
public:
  formatted_host(const std::string& format, const std::vector<json>& script) {
    std::string text;
    for (const auto& rule : script)
      text += rule.dump() + "\n";
    mock_ = test::started_mock(text);
    kit::write_file(host_.file("key"), "k-test");
    kit::write_file(host_.file("rind.toml"),
                    "[[providers]]\nname = \"mock\"\nbase_url = \"" + mock_->url() +
                        "/v1\"\nformat = \"" + format +
                        "\"\napi_key_file = \"key\"\n[[providers.models]]\nname = \"m\"\n"
                        "context_window = 32000\nreasoning = \"medium\"\n"
                        "[session]\ndemo_tools = true\n");
    server_.emplace(host_.serve({"--config", host_.file("rind.toml")}));
    client_ = client_of(server_->socket_path(), session);
  }

  /// The outcome of a prompt.
  std::string prompt(const std::string& input) {
    const auto answer = client_->call("session/prompt", {{"input", input}});
    return kit::result_of(answer).is_object()
               ? kit::result_of(answer).at("outcome").get<std::string>()
               : answer.dump();
  }
  json compact() { return client_->call("rind/session/compact"); }
  const hosts::mock_provider::mock_server& mock() const { return *mock_; }

  /// The journal, once the host has ended.
  std::vector<json> journal() {
    server_->child().signal(SIGTERM);
    EXPECT_EQ(server_->child().wait().exit_code, 0);
    std::vector<json> entries;
    std::istringstream lines{
        host_.run({"sessions", "export", session, "--journal", host_.journal()}).output};
    for (std::string line; std::getline(lines, line);)
      entries.push_back(json::parse(line));
    return entries;
  }

private:
  lone_host host_;
  std::unique_ptr<hosts::mock_provider::mock_server> mock_;
  std::optional<kit::serving_host> server_;
  std::unique_ptr<kit::protocol_peer> client_;
};

json counts(std::int64_t input, std::int64_t output) {
  return {{"input", input}, {"cached", input / 2}, {"output", output}, {"reasoning", 10}};
}

json conversation_rule(json answer) {
  return {{"match", {{"has_tools", true}}}, {"answer", std::move(answer)}};
}

json summary_rule(const std::string& text) {
  return {{"match", {{"has_tools", false}}},
          {"answer", {{"text", text}, {"usage", counts(9'000, 20)}}}};
}

json calculate(const std::string& expression) {
  return {{"name", "calculate"}, {"arguments", {{"expression", expression}}}};
}

/// Two tool loops, a compaction in the middle of the second, one by hand, and a turn after it.
std::vector<json> tour() {
  const json empty_arguments{{"name", "list_records"}, {"arguments", ""}};
  return {
      conversation_rule({{"reasoning", "I look first."},
                         {"tool_calls", {calculate("6*7"), empty_arguments}},
                         {"usage", counts(14'000, 50)}}),
      conversation_rule({{"reasoning", "Now I know."},
                         {"text", "It is 42. " + long_text()},
                         {"usage", counts(16'000, 900)}}),
      conversation_rule({{"reasoning", "Once more."},
                         {"tool_calls", json::array({calculate("1+1")})},
                         {"usage", counts(27'000, 50)}}),
      summary_rule("## Handoff\nThe user asks for sums."),
      conversation_rule({{"reasoning", "After the cut."},
                         {"text", "It is 2. " + long_text()},
                         {"usage", counts(15'000, 900)}}),
      summary_rule("## Handoff\nMore sums."),
      conversation_rule({{"reasoning", "The last ones."},
                         {"tool_calls", {calculate("2*2"), calculate("2*3")}},
                         {"usage", counts(13'000, 50)}}),
      conversation_rule({{"text", "Four and six."}, {"usage", counts(13'500, 10)}}),
  };
}

/// Without what differs from run to run, and what a format brings by itself: its reasoning items
/// and their size in the estimates, and whether it counts reasoning at all.
void mask(json& value) {
  static const std::set<std::string> masked{"id",
                                            "ts",
                                            "turn_id",
                                            "created_at",
                                            "duration_ms",
                                            "opaque",
                                            "request_estimated_tokens",
                                            "request_local_tokens",
                                            "tokens_before",
                                            "tokens_after",
                                            "history_digest",
                                            "reasoning_tokens"};
  if (value.is_array())
    for (auto& item : value)
      mask(item);
  if (!value.is_object())
    return;
  for (const auto& key : masked)
    value.erase(key);
  for (auto& item : value)
    mask(item);
  // A format may send an empty piece of reasoning where there was none.
  if (value.contains("reasoning") && value["reasoning"].value("text", "").empty())
    value.erase("reasoning");
}

struct toured {
  std::vector<std::string> journal; // masked, a line an entry
  std::vector<std::string> opaque;  // reasoning that has to be resent, in order
  std::vector<hosts::mock_provider::recorded_request> requests;
};

toured take_tour(const std::string& format) {
  formatted_host host{format, tour()};
  EXPECT_EQ(host.prompt("What is six times seven?"), "completed");
  EXPECT_EQ(host.prompt("And one and one?"), "completed");
  EXPECT_TRUE(kit::result_of(host.compact()).is_object());
  EXPECT_EQ(host.prompt("Two products."), "completed");
  toured t;
  t.requests = host.mock().requests();
  for (auto& entry : host.journal()) {
    if (entry["kind"] == "assistant_message" && entry["body"]["message"].contains("reasoning"))
      t.opaque.push_back(entry["body"]["message"]["reasoning"]["opaque"]);
    mask(entry);
    t.journal.push_back(entry.dump());
  }
  return t;
}

TEST(wire_formats, S8_S11_S26_the_same_conversation_leaves_the_same_journal_in_each) {
  std::map<std::string, toured> tours;
  for (const auto* format : {"chat", "responses", "anthropic"}) {
    SCOPED_TRACE(format);
    const auto& t = tours[format] = take_tour(format);
    EXPECT_EQ(t.journal, tours.at("chat").journal);
    EXPECT_EQ(std::count_if(t.journal.begin(), t.journal.end(),
                            [](const auto& line) { return line.find("llm_inline") != line.npos; }),
              2);
    // Every request was one that the script answers, in its order: none broke a rule of its format.
    ASSERT_EQ(t.requests.size(), tour().size());
    for (std::size_t i = 0; i < t.requests.size(); ++i)
      EXPECT_EQ(t.requests[i].rule_line, i + 1);
  }
}

TEST(wire_formats, S26_F35_reasoning_is_resent_byte_for_byte_until_a_compaction_cuts_it) {
  for (const auto* format : {"responses", "anthropic"}) {
    SCOPED_TRACE(format);
    const auto t = take_tour(format);
    ASSERT_EQ(t.requests.size(), tour().size());
    const auto holds = [&](std::size_t request, const std::string& text) {
      return t.requests[request].body.find(text) != std::string::npos;
    };
    EXPECT_TRUE(holds(1, "I look first.")) << "in the tool loop that it belongs to";
    EXPECT_TRUE(holds(2, "I look first.")) << "and in the next turn";
    EXPECT_TRUE(holds(4, "Once more.")) << "retained over a compaction";
    EXPECT_FALSE(holds(4, "I look first.")) << "cut away by it";
    EXPECT_FALSE(holds(7, "Once more.")) << "cut away by the second one";
    ASSERT_GE(t.opaque.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_FALSE(t.opaque[i].empty());
  }
}

// -- recovery --------------------------------------------------------------------------------

struct refusal {
  const char* format;
  const char* way;
};

/// How a server of this format says, in one of three ways, that a prompt is too long.
json refusing_answer(const refusal& r) {
  const std::string way = r.way;
  if (way == "silent")
    return {{"text", "Fine."}, {"usage", counts(40'000, 5)}};
  const bool anthropic = r.format == std::string{"anthropic"};
  json error{{"type", "invalid_request_error"},
             {"message", anthropic ? "prompt is too long"
                                   : "Your input exceeds the context window of this model."}};
  if (!anthropic)
    error["code"] = "context_length_exceeded";
  if (way == "in the stream")
    return {{"text", "Well, "}, {"stream_error", error}};
  json body{{"error", error}};
  if (anthropic)
    body["type"] = "error";
  return {{"status", 400}, {"body", body}};
}

class refused_length : public ::testing::TestWithParam<refusal> {};

TEST_P(refused_length, S29_S30_S34_F58_is_compacted_and_sampled_again) {
  formatted_host host{GetParam().format,
                      {conversation_rule({{"text", long_text()}, {"usage", counts(9'000, 3'000)}}),
                       conversation_rule(refusing_answer(GetParam())),
                       summary_rule("## Handoff\nA long list of words."),
                       conversation_rule({{"text", "Recovered."}, {"usage", counts(900, 5)}})}};
  EXPECT_EQ(host.prompt("Many words, please."), "completed");
  EXPECT_EQ(host.prompt("Which was the last one?"), "completed");
  const auto requests = host.mock().requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_LT(requests[3].body.size(), requests[1].body.size());
  std::vector<std::string> reasons;
  std::vector<std::string> answers;
  for (const auto& entry : host.journal()) {
    if (entry["kind"] == "boundary")
      reasons.push_back(entry["body"]["record"]["reason"]);
    if (entry["kind"] == "assistant_message")
      answers.push_back(entry["body"]["message"]["content"]);
  }
  EXPECT_EQ(reasons, std::vector<std::string>{"context_length_error"});
  EXPECT_EQ(answers, (std::vector<std::string>{long_text(), "Recovered."}));
}

std::vector<refusal> all_refusals() {
  std::vector<refusal> all;
  for (const auto* format : {"chat", "responses", "anthropic"})
    for (const auto* way : {"http error", "in the stream", "silent"})
      all.push_back({format, way});
  return all;
}

INSTANTIATE_TEST_SUITE_P(wire_formats, refused_length, ::testing::ValuesIn(all_refusals()),
                         [](const auto& row) {
                           std::string name = std::string{row.param.format} + "_" + row.param.way;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

} // namespace
} // namespace rind::e2e
