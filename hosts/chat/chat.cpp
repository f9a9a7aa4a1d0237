// The loop: keys or lines, signals, and what the connection's thread hands over.
#include "hosts/chat/chat.hpp"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hosts/chat/chat_session.hpp"
#include "hosts/chat/line_editor.hpp"
#include "hosts/chat/screen.hpp"
#include "hosts/chat/terminal.hpp"
#include "hosts/chat/text_width.hpp"
#include "runtime/protocol/frames.hpp"

namespace rind::hosts::chat {

using nlohmann::json;

namespace {

constexpr std::size_t handover_max = 4'096;
constexpr std::size_t read_bytes = 16 * 1024;
constexpr int exit_failed = 1;
constexpr int exit_of_signal = 128; // and its number, as a shell says it
constexpr const char* prompt_mark = "> ";

/// Tasks from the connection's thread to the loop. A full queue makes that thread wait, so a
/// terminal that stands still holds the server's events back instead of filling memory.
class handover {
public:
  handover() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~handover() {
    if (wake_fd_ >= 0)
      ::close(wake_fd_);
  }
  handover(const handover&) = delete;
  handover& operator=(const handover&) = delete;

  int fd() const { return wake_fd_; }

  void give(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return over_ || tasks_.size() < handover_max; });
    if (over_)
      return;
    tasks_.push_back(std::move(task));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
  }
  /// For the loop's own thread, which must not wait for itself.
  void give_at_once(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
  }
  std::deque<std::function<void()>> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_fd_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    taken_.notify_all();
    return std::exchange(tasks_, {});
  }
  /// Nothing is taken any more; whoever waits goes on.
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    taken_.notify_all();
  }

private:
  int wake_fd_;
  std::mutex mutex_;
  std::condition_variable taken_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
};

class chat_loop {
public:
  explicit chat_loop(const chat_options& options)
      : options_(options),
        interactive_(is_terminal(options)),
        screen_(with_colours(options)),
        raw_(options.in_fd, options.out_fd),
        session_(options_, interactive_,
                 [this](const std::string& method, const json& params,
                        client::response_callback callback) {
                   return send(method, params, std::move(callback));
                 }) {}

  int run(const client::connector& connect);

private:
  static bool is_terminal(const chat_options& options) {
    const char* kind = std::getenv("TERM");
    return ::isatty(options.in_fd) == 1 && ::isatty(options.out_fd) == 1 && kind != nullptr &&
           std::string_view(kind) != "dumb";
  }
  static bool with_colours(const chat_options& options) {
    const char* none = std::getenv("NO_COLOR");
    return options.colours.value_or(none == nullptr || *none == '\0');
  }

  std::int64_t send(const std::string& method, const json& params,
                    client::response_callback callback);
  void tell_of_lost_connection();
  bool is_done() const;
  void wait();
  void read_input();
  void take_keys(std::string_view bytes);
  void take_wish(const wish& one);
  void take_signal(int number);
  void suspend();
  void give_lines();
  void show();
  void leave(int code);
  void load_history();
  void save_history() const;

  chat_options options_;
  const bool interactive_;
  signal_watch signals_;
  handover handover_;
  line_editor editor_;
  screen screen_;
  raw_mode raw_;
  protocol::line_splitter lines_;
  std::deque<std::string> waiting_lines_;
  std::optional<int> exit_code_;
  bool input_ended_ = false;
  bool connection_lost_ = false;
  bool interrupted_ = false;    // without a terminal: by SIGINT
  bool asked_to_leave_ = false; // one Ctrl-C at an idle prompt
  chat_session session_;
  // Last: it is gone first, and with it the thread that calls into what stands above.
  std::unique_ptr<client::protocol_client> client_;
};

std::int64_t chat_loop::send(const std::string& method, const json& params,
                             client::response_callback callback) {
  const auto loop_thread = std::this_thread::get_id();
  return client_->request(
      method, params,
      [this, loop_thread, done = std::move(callback)](const client::response& answer) {
        // Known with the answer: the word of the connection itself may come a wake-up later, and
        // the loop may have nothing left to wait for by then.
        auto task = [this, done, answer] {
          connection_lost_ = connection_lost_ || answer.error_type == client::connection_closed;
          done(answer);
        };
        if (std::this_thread::get_id() == loop_thread)
          handover_.give_at_once(std::move(task)); // the connection was closed already
        else
          handover_.give(std::move(task));
      });
}

int chat_loop::run(const client::connector& connect) {
  client::client_events events;
  events.on_event = [this](const json& frame) {
    handover_.give([this, frame] { session_.take_event(frame); });
  };
  events.on_closed = [this] { handover_.give([this] { connection_lost_ = true; }); };
  auto opened = client::protocol_client::open(connect, std::move(events));
  if (!opened) {
    write_all(options_.error_fd, "rind chat: " + opened.error().message + "\n");
    return exit_failed;
  }
  client_ = std::move(*opened);
  if (interactive_) {
    load_history();
    if (!raw_.enter())
      leave(exit_failed);
  }
  session_.start();
  while (!is_done()) {
    show();
    wait();
    for (const auto& task : handover_.take())
      task();
    give_lines();
  }
  show();
  if (interactive_) {
    write_all(options_.out_fd, screen_.leave());
    raw_.leave();
    save_history();
  }
  if (connection_lost_ && !session_.is_over() && !exit_code_)
    tell_of_lost_connection();
  handover_.end();
  client_.reset();
  if (exit_code_)
    return *exit_code_;
  if (interrupted_)
    return exit_of_signal + SIGINT;
  if (connection_lost_ && !session_.is_over())
    return exit_failed;
  const bool failed = interactive_ ? session_.is_turned_away() : session_.has_failed();
  return failed ? exit_failed : 0;
}

