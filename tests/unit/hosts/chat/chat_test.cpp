// `rind chat` as a whole against a server that the test writes: through a pipe, and at a terminal
// (a pseudo one).
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "hosts/chat/chat.hpp"
#include "tests/unit/hosts/line_server.hpp"

namespace rind::hosts::chat {
namespace {

using nlohmann::json;
constexpr int patience_ms = 20'000;

/// Answers prompts with what was asked; "hang" runs until it is cancelled, "fail" fails, "gone"
/// ends the connection.
class echo_host {
public:
  echo_host()
      : server([this](line_server::peer& peer, const json& request) { answer(peer, request); }) {}

  std::string window_origin = "settings";
  bool is_compactable = true;
  std::vector<std::string> steered; // the server's thread; read after the chat has ended

  line_server server;

private:
  void answer(line_server::peer& peer, const json& request) {
    const std::string method = request["method"];
    const auto& params = request["params"];
    if (method == "initialize" && params.value("session_id", "") == "nope")
      return peer.error(request, "SessionNotFound");
    if (method == "initialize")
      return peer.result(request, {{"session_id", "s1"},
                                   {"model", "echo"},
                                   {"resume_preview", ""},
                                   {"turn_state", nullptr}});
    if (method == "rind/context/inspect")
      return peer.result(request, {{"stats",
                                    {{"context_usage_percent", 0},
                                     {"context_window_tokens", 32'000},
                                     {"context_window_origin", window_origin},
                                     {"compact_generation", 0}}}});
    if (method == "rind/command/execute" && params["input"] == "/compact")
      return compact(peer, request);
    if (method == "session/prompt")
      return prompt(peer, request, params["input"]);
    if (method == "session/cancel")
      return cancel(peer, request);
    if (method == "rind/session/steer" && !hanging_.is_null()) {
      steered.push_back(params["input"]);
      peer.event(
          {{"type", "queued_input_delivered"}, {"input", params["input"]}, {"mode", "steering"}});
      return peer.result(request, {{"accepted", true}});
    }
    if (method == "rind/command/execute")
      return peer.result(request, {{"text", "told: " + params["input"].get<std::string>()}});
    peer.error(request, "TurnNotActive");
  }

  void prompt(line_server::peer& peer, const json& request, const std::string& input) {
    if (input == "gone")
      return peer.close();
    peer.event({{"type", "turn_started"}, {"operation", "turn"}});
    peer.event({{"type", "context_built"},
                {"stats",
                 {{"context_usage_percent", 41},
                  {"context_window_tokens", 32'000},
                  {"compact_generation", 2}}}});
    if (input == "hang") {
      hanging_ = request;
      return peer.event({{"type", "assistant_delta"}, {"text", "working"}});
    }
    if (input == "fail") {
      peer.event({{"type", "turn_failed"},
                  {"error", "no key"},
                  {"code", "auth"},
                  {"undelivered", json::array()}});
      return peer.result(request, {{"outcome", "failed"}});
    }
    peer.event({{"type", "assistant_delta"}, {"text", "you said "}});
    peer.event({{"type", "assistant_message_completed"}, {"content", "you said " + input}});
    peer.event({{"type", "turn_completed"}, {"undelivered", json::array()}});
    peer.result(request, {{"outcome", "completed"}});
  }

  void compact(line_server::peer& peer, const json& request) {
    if (!is_compactable)
      return peer.result(request, {{"text", "Nothing to compact"}});
    peer.event({{"type", "context_compacted"},
                {"record",
                 {{"strategy", "llm_inline"},
                  {"tokens_before", 900},
                  {"tokens_after", 200},
                  {"generation", 1}}}});
    peer.result(request, {{"text", "Context compacted: 900 -> 200 tokens"}});
  }

  void cancel(line_server::peer& peer, const json& request) {
    if (hanging_.is_null())
      return peer.error(request, "TurnNotActive");
    peer.result(request, {{"ok", true}});
    peer.event({{"type", "turn_cancelled"}, {"reason", "user"}, {"undelivered", json::array()}});
    peer.result(std::exchange(hanging_, nullptr), {{"outcome", "cancelled"}});
  }

  json hanging_;
};

struct pipe_run {
  int code = -1;
  std::string out;
  std::string error;
};

std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(count));
  return all;
}

/// Feeds the input through a pipe and collects what comes out of two others.
pipe_run run_piped(echo_host& host, const std::string& input, const std::string& session_id = {},
                   const std::string& again = {}) {
  int in[2];
  int out[2];
  int error[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(error, O_CLOEXEC) != 0)
    std::abort();
  pipe_run run;
  std::thread writer([&] {
    EXPECT_EQ(::write(in[1], input.data(), input.size()), std::ssize(input));
    ::close(in[1]);
  });
  std::thread out_reader([&] { run.out = read_all(out[0]); });
  std::thread error_reader([&] { run.error = read_all(error[0]); });
  chat_options options;
  options.session_id = session_id;
  options.again = again;
  options.in_fd = in[0];
  options.out_fd = out[1];
  options.error_fd = error[1];
  run.code = run_chat(options, host.server.connector());
  ::close(out[1]);
  ::close(error[1]);
  for (auto* one : {&writer, &out_reader, &error_reader})
    one->join();
  for (const int fd : {in[0], out[0], error[0]})
    ::close(fd);
  return run;
}

TEST(chat_in_a_pipe, prints_the_answers_and_nothing_else) {
  echo_host host;
  const auto run = run_piped(host, "one\n\ntwo\n/status\nlast without a newline");
  EXPECT_EQ(run.out,
            "you said one\nyou said two\ntold: /status\nyou said last without a newline\n");
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.code, 0);
}

TEST(chat_in_a_pipe, a_session_that_is_not_there_is_told_and_fails) {
  echo_host host;
  const auto run = run_piped(host, "hello\n", "nope");
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.error, "no: SessionNotFound (SessionNotFound)\n");
  EXPECT_EQ(run.code, 1);
}

