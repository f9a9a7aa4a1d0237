// Two thousand sessions with a stream each at the same time, one in ten broken in some way: every
// session ends as its script says, and neither descriptors nor memory stay behind.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "hosts/client/protocol_client.hpp"
#include "runtime/provider/curl_transport.hpp"
#include "tests/contract/started_mock.hpp"
#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using hosts::client::protocol_client;
using nlohmann::json;

constexpr std::size_t sessions = 2'000;
constexpr std::array rounds{"first", "second", "third", "fourth"}; // and the names of their gates
constexpr std::size_t clients = 8;
constexpr std::size_t broken_share = 10; // one in so many
constexpr std::int64_t patience_ms = 90'000;
/// Beside the connections that the host keeps for later requests: what a library may open once.
constexpr std::size_t other_descriptors_max = 16;
/// What a session may keep of a turn, with what its pages have of holes: it keeps about 5 KiB of
/// messages and decisions. A stream that stays behind takes more than this.
constexpr std::int64_t kept_kib_a_turn_max = 48;

/// What befalls a session, and how it has to end.
struct fate {
  const char* name;
  std::vector<json> answers; // of one turn, in order
  const char* outcome = "completed";
  const char* code = ""; // of a failure
  const char* model = "mock-model";
  bool at_gate = true; // its first stream runs while all others do
  bool is_cancelled = false;
};

json good() {
  return {{"deltas", {"one ", "two ", "three"}}};
}

json held(json answer, const std::string& gate) {
  answer["gate"] = gate;
  return answer;
}

std::vector<fate> fates(const std::string& gate) {
  const auto broken = [&](const json& how) {
    auto answer = held(good(), gate);
    answer.update(how);
    return answer;
  };
  return {
      {"good", {held(good(), gate)}},
      {"closed", {broken({{"cut_after_chunks", 2}}), good()}},
      {"reset", {broken({{"cut_after_chunks", 2}, {"cut", "reset"}}), good()}},
      {"ended without a finish", {broken({{"cut_after_chunks", 2}, {"cut", "clean"}}), good()}},
      {"cut inside a character",
       {broken({{"deltas", {"a", "é", "b"}}, {"cut_mid_character", true}}), good()}},
      {"error in the stream", {broken({{"stream_error", 500}}), good()}},
      {"error field", {broken({{"error_field", "something broke"}}), good()}},
      {"server error", {{{"status", 500}}, good()}, "completed", "", "mock-model", false},
      {"page instead of an answer",
       {{{"html", true}}, good()},
       "completed",
       "",
       "mock-model",
       false},
      {"rate limit",
       {{{"status", 429}, {"headers", {{"retry-after", "1"}}}}, good()},
       "completed",
       "",
       "mock-model",
       false},
      {"no data",
       {{{"text", "a"}, {"hang_after_chunks", 1}}, good()},
       "completed",
       "",
       "brisk",
       false},
      {"key refused", {{{"status", 401}}}, "failed", "auth", "mock-model", false},
      {"filtered", {broken({{"finish", "content_filter"}})}, "failed", "content_filter"},
      {"cut by the output limit", {broken({{"finish", "length"}})}, "failed", "output_truncated"},
      {"line without end",
       {{{"text", "a"}, {"flood", "line"}}},
       "failed",
       "server_error",
       "mock-model",
       false},
      {"cancelled", {held(good(), "never")}, "cancelled", "", "mock-model", true, true},
  };
}

std::string session_of(std::size_t i) {
  return "s" + std::to_string(i);
}

const fate& fate_of(const std::vector<fate>& all, std::size_t i) {
  return i % broken_share == 0 ? all[1 + i / broken_share % (all.size() - 1)] : all.front();
}

std::size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator all{"/proc/" + std::to_string(pid) + "/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::int64_t resident_kib(pid_t pid) {
  std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:"))
      return std::stoll(line.substr(6));
  return 0;
}

/// How the operations of the sessions ended, as their events say.
class ends {
public:
  void take(const json& frame) {
    const auto& event = frame.at("event");
    const auto type = event.at("type").get<std::string>();
    if (type != "turn_completed" && type != "turn_failed" && type != "turn_cancelled")
      return;
    const std::lock_guard lock{mutex_};
    ++counts_[event.at("session_id")];
    codes_[event.at("session_id")] = event.value("code", "");
  }
  std::string code(const std::string& session) const {
    const std::lock_guard lock{mutex_};
    const auto found = codes_.find(session);
    return found == codes_.end() ? "no end" : found->second;
  }
  int count(const std::string& session) const {
    const std::lock_guard lock{mutex_};
    const auto found = counts_.find(session);
    return found == counts_.end() ? 0 : found->second;
  }

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> codes_;
  std::map<std::string, int> counts_;
};

