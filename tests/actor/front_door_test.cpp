// Clients over TCP in the test's own process: tokens, what their clients may hold, and how long one
// may be quiet (S42).
#include <gtest/gtest.h>

#include "actors/system.hpp"
#include "runtime/net/tcp_address.hpp"
#include "tests/kit/protocol_peer.hpp"

namespace rind {
namespace {

using nlohmann::json;

config::settings open_to(std::vector<std::string> tokens) {
  config::settings s;
  s.journal = "memory";
  s.server.listen = "127.0.0.1:0";
  for (auto& token : tokens)
    s.server.tokens.push_back({"token of " + token, config::secret(token)});
  return s;
}

class front_door : public testing::Test {
protected:
  void start(config::settings settings) {
    auto started = actors::system::start(settings);
    ASSERT_TRUE(started) << started.error().message;
    host_ = std::move(*started);
    const auto port = host_->listen_tcp();
    ASSERT_TRUE(port) << port.error().message;
    port_ = *port;
  }

  std::unique_ptr<kit::protocol_peer> peer() const {
    const auto fd = net::connect_tcp_address({"127.0.0.1", port_});
    if (!fd)
      throw std::runtime_error(fd.error().message);
    return std::make_unique<kit::protocol_peer>(std::make_unique<kit::line_channel>(*fd, *fd));
  }
  std::unique_ptr<kit::protocol_peer> client(const std::string& token) const {
    auto made = peer();
    EXPECT_EQ(kit::error_type_of(made->call("initialize", {{"token", token}})), "");
    return made;
  }
  static std::string error_of(kit::protocol_peer& from, const std::string& method,
                              const json& params = json::object()) {
    return kit::error_type_of(from.call(method, params));
  }
  /// Types of the errors without a request that came before the end of the connection.
  static std::vector<std::string> last_words(kit::protocol_peer& from) {
    std::vector<std::string> out;
    while (const auto frame = from.next_frame())
      if (frame->is_object() && frame->contains("error") && (*frame)["request_id"].is_null())
        out.push_back((*frame)["error"].value("type", ""));
    EXPECT_TRUE(from.channel().is_ended());
    return out;
  }

