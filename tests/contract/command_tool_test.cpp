// What every tool promises, over the demo tools and a command tool; and command tools with real
// programs: endless, deaf, early, absent. Programs that must not end by themselves read a pipe that
// never gets a writer; nothing here sleeps.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/json.hpp"
#include "runtime/tools/child_process.hpp"
#include "runtime/tools/command_tool.hpp"
#include "runtime/tools/demo_tools.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::tools {
namespace {

constexpr std::chrono::seconds patience{30}; // of a test for something that comes at once

/// What a sink heard, for one call.
class listener {
public:
  tool_sink sink() {
    return {[this](std::string) { progress(); }, [this](outcome end) { ended(std::move(end)); }};
  }

  outcome wait_for_end() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return !ends_.empty(); }))
      return {tool_status::failed, "the call did not end", "test"};
    return ends_.front();
  }

  std::size_t ends() const {
    const std::lock_guard lock(mutex_);
    return ends_.size();
  }

  bool heard_after_end() const {
    const std::lock_guard lock(mutex_);
    return heard_after_end_;
  }

private:
  void progress() {
    const std::lock_guard lock(mutex_);
    heard_after_end_ |= !ends_.empty();
  }

  void ended(outcome end) {
    const std::lock_guard lock(mutex_);
    heard_after_end_ |= !ends_.empty();
    ends_.push_back(std::move(end));
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<outcome> ends_;
  bool heard_after_end_ = false;
};

class folder : public kit::temp_folder {
public:
  std::string operator/(const std::string& name) const { return file(name); }

  std::string fifo(const std::string& name) const {
    const auto path_of_fifo = *this / name;
    EXPECT_EQ(::mkfifo(path_of_fifo.c_str(), 0600), 0);
    return path_of_fifo;
  }
};

