// Every transcript of tests/data/protocol/transcripts, played against the built program.
// WRITE_TRANSCRIPTS=1 writes what came into the files instead of comparing; read the difference
// before you keep it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/kit/running_host.hpp"
#include "tests/protocol/transcript.hpp"

namespace rind::protocol_test {
namespace {

const std::filesystem::path folder =
    std::filesystem::path(RIND_TEST_DATA) / "protocol" / "transcripts";

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".txt")
      all.push_back(file.path().stem().string());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

class transcript : public testing::TestWithParam<std::string> {};

TEST_P(transcript, is_what_the_program_answers) {
  const auto file = (folder / (GetParam() + ".txt")).string();
  const auto expected = kit::read_file(file);
  std::vector<std::string> problems;
  const auto came = play(expected, problems);
  for (const auto& problem : problems)
    ADD_FAILURE() << GetParam() << ": " << problem;
  if (std::getenv("WRITE_TRANSCRIPTS") != nullptr)
    return kit::write_file(file, came, 0644);
  const auto wanted_lines = lines_of(expected);
  const auto came_lines = lines_of(came);
  for (std::size_t i = 0; i < std::max(wanted_lines.size(), came_lines.size()); ++i) {
    const auto wanted = i < wanted_lines.size() ? wanted_lines[i] : std::string("(nothing)");
    const auto got = i < came_lines.size() ? came_lines[i] : std::string("(nothing)");
    ASSERT_EQ(got, wanted) << file << ":" << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(of, transcript, testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

std::string all_transcripts() {
  std::string text;
  for (const auto& name : names())
    text += kit::read_file((folder / (name + ".txt")).string());
  return text;
}

TEST(transcripts, ask_every_method) {
  const auto text = all_transcripts();
  for (const auto* method : {"initialize",
                             "shutdown",
                             "ping",
                             "session/new",
                             "session/list",
                             "session/switch",
                             "session/subscribe",
                             "session/unsubscribe",
                             "session/replay",
                             "session/prompt",
                             "session/cancel",
                             "session/delete",
                             "model/list",
                             "model/set",
                             "rind/session/steer",
                             "rind/session/follow_up",
                             "rind/session/unsteer",
                             "rind/session/dequeue_follow_up",
                             "rind/session/promote_follow_up",
                             "rind/session/compact",
                             "rind/command/execute",
                             "rind/context/inspect",
                             "rind/background/list",
                             "rind/goal/get"})
    EXPECT_NE(text.find("\"method\":\"" + std::string(method) + "\""), std::string::npos) << method;
}

// SlowConsumer needs a client that does not read, Unavailable a broken journal: both stand in the
// end-to-end tests. Unauthorized, RateLimited and NotOwner belong to listeners and nodes that a
// program on standard input does not have.
TEST(transcripts, show_every_error_type) {
  const auto text = all_transcripts();
  for (const auto* type :
       {"ParseError", "InvalidRequest", "MethodNotFound", "NotInitialized", "SessionNotFound",
        "SessionExists", "UnknownModel", "SessionBusy", "TurnActive", "TurnNotActive",
        "NothingToCompact", "InputQueueFull", "InputNotPending", "ServerStopping", "Cancelled",
        "compact_input_too_large"})
    EXPECT_NE(text.find("\"type\":\"" + std::string(type) + "\"}"), std::string::npos) << type;
}

TEST(transcripts, show_every_event_type) {
  const auto text = all_transcripts();
  for (const auto* type :
       {"turn_started", "context_built", "assistant_delta", "reasoning_delta",
        "assistant_message_completed", "tool_requested", "tool_call_started", "tool_result",
        "compaction_started", "compaction_ended", "context_compacted", "queued_input_delivered",
        "turn_step_retry", "token_stats_updated", "turn_completed", "turn_failed",
        "turn_cancelled"})
    EXPECT_NE(text.find("\"type\":\"" + std::string(type) + "\""), std::string::npos) << type;
}

} // namespace
} // namespace rind::protocol_test
