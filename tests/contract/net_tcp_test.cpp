// TCP and TLS keep what connection_port.hpp promises, and who is not trusted does not get in. No
// CAF: this runs under the thread sanitizer.
#include <fstream>
#include <stdexcept>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/asio_client.hpp"
#include "runtime/net/asio_server.hpp"
#include "runtime/net/owned_fd.hpp"
#include "tests/contract/net_recorder.hpp"
#include "tests/contract/self_signed.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::net {
namespace {

const tcp_address any_port{"127.0.0.1", 0};

/// What has to be there for the test to go on.
template <class T>
T sure(result<T> made) {
  if (!made)
    throw std::runtime_error(made.error().message);
  return *made;
}

tls_files files_of(const test::self_signed& one) {
  return {one.certificate_file(), one.key_file(), one.certificate_file()};
}

tls_side_ptr server_side(const test::self_signed& one) {
  return sure(tls_server({one.certificate_file(), one.key_file(), {}}));
}

tls_side_ptr client_side(const test::self_signed& trusted) {
  return sure(tls_client({{}, {}, trusted.certificate_file()}, "127.0.0.1"));
}

/// What a server reported, one text a problem.
class problems {
public:
  std::function<void(const failure&)> sink() {
    return [this](const failure& why) {
      const std::lock_guard lock(mutex_);
      told_.push_back(why.message);
      changed_.notify_all();
    };
  }
  std::string first() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !told_.empty(); });
    return told_.empty() ? "" : told_.front();
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return told_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

/// A blocking TCP client without any of our code.
class bare_peer {
public:
  explicit bare_peer(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void write(const std::string& text) {
    EXPECT_EQ(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  /// Until the server closes; false where it did not.
  bool read_to_the_end() {
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::read(fd_.get(), buffer, sizeof buffer)) > 0)
      received_.append(buffer, static_cast<std::size_t>(count));
    return count == 0 || errno == ECONNRESET;
  }
  const std::string& received() const { return received_; }

private:
  owned_fd fd_;
  std::string received_;
};

// -- both kinds ---------------------------------------------------------------------------------

class net_tcp : public testing::TestWithParam<bool> {
protected:
  tls_side_ptr served_by() { return GetParam() ? server_side(own_) : nullptr; }
  tls_side_ptr asked_by() { return GetParam() ? client_side(own_) : nullptr; }