/// Waits until a program opens the pipe for writing and reads what it writes up to its end.
std::string read_all(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

invocation call_of(const std::string& id, const std::string& arguments = "{}") {
  return {id, "session", "turn", {"call-" + id, "tool", arguments}};
}

config::command_tool_settings declared(std::vector<std::string> command,
                                       std::int64_t deadline_ms = 60'000) {
  config::command_tool_settings out;
  out.name = "program";
  out.command = std::move(command);
  out.deadline_ms = deadline_ms;
  return out;
}

class command_tools : public testing::Test {
protected:
  static process_pool_options options() {
    process_pool_options out;
    out.environment = environment_without({"RIND_API_KEY"});
    return out;
  }

  std::shared_ptr<command_tool> shell(const std::string& script,
                                      std::int64_t deadline_ms = 60'000) {
    return std::make_shared<command_tool>(declared({"/bin/sh", "-c", script}, deadline_ms), pool_);
  }

  outcome run(const std::string& script, const std::string& arguments = "{}",
              std::int64_t deadline_ms = 60'000) {
    const auto t = shell(script, deadline_ms);
    t->start(call_of("a", arguments), listener_.sink());
    auto end = listener_.wait_for_end();
    pool_->stop(); // whatever else would be said has been said after this
    EXPECT_EQ(listener_.ends(), 1u);
    return end;
  }

  void replace_pool(process_pool_options with) {
    pool_ = std::make_shared<process_pool>(std::move(with));
  }

  folder folder_;
  listener listener_; // outlives the pool, which calls it
  std::shared_ptr<process_pool> pool_ = std::make_shared<process_pool>(options());
};

TEST_F(command_tools, arguments_go_in_as_json_and_the_output_comes_back) {
  const auto end = run("cat", R"({"city":"Oslo"})");
  EXPECT_EQ(end.status, tool_status::completed);
  EXPECT_EQ(end.text, "{\"city\":\"Oslo\"}\n");
  EXPECT_EQ(end.error_type, "");
}

TEST_F(command_tools, no_arguments_are_an_empty_object) {
  EXPECT_EQ(run("cat", "").text, "{}\n");
}

TEST_F(command_tools, arguments_that_are_no_object_run_nothing) {
  const auto marker = folder_ / "ran";
  const auto end = run("touch " + marker, "[1");
  EXPECT_EQ(end.status, tool_status::failed);
  EXPECT_EQ(end.error_type, "invalid_arguments");
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(command_tools, no_shell_stands_between) {
  command_tool t(declared({"printf", "%s|", "a b", "$HOME", "`id`", ";"}), pool_);
  t.start(call_of("a"), listener_.sink());
  EXPECT_EQ(listener_.wait_for_end().text, "a b|$HOME|`id`|;|");
}

TEST_F(command_tools, another_exit_code_is_a_failure_with_what_was_said) {
  const auto end = run("echo half; echo 'disk is full' >&2; exit 3");
  EXPECT_EQ(end.status, tool_status::failed);
  EXPECT_EQ(end.error_type, "exit_code");
  EXPECT_EQ(end.text, "the program ended with exit code 3\nhalf\n[standard error]\ndisk is full\n");
}

TEST_F(command_tools, the_standard_error_of_a_success_is_not_its_result) {
  EXPECT_EQ(run("echo noise >&2; echo result").text, "result\n");
}

TEST_F(command_tools, a_signal_is_a_failure) {
  const auto end = run("kill -SEGV $$");
  EXPECT_EQ(end.status, tool_status::failed);
  EXPECT_EQ(end.error_type, "signal");
  EXPECT_EQ(end.text, "the program was ended by signal 11");
}

TEST_F(command_tools, a_program_that_is_not_there_is_unavailable) {
  command_tool t(declared({"/nowhere/at-all"}), pool_);
  t.start(call_of("a"), listener_.sink());
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.status, tool_status::unavailable);
  EXPECT_EQ(end.error_type, "cannot_start");
  EXPECT_EQ(end.text, "cannot start /nowhere/at-all: No such file or directory");
}

TEST_F(command_tools, a_big_output_keeps_head_and_tail) {
  const auto end = run("seq 1 200000");
  EXPECT_EQ(end.status, tool_status::completed);
  EXPECT_LE(count_characters(end.text), output_limit_chars);
  EXPECT_EQ(end.text.substr(0, 4), "1\n2\n");
  EXPECT_EQ(end.text.substr(end.text.size() - 7), "200000\n");
  EXPECT_NE(end.text.find("characters left out"), std::string::npos);
}

TEST_F(command_tools, output_that_is_no_text_is_repaired) {
  const auto end = run("printf 'a\\377b'");
  EXPECT_EQ(end.text, "a\xEF\xBF\xBD"
                      "b");
}

/// A host that is killed right after it has started a program which sends its input to `to`.
void start_and_be_killed(const process_request& request) {
  const auto host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    const child_process child(request, environment_without({}));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(command_tools, a_host_that_is_killed_leaves_no_program_that_runs_on_half_of_its_input) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    const folder place;
    const auto fifo = place.fifo("seen");
    process_request request;
    request.command = {"sh", "-c", "cat > " + fifo};
    request.input = std::string(bytes, 'x');
    start_and_be_killed(request);
    EXPECT_EQ(read_all(fifo).size(), bytes);
  }
}

TEST_F(command_tools, input_that_nobody_reads_harms_nobody) {
  const auto large = R"({"text":")" + std::string(1'000'000, 'x') + R"("})";
  const auto end = run("exec <&-; echo done", large);
  EXPECT_EQ(end.status, tool_status::completed);
  EXPECT_EQ(end.text, "done\n");
}

TEST_F(command_tools, large_input_and_large_output_do_not_wait_for_each_other) {
  const auto large = R"({"text":")" + std::string(1'000'000, 'x') + R"("})";
  const auto end = run("tee /dev/stderr", large);
  EXPECT_EQ(end.status, tool_status::completed);
  EXPECT_EQ(end.text.substr(0, 9), R"({"text":")");
}