TEST(chat_in_a_pipe, a_compaction_is_answered) {
  echo_host host;
  EXPECT_EQ(run_piped(host, "/compact\n").out, "Context compacted: 900 -> 200 tokens\n");
}

TEST(chat_in_a_pipe, an_empty_input_is_fine) {
  echo_host host;
  const auto run = run_piped(host, "");
  EXPECT_EQ(run.out + run.error, "");
  EXPECT_EQ(run.code, 0);
}

TEST(chat_in_a_pipe, a_failed_turn_shows_in_the_exit_code_and_the_rest_goes_on) {
  echo_host host;
  const auto run = run_piped(host, "fail\nnext\n");
  EXPECT_EQ(run.out, "you said next\n");
  EXPECT_EQ(run.error, "the turn failed: no key (auth)\n");
  EXPECT_EQ(run.code, 1);
}

TEST(chat_in_a_pipe, a_refused_line_shows_in_the_exit_code) {
  echo_host host;
  const auto run = run_piped(host, "/new\n");
  EXPECT_EQ(run.error, "no: TurnNotActive (TurnNotActive)\n");
  EXPECT_EQ(run.code, 1);
}

TEST(chat_in_a_pipe, quit_leaves_the_rest_unread) {
  echo_host host;
  const auto run = run_piped(host, "one\n/quit\ntwo\n");
  EXPECT_EQ(run.out, "you said one\n");
  EXPECT_EQ(run.code, 0);
}

TEST(chat_in_a_pipe, a_lost_connection_is_an_error_that_names_the_way_back) {
  echo_host host;
  const auto run = run_piped(host, "gone\ntwo\n");
  EXPECT_TRUE(run.error.ends_with("rind chat: the connection was closed\n")) << run.error;
  EXPECT_EQ(run.code, 1);
  const auto kept = run_piped(host, "gone\n", {}, "rind chat --socket s");
  EXPECT_TRUE(kept.error.ends_with("rind chat: the connection was closed; to go on: "
                                   "rind chat --socket s --session s1\n"))
      << kept.error;
}

TEST(chat_in_a_pipe, no_server_is_an_error) {
  net::asio_client network;
  chat_options options;
  options.error_fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(run_chat(options,
                     [&](net::connect_callback callback) {
                       return network.connect_unix("/nonexistent/s", std::move(callback));
                     }),
            1);
  ::close(options.error_fd);
}

/// A chat at a pseudo terminal, driven by keys.
class terminal_run {
public:
  explicit terminal_run(echo_host& host, chat_options options = {})
      : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    ::setenv("TERM", "xterm", 1);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      std::abort();
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{24, 80, 0, 0};
    ::ioctl(slave_, TIOCSWINSZ, &size);
    ::tcgetattr(slave_, &before_);
    options.in_fd = slave_;
    options.out_fd = slave_;
    thread_ =
        std::thread([this, options, &host] { code_ = run_chat(options, host.server.connector()); });
  }
  ~terminal_run() {
    if (thread_.joinable()) { // a failed test: Ctrl-U and Ctrl-D leave at any time
      type("\x15\x04");
      thread_.join();
    }
    ::close(slave_);
    ::close(master_);
  }

  void type(const std::string& keys) {
    ASSERT_EQ(::write(master_, keys.data(), keys.size()), std::ssize(keys));
  }
  /// Reads until the text was shown after what was waited for before.
  bool shows(const std::string& text) {
    for (;;) {
      if (const auto found = shown_.find(text, seen_); found != std::string::npos) {
        seen_ = found + text.size();
        return true;
      }
      pollfd ready{master_, POLLIN, 0};
      if (::poll(&ready, 1, patience_ms) != 1)
        return false;
      char buffer[4096];
      const auto count = ::read(master_, buffer, sizeof buffer);
      if (count <= 0)
        return false;
      shown_.append(buffer, static_cast<std::size_t>(count));
    }
  }
  int code() {
    thread_.join();
    return code_;
  }
  const std::string& shown() const { return shown_; }
  bool modes_are_restored() {
    termios now{};
    ::tcgetattr(slave_, &now);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag;
  }