  std::unique_ptr<actors::system> host_;
  std::uint16_t port_ = 0;
};

TEST_F(front_door, S42_a_client_works_over_tcp_with_any_of_the_tokens) {
  start(open_to({"one", "two"}));
  for (const auto* token : {"one", "two"}) {
    const auto in = client(token);
    const auto made = kit::result_of(in->call("session/new"));
    in->call("session/prompt", {{"input", "Hello."}});
    EXPECT_FALSE(in->wait_for_event("turn_completed", made.value("session_id", "")).is_null());
  }
}

TEST_F(front_door, S42_the_third_wrong_token_ends_the_connection) {
  start(open_to({"one"}));
  const auto stranger = peer();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(error_of(*stranger, "initialize", {{"token", "on"}}), "Unauthorized");
  EXPECT_EQ(last_words(*stranger), std::vector<std::string>{});
  client("one");
}

TEST_F(front_door, S42_without_a_token_it_does_not_open) {
  auto started = actors::system::start(open_to({}));
  ASSERT_TRUE(started);
  const auto refused = (*started)->listen_tcp();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::invalid_request);
  EXPECT_NE(refused.error().message.find("needs a token"), std::string::npos);
}

TEST_F(front_door, S42_connections_of_a_token_are_bounded_and_free_again_when_one_ends) {
  auto settings = open_to({"one", "two"});
  settings.server.token_connections_max = 1;
  start(settings);
  auto first = client("one");
  const auto second = peer();
  EXPECT_EQ(error_of(*second, "initialize", {{"token", "one"}}), "RateLimited");
  client("two");
  first->call("shutdown");
  EXPECT_EQ(last_words(*first), std::vector<std::string>{});
  first.reset();
  // The place comes back when the connection's actor has ended, just after the socket.
  std::string answer = "RateLimited";
  for (int tries = 0; tries < 1'000 && answer == "RateLimited"; ++tries)
    answer = error_of(*peer(), "initialize", {{"token", "one"}});
  EXPECT_EQ(answer, "");
}

TEST_F(front_door, S42_sessions_that_a_token_follows_are_bounded) {
  auto settings = open_to({"one"});
  settings.server.token_sessions_max = 2;
  start(settings);
  const auto in = client("one"); // follows a session of its own
  EXPECT_EQ(error_of(*in, "session/new", {{"session_id", "a"}}), ""); // in its place
  EXPECT_EQ(error_of(*in, "session/subscribe", {{"session_id", "a"}}), "");
  EXPECT_EQ(error_of(*in, "session/new", {{"session_id", "b"}}), "");
  EXPECT_EQ(error_of(*in, "session/subscribe", {{"session_id", "b"}}), "");
  EXPECT_EQ(error_of(*in, "session/new", {{"session_id", "c"}}), "RateLimited");
  EXPECT_EQ(error_of(*in, "session/switch", {{"session_id", "c"}}),
            "RateLimited"); // nor was it made
  EXPECT_EQ(error_of(*in, "session/unsubscribe", {{"session_id", "a"}}), "");
  EXPECT_EQ(error_of(*in, "session/new", {{"session_id", "c"}}), "");
  EXPECT_EQ(error_of(*peer(), "initialize", {{"token", "one"}}), "RateLimited");
}

TEST_F(front_door, S42_requests_in_flight_of_a_token_are_bounded_over_all_its_connections) {
  auto settings = open_to({"one"});
  settings.server.token_requests_max = 2;
  settings.embedded_delta_ms = 3'600'000; // turns that do not end by themselves
  start(settings);
  const auto first = client("one");
  const auto second = client("one");
  const auto running = first->send("session/prompt", {{"input", "Go."}});
  ASSERT_FALSE(first->wait_for_event("turn_started").is_null());
  first->send("session/prompt", {{"input", "And on."}}); // waits
  // In order on one connection: this one is the third.
  EXPECT_EQ(error_of(*first, "ping"), "RateLimited");
  EXPECT_EQ(error_of(*second, "ping"), "RateLimited");
  host_->stop(0);
  EXPECT_EQ(kit::error_type_of(first->answer_to(running)), "");
}

TEST_F(front_door, who_does_not_initialize_in_time_is_told_and_disconnected) {
  auto settings = open_to({"one"});
  settings.server.initialize_timeout_ms = 50;
  start(settings);
  const auto slow = peer();
  EXPECT_EQ(last_words(*slow), std::vector<std::string>{"NotInitialized"});
}

TEST_F(front_door, who_is_idle_is_told_and_disconnected_and_who_waits_for_an_answer_is_not) {
  auto settings = open_to({"one"});
  settings.server.initialize_timeout_ms = 1'000; // the first look; there is time to initialize
  settings.server.idle_timeout_ms = 50;
  settings.embedded_delta_ms = 3'600'000;
  start(settings);
  const auto waiting = client("one");
  const auto running = waiting->send("session/prompt", {{"input", "Go."}});
  ASSERT_FALSE(waiting->wait_for_event("turn_started").is_null());
  const auto idle = client("one");
  EXPECT_EQ(last_words(*idle), std::vector<std::string>{"Unavailable"});
  host_->stop(0);
  EXPECT_EQ(kit::error_type_of(waiting->answer_to(running)), "");
}

TEST_F(front_door, S42_a_withdrawn_token_ends_its_connections_and_no_others) {
  start(open_to({"one", "two"}));
  const auto stays = client("one");
  const auto goes = client("two");
  ASSERT_TRUE(host_->renew_access(open_to({"three", "one"}).server));
  EXPECT_EQ(last_words(*goes), std::vector<std::string>{"Unauthorized"});
  EXPECT_EQ(error_of(*stays, "ping"), "");
  EXPECT_EQ(error_of(*peer(), "initialize", {{"token", "two"}}), "Unauthorized");
  client("three");
}

TEST_F(front_door, a_renewal_with_a_faulty_certificate_changes_nothing) {
  start(open_to({"one"}));
  const auto stays = client("one");
  auto faulty = open_to({"two"}).server;
  faulty.tls_certificate_file = faulty.tls_key_file = "/nowhere.pem";
  const auto refused = host_->renew_access(faulty);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/nowhere.pem"), std::string::npos);
  EXPECT_EQ(error_of(*stays, "ping"), "");
  client("one");
}

/// A page of the host, head and all.
std::string page_of(std::uint16_t port, const std::string& path) {
  const auto fd = net::connect_tcp_address({"127.0.0.1", port});
  if (!fd)
    throw std::runtime_error(fd.error().message);
  kit::line_channel link(*fd, *fd);
  link.send("GET " + path + " HTTP/1.1\r\n\r\n");
  link.read_to_end();
  std::string all;
  while (const auto line = link.take_line())
    all += *line + "\n";
  return all + link.rest();
}

TEST_F(front_door, a_watcher_sees_what_the_host_does_and_whether_it_is_ready) {
  auto settings = open_to({"ann-s-token"});
  settings.server.status_listen = "127.0.0.1:0";
  start(settings);
  const auto status = host_->listen_status();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_NE(page_of(*status, "/healthz").find("\r\n\r\nalive"), std::string::npos);
  EXPECT_NE(page_of(*status, "/readyz").find("\r\n\r\nready"), std::string::npos);
  EXPECT_NE(page_of(*status, "/").find("404"), std::string::npos);
  const auto in = client("ann-s-token");
  EXPECT_EQ(error_of(*in, "session/prompt", {{"input", "Hello."}}), "");
  EXPECT_EQ(error_of(*peer(), "initialize", {{"token", "wrong"}}), "Unauthorized");
  const auto text = page_of(*status, "/metrics");
  for (const auto* line :
       {"rind_operations_started_total{operation=\"turn\",resumed=\"false\"} 1",
        "rind_operations_ended_total{outcome=\"completed\",why=\"\"} 1", "rind_sessions_live 1",
        "rind_provider_requests{provider=\"embedded\",state=\"under_way\"} 0",
        "rind_clients_refused_total{type=\"Unauthorized\"} 1", "rind_journal_commit_seconds_count",
        "version=0.0.4"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  EXPECT_EQ(text.find("ann-s-token"), std::string::npos) << "a token or its name";
}

} // namespace
} // namespace rind
