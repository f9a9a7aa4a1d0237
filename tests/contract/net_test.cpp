// What connection_port.hpp promises, held against real sockets, pipes and files. No CAF: this runs
// under the thread sanitizer.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/net/asio_client.hpp"
#include "runtime/net/asio_server.hpp"
#include "runtime/net/stdio_server.hpp"
#include "tests/contract/net_recorder.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::net {
namespace {

using namespace std::chrono_literals;
using kit::temp_folder;

/// Sends everything back; the owner's queue is the one that the port asks for.
struct echo_state {
  std::mutex mutex;
  std::string waiting;
  bool sending = false;
};

connection_events echo(connection_ptr link, std::atomic<int>& closed) {
  auto state = std::make_shared<echo_state>();
  const auto pump = [state, link] {
    std::string piece;
    {
      const std::lock_guard lock(state->mutex);
      if (state->sending || state->waiting.empty())
        return;
      state->sending = true;
      piece.swap(state->waiting);
    }
    const auto bytes = piece.size();
    link->send(std::move(piece));
    link->consumed(bytes);
  };
  connection_events made;
  made.on_bytes = [state, pump](std::string bytes) {
    {
      const std::lock_guard lock(state->mutex);
      state->waiting += bytes;
    }
    pump();
  };
  made.on_written = [state, pump](std::size_t) {
    {
      const std::lock_guard lock(state->mutex);
      state->sending = false;
    }
    pump();
  };
  made.on_closed = [&closed] { ++closed; };
  return made;
}

/// A blocking client without any of our code.
class raw_client {
public:
  raw_client() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit raw_client(const std::string& path) : raw_client() { connect(path); }
  ~raw_client() { close(); }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  void write(const std::string& text) {
    ASSERT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  void end_writing() { ::shutdown(fd_, SHUT_WR); }
  std::string read_all() {
    std::string all;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(fd_, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(count));
    return all;
  }
  void close() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }

private:
  int fd_;
  bool connected_ = false;
};

/// A socket file that nobody listens on.
void leave_stale_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

TEST(net, carries_bytes_both_ways_and_tells_closed_once_and_last) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  const auto asked = std::make_shared<recorder>();
  asio_server server;
  ASSERT_TRUE(server.listen_unix(folder.file("s"), accept_into(served)));
  asio_client client;
  ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(asked)));
  const std::string big(3'000'000, 'x');
  asked->link()->send(big + "\n");
  ASSERT_TRUE(served->wait_received(big.size() + 1));
  ASSERT_TRUE(asked->wait_written(big.size() + 1));
  served->link()->send("a");
  served->link()->send("b");
  served->link()->close_after_writes();
  ASSERT_TRUE(served->wait_closed());
  ASSERT_TRUE(asked->wait_end());
  client.stop();
  EXPECT_EQ(served->received(), big + "\n");
  EXPECT_EQ(asked->received(), "ab");
  EXPECT_EQ(served->written(), 2u);
  for (const auto& side : {served, asked}) {
    EXPECT_EQ(side->closed(), 1);
    EXPECT_EQ(side->told_after_closed(), 0);
  }
}