private:
  int master_;
  int slave_ = -1;
  termios before_{};
  std::string shown_;
  std::size_t seen_ = 0;
  int code_ = -1;
  std::thread thread_;
};

chat_options options_of(const std::string& session_id, const std::string& again) {
  chat_options options;
  options.session_id = session_id;
  options.again = again;
  return options;
}

TEST(chat_at_a_terminal, a_session_that_is_not_there_is_told_and_fails) {
  echo_host host;
  terminal_run run(host, options_of("nope", ""));
  ASSERT_TRUE(run.shows("no: SessionNotFound"));
  EXPECT_EQ(run.code(), 1);
}

TEST(chat_at_a_terminal, S14_a_guessed_window_and_a_session_in_memory_are_called_so) {
  echo_host host;
  host.window_origin = "default";
  terminal_run run(host, options_of("", ""));
  ASSERT_TRUE(run.shows("window 32,000 tokens (assumed; set --context-window)"));
  ASSERT_TRUE(run.shows("session s1 (kept in memory"));
  run.type("\x04");
  EXPECT_EQ(run.code(), 0);
}

TEST(chat_at_a_terminal, S20_a_compaction_is_told_once_and_where_there_was_none_the_answer_is) {
  for (const bool is_compactable : {true, false}) {
    echo_host host;
    host.is_compactable = is_compactable;
    terminal_run run(host);
    ASSERT_TRUE(run.shows("/help"));
    run.type("/compact\r");
    ASSERT_TRUE(run.shows(is_compactable ? "context compacted: 900 -> 200" : "Nothing to compact"));
    run.type("/status\r");
    ASSERT_TRUE(run.shows("told: /status"));
    run.type("\x04");
    EXPECT_EQ(run.code(), 0);
    EXPECT_EQ(run.shown().find("Context compacted"), std::string::npos);
  }
}

TEST(chat_at_a_terminal, streams_shows_the_gauge_and_leaves_with_ctrl_d) {
  echo_host host;
  terminal_run run(host, options_of("", "rind chat"));
  ASSERT_TRUE(run.shows("model echo, window 32,000 tokens"));
  ASSERT_TRUE(run.shows("to go on later: rind chat --session s1"));
  ASSERT_TRUE(run.shows("/help"));
  run.type("hellp\x7Fo\r");
  ASSERT_TRUE(run.shows("> hello"));
  ASSERT_TRUE(run.shows("you said hello"));
  ASSERT_TRUE(run.shows("[###.....] 41 % of 32k, generation 2"));
  run.type("\x04");
  EXPECT_EQ(run.code(), 0);
  EXPECT_TRUE(run.modes_are_restored());
}

TEST(chat_at_a_terminal, typing_while_a_turn_runs_steers_and_ctrl_c_cancels_then_leaves) {
  echo_host host;
  terminal_run run(host);
  ASSERT_TRUE(run.shows("model echo"));
  run.type("hang\r");
  ASSERT_TRUE(run.shows("working"));
  run.type("to the left\r");
  ASSERT_TRUE(run.shows(">> to the left"));
  run.type("\x03");
  ASSERT_TRUE(run.shows("cancelled"));
  run.type("again\r");
  ASSERT_TRUE(run.shows("you said again"));
  run.type("/status\r");
  ASSERT_TRUE(run.shows("told: /status")); // answered after the turn's end, so nothing runs now
  run.type("\x03");
  ASSERT_TRUE(run.shows("once more"));
  run.type("\x03");
  EXPECT_EQ(run.code(), 0);
  EXPECT_EQ(host.steered, std::vector<std::string>{"to the left"});
}

TEST(chat_at_a_terminal, help_names_both_kinds_of_commands) {
  echo_host host;
  terminal_run run(host);
  run.type("/help\r");
  ASSERT_TRUE(run.shows("told: /help"));
  ASSERT_TRUE(run.shows("/steer TEXT"));
  run.type("/quit\r");
  EXPECT_EQ(run.code(), 0);
}

TEST(chat_at_a_terminal, colours_can_be_off_and_the_history_is_kept) {
  echo_host host;
  std::string file = (std::filesystem::temp_directory_path() / "rind-history-XXXXXX").string();
  ::close(::mkstemp(file.data()));
  chat_options options;
  options.colours = false;
  options.history_file = file;
  {
    terminal_run run(host, options);
    run.type("remember me\r");
    ASSERT_TRUE(run.shows("you said remember me"));
    run.type("\x04");
    EXPECT_EQ(run.code(), 0);
    EXPECT_EQ(run.shown().find("\x1B[2m"), std::string::npos);
  }
  std::string line;
  std::getline(std::ifstream(file), line);
  EXPECT_EQ(line, "remember me");
  terminal_run run(host, options);
  ASSERT_TRUE(run.shows("model echo"));
  run.type("\x1B[A\r");
  ASSERT_TRUE(run.shows("you said remember me"));
  run.type("\x04");
  EXPECT_EQ(run.code(), 0);
  std::filesystem::remove(file);
}

} // namespace
} // namespace rind::hosts::chat