TEST_F(command_tools, cancel_ends_a_program_that_waits) {
  const auto started = folder_.fifo("started");
  const auto t = shell("echo on > " + started + "; cat " + folder_.fifo("never"));
  t->start(call_of("a"), listener_.sink());
  EXPECT_EQ(read_all(started), "on\n");
  t->cancel("a");
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.status, tool_status::cancelled);
  EXPECT_EQ(end.error_type, "cancelled");
}

TEST_F(command_tools, cancel_ends_an_endless_output) {
  const auto started = folder_.fifo("started");
  const auto t = shell("echo on > " + started + "; yes");
  t->start(call_of("a"), listener_.sink());
  EXPECT_EQ(read_all(started), "on\n");
  t->cancel("a");
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.status, tool_status::cancelled);
  EXPECT_LE(count_characters(end.text), output_limit_chars);
}

TEST_F(command_tools, who_is_deaf_to_sigterm_is_killed) {
  auto quick = options();
  quick.grace_ms = 20;
  replace_pool(quick);
  const auto started = folder_.fifo("started");
  const auto never = folder_.fifo("never");
  const auto t =
      shell("trap '' TERM; echo on > " + started + "; while :; do read line < " + never + "; done");
  t->start(call_of("a"), listener_.sink());
  EXPECT_EQ(read_all(started), "on\n");
  t->cancel("a");
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::cancelled);
}

TEST_F(command_tools, the_deadline_ends_a_program_and_keeps_what_it_said) {
  const auto end = run("echo so far; cat " + folder_.fifo("never"), "{}", 100);
  EXPECT_EQ(end.status, tool_status::timed_out);
  EXPECT_EQ(end.error_type, "deadline");
  EXPECT_EQ(end.text, "the program was ended after 100 ms, its deadline\nso far\n");
}

TEST_F(command_tools, a_grandchild_that_holds_the_output_holds_up_nobody_and_goes_too) {
  auto quick = options();
  quick.leftover_ms = 20;
  replace_pool(quick);
  const auto alive = folder_.fifo("alive");
  // The grandchild keeps `alive` open for writing as long as it lives: the end of that pipe is its
  // end.
  const auto t = shell("cat " + folder_.fifo("never") + " 9> " + alive + " & echo parent done");
  t->start(call_of("a"), listener_.sink());
  EXPECT_EQ(read_all(alive), "");
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.status, tool_status::completed);
  EXPECT_EQ(end.text, "parent done\n");
}

TEST_F(command_tools, cancel_reaches_the_whole_group) {
  const auto alive = folder_.fifo("alive");
  const auto never = folder_.fifo("never");
  const auto t = shell("(trap '' TERM; exec cat " + never + ") 9> " + alive + " & cat " + never);
  t->start(call_of("a"), listener_.sink());
  std::ifstream held(alive); // opens when the grandchild has it
  t->cancel("a");
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::cancelled);
  EXPECT_EQ(held.get(), std::ifstream::traits_type::eof()) << "the grandchild is gone";
}

TEST_F(command_tools, S41_no_key_reaches_a_program) {
  ::setenv("RIND_API_KEY", "key-one", 1);
  ::setenv("OPENAI_API_KEY", "key-two", 1);
  ::setenv("ANTHROPIC_API_KEY", "key-five", 1);
  ::setenv("MY_OWN_KEY", "key-three", 1);
  ::setenv("RIND_TEST_PLAIN", "plain", 1);
  config::settings values;
  config::provider_settings provider;
  provider.api_key_env = "MY_OWN_KEY";
  values.providers.push_back(provider);
  values.tools.push_back(declared({"env"}));
  const auto tools = make_registry(values);
  for (const auto* name : {"RIND_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_OWN_KEY"})
    ::unsetenv(name);
  tools.find("program")->start(call_of("a"), listener_.sink());
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.text.find("key-"), std::string::npos) << end.text;
  EXPECT_NE(end.text.find("RIND_TEST_PLAIN=plain"), std::string::npos);
}