  test::self_signed own_;
};

TEST_P(net_tcp, carries_bytes_both_ways_and_tells_closed_once_and_last) {
  const auto served = std::make_shared<recorder>();
  const auto asked = std::make_shared<recorder>();
  asio_server server;
  const auto port = server.listen_tcp(any_port, served_by(), accept_into(served));
  ASSERT_TRUE(port) << port.error().message;
  asio_client client;
  const auto made = client.connect_tcp({"127.0.0.1", *port}, asked_by(), connect_into(asked));
  ASSERT_TRUE(made) << made.error().message;
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
  for (const auto& side : {served, asked}) {
    EXPECT_EQ(side->closed(), 1);
    EXPECT_EQ(side->told_after_closed(), 0);
  }
}

TEST_P(net_tcp, S40_reads_no_further_ahead_than_its_limit_until_bytes_are_consumed) {
  const auto served = std::make_shared<recorder>();
  served->consume = false;
  const auto asked = std::make_shared<recorder>();
  asio_server server;
  const auto port = server.listen_tcp(any_port, served_by(), accept_into(served));
  ASSERT_TRUE(port);
  asio_client client;
  ASSERT_TRUE(client.connect_tcp({"127.0.0.1", *port}, asked_by(), connect_into(asked)));
  constexpr std::size_t sent = 16u << 20;
  asked->link()->send(std::string(sent, 'x'));
  ASSERT_TRUE(served->wait_received(read_ahead_limit_bytes));
  EXPECT_LT(served->received().size(), read_ahead_limit_bytes + 64 * 1024);
  for (std::size_t done = 0; done < sent;) {
    const auto have = served->received().size();
    served->link()->consumed(have - done);
    done = have;
    ASSERT_TRUE(served->wait_received(std::min(sent, done + 1)));
  }
  EXPECT_EQ(served->received().size(), sent);
}

TEST_P(net_tcp, a_refused_client_learns_why) {
  asio_server server;
  const auto port =
      server.listen_tcp(any_port, served_by(), [](connection_ptr) { return refusal{"not you\n"}; });
  ASSERT_TRUE(port);
  const auto asked = std::make_shared<recorder>();
  asio_client client;
  ASSERT_TRUE(client.connect_tcp({"127.0.0.1", *port}, asked_by(), connect_into(asked)));
  ASSERT_TRUE(asked->wait_end());
  EXPECT_EQ(asked->received(), "not you\n");
}

TEST_P(net_tcp, more_connections_than_the_bound_are_told_so_and_a_free_place_is_used_again) {
  const auto served = std::make_shared<recorder>();
  served->watch_end = false; // over TCP a client that went looks like one that has said all
  asio_server server({.connections_max = 1, .full_line = "full\n", .on_problem = {}});
  const auto port = server.listen_tcp(any_port, served_by(), accept_into(served));
  ASSERT_TRUE(port);
  asio_client client;
  const auto first = std::make_shared<recorder>();
  const auto second = std::make_shared<recorder>();
  second->watch_end = false;
  const tcp_address there{"127.0.0.1", *port};
  ASSERT_TRUE(client.connect_tcp(there, asked_by(), connect_into(first)));
  served->link();
  ASSERT_TRUE(client.connect_tcp(there, asked_by(), connect_into(second)));
  ASSERT_TRUE(second->wait_closed());
  EXPECT_EQ(second->received(), "full\n");
  first->link()->close_now();
  ASSERT_TRUE(served->wait_closed());
  const auto third = std::make_shared<recorder>();
  ASSERT_TRUE(client.connect_tcp(there, asked_by(), connect_into(third)));
  third->link()->send("here");
  EXPECT_TRUE(served->wait_received(4));
}

TEST_P(net_tcp, stop_closes_everything) {
  const auto served = std::make_shared<recorder>();
  const auto asked = std::make_shared<recorder>();
  asked->watch_end = false;
  asio_server server;
  const auto port = server.listen_tcp(any_port, served_by(), accept_into(served));
  ASSERT_TRUE(port);
  asio_client client;
  ASSERT_TRUE(client.connect_tcp({"127.0.0.1", *port}, asked_by(), connect_into(asked)));
  served->link();
  server.stop();
  EXPECT_EQ(served->closed(), 1);
  EXPECT_TRUE(asked->wait_closed());
  EXPECT_FALSE(client.connect_tcp({"127.0.0.1", *port}, asked_by(), connect_into(asked)));
}

INSTANTIATE_TEST_SUITE_P(streams, net_tcp, testing::Values(false, true),
                         [](const auto& one) { return std::string(one.param ? "tls" : "plain"); });

// -- whom TLS lets in -----------------------------------------------------------------------------

/// A server with a certificate, and whether it wants one of its clients.
class net_tls : public testing::Test {
protected:
  std::uint16_t serve(tls_side_ptr side) {
    return sure(server_.listen_tcp(any_port, std::move(side), [this](connection_ptr link) {
      ++asked_;
      return served_->events(std::move(link));
    }));
  }
  failure refused(std::uint16_t port, tls_side_ptr side) {
    asio_client client;
    const auto made = client.connect_tcp({"127.0.0.1", port}, std::move(side),
                                         connect_into(std::make_shared<recorder>()));
    EXPECT_FALSE(made);
    return made ? failure{} : made.error();
  }
  void expect_healthy(std::uint16_t port, tls_side_ptr side) {
    asio_client client;
    const auto asked = std::make_shared<recorder>();
    ASSERT_TRUE(client.connect_tcp({"127.0.0.1", port}, std::move(side), connect_into(asked)));
    asked->link()->send("well");
    EXPECT_TRUE(served_->wait_received(4));
    client.stop();
  }

