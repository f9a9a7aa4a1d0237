// fork, exec, and a pidfd to wait on.
#include "tests/kit/program.hpp"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rind::kit {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!variables.count(text.substr(0, text.find('='))))
      merged.push_back(text);
  }
  for (const auto& [name, value] : variables)
    if (!value.empty())
      merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts)
    all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Between fork and exec: nothing here allocates.
[[noreturn]] void become(const std::string& path, char* const* arguments, char* const* environment,
                         int input, int output, int errors, const std::string& folder) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(input, 0);
  ::dup2(output, 1);
  if (errors >= 0)
    ::dup2(errors, 2);
  if (folder.empty() || ::chdir(folder.c_str()) == 0)
    ::execve(path.c_str(), arguments, environment);
  ::_exit(127);
}

} // namespace

program::program(const std::string& path, const program_options& options) {
  int to_child[2];
  int from_child[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0)
    fail("pipe2");
  int errors = -1;
  if (!options.errors_file.empty() &&
      (errors = ::open(options.errors_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                       0600)) < 0)
    fail("open");
  auto arguments = options.arguments;
  arguments.insert(arguments.begin(), path);
  auto environment = merged_environment(options.variables);
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  pid_ = ::fork();
  if (pid_ < 0)
    fail("fork");
  if (pid_ == 0)
    become(path, argument_pointers.data(), environment_pointers.data(), to_child[0], from_child[1],
           errors, options.folder);
  ::close(to_child[0]);
  ::close(from_child[1]);
  if (errors >= 0)
    ::close(errors);
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pipes_ = std::make_unique<line_channel>(from_child[0], to_child[1]);
}

program::~program() {
  kill();
  if (pid_fd_ >= 0)
    ::close(pid_fd_);
}

void program::signal(int number) const {
  if (pid_ > 0)
    ::kill(pid_, number);
}

child_end program::wait(std::int64_t deadline_ms) {
  child_end end;
  if (pid_ < 0)
    return end;
  pollfd ended{pid_fd_, POLLIN, 0};
  end.is_in_time = ::poll(&ended, 1, static_cast<int>(deadline_ms)) == 1;
  if (!end.is_in_time)
    signal(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status))
    end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status))
    end.signal = WTERMSIG(status);
  return end;
}

void program::kill() {
  signal(SIGKILL);
  wait();
}

} // namespace rind::kit