TEST_F(command_tools, a_program_has_the_three_streams_and_nothing_else_of_the_host) {
  const int leaked = ::open("/dev/null", O_RDONLY); // without O_CLOEXEC, as a careless library does
  const auto end = run("for f in /proc/self/fd/*; do [ -e $f ] && echo ${f##*/}; done; :");
  ::close(leaked);
  EXPECT_EQ(end.text.substr(0, 6), "0\n1\n2\n") << end.text;
  EXPECT_EQ(end.text.find(std::to_string(leaked) + "\n"), std::string::npos) << end.text;
}

TEST_F(command_tools, a_program_hears_the_signals_that_the_host_ignores) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto end = run("kill -PIPE $$; echo deaf");
  ::signal(SIGPIPE, before);
  EXPECT_EQ(end.error_type, "signal");
  EXPECT_EQ(end.text, "the program was ended by signal 13");
}

TEST_F(command_tools, who_finds_no_place_waits_and_can_be_cancelled_or_be_late) {
  auto narrow = options();
  narrow.running_max = 1;
  replace_pool(narrow);
  const auto started = folder_.fifo("started");
  const auto first = shell("echo on > " + started + "; cat " + folder_.fifo("never"));
  const auto second = shell("echo second");
  const auto late = shell("echo late", 50);
  listener cancelled;
  listener timed_out;
  listener served;
  first->start(call_of("first"), listener_.sink());
  EXPECT_EQ(read_all(started), "on\n");
  second->start(call_of("cancelled"), cancelled.sink());
  late->start(call_of("late"), timed_out.sink());
  second->start(call_of("served"), served.sink());
  EXPECT_EQ(pool_->in_flight(), 4u);
  second->cancel("cancelled");
  EXPECT_EQ(cancelled.wait_for_end().status, tool_status::cancelled);
  EXPECT_EQ(timed_out.wait_for_end().status, tool_status::timed_out);
  EXPECT_EQ(served.ends(), 0u);
  first->cancel("first");
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::cancelled);
  EXPECT_EQ(served.wait_for_end().text, "second\n");
  pool_->stop();
}

TEST_F(command_tools, more_than_may_wait_are_refused_at_once) {
  auto narrow = options();
  narrow.running_max = 1;
  narrow.waiting_max = 1;
  replace_pool(narrow);
  const auto t = shell("cat " + folder_.fifo("never"));
  listener second;
  listener third;
  t->start(call_of("1"), listener_.sink());
  t->start(call_of("2"), second.sink());
  t->start(call_of("3"), third.sink());
  ASSERT_EQ(third.ends(), 1u);
  EXPECT_EQ(third.wait_for_end().status, tool_status::unavailable);
  pool_->stop();
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::cancelled);
  EXPECT_EQ(second.wait_for_end().status, tool_status::cancelled);
}

TEST_F(command_tools, a_stopped_pool_refuses) {
  pool_->stop();
  pool_->stop();
  const auto t = shell("echo late");
  t->start(call_of("a"), listener_.sink());
  ASSERT_EQ(listener_.ends(), 1u);
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::unavailable);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST_F(command_tools, many_at_once_all_end_and_leave_nothing_behind) {
  constexpr std::size_t calls = 200;
  const auto before = open_descriptors();
  const auto quick = shell("cat; echo noise >&2");
  const auto stuck = shell("cat " + folder_.fifo("never"));
  std::vector<listener> listeners(calls);
  for (std::size_t i = 0; i < calls; ++i) {
    const auto id = std::to_string(i);
    (i % 4 == 0 ? stuck : quick)->start(call_of(id, R"({"i":)" + id + "}"), listeners[i].sink());
    if (i % 4 == 0)
      stuck->cancel(id);
  }
  for (std::size_t i = 0; i < calls; ++i) {
    const auto end = listeners[i].wait_for_end();
    EXPECT_EQ(end.status, i % 4 == 0 ? tool_status::cancelled : tool_status::completed)
        << i << end.text;
    if (i % 4 != 0) {
      EXPECT_EQ(end.text, R"({"i":)" + std::to_string(i) + "}\n");
    }
  }
  EXPECT_EQ(pool_->in_flight(), 0u);
  EXPECT_EQ(open_descriptors(), before);
  pool_->stop();
  for (const auto& l : listeners)
    EXPECT_EQ(l.ends(), 1u);
}