  test::self_signed own_;
  test::self_signed foreign_;
  problems told_;
  std::shared_ptr<recorder> served_ = std::make_shared<recorder>();
  std::atomic<int> asked_ = 0;
  asio_server server_{{.full_line = {}, .on_problem = told_.sink(), .tls_handshake_ms = 500}};
};

TEST_F(net_tls, S42_a_client_refuses_a_server_of_another_authority_by_name) {
  const auto port = serve(server_side(own_));
  const auto why = refused(port, client_side(foreign_));
  EXPECT_EQ(why.code, error_code::unavailable);
  EXPECT_NE(why.message.find("certificate verify failed"), std::string::npos) << why.message;
  EXPECT_NE(told_.first().find("127.0.0.1 port "), std::string::npos) << told_.first();
  EXPECT_EQ(told_.count(), 1u);
  EXPECT_EQ(asked_, 0);
  expect_healthy(port, client_side(own_));
}

TEST_F(net_tls, S42_a_client_refuses_the_certificate_of_another_name) {
  const auto port = serve(server_side(own_));
  const auto other = sure(tls_client({{}, {}, own_.certificate_file()}, "elsewhere.example"));
  EXPECT_NE(refused(port, other).message.find("certificate verify failed"), std::string::npos);
  expect_healthy(port, client_side(own_));
}

TEST_F(net_tls, S42_a_server_with_an_authority_refuses_a_client_without_a_certificate_of_it) {
  const auto port = serve(sure(tls_server(files_of(own_))));
  const auto stranger = sure(tls_client(
      {foreign_.certificate_file(), foreign_.key_file(), own_.certificate_file()}, "127.0.0.1"));
  const tls_side_ptr nobody = client_side(own_);
  for (const auto& side : {nobody, stranger}) {
    // With TLS 1.3 a client learns of it with its first read: its connection opens and is closed.
    asio_client client;
    const auto asked = std::make_shared<recorder>();
    const auto made = client.connect_tcp({"127.0.0.1", port}, side, connect_into(asked));
    EXPECT_TRUE(!made || asked->wait_closed());
    EXPECT_EQ(asked->received(), "");
  }
  EXPECT_NE(told_.first().find("is refused"), std::string::npos) << told_.first();
  EXPECT_EQ(asked_, 0);
  expect_healthy(port, sure(tls_client(files_of(own_), "127.0.0.1")));
}

TEST_F(net_tls, S42_plain_text_and_garbage_are_refused_and_reported_once) {
  const auto port = serve(server_side(own_));
  const std::string firsts[]{"{\"method\":\"initialize\"}\n", "GET / HTTP/1.1\r\n\r\n",
                             std::string(70'000, '\xff'),
                             "\x16\x03\x01\x3f\xff" + std::string(20'000, 'x')};
  for (const auto& first : firsts) {
    bare_peer peer(port);
    peer.write(first);
    EXPECT_TRUE(peer.read_to_the_end());
  }
  expect_healthy(port, client_side(own_)); // by its thread, the reports stand before that
  EXPECT_EQ(told_.count(), std::size(firsts));
  EXPECT_EQ(asked_, 1);
}

TEST_F(net_tls, a_peer_that_stays_silent_is_given_up_within_the_deadline) {
  const auto port = serve(server_side(own_));
  bare_peer peer(port);
  EXPECT_TRUE(peer.read_to_the_end());
  EXPECT_NE(told_.first().find("TLS was not agreed on"), std::string::npos) << told_.first();
  expect_healthy(port, client_side(own_));
}

TEST_F(net_tls, a_renewed_certificate_is_shown_to_whom_comes_next) {
  const auto port = serve(server_side(own_));
  expect_healthy(port, client_side(own_));
  server_.renew_tls(server_side(foreign_));
  expect_healthy(port, client_side(foreign_));
  EXPECT_NE(refused(port, client_side(own_)).message.find("certificate verify failed"),
            std::string::npos);
}

TEST(tls_files, what_cannot_be_used_is_named) {
  const test::self_signed own;
  const test::self_signed other;
  const kit::temp_folder folder;
  const auto garbage = folder.file("garbage.pem");
  std::ofstream(garbage) << "-----BEGIN CERTIFICATE-----\nno\n";
  const std::pair<tls_files, std::string> rows[]{
      {{folder.file("none.pem"), own.key_file(), {}}, "none.pem"},
      {{garbage, own.key_file(), {}}, "garbage.pem"},
      {{own.certificate_file(), folder.file("none.pem"), {}}, "none.pem"},
      {{own.certificate_file(), garbage, {}}, "garbage.pem"},
      {{own.certificate_file(), other.key_file(), {}}, "key values mismatch"},
      {{own.certificate_file(), own.key_file(), garbage}, "garbage.pem"},
  };
  for (const auto& [files, words] : rows) {
    const auto made = tls_server(files);
    ASSERT_FALSE(made) << words;
    EXPECT_EQ(made.error().code, error_code::invalid_request);
    EXPECT_NE(made.error().message.find(words), std::string::npos) << made.error().message;
  }
  EXPECT_FALSE(tls_client({{}, {}, folder.file("none.pem")}, "x"));
}

// -- addresses ------------------------------------------------------------------------------------

TEST(tcp_address, is_read_as_people_write_it) {
  struct row {
    std::string text, host;
    int port; // below 0: refused
    bool is_loopback;
  };
  const row rows[]{
      {"127.0.0.1:7700", "127.0.0.1", 7700, true},
      {"localhost:1", "localhost", 1, true},
      {"[::1]:7700", "::1", 7700, true},
      {"0.0.0.0:7700", "0.0.0.0", 7700, false},
      {"[::]:7700", "::", 7700, false},
      {"example.org:65535", "example.org", 65535, false},
      {"127.9.9.9:0", "127.9.9.9", 0, true},
      {"10.0.0.1:5", "10.0.0.1", 5, false},
      {"::1:7700", "", -1, false},
      {"host", "", -1, false},
      {"host:", "", -1, false},
      {":7700", "", -1, false},
      {"host:65536", "", -1, false},
      {"host:-1", "", -1, false},
      {"host:1x", "", -1, false},
      {"a b:1", "", -1, false},
      {"[]:1", "", -1, false},
      {"", "", -1, false},
  };
  for (const auto& one : rows) {
    const auto read = read_tcp_address(one.text);
    ASSERT_EQ(bool(read), one.port >= 0) << one.text;
    if (!read) {
      EXPECT_EQ(read.error().code, error_code::invalid_request);
      continue;
    }
    EXPECT_EQ(read->host, one.host);
    EXPECT_EQ(read->port, one.port);
    EXPECT_EQ(is_loopback(*read), one.is_loopback) << one.text;
    EXPECT_EQ(to_string(*read), one.text);
  }
}

TEST(tcp_address, a_port_in_use_and_a_port_that_nobody_has_are_unavailable) {
  const auto bound = bind_tcp(any_port);
  ASSERT_TRUE(bound);
  const owned_fd held(bound->fd);
  const auto again = bind_tcp({"127.0.0.1", bound->port});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, error_code::unavailable);
  std::uint16_t free_port = 0;
  {
    const auto other = bind_tcp(any_port);
    ASSERT_TRUE(other);
    free_port = other->port;
    ::close(other->fd);
  }
  const auto nobody = connect_tcp_address({"127.0.0.1", free_port});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, error_code::unavailable);
  const auto no_host = connect_tcp_address({"no such host", 1});
  ASSERT_FALSE(no_host);
  EXPECT_EQ(no_host.error().code, error_code::invalid_request);
}

} // namespace
} // namespace rind::net