TEST(net, S42_the_socket_has_mode_0600_and_its_file_goes_with_the_server) {
  const temp_folder folder;
  const auto path = folder.file("s");
  const auto before = ::umask(0);
  asio_server server;
  const auto listening = server.listen_unix(path, accept_into(std::make_shared<recorder>()));
  ::umask(before);
  ASSERT_TRUE(listening);
  struct stat found {};
  ASSERT_EQ(::lstat(path.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  server.stop();
  EXPECT_NE(::lstat(path.c_str(), &found), 0);
}

TEST(net, a_stale_socket_is_replaced_and_a_live_one_refused) {
  const temp_folder folder;
  const auto path = folder.file("s");
  leave_stale_socket(path);
  const auto served = std::make_shared<recorder>();
  asio_server first;
  ASSERT_TRUE(first.listen_unix(path, accept_into(served)));
  asio_server second;
  const auto refused = second.listen_unix(path, accept_into(std::make_shared<recorder>()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::unavailable);
  EXPECT_NE(refused.error().message.find("in use"), std::string::npos);
  second.stop();
  raw_client still(path);
  EXPECT_TRUE(still.connected());
}

TEST(net, a_path_that_is_no_socket_is_never_removed) {
  const temp_folder folder;
  const auto path = folder.file("precious");
  std::ofstream(path) << "data";
  asio_server server;
  const auto refused = server.listen_unix(path, accept_into(std::make_shared<recorder>()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::invalid_request);
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "data");
}

TEST(net, bad_paths_are_clear_errors) {
  const temp_folder folder;
  const std::vector<std::pair<std::string, error_code>> cases = {
      {"", error_code::invalid_request},
      {folder.file(std::string(200, 'p')), error_code::invalid_request},
      {folder.file("no/such/folder/s"), error_code::unavailable},
  };
  asio_server server;
  asio_client client;
  for (const auto& [path, code] : cases) {
    const auto listening = server.listen_unix(path, accept_into(std::make_shared<recorder>()));
    const auto connecting = client.connect_unix(path, connect_into(std::make_shared<recorder>()));
    ASSERT_FALSE(listening) << path;
    ASSERT_FALSE(connecting) << path;
    EXPECT_EQ(listening.error().code, code) << path;
    EXPECT_EQ(connecting.error().code, code) << path;
  }
}

TEST(net, of_servers_that_start_at_once_on_a_stale_path_one_wins) {
  const temp_folder folder;
  for (int round = 0; round < 20; ++round) {
    const auto path = folder.file("s" + std::to_string(round));
    leave_stale_socket(path);
    asio_server servers[4];
    std::atomic<int> won = 0;
    std::latch go(4);
    std::vector<std::thread> starters;
    for (auto& server : servers)
      starters.emplace_back([&] {
        go.arrive_and_wait();
        if (server.listen_unix(path, accept_into(std::make_shared<recorder>())))
          ++won;
      });
    for (auto& starter : starters)
      starter.join();
    ASSERT_EQ(won, 1);
    raw_client reached(path);
    ASSERT_TRUE(reached.connected());
  }
}

TEST(net, a_stopping_server_leaves_the_socket_of_its_successor) {
  const temp_folder folder;
  const auto path = folder.file("s");
  asio_server old_server;
  ASSERT_TRUE(old_server.listen_unix(path, accept_into(std::make_shared<recorder>())));
  std::filesystem::remove(path);
  asio_server successor;
  ASSERT_TRUE(successor.listen_unix(path, accept_into(std::make_shared<recorder>())));
  old_server.stop();
  raw_client reached(path);
  EXPECT_TRUE(reached.connected());
}

TEST(net, S40_reads_no_further_ahead_than_its_limit_until_bytes_are_consumed) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  served->consume = false;
  std::atomic<int> closed = 0;
  std::atomic<bool> first = true;
  asio_server server;
  ASSERT_TRUE(server.listen_unix(
      folder.file("s"), [&](connection_ptr link) -> std::variant<connection_events, refusal> {
        if (first.exchange(false))
          return served->events(std::move(link));
        return echo(std::move(link), closed);
      }));
  asio_client client;
  const auto flood = std::make_shared<recorder>();
  ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(flood)));
  const std::size_t sent_bytes = 8 * 1024 * 1024;
  flood->link()->send(std::string(sent_bytes, 'f'));
  ASSERT_TRUE(served->wait_received(read_ahead_limit_bytes));
  // Round trips of a neighbour on the same thread: were it not held back, the flood would have gone
  // on meanwhile.
  const auto neighbour = std::make_shared<recorder>();
  ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(neighbour)));
  for (std::size_t trip = 1; trip <= 200; ++trip) {
    neighbour->link()->send("n");
    ASSERT_TRUE(neighbour->wait_received(trip));
  }
  const auto held_bytes = served->received().size();
  EXPECT_LE(held_bytes, read_ahead_limit_bytes + 64 * 1024);
  EXPECT_EQ(flood->written(), 0u);
  std::size_t consumed_bytes = 0;
  while (consumed_bytes < sent_bytes) {
    ASSERT_TRUE(served->wait_received(consumed_bytes + 1));
    const auto now_bytes = served->received().size();
    served->link()->consumed(now_bytes - consumed_bytes);
    consumed_bytes = now_bytes;
  }
  EXPECT_TRUE(flood->wait_written(sent_bytes));
}

