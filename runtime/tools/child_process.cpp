// Starts a program with posix_spawn and moves bytes through its pipes.
#include "runtime/tools/child_process.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rind::tools {

namespace {

constexpr std::size_t read_bytes_max = 64u << 10; // of one pipe before the others get their turn

std::string text_of(int error) {
  return std::system_category().message(error);
}

struct pipe_ends {
  descriptor ours;
  descriptor theirs;
};

/// A pipe from the program, whose end on our side never blocks. Closed ends where there is none to
/// have.
pipe_ends open_pipe() {
  std::array<int, 2> fds{-1, -1};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0)
    return {};
  pipe_ends ends{descriptor(fds[0]), descriptor(fds[1])};
  if (::fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK) != 0)
    return {};
  return ends;
}

/// A file in memory with this text, to be read from its start and changed by nobody. Closed where
/// there is none to have; errno says why.
descriptor file_with(std::string_view text) {
  descriptor file(::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  while (file.is_open() && !text.empty()) {
    const auto wrote = ::write(file.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return {};
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  constexpr int unchanged = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!file.is_open() || ::lseek(file.get(), 0, SEEK_SET) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, unchanged) != 0)
    return {};
  return file;
}

/// The attributes and file actions of a spawn, freed at the end.
class spawn_plan {
public:
  spawn_plan() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
  }
  spawn_plan(const spawn_plan&) = delete;
  spawn_plan& operator=(const spawn_plan&) = delete;
  ~spawn_plan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  /// A group of its own, and no blocked or ignored signal of the host (which ignores SIGPIPE, say).
  bool separate() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::sigdelset(&all, SIGKILL);
    ::sigdelset(&all, SIGSTOP);
    constexpr short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    return ::posix_spawnattr_setflags(&attributes_, flags) == 0 &&
           ::posix_spawnattr_setpgroup(&attributes_, 0) == 0 &&
           ::posix_spawnattr_setsigmask(&attributes_, &none) == 0 &&
           ::posix_spawnattr_setsigdefault(&attributes_, &all) == 0;
  }

  /// The three standard streams and nothing else: libraries of the host may have opened descriptors
  /// that would be inherited.
  bool connect(int in, int out, int err) {
    return ::posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO) == 0 &&
           ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO) == 0 &&
           ::posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO) == 0 &&
           ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1) == 0;
  }

  /// 0 or the error.
  int spawn(pid_t& pid, const std::vector<std::string>& command,
            const std::vector<std::string>& environment) {
    auto arguments = pointers(command);
    auto variables = pointers(environment);
    return ::posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(),
                          variables.data());
  }

private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const auto& text : texts)
      out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  }

  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

/// Moves a descriptor out of the way of the standard streams, where it lies if the host has closed
/// one of those.
descriptor above_standard(descriptor fd) {
  if (!fd.is_open() || fd.get() > STDERR_FILENO)
    return fd;
  return descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

} // namespace

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void descriptor::reset() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

child_process::child_process(const process_request& request,
                             const std::vector<std::string>& environment)
    : collected_output_(request.output_limit_chars), collected_error_(error_output_limit_chars) {
  if (request.command.empty() || request.command.front().empty())
    start_error_ = "no program is named";
  else
    spawn(request, environment);
}

child_process::~child_process() {
  reap();
}

void child_process::spawn(const process_request& request,
                          const std::vector<std::string>& environment) {
  auto in = above_standard(file_with(request.input));
  if (!in.is_open()) {
    start_error_ = "no memory for the program's input: " + text_of(errno);
    return;
  }
  auto out = open_pipe();
  auto err = open_pipe();
  const int pipe_error = errno;
  for (auto* ends : {&out, &err})
    ends->theirs = above_standard(std::move(ends->theirs));
  if (!out.theirs.is_open() || !err.theirs.is_open()) {
    start_error_ = "no pipe to the program: " + text_of(pipe_error);
    return;
  }
  spawn_plan plan;
  int error = ENOMEM;
  if (plan.separate() && plan.connect(in.get(), out.theirs.get(), err.theirs.get()))
    error = plan.spawn(pid_, request.command, environment);
  if (error != 0) {
    pid_ = -1;
    start_error_ = "cannot start " + request.command.front() + ": " + text_of(error);
    return;
  }
  // By number, for C libraries that have no name for it yet.
  pidfd_ = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_.is_open()) {
    start_error_ = "cannot watch " + request.command.front() + ": " + text_of(errno);
    reap();
    return;
  }
  output_ = std::move(out.ours);
  error_ = std::move(err.ours);
}

void child_process::read_into(descriptor& from, output_collector& to) {
  std::array<char, read_bytes_max> buffer; // left as it is: only what is read is used
  ssize_t got = 0;
  do
    got = ::read(from.get(), buffer.data(), buffer.size());
  while (got < 0 && errno == EINTR);
  if (got > 0)
    to.append({buffer.data(), static_cast<std::size_t>(got)});
  else if (got == 0 || errno != EAGAIN)
    from.reset();
}

void child_process::look_for_exit() {
  siginfo_t info{};
  if (exited_ || pid_ < 0)
    return;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno != ECHILD)
      return;
    // Somebody else collected it (a host that ignores SIGCHLD): its number may name another group
    // by now.
    exited_ = true;
    exit_ = {false, exit_code_unknown};
    pid_ = -1;
    return;
  }
  if (info.si_pid != pid_)
    return;
  exited_ = true;
  exit_ = {info.si_code != CLD_EXITED, info.si_status};
}

void child_process::signal_group(int signal_number) {
  if (pid_ > 0)
    ::kill(-pid_, signal_number);
}

void child_process::reap() {
  if (pid_ < 0)
    return;
  signal_group(SIGKILL);
  output_.reset();
  error_.reset();
  // A program that the kernel cannot end yet stays behind as a zombie; without a descriptor to
  // watch it, waiting is all that is left.
  const int flags = pidfd_.is_open() ? WNOHANG : 0;
  while (::waitpid(pid_, nullptr, flags) < 0 && errno == EINTR)
    continue;
  pidfd_.reset();
  pid_ = -1;
}

} // namespace rind::tools