// -- what every tool promises
// ----------------------------------------------------------------------

struct tool_under_test {
  const char* name;
  std::shared_ptr<tool> (*make)(const std::shared_ptr<process_pool>& pool);
  const char* good_arguments;
};

std::shared_ptr<tool> make_program(const std::shared_ptr<process_pool>& pool) {
  return std::make_shared<command_tool>(declared({"cat"}), pool);
}

class tools_contract : public testing::TestWithParam<tool_under_test> {
protected:
  listener listener_;
  std::shared_ptr<process_pool> pool_ = std::make_shared<process_pool>(process_pool_options{});
  std::shared_ptr<tool> tool_ = GetParam().make(pool_);
};

TEST_P(tools_contract, a_call_ends_exactly_once_and_is_quiet_after) {
  tool_->start(call_of("a", GetParam().good_arguments), listener_.sink());
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::completed);
  tool_->cancel("a");
  pool_->stop();
  EXPECT_EQ(listener_.ends(), 1u);
  EXPECT_FALSE(listener_.heard_after_end());
}

TEST_P(tools_contract, bad_arguments_end_as_failed_with_a_reason) {
  tool_->start(call_of("a", "no json"), listener_.sink());
  const auto end = listener_.wait_for_end();
  EXPECT_EQ(end.status, tool_status::failed);
  EXPECT_EQ(end.error_type, "invalid_arguments");
  EXPECT_FALSE(end.text.empty());
}

TEST_P(tools_contract, unknown_ids_are_ignored) {
  tool_->cancel("never seen");
  tool_->start(call_of("a", GetParam().good_arguments), listener_.sink());
  tool_->cancel("never seen");
  EXPECT_EQ(listener_.wait_for_end().status, tool_status::completed);
}

TEST_P(tools_contract, cancel_right_after_the_start_still_ends_exactly_once) {
  tool_->start(call_of("a", GetParam().good_arguments), listener_.sink());
  tool_->cancel("a");
  tool_->cancel("a");
  const auto end = listener_.wait_for_end();
  EXPECT_TRUE(end.status == tool_status::completed || end.status == tool_status::cancelled)
      << end.text;
  pool_->stop();
  EXPECT_EQ(listener_.ends(), 1u);
}

TEST_P(tools_contract, a_second_call_may_start_from_the_end_of_the_first) {
  listener second;
  auto first = listener_.sink();
  auto heard = first.on_end;
  first.on_end = [&, heard](outcome end) {
    heard(std::move(end));
    tool_->start(call_of("b", GetParam().good_arguments), second.sink());
  };
  tool_->start(call_of("a", GetParam().good_arguments), first);
  EXPECT_EQ(second.wait_for_end().status, tool_status::completed);
  pool_->stop();
}

TEST_P(tools_contract, its_definition_stays_the_same) {
  const auto before = tool_->definition();
  tool_->start(call_of("a", GetParam().good_arguments), listener_.sink());
  listener_.wait_for_end();
  EXPECT_EQ(tool_->definition(), before);
  EXPECT_FALSE(before.name.empty());
}

INSTANTIATE_TEST_SUITE_P(
    all, tools_contract,
    testing::Values(tool_under_test{"calculate", [](const auto&) { return make_calculate(); },
                                    R"({"expression":"1+1"})"},
                    tool_under_test{"list_records", [](const auto&) { return make_list_records(); },
                                    R"({"count":50})"},
                    tool_under_test{"program", make_program, R"({"a":1})"}),
    [](const auto& i) { return std::string(i.param.name); });

} // namespace
} // namespace rind::tools