TEST(net, a_half_open_peer_still_gets_its_answer) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  asio_server server;
  ASSERT_TRUE(server.listen_unix(folder.file("s"), accept_into(served)));
  raw_client peer(folder.file("s"));
  peer.write("question");
  peer.end_writing();
  ASSERT_TRUE(served->wait_end());
  EXPECT_EQ(served->received(), "question");
  EXPECT_EQ(served->closed(), 0);
  served->link()->send("answer");
  served->link()->close_after_writes();
  EXPECT_EQ(peer.read_all(), "answer");
  EXPECT_TRUE(served->wait_closed());
}

TEST(net, a_half_open_peer_that_goes_away_is_noticed) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  asio_server server;
  ASSERT_TRUE(server.listen_unix(folder.file("s"), accept_into(served)));
  raw_client peer(folder.file("s"));
  peer.end_writing();
  ASSERT_TRUE(served->wait_end());
  peer.close();
  EXPECT_TRUE(served->wait_closed());
}

TEST(net, a_peer_that_goes_away_closes_the_connection_and_kills_nobody) {
  const temp_folder folder;
  for (int round = 0; round < 20; ++round) {
    const auto served = std::make_shared<recorder>();
    served->watch_end = round % 2 == 0;
    asio_server server;
    const auto path = folder.file("s" + std::to_string(round));
    ASSERT_TRUE(server.listen_unix(path, accept_into(served)));
    raw_client peer(path);
    peer.write("!");
    const auto link = served->link();
    ASSERT_TRUE(served->wait_received(1));
    peer.close();
    link->send(std::string(1'000'000, 'z')); // a write to a closed peer would raise SIGPIPE
    EXPECT_TRUE(served->wait_closed());
  }
}

TEST(net, the_callback_refuses_with_a_last_line) {
  const temp_folder folder;
  asio_server server;
  ASSERT_TRUE(
      server.listen_unix(folder.file("s"), [](connection_ptr) { return refusal{"{\"no\":1}\n"}; }));
  raw_client peer(folder.file("s"));
  peer.write("ignored");
  EXPECT_EQ(peer.read_all(), "{\"no\":1}\n");
}

TEST(net, more_connections_than_the_bound_are_refused_and_a_free_place_is_used_again) {
  const temp_folder folder;
  std::atomic<int> closed = 0;
  asio_server server({2, "full\n", {}});
  ASSERT_TRUE(server.listen_unix(
      folder.file("s"), [&](connection_ptr link) { return echo(std::move(link), closed); }));
  asio_client client;
  const auto first = std::make_shared<recorder>();
  const auto second = std::make_shared<recorder>();
  for (const auto& one : {first, second}) {
    ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(one)));
    one->link()->send("x");
    ASSERT_TRUE(one->wait_received(1));
  }
  EXPECT_EQ(server.open_connections(), 2u);
  EXPECT_EQ(raw_client(folder.file("s")).read_all(), "full\n");
  first->link()->close_now();
  ASSERT_TRUE(first->wait_closed());
  // The server learns of it by itself; until then it refuses.
  for (std::string answer; answer != "x";) {
    raw_client peer(folder.file("s"));
    peer.write("x");
    peer.end_writing();
    answer = peer.read_all();
    ASSERT_TRUE(answer == "x" || answer == "full\n" || answer.empty()) << answer;
  }
}

TEST(net, an_owner_that_does_not_wait_for_its_writes_is_cut_off) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  asio_server server;
  ASSERT_TRUE(server.listen_unix(folder.file("s"), accept_into(served)));
  raw_client deaf(folder.file("s"));
  const auto link = served->link();
  for (std::size_t count = 0; count < waiting_sends_max + 32; ++count)
    link->send(std::string(1'000'000, 'w'));
  EXPECT_TRUE(served->wait_closed());
}

TEST(net, accepting_survives_a_shortage_of_descriptors) {
  const temp_folder folder;
  std::atomic<int> closed = 0;
  std::atomic<int> problems = 0;
  std::latch told(1);
  server_options options;
  options.on_problem = [&](const failure& problem) {
    EXPECT_EQ(problem.code, error_code::unavailable);
    if (problems++ == 0)
      told.count_down();
  };
  asio_server server(options);
  ASSERT_TRUE(server.listen_unix(
      folder.file("s"), [&](connection_ptr link) { return echo(std::move(link), closed); }));
  raw_client peer;
  const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ::close(lowest_free);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  peer.connect(folder.file("s"));
  told.wait();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(peer.connected());
  peer.write("still there");
  peer.end_writing();
  EXPECT_EQ(peer.read_all(), "still there");
}

