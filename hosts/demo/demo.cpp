// The run: provider, host, sessions, the kill in the middle, the end, the verdict.
#include "hosts/demo/demo.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include <unistd.h>

#include "hosts/demo/host_process.hpp"
#include "hosts/demo/report.hpp"
#include "hosts/signals.hpp"
#include "runtime/journal/sqlite_store.hpp"

namespace rind::hosts::demo {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t wait_limit_base_ms = 60'000;
constexpr std::int64_t wait_limit_a_session_ms = 250;
constexpr std::size_t told_faults_max = 20;
constexpr std::streamoff told_log_bytes_max = 2'000;
/// A socket's path is short; a folder that is too deep for it is passed over.
constexpr std::size_t folder_bytes_max = 60;
constexpr std::chrono::milliseconds progress_at_terminal{100};
constexpr std::chrono::milliseconds progress_in_pipe{2'000};
/// A line that is written over must not be broken by the terminal.
constexpr std::size_t terminal_columns = 79;

/// A folder that goes with its owner.
class temporary_folder {
public:
  static result<std::unique_ptr<temporary_folder>> make() {
    std::error_code none;
    auto base = fs::temp_directory_path(none).string();
    if (none || base.size() > folder_bytes_max)
      base = "/tmp";
    auto name = base + "/rind-demo-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      return make_failure(error_code::unavailable,
                          "no folder for temporary files in " + base + ": " + std::strerror(errno));
    return std::unique_ptr<temporary_folder>(new temporary_folder(std::move(name)));
  }
  ~temporary_folder() {
    std::error_code ignored; // what stays behind lies in the folder for temporary files
    fs::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const { return path_; }

private:
  explicit temporary_folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Gives the run up when a signal comes. Ends its thread when it goes.
class interrupt_watch {
public:
  explicit interrupt_watch(run_state& run)
      : signals_{SIGINT, SIGTERM}, thread_([this, &run] {
          if (const int number = signals_.wait(); number != 0) {
            signal_ = number;
            run.give_up("interrupted");
          }
        }) {}
  ~interrupt_watch() {
    signals_.wake();
    thread_.join();
  }
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

  int signal() const { return signal_; }

private:
  signal_waiter signals_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

/// One line that is written over at a terminal, a few lines in a pipe, nothing beside JSON.
class progress_line {
public:
  explicit progress_line(const demo_options& options)
      : sessions_(options.sessions),
        silent_(options.json),
        terminal_(::isatty(STDOUT_FILENO) != 0) {}
  ~progress_line() { close(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void phase(const std::string& what, const progress& now) {
    what_ = what;
    show(now, true);
  }
  void tick(const progress& now) { show(now, false); }
  void close() {
    if (open_)
      std::cout << "\n" << std::flush;
    open_ = false;
  }

private:
  void show(const progress& now, bool must) {
    const auto time = steady::now();
    if (silent_ || (!must && time - shown_ < (terminal_ ? progress_at_terminal : progress_in_pipe)))
      return;
    shown_ = time;
    auto text = what_ + ": " + grouped(now.sessions_done) + " of " + grouped(sessions_) +
                " sessions done, " + grouped(now.turns) + " operations, " +
                grouped(now.compactions) + " compactions, " + grouped(now.rescues) + " rescues";
    if (terminal_)
      text = "\r\033[K" + text.substr(0, terminal_columns);
    std::cout << text << (terminal_ ? "" : "\n") << std::flush;
    open_ = terminal_;
  }

  int sessions_;
  bool silent_;
  bool terminal_;
  bool open_ = false;
  std::string what_;
  steady::time_point shown_;
};

/// Waits for threads also where the run ends early.
class crew {
public:
  ~crew() { join(); }
  template <class Body>
  void add(Body body) {
    threads_.emplace_back(std::move(body));
  }
  void join() {
    for (auto& thread : threads_)
      thread.join();
    threads_.clear();
  }

private:
  std::vector<std::thread> threads_;
};

result<std::vector<entry>> read_session(journal::store& store, const std::string& id) {
  std::vector<entry> all;
  for (;;) {
    auto page = store.read(id, all.empty() ? 0 : all.back().position, journal::read_limit_max);
    if (!page)
      return page.error();
    for (const auto& e : *page)
      all.push_back(*e);
    if (page->size() < static_cast<std::size_t>(journal::read_limit_max))
      return all;
  }
}

std::string end_of_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return {};
  const std::streamoff size = file.tellg();
  const auto from = std::max<std::streamoff>(size - told_log_bytes_max, 0);
  file.seekg(from);
  std::string text(static_cast<std::size_t>(size - from), '\0');
  file.read(text.data(), size - from);
  return text;
}

class demo_run {
public:
  demo_run(const demo_options& options, std::string folder, run_state& run)
      : options_(options),
        run_(run),
        watch_(run),
        provider_(provider_options()),
        folder_(std::move(folder)),
        line_(options) {}

  /// Plays and checks; a failure is one of the run, not of a check.
  result<tally> play();
  void show(const tally& sums);
  std::string host_log() const { return end_of_log(host_->log_path()); }
  bool has_host() const { return host_.has_value(); }

private:
  mock_provider::mock_server_options provider_options() {
    mock_provider::mock_server_options options;
    options.rules = make_script(options_.sessions);
    options.on_request = [this](const mock_provider::recorded_request& r) { watch_.take(r); };
    return options;
  }

  result<done> play_sessions();
  result<done> kill_in_the_middle(crash_gate& gate);
  result<tally> judge();

  const demo_options& options_;
  run_state& run_;
  provider_watch watch_;
  mock_provider::mock_server provider_; // calls the watch, so it goes before it
  std::string folder_;
  progress_line line_;
  progress totals_;
  std::optional<host_process> host_;
  std::vector<session_evidence> evidence_;
  std::vector<entry> shown_journal_; // of the session whose timeline is shown
  std::size_t shown_ = 0;
  run_facts facts_;
};

result<tally> demo_run::play() {
  const auto began = steady::now();
  line_.phase("start", totals_);
  if (auto port = provider_.start(); !port)
    return port.error();
  host_.emplace(host_settings{folder_, provider_.url() + "/v1", model_name, window_tokens});
  if (auto started = host_->start(); !started)
    return started.error();
  if (auto played = play_sessions(); !played)
    return played.error();
  line_.phase("stop", totals_);
  const auto stopped = host_->stop();
  facts_.wall_s = std::chrono::duration<double>(steady::now() - began).count();
  line_.phase("checks", totals_);
  auto sums = judge();
  if (sums && !stopped)
    sums->faults.push_back({"all", stopped.error().message});
  line_.close();
  return sums;
}

result<done> demo_run::play_sessions() {
  links connections(host_->socket_path(), options_.sessions, run_);
  crash_gate gate(options_.sessions);
  std::vector<std::unique_ptr<session_driver>> drivers;
  for (int i = 0; i < options_.sessions; ++i)
    drivers.push_back(
        std::make_unique<session_driver>(demo_stage{run_, connections, watch_, gate, totals_}, i));
  crew threads;
  line_.phase("first half", totals_);
  for (auto& driver : drivers)
    threads.add([&driver] { driver->play(); });
  if (auto killed = kill_in_the_middle(gate); !killed) {
    run_.give_up(killed.error().message);
    return killed;
  }
  line_.phase("second half", totals_);
  while (totals_.sessions_done < options_.sessions) {
    std::this_thread::sleep_for(wait_slice);
    line_.tick(totals_);
  }
  threads.join();
  if (run_.is_given_up())
    return make_failure(error_code::cancelled, run_.reason());
  for (const auto& driver : drivers)
    evidence_.push_back(driver->evidence());
  return done{};
}

result<done> demo_run::kill_in_the_middle(crash_gate& gate) {
  while (gate.wait_a_while() > 0) {
    if (run_.is_given_up())
      return make_failure(error_code::cancelled, run_.reason());
    line_.tick(totals_);
  }
  line_.phase("restart", totals_);
  host_->kill();
  if (auto started = host_->start(); !started)
    return started;
  ++facts_.restarts;
  return done{};
}

result<tally> demo_run::judge() {
  auto store = journal::open_sqlite({host_->journal_path()});
  if (!store)
    return store.error();
  tally sums;
  shown_ = evidence_.size() > 1 ? 1 : 0; // one that was steered while the host was killed
  for (std::size_t i = 0; i < evidence_.size(); ++i) {
    const auto& seen = evidence_[i];
    auto journal = read_session(**store, seen.session_id);
    if (!journal)
      return journal.error();
    check_session(seen, *journal, watch_.faults(seen.session_id), sums);
    if (i == shown_)
      shown_journal_ = std::move(*journal);
  }
  check_sums(sums);
  if (facts_.restarts < 1)
    sums.faults.push_back({"all", "the host was not restarted"});
  return sums;
}

void demo_run::show(const tally& sums) {
  if (options_.json) {
    std::cout << json_report(sums, facts_) << std::flush;
    return;
  }
  std::cout << "\n" << timeline(evidence_[shown_], shown_journal_);
  std::cout << table(sums, facts_)
            << (sums.faults.empty() ? "\nAll checks held, by what the clients saw, by the journal "
                                      "and by what reached the model.\n"
                                    : "\n")
            << std::flush;
}

void tell_faults(const std::vector<fault>& faults) {
  for (std::size_t i = 0; i < std::min(faults.size(), told_faults_max); ++i)
    std::cerr << "rind demo: check failed: " << faults[i].session_id << ": " << faults[i].text
              << "\n";
  if (faults.size() > told_faults_max)
    std::cerr << "rind demo: and " << faults.size() - told_faults_max << " more\n";
}

} // namespace

int run_demo(const demo_options& options) {
  if (options.sessions < 1 || options.sessions > sessions_max) {
    std::cerr << "rind demo: error: --sessions takes 1 to " << sessions_max << "\n";
    return 1;
  }
  run_state run(wait_limit_base_ms + wait_limit_a_session_ms * options.sessions);
  interrupt_watch interrupts(run);
  raise_file_limit();
  auto folder = temporary_folder::make();
  if (!folder) {
    std::cerr << "rind demo: error: " << folder.error().message << "\n";
    return 1;
  }
  demo_run demo(options, (*folder)->path(), run);
  const auto sums = demo.play();
  if (interrupts.signal() != 0)
    return 128 + interrupts.signal();
  if (!sums) {
    std::cerr << "rind demo: error: " << sums.error().message << "\n";
    if (demo.has_host())
      std::cerr << demo.host_log();
    return 1;
  }
  demo.show(*sums);
  tell_faults(sums->faults);
  return sums->faults.empty() ? 0 : 1;
}

} // namespace rind::hosts::demo