void chat_loop::tell_of_lost_connection() {
  const auto way_back = session_.way_back();
  write_all(options_.error_fd, "rind chat: the connection was closed" +
                                   (way_back.empty() ? std::string() : "; to go on: " + way_back) +
                                   "\n");
}

bool chat_loop::is_done() const {
  if (exit_code_ || connection_lost_ || session_.is_over())
    return true;
  return input_ended_ && waiting_lines_.empty() && session_.wants_line() &&
         (interactive_ || !session_.is_busy());
}

void chat_loop::wait() {
  const bool want_input = !input_ended_ && waiting_lines_.empty();
  pollfd fds[3] = {{want_input ? options_.in_fd : -1, POLLIN, 0},
                   {signals_.fd(), POLLIN, 0},
                   {handover_.fd(), POLLIN, 0}};
  if (::poll(fds, 3, -1) < 0) {
    if (errno != EINTR)
      leave(exit_failed);
    return;
  }
  for (const int number : signals_.take())
    take_signal(number);
  if (fds[0].revents != 0)
    read_input();
}

void chat_loop::read_input() {
  std::string buffer(read_bytes, '\0');
  const auto count = ::read(options_.in_fd, buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  const auto bytes =
      std::string_view(buffer).substr(0, count > 0 ? static_cast<std::size_t>(count) : 0);
  if (interactive_ && !bytes.empty())
    return take_keys(bytes);
  lines_.push(bytes);
  input_ended_ = bytes.empty();
  for (auto line = lines_.next(); line || (input_ended_ && (line = lines_.rest()));
       line = lines_.next()) {
    if (line->too_long) {
      write_all(options_.error_fd, "rind chat: a line of the input is too long\n");
      return leave(exit_failed);
    }
    waiting_lines_.push_back(std::move(line->text));
  }
}

void chat_loop::take_keys(std::string_view bytes) {
  for (const auto& one : editor_.take(bytes))
    take_wish(one);
}

void chat_loop::take_wish(const wish& one) {
  const bool was_asked = std::exchange(asked_to_leave_, false);
  switch (one.kind) {
  case wish_kind::submit:
    waiting_lines_.push_back(one.text);
    return;
  case wish_kind::interrupt:
    if (session_.cancel())
      return;
    if (!editor_.text().empty())
      return editor_.clear();
    if (was_asked)
      return leave(0);
    asked_to_leave_ = true;
    return session_.transcript().say(text_style::quiet, "Ctrl-C once more leaves");
  case wish_kind::end:
    return leave(0);
  case wish_kind::redraw:
    write_all(options_.out_fd, "\x1B[H\x1B[2J");
    return;
  case wish_kind::suspend:
    return suspend();
  case wish_kind::refused:
    return session_.transcript().say(text_style::error, "the text is too long");
  }
}

void chat_loop::take_signal(int number) {
  if (number == SIGWINCH)
    return; // the next draw asks for the size
  if (number == SIGINT && interactive_)
    return take_wish({wish_kind::interrupt, ""});
  if (number == SIGINT && !interrupted_ && session_.cancel()) {
    // The end of the cancelled turn is still shown; a second one leaves at once.
    interrupted_ = true;
    input_ended_ = true;
    return waiting_lines_.clear();
  }
  leave(exit_of_signal + number);
}

void chat_loop::suspend() {
  write_all(options_.out_fd, screen_.leave());
  raw_.leave();
  ::raise(SIGSTOP);
  if (!raw_.enter())
    leave(exit_failed);
}

void chat_loop::give_lines() {
  while (!waiting_lines_.empty() && session_.wants_line()) {
    const auto line = std::move(waiting_lines_.front());
    waiting_lines_.pop_front();
    session_.take_line(line);
  }
}

void chat_loop::show() {
  const auto pieces = session_.transcript().take_pieces();
  if (interactive_) {
    const live_region live{session_.transcript().status(), prompt_mark, editor_.text(),
                           editor_.cursor()};
    if (!write_all(options_.out_fd, screen_.draw(pieces, live, size_of(options_.out_fd))))
      leave(exit_failed);
    return;
  }
  for (const auto& one : pieces) {
    const int fd = one.style == text_style::answer ? options_.out_fd : options_.error_fd;
    if (!write_all(fd, one.text + (one.ends_line ? "\n" : "")))
      leave(exit_failed);
  }
}

void chat_loop::leave(int code) {
  if (!exit_code_)
    exit_code_ = code;
}

void chat_loop::load_history() {
  if (options_.history_file.empty())
    return;
  std::ifstream file(options_.history_file);
  for (std::string line; std::getline(file, line);)
    editor_.remember(std::move(line));
}

void chat_loop::save_history() const {
  if (options_.history_file.empty())
    return;
  std::string text;
  for (auto line : editor_.history()) {
    for (auto& byte : line)
      if (byte == '\n')
        byte = ' ';
    text += line + "\n";
  }
  const int fd =
      ::open(options_.history_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || !write_all(fd, text))
    write_all(options_.error_fd,
              "rind chat: the history could not be kept in " + options_.history_file + "\n");
  if (fd >= 0)
    ::close(fd);
}

} // namespace

int run_chat(const chat_options& options, const client::connector& connect) {
  return chat_loop(options).run(connect);
}

} // namespace rind::hosts::chat
