// The client against a server that the test writes: answers in any order, events, a connection that
// ends, replay and follow.
#include <atomic>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "hosts/client/protocol_client.hpp"
#include "tests/unit/hosts/line_server.hpp"

namespace rind::hosts::client {
namespace {

using nlohmann::json;

TEST(protocol_client, matches_answers_that_come_in_any_order) {
  std::vector<json> asked;
  line_server server([&](line_server::peer& peer, const json& request) {
    asked.push_back(request);
    if (asked.size() < 3)
      return;
    for (auto one = asked.rbegin(); one != asked.rend(); ++one)
      (*one)["method"] == "bad" ? peer.error(*one, "UnknownModel")
                                : peer.result(*one, (*one)["params"]);
  });
  auto client = protocol_client::open(server.connector(), {});
  ASSERT_TRUE(client);
  auto first = (*client)->request("a", {{"n", 1}});
  auto bad = (*client)->request("bad", json::object());
  auto last = (*client)->request("b", {{"n", 2}});
  EXPECT_EQ((*first.get())["n"], 1);
  EXPECT_EQ((*last.get())["n"], 2);
  const auto refused = bad.get();
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.error_type, "UnknownModel");
  EXPECT_EQ(refused.error_message, "no: UnknownModel");
}

TEST(protocol_client, answers_open_requests_when_the_connection_ends) {
  line_server server([](line_server::peer& peer, const json&) { peer.close(); });
  std::promise<void> closed;
  auto client = protocol_client::open(server.connector(), {{}, [&] { closed.set_value(); }});
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->call("ping", json::object()).error_type, connection_closed);
  closed.get_future().wait();
  EXPECT_FALSE((*client)->is_open());
  EXPECT_EQ((*client)->call("ping", json::object()).error_type, connection_closed);
}

TEST(protocol_client, an_answer_that_is_no_json_ends_the_connection) {
  line_server server([](line_server::peer& peer, const json&) { peer.send_text("<html>\n"); });
  auto client = protocol_client::open(server.connector(), {});
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->call("ping", json::object()).error_type, connection_closed);
}

TEST(protocol_client, a_refused_connection_is_a_failure) {
  net::asio_client network;
  const auto client = protocol_client::open(
      [&](net::connect_callback callback) {
        return network.connect_unix("/nonexistent/socket", std::move(callback));
      },
      {});
  EXPECT_FALSE(client);
}

TEST(protocol_client, close_sends_what_waits) {
  std::atomic<int> seen = 0;
  std::promise<void> all;
  line_server server([&](line_server::peer&, const json&) {
    if (++seen == 100)
      all.set_value();
  });
  auto client = protocol_client::open(server.connector(), {});
  ASSERT_TRUE(client);
  std::atomic<int> answered = 0;
  for (int count = 0; count < 100; ++count)
    (*client)->request("x", {{"text", std::string(10'000, 'x')}},
                       [&](const response&) { ++answered; });
  (*client)->close();
  all.get_future().wait();
  client->reset();
  EXPECT_EQ(answered, 100);
}

TEST(protocol_client, requests_from_many_threads_are_each_answered_once) {
  line_server server([](line_server::peer& peer, const json& request) {
    peer.result(request, request["params"]);
  });
  auto client = protocol_client::open(server.connector(), {});
  ASSERT_TRUE(client);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int count = 0; count < 100; ++count) {
        const auto answer = (*client)->call("echo", {{"user", user}, {"count", count}});
        if (!answer || (*answer)["user"] != user || (*answer)["count"] != count)
          ++wrong;
      }
    });
  for (auto& user : users)
    user.join();
  EXPECT_EQ(wrong, 0);
}

TEST(protocol_client, S37_follow_tells_pages_then_the_live_turn_then_live_events) {
  const auto durable = [](int cursor) {
    return json{{"type", "turn_started"}, {"cursor", cursor}};
  };
  line_server server([&](line_server::peer& peer, const json& request) {
    const auto& params = request["params"];
    if (request["method"] == "session/subscribe") {
      peer.event(durable(3)); // sequence 1: the last page holds it
      peer.result(request, {{"ok", true}});
    } else if (params["after_cursor"] == 0)
      peer.result(request, {{"events", {durable(1), durable(2)}},
                            {"cursor", 2},
                            {"has_more", true},
                            {"as_of_sequence", nullptr}});
    else {
      peer.event(durable(4)); // sequence 2: after the page was made
      peer.result(request, {{"events", {durable(3)}},
                            {"cursor", 3},
                            {"has_more", false},
                            {"as_of_sequence", 1},
                            {"live_turn", {{"text", "half"}}}});
      peer.event(durable(5));
      peer.event(durable(9), "another session");
    }
  });
  std::mutex mutex;
  std::vector<std::string> told;
  std::promise<void> foreign;
  const auto note = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    told.push_back(text);
  };
  client_events events;
  events.on_event = [&](const json& frame) {
    note(frame["session_id"]);
    foreign.set_value();
  };
  auto client = protocol_client::open(server.connector(), std::move(events));
  ASSERT_TRUE(client);
  follow_events followed;
  followed.on_item = [&](const json& item) { note("item " + item["cursor"].dump()); };
  followed.on_live_turn = [&](const json& turn) { note(turn["text"]); };
  followed.on_ready = [&] { note("ready"); };
  followed.on_event = [&](const json& frame) { note("live " + frame["event"]["cursor"].dump()); };
  (*client)->follow({"s1", 0, false}, std::move(followed));
  foreign.get_future().wait();
  const std::vector<std::string> expected = {"item 1", "item 2", "item 3", "half",
                                             "ready",  "live 4", "live 5", "another session"};
  const std::lock_guard lock(mutex);
  EXPECT_EQ(told, expected);
  EXPECT_EQ((*client)->followed_cursor("s1"), 5);
}

TEST(protocol_client, a_refused_follow_is_told_once) {
  line_server server(
      [](line_server::peer& peer, const json& request) { peer.error(request, "SessionNotFound"); });
  auto client = protocol_client::open(server.connector(), {});
  ASSERT_TRUE(client);
  std::promise<std::string> failed;
  follow_events events;
  events.on_failed = [&](const response& answer) { failed.set_value(answer.error_type); };
  (*client)->follow({"s1", 0, false}, std::move(events));
  EXPECT_EQ(failed.get_future().get(), "SessionNotFound");
  EXPECT_EQ((*client)->followed_cursor("s1"), 0);
}

} // namespace
} // namespace rind::hosts::client
