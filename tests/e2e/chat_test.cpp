// `rind chat` as a person and as a script meet it: in a pseudo-terminal and in a pipe.
#include <csignal>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using nlohmann::json;

constexpr std::int64_t deadline_ms = 30'000;

/// `rind chat` on a terminal of its own.
class terminal_chat {
public:
  explicit terminal_chat(const kit::program_options& options) {
    winsize size{40, 100, 0, 0};
    auto arguments = options.arguments;
    arguments.insert(arguments.begin(), RIND_PROGRAM);
    std::vector<char*> pointers;
    for (auto& a : arguments)
      pointers.push_back(a.data());
    pointers.push_back(nullptr);
    int fd = -1;
    pid_ = ::forkpty(&fd, nullptr, nullptr, &size);
    if (pid_ == 0) {
      for (const auto& [name, value] : options.variables)
        value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
      ::setenv("TERM", "xterm-256color", 1);
      ::setenv("HOME", options.folder.c_str(), 1);
      ::execv(RIND_PROGRAM, pointers.data());
      ::_exit(127);
    }
    fd_ = fd;
    screen_ = std::make_unique<kit::line_channel>(fd, fd);
  }
  ~terminal_chat() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  terminal_chat(const terminal_chat&) = delete;
  terminal_chat& operator=(const terminal_chat&) = delete;

  void type(const std::string& keys) { screen_->send(keys); }

  /// Reads until the text was shown since the last call.
  bool shows(const std::string& text) {
    for (;;) {
      while (auto line = screen_->take_line())
        seen_ += *line + "\n";
      const auto all = seen_ + screen_->rest();
      if (const auto at = all.find(text, from_); at != std::string::npos) {
        from_ = at + text.size();
        return true;
      }
      if (screen_->is_ended() || !kit::line_channel::move_bytes({screen_.get()}, deadline_ms))
        return false;
    }
  }