TEST(net, stop_closes_everything_and_late_calls_do_nothing) {
  const temp_folder folder;
  const auto served = std::make_shared<recorder>();
  asio_server server;
  ASSERT_TRUE(server.listen_unix(folder.file("s"), accept_into(served)));
  raw_client peer(folder.file("s"));
  const auto link = served->link();
  link->send(std::string(4'000'000, 's')); // stuck: the peer does not read
  server.stop();
  EXPECT_EQ(served->closed(), 1);
  link->send("late");
  link->consumed(1);
  link->close_after_writes();
  link->close_now();
  server.stop();
  const auto refused = server.listen_unix(folder.file("t"), accept_into(served));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::server_stopping);
  EXPECT_FALSE(std::filesystem::exists(folder.file("t")));
  EXPECT_EQ(served->closed(), 1);
}

TEST(net, stop_listening_keeps_open_connections) {
  const temp_folder folder;
  std::atomic<int> closed = 0;
  asio_server server;
  ASSERT_TRUE(server.listen_unix(
      folder.file("s"), [&](connection_ptr link) { return echo(std::move(link), closed); }));
  asio_client client;
  const auto one = std::make_shared<recorder>();
  ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(one)));
  one->link()->send("1");
  ASSERT_TRUE(one->wait_received(1));
  server.stop_listening();
  one->link()->send("2");
  ASSERT_TRUE(one->wait_received(2));
  EXPECT_FALSE(raw_client(folder.file("s")).connected());
}

TEST(net, hundreds_of_connections_with_random_ends) {
  const temp_folder folder;
  std::atomic<int> accepted = 0;
  std::atomic<int> server_closed = 0;
  std::atomic<int> client_closed = 0;
  constexpr int threads = 4;
  constexpr int connections_each = 100;
  {
    asio_server server;
    ASSERT_TRUE(server.listen_unix(folder.file("s"), [&](connection_ptr link) {
      ++accepted;
      return echo(std::move(link), server_closed);
    }));
    asio_client client;
    std::vector<std::thread> users;
    for (int user = 0; user < threads; ++user)
      users.emplace_back([&, user] {
        std::minstd_rand chance(static_cast<unsigned>(user) + 7);
        for (int count = 0; count < connections_each; ++count) {
          const auto one = std::make_shared<recorder>();
          one->watch_end = chance() % 2 == 0;
          ASSERT_TRUE(client.connect_unix(folder.file("s"), connect_into(one)));
          const auto link = one->link();
          const std::size_t bytes = chance() % 10 == 0 ? 600'000 : chance() % 5'000 + 1;
          link->send(std::string(bytes, 'q'));
          const auto ending = chance() % 4;
          if (ending != 0) {
            ASSERT_TRUE(one->wait_received(bytes));
          }
          if (ending == 3)
            link->close_after_writes();
          else
            link->close_now();
          ASSERT_TRUE(one->wait_closed());
          ASSERT_EQ(one->told_after_closed(), 0);
          ++client_closed;
        }
      });
    for (auto& user : users)
      user.join();
    server.stop();
  }
  EXPECT_EQ(client_closed, threads * connections_each);
  EXPECT_EQ(server_closed, accepted);
}

TEST(net, calls_from_many_threads_while_the_server_stops) {
  const temp_folder folder;
  for (int round = 0; round < 10; ++round) {
    asio_server server;
    const auto path = folder.file("r" + std::to_string(round));
    const auto served = std::make_shared<recorder>();
    ASSERT_TRUE(server.listen_unix(path, accept_into(served)));
    raw_client peer(path);
    const auto link = served->link();
    std::latch go(4);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller)
      callers.emplace_back([&] {
        go.arrive_and_wait();
        for (int count = 0; count < 20; ++count) {
          link->send("x");
          link->consumed(1);
        }
        link->close_after_writes();
      });
    go.arrive_and_wait();
    server.stop();
    for (auto& caller : callers)
      caller.join();
    EXPECT_EQ(served->closed(), 1);
    EXPECT_EQ(served->told_after_closed(), 0);
  }
}