class many_streams : public ::testing::Test {
protected:
  many_streams() {
    std::string text;
    for (const auto* gate : rounds) {
      const auto all = fates(gate);
      for (std::size_t i = 0; i < sessions; ++i)
        for (const auto& answer : fate_of(all, i).answers)
          text += json{{"conversation", session_of(i)}, {"answer", answer}}.dump() + "\n";
    }
    mock_ = test::started_mock(text);
    const auto provider = [&](const std::string& name, const std::string& model,
                              const std::string& more) {
      return "[[providers]]\nname = \"" + name + "\"\nbase_url = \"" + mock_->url() + "/v1\"\n" +
             "requests_in_flight_max = 4096\n" + more + "[[providers.models]]\nname = \"" + model +
             "\"\ncontext_window = 32000\n";
    };
    kit::write_file(host_.file("rind.toml"),
                    provider("patient", "mock-model", "") +
                        provider("impatient", "brisk", "idle_timeout_ms = 1000\n"));
    // The host inherits it: what is freed goes back at once, so that its size is what it holds.
    ::setenv("MALLOC_ARENA_MAX", "1", 1);
    ::setenv("MALLOC_TRIM_THRESHOLD_", "65536", 1);
    ::setenv("MALLOC_MMAP_THRESHOLD_", "65536", 1);
    server_.emplace(host_.serve({"--config", host_.file("rind.toml")}));
    for (std::size_t c = 0; c < clients; ++c) {
      hosts::client::client_events events;
      events.on_event = [this](const json& frame) { ends_.take(frame); };
      auto opened = protocol_client::open(
          [this](net::connect_callback done) {
            return network_.connect_unix(server_->socket_path(), std::move(done));
          },
          std::move(events));
      if (!opened)
        throw std::runtime_error(opened.error().message);
      clients_.push_back(std::move(*opened));
      clients_.back()->call("initialize", json::object());
    }
  }

  protocol_client& client_of(std::size_t i) { return *clients_[i % clients]; }
  pid_t pid() { return server_->child().pid(); }

  void open_sessions() {
    const auto all = fates("first");
    std::vector<std::future<hosts::client::response>> opened;
    for (std::size_t i = 0; i < sessions; ++i) {
      const auto session = session_of(i);
      opened.push_back(client_of(i).request(
          "session/new", {{"session_id", session}, {"model", fate_of(all, i).model}}));
      opened.push_back(client_of(i).request("session/subscribe", {{"session_id", session}}));
    }
    for (auto& answer : opened)
      if (const auto got = answer.get(); !got)
        throw std::runtime_error(got.error_message);
  }

  /// All sessions prompt, wait for one another at the gate, and end. The gate has the name of the
  /// round.
  void play(const std::string& gate, int round) {
    const auto all = fates(gate);
    std::size_t at_gate = 0;
    std::size_t at_never = 0;
    std::vector<std::future<hosts::client::response>> answers;
    for (std::size_t i = 0; i < sessions; ++i) {
      const auto& mine = fate_of(all, i);
      at_gate += mine.at_gate && !mine.is_cancelled;
      at_never += mine.is_cancelled;
      answers.push_back(client_of(i).request(
          "session/prompt", {{"session_id", session_of(i)}, {"input", "Say three words."}}));
    }
    // Those of the round before have come to this gate too.
    ASSERT_TRUE(
        mock_->wait_at_gate("never", at_never * static_cast<std::size_t>(round), patience_ms));
    ASSERT_TRUE(mock_->wait_at_gate(gate, at_gate, patience_ms))
        << mock_->waiting_at_gate(gate) << " of " << at_gate;
    EXPECT_GE(mock_->open_connections(), at_gate + at_never) << "streams that run at once";
    for (std::size_t i = 0; i < sessions; ++i) {
      if (!fate_of(all, i).is_cancelled)
        continue;
      EXPECT_TRUE(client_of(i).call("session/cancel", {{"session_id", session_of(i)}}));
    }
    mock_->open_gate(gate);
    for (std::size_t i = 0; i < sessions; ++i) {
      SCOPED_TRACE(session_of(i) + ": " + fate_of(all, i).name);
      const auto got = answers[i].get();
      ASSERT_TRUE(got) << got.error_message;
      EXPECT_EQ(got->at("outcome"), fate_of(all, i).outcome);
      EXPECT_EQ(ends_.code(session_of(i)), fate_of(all, i).code);
      EXPECT_EQ(ends_.count(session_of(i)), round) << "terminal events";
    }
  }

  lone_host host_;
  std::unique_ptr<hosts::mock_provider::mock_server> mock_;
  std::optional<kit::serving_host> server_;
  ends ends_;
  net::asio_client network_;
  std::vector<std::unique_ptr<protocol_client>> clients_; // before what their callbacks use goes
};

TEST_F(many_streams, S1_S36_S43_each_session_ends_as_its_script_says_and_nothing_stays_behind) {
  open_sessions();
  const auto descriptors_before = descriptors_of(pid());
  std::vector<std::size_t> descriptors;
  std::vector<std::int64_t> memory;
  for (const auto* round : rounds) {
    play(round, static_cast<int>(memory.size()) + 1);
    if (HasFatalFailure())
      return;
    descriptors.push_back(descriptors_of(pid()));
    memory.push_back(resident_kib(pid()));
  }
  // How many of the connections that may be kept are kept differs from round to round.
  for (const auto open : descriptors)
    EXPECT_LE(open,
              descriptors_before + provider::http_kept_connections_max + other_descriptors_max);
#ifndef __SANITIZE_ADDRESS__ // which keeps what was freed, and looks for leaks itself
  // In the first two rounds allocator and caches grow to the size of the work.
  const auto turns = static_cast<std::int64_t>((rounds.size() - 2) * sessions);
  EXPECT_LE(memory.back() - memory[1], turns * kept_kib_a_turn_max);
#endif
  server_->child().signal(SIGTERM);
  EXPECT_EQ(server_->child().wait().exit_code, 0);
  EXPECT_TRUE(mock_->wait_for_connections(0, patience_ms));
}

} // namespace
} // namespace rind::e2e