  int exit_code() {
    screen_->read_to_end(deadline_ms);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// Whether the terminal echoes and hands over whole lines, as a shell wants to find it.
  bool is_as_a_shell_wants_it() const {
    termios now{};
    return ::tcgetattr(fd_, &now) == 0 && (now.c_lflag & ECHO) != 0 && (now.c_lflag & ICANON) != 0;
  }

  std::string everything() const { return seen_ + screen_->rest(); }

private:
  pid_t pid_ = -1;
  int fd_ = -1; // screen_ owns it
  std::unique_ptr<kit::line_channel> screen_;
  std::string seen_;
  std::size_t from_ = 0;
};

std::vector<json> friendly_script() {
  return {{{"match", {{"contains", "hang"}}},
           {"times", 0},
           {"answer", {{"deltas", {"thinking aloud "}}, {"hang_after_chunks", 2}}}},
          {{"match", {{"contains", "fail"}}},
           {"times", 0},
           {"answer", {{"status", 401}, {"body", {{"error", {{"message", "a wrong key"}}}}}}}},
          {{"match", {{"has_tools", false}, {"contains", "andoff"}}},
           {"times", 0},
           {"answer", {{"text", "## Goal\nTo talk.\n"}}}}};
}

TEST(chat, in_a_pipe_each_line_is_a_prompt_or_a_command) {
  const lone_host world(friendly_script());
  kit::program child(RIND_PROGRAM, world.options({"chat", "--journal", world.journal()}));
  child.pipes().send_line("the first line");
  child.pipes().send_line("/status");
  child.pipes().send_line("the second line, with ümlauts");
  child.pipes().close_input();
  child.pipes().read_to_end();
  std::string text;
  while (auto line = child.pipes().take_line())
    text += *line + "\n";
  EXPECT_EQ(child.wait().exit_code, 0) << world.errors();
  const auto first = text.find("You said: the first line");
  const auto second = text.find("You said: the second line, with ümlauts");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_LT(first, second);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no terminal codes in a pipe";
}

TEST(chat, in_a_pipe_a_failed_turn_is_told_and_counts) {
  const lone_host world(friendly_script());
  auto options = world.options({"chat", "--journal", "memory"});
  kit::program child(RIND_PROGRAM, options);
  child.pipes().send_line("please fail");
  child.pipes().close_input();
  child.pipes().read_to_end();
  EXPECT_EQ(child.wait().exit_code, 1);
  EXPECT_NE(world.errors().find("a wrong key"), std::string::npos) << world.errors();
}

TEST(chat, a_session_that_is_not_there_fails_in_a_pipe_and_at_a_terminal) {
  const lone_host world;
  const auto piped = world.run({"chat", "--journal", "memory", "--session", "nope"});
  EXPECT_EQ(piped.exit_code, 1);
  EXPECT_NE(piped.errors.find("there is no session nope"), std::string::npos) << piped.errors;
  terminal_chat chat(world.options({"chat", "--journal", "memory", "--session", "nope"}));
  EXPECT_TRUE(chat.shows("there is no session nope")) << chat.everything();
  EXPECT_EQ(chat.exit_code(), 1);
}

TEST(chat, S15_context_speaks_to_people_and_shows_every_number_on_request) {
  const lone_host world(friendly_script());
  kit::program child(RIND_PROGRAM, world.options({"chat", "--journal", "memory"}));
  for (const auto* line : {"hello", "/context", "/context all"})
    child.pipes().send_line(line);
  child.pipes().close_input();
  child.pipes().read_to_end();
  std::string text;
  while (auto line = child.pipes().take_line())
    text += *line + "\n";
  EXPECT_EQ(child.wait().exit_code, 0) << world.errors();
  const auto all = text.find("Next sampling:");
  EXPECT_NE(text.find("Window: 32,000 tokens, from the settings"), std::string::npos) << text;
  EXPECT_LT(text.find("Nothing was compacted so far."), all) << text;
  EXPECT_NE(text.find("hard limit 30976", all), std::string::npos) << text;
}

TEST(chat, at_a_terminal_it_says_how_to_come_back) {
  const lone_host world(friendly_script());
  {
    terminal_chat kept(world.options({"chat", "--journal", world.journal()}));
    EXPECT_TRUE(kept.shows("model mock-model, window 32,000 tokens")) << kept.everything();
    EXPECT_TRUE(kept.shows("to go on later: rind chat --journal ")) << kept.everything();
  }
  terminal_chat passing(world.options({"chat", "--journal", "memory"}));
  EXPECT_TRUE(passing.shows("(kept in memory")) << passing.everything();
  auto host = world.serve();
  terminal_chat shared(world.options({"chat", "--socket", host.socket_path()}, false));
  EXPECT_TRUE(shared.shows("to go on later: rind chat --socket ")) << shared.everything();
}

TEST(chat, in_a_pipe_it_talks_to_a_server_that_runs) {
  const lone_host world(friendly_script());
  auto host = world.serve();
  auto peer = client_of(host.socket_path(), "shared");
  ASSERT_EQ(kit::result_of(peer->call("session/prompt", {{"input", "hello"}})).value("outcome", ""),
            "completed");
  kit::program child(
      RIND_PROGRAM, world.options({"chat", "--socket", host.socket_path(), "--session", "shared"}));
  child.pipes().send_line("from the chat");
  child.pipes().close_input();
  EXPECT_EQ(peer->wait_for_event("assistant_message_completed", "shared")["event"]["content"],
            "You said: hello");
  EXPECT_EQ(peer->wait_for_event("assistant_message_completed", "shared")["event"]["content"],
            "You said: from the chat");
  child.pipes().read_to_end();
  EXPECT_EQ(child.wait().exit_code, 0) << world.errors();
}

TEST(chat, a_client_of_a_running_host_needs_no_settings_of_its_own) {
  const lone_host world(friendly_script());
  const auto host = world.serve();
  kit::write_file(world.file("broken.toml"),
                  "[[providers]]\nname = \"x\"\napi_key_env = \"NOT_SET\"\n");
  auto options = world.options({"chat", "--socket", host.socket_path(), "--model", "nosuch",
                                "--config", world.file("broken.toml")},
                               false);
  int exit_code = -1;
  kit::output_of(RIND_PROGRAM, options, &exit_code);
  EXPECT_EQ(exit_code, 0) << world.errors();
  EXPECT_NE(world.errors().find("--model has no effect"), std::string::npos) << world.errors();
}

TEST(chat, at_a_terminal_text_is_streamed_edited_and_cancelled) {
  const lone_host world(friendly_script());
  terminal_chat chat(world.options({"chat", "--journal", world.journal()}));
  ASSERT_TRUE(chat.shows("model mock-model")) << chat.everything();
  chat.type("one line\x7f\x7f\x7f\x7fword\r"); // backspace
  EXPECT_TRUE(chat.shows("You said: one word")) << chat.everything();
  chat.type("please hang\r");
  EXPECT_TRUE(chat.shows("thinking aloud")) << chat.everything();
  chat.type("\x03"); // Ctrl-C cancels the turn, not the program
  EXPECT_TRUE(chat.shows("ancel")) << chat.everything();
  chat.type("/status\r");
  EXPECT_TRUE(chat.shows("mock-model")) << chat.everything();
  chat.type("still here?\r");
  EXPECT_TRUE(chat.shows("You said: still here?")) << chat.everything();
  chat.type("\x04"); // Ctrl-D leaves
  EXPECT_EQ(chat.exit_code(), 0) << chat.everything();
}

TEST(chat, at_a_terminal_the_settings_of_the_terminal_come_back) {
  const lone_host world(friendly_script());
  terminal_chat chat(world.options({"chat", "--journal", "memory"}));
  ASSERT_TRUE(chat.shows("model mock-model")) << chat.everything();
  chat.type("hello\r");
  ASSERT_TRUE(chat.shows("You said: hello")) << chat.everything();
  EXPECT_FALSE(chat.is_as_a_shell_wants_it());
  chat.type("/quit\r");
  EXPECT_EQ(chat.exit_code(), 0) << chat.everything();
  EXPECT_TRUE(chat.is_as_a_shell_wants_it());
}

} // namespace
} // namespace rind::e2e