struct pipe_pair {
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  pipe_pair() {
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
      std::abort();
  }
  ~pipe_pair() {
    for (int* fd : {&in[0], &in[1], &out[0], &out[1]})
      drop(*fd);
  }
  static void drop(int& fd) {
    if (fd >= 0)
      ::close(std::exchange(fd, -1));
  }
};

std::string read_exactly(int fd, std::size_t bytes) {
  std::string all(bytes, '\0');
  std::size_t done_bytes = 0;
  while (done_bytes < bytes) {
    const auto count = ::read(fd, all.data() + done_bytes, bytes - done_bytes);
    if (count <= 0)
      break;
    done_bytes += static_cast<std::size_t>(count);
  }
  all.resize(done_bytes);
  return all;
}

TEST(net_stdio, answers_over_pipes_after_the_end_of_the_input) {
  pipe_pair pipes;
  const auto served = std::make_shared<recorder>();
  stdio_server server;
  ASSERT_TRUE(server.open(pipes.in[0], pipes.out[1], connect_into(served)));
  ASSERT_EQ(::write(pipes.in[1], "ask", 3), 3);
  ASSERT_TRUE(served->wait_received(3));
  pipe_pair::drop(pipes.in[1]);
  ASSERT_TRUE(served->wait_end());
  const std::string big(500'000, 'b'); // more than a pipe holds
  served->link()->send(big);
  served->link()->close_after_writes();
  EXPECT_EQ(read_exactly(pipes.out[0], big.size()), big);
  EXPECT_TRUE(served->wait_closed());
  EXPECT_EQ(served->written(), big.size());
  EXPECT_EQ(served->told_after_closed(), 0);
}

TEST(net_stdio, reads_from_a_file_and_writes_to_a_file) {
  const temp_folder folder;
  std::ofstream(folder.file("in")) << "from a file";
  const int in = ::open(folder.file("in").c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open(folder.file("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const auto served = std::make_shared<recorder>();
  stdio_server server;
  ASSERT_TRUE(server.open(in, out, connect_into(served)));
  ASSERT_TRUE(served->wait_end());
  EXPECT_EQ(served->received(), "from a file");
  served->link()->send("to a file");
  served->link()->close_after_writes();
  ASSERT_TRUE(served->wait_closed());
  ::close(in);
  ::close(out);
  std::string text;
  std::getline(std::ifstream(folder.file("out")), text);
  EXPECT_EQ(text, "to a file");
}

TEST(net_stdio, a_reader_that_goes_away_closes_and_kills_nobody) {
  pipe_pair pipes;
  const auto served = std::make_shared<recorder>();
  stdio_server server;
  const auto link = server.open(pipes.in[0], pipes.out[1], connect_into(served));
  ASSERT_TRUE(link);
  pipe_pair::drop(pipes.out[0]);
  (*link)->send("into the void");
  EXPECT_TRUE(served->wait_closed());
}

TEST(net_stdio, stop_ends_a_write_that_nobody_reads_and_a_read_that_nobody_writes) {
  pipe_pair pipes;
  const auto served = std::make_shared<recorder>();
  stdio_server server;
  const auto link = server.open(pipes.in[0], pipes.out[1], connect_into(served));
  ASSERT_TRUE(link);
  (*link)->send(std::string(1'000'000, 'n'));
  server.stop();
  EXPECT_EQ(served->closed(), 1);
  EXPECT_EQ(served->written(), 0u);
  (*link)->send("late");
}

TEST(net_stdio, flags_of_shared_descriptors_stay_as_they_are) {
  pipe_pair pipes;
  const auto served = std::make_shared<recorder>();
  stdio_server server;
  const int before = ::fcntl(pipes.out[1], F_GETFL);
  ASSERT_TRUE(server.open(pipes.in[0], pipes.out[1], connect_into(served)));
  served->link()->send("x");
  ASSERT_TRUE(served->wait_written(1));
  EXPECT_EQ(::fcntl(pipes.out[1], F_GETFL), before);
  server.stop();
  EXPECT_GE(::fcntl(pipes.out[1], F_GETFL), 0);
}

} // namespace
} // namespace rind::net
