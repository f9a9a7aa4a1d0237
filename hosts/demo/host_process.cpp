// fork, exec, and the line that says that it listens.
#include "hosts/demo/host_process.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace rind::hosts::demo {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::string_view listening_line = "rind: listening on";

failure trouble(const std::string& what) {
  return make_failure(error_code::unavailable, what);
}

failure failed_call(const char* call) {
  return trouble(std::string(call) + ": " + std::strerror(errno));
}

/// Variables that would change the host or send its requests elsewhere.
bool reaches_the_host(std::string_view variable) {
  const auto name = variable.substr(0, variable.find('='));
  const auto ends_with = [&](std::string_view end) {
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
  };
  return name.substr(0, 5) != "RIND_" && name != "OPENAI_API_KEY" && name != "ANTHROPIC_API_KEY" &&
         !ends_with("_proxy") && !ends_with("_PROXY");
}

int left_ms(clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

/// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become_host(char* const* arguments, char* const* variables, int output, int log,
                              pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0); // Ctrl-C is for the demo, which ends the host itself
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0)
    execve("/proc/self/exe", arguments, variables);
  _exit(127);
}

} // namespace

std::vector<std::string> host_process::command() const {
  return {"rind",
          "serve",
          "--config",
          settings_.folder + "/rind.toml",
          "--socket",
          socket_path(),
          "--journal",
          "sqlite:" + journal_path(),
          "--base-url",
          settings_.base_url,
          "--model",
          settings_.model,
          "--context-window",
          std::to_string(settings_.window_tokens),
          "--demo-tools"};
}

result<done> host_process::start() {
  const auto settings_file = settings_.folder + "/rind.toml";
  const int empty = ::open(settings_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (empty < 0)
    return failed_call("open");
  ::close(empty);
  auto words = command();
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (reaches_the_host(*variable))
      variables.push_back(*variable);
  variables.push_back(nullptr);
  const int log = ::open(log_path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int output[2] = {-1, -1};
  if (log < 0 || ::pipe2(output, O_CLOEXEC) != 0) {
    const auto why = failed_call("open");
    ::close(log);
    return why;
  }
  const auto parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0)
    become_host(arguments.data(), variables.data(), output[1], log, parent);
  const auto forked = pid_ > 0 ? result<done>(done{}) : result<done>(failed_call("fork"));
  ::close(output[1]);
  ::close(log);
  auto listening = forked ? wait_until_it_listens(output[0]) : forked;
  // Nobody reads what it says later: a host that cannot write to its standard output lives on.
  ::close(output[0]);
  if (!listening)
    kill();
  return listening;
}

result<done> host_process::wait_until_it_listens(int output) {
  const auto deadline = clock::now() + std::chrono::milliseconds(host_start_ms);
  std::string said;
  for (;;) {
    pollfd ready{output, POLLIN, 0};
    const int polled = ::poll(&ready, 1, left_ms(deadline));
    if (polled < 0 && errno == EINTR)
      continue;
    if (polled <= 0)
      return trouble("the host did not listen within " + std::to_string(host_start_ms) + " ms");
    char bytes[512];
    const auto count = ::read(output, bytes, sizeof bytes);
    if (count <= 0)
      return trouble("the host ended before it listened");
    said.append(bytes, static_cast<std::size_t>(count));
    if (const auto at = said.find(listening_line);
        at != std::string::npos && said.find('\n', at) != std::string::npos)
      return done{};
  }
}

void host_process::kill() {
  if (pid_ <= 0)
    return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

result<done> host_process::stop() {
  if (pid_ <= 0)
    return trouble("the host does not run");
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  ::kill(pid_, SIGTERM);
  pollfd ended{watch, POLLIN, 0};
  const auto deadline = clock::now() + std::chrono::milliseconds(host_stop_ms);
  while (::poll(&ended, 1, left_ms(deadline)) < 0 && errno == EINTR) {
  }
  ::close(watch);
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    kill();
    return trouble("the host did not stop within " + std::to_string(host_stop_ms) +
                   " ms after SIGTERM");
  }
  pid_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return trouble("the host ended with status " + std::to_string(status) + " after SIGTERM");
  return done{};
}

} // namespace rind::hosts::demo
