// The mock provider's server over a bare socket: what follows what on a connection that is kept,
// byte for byte, and what it keeps of the requests.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/contract/started_mock.hpp"

namespace rind::hosts::mock_provider {
namespace {

using nlohmann::json;

/// How long a read waits for what must come before the test fails.
constexpr int patience_s = 60;

/// One connection; it reads no byte more than it is asked for.
class bare_client {
public:
  explicit bare_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{patience_s, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  bare_client(const bare_client&) = delete;
  bare_client& operator=(const bare_client&) = delete;
  ~bare_client() { ::close(socket_); }

  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  /// To the next empty line, which is part of it.
  std::string head() { return through("\r\n\r\n"); }
  std::string line() { return through("\r\n"); }

  std::string exactly(std::size_t bytes) {
    std::string out;
    while (out.size() < bytes && read_byte(out)) {
    }
    EXPECT_EQ(out.size(), bytes);
    return out;
  }

  /// Says that nothing more is asked; what then comes until the other side closes.
  std::string rest() {
    ::shutdown(socket_, SHUT_WR);
    std::string out;
    while (read_byte(out)) {
    }
    return out;
  }

private:
  bool read_byte(std::string& into) {
    char byte = 0;
    if (::recv(socket_, &byte, 1, 0) != 1)
      return false;
    into.push_back(byte);
    return true;
  }

  std::string through(std::string_view end) {
    std::string out;
    while (!out.ends_with(end) && read_byte(out)) {
    }
    EXPECT_TRUE(out.ends_with(end)) << out;
    return out;
  }

  int socket_;
};

struct reply {
  std::string head;
  std::string body;
};

/// One chunk of a body; the empty one ends it.
std::string read_chunk(bare_client& client) {
  auto chunk = client.exactly(std::strtoul(client.line().c_str(), nullptr, 16));
  EXPECT_EQ(client.exactly(2), "\r\n");
  return chunk;
}

/// One reply: so many bytes as its head announces, or chunks to the empty one.
reply read_reply(bare_client& client) {
  reply out;
  out.head = client.head();
  static constexpr std::string_view length_name = "Content-Length: ";
  const auto length = out.head.find(length_name);
  if (length != std::string::npos) {
    out.body =
        client.exactly(std::strtoul(out.head.c_str() + length + length_name.size(), nullptr, 10));
    return out;
  }
  EXPECT_NE(out.head.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << out.head;
  for (auto chunk = read_chunk(client); !chunk.empty(); chunk = read_chunk(client))
    out.body += chunk;
  return out;
}

std::string request_bytes(const std::string& path, const json& body) {
  const auto text = body.dump();
  return "POST " + path +
         " HTTP/1.1\r\nHost: mock\r\nx-api-key: k-secret\r\nanthropic-version: 2023-06-01\r\n"
         "Content-Length: " +
         std::to_string(text.size()) + "\r\n\r\n" + text;
}

/// One format as this test speaks it.
struct spoken {
  const char* path;
  json body;
  const char* in_error; ///< what the body of an error begins with
};

std::vector<spoken> all_formats() {
  const auto messages = json::parse(R"([{"role":"user","content":"hello"}])");
  return {
      {"/v1/chat/completions", {{"model", "m"}, {"messages", messages}}, R"({"error":)"},
      {"/v1/responses", {{"model", "m"}, {"input", messages}}, R"({"error":)"},
      {"/v1/messages",
       {{"model", "m"}, {"max_tokens", 9}, {"messages", messages}},
       R"({"type":"error","error":)"},
  };
}

class mock_server_contract : public testing::Test {
protected:
  mock_server& serve(const std::string& text = "") {
    server_ = test::started_mock(text);
    return *server_;
  }

  std::unique_ptr<mock_server> server_;
};

/// Whatever stood behind a reply would stand before the next one, or before the end.
TEST_F(mock_server_contract, nothing_follows_a_reply_on_a_kept_connection_in_any_format) {
  serve(R"({"match":{"contains":"empty body"},"times":0,"answer":{"status":503,"body":""}})");
  bare_client client{server_->port()};
  for (const auto& format : all_formats()) {
    auto streamed = format.body;
    streamed["stream"] = true;
    auto refused = format.body;
    refused.erase("model");
    auto empty = format.body;
    (empty.contains("input") ? empty["input"] : empty["messages"])[0]["content"] = "empty body";
    struct row {
      const json& body;
      const char* status;
      bool is_json;
    };
    const row rows[] = {{format.body, "200 OK", true},
                        {refused, "400 Bad Request", true},
                        {format.body, "200 OK", true},
                        {streamed, "200 OK", false},
                        {empty, "503 Service Unavailable", false},
                        {format.body, "200 OK", true}};
    for (const auto& row : rows) {
      SCOPED_TRACE(std::string{format.path} + " " + row.status);
      client.send(request_bytes(format.path, row.body));
      const auto got = read_reply(client);
      ASSERT_EQ(got.head.substr(0, got.head.find('\r')), std::string{"HTTP/1.1 "} + row.status);
      EXPECT_TRUE(!row.is_json || json::accept(got.body)) << got.body;
    }
  }
  EXPECT_EQ(client.rest(), "");
}

TEST_F(mock_server_contract, a_gate_holds_streams_after_their_first_chunk_until_it_is_opened) {
  auto& server =
      serve(R"({"times":0,"answer":{"deltas":["one ","two ","three"],"gate":"all here"}})");
  const auto read_to_the_gate = [&](bare_client& client, const spoken& format) {
    auto streamed = format.body;
    streamed["stream"] = true;
    client.send(request_bytes(format.path, streamed));
    client.head();
    return read_chunk(client);
  };
  for (const auto& format : all_formats()) {
    bare_client leaving{server_->port()};
    read_to_the_gate(leaving, format);
  }
  // The gate still knows of those that left: to open it must do no harm.
  ASSERT_TRUE(server.wait_for_connections(0, 60'000));
  bare_client staying{server_->port()};
  EXPECT_EQ(read_to_the_gate(staying, all_formats().front()).find("three"), std::string::npos);
  server.open_gate("all here");
  std::string rest;
  for (auto chunk = read_chunk(staying); !chunk.empty(); chunk = read_chunk(staying))
    rest += chunk;
  EXPECT_NE(rest.find("three"), std::string::npos);
  EXPECT_EQ(server.waiting_at_gate("all here"), 0u);
}

TEST_F(mock_server_contract, requests_sent_ahead_are_answered_one_after_the_other) {
  serve();
  bare_client client{server_->port()};
  std::string all;
  for (const auto& format : all_formats())
    all += request_bytes(format.path, format.body);
  client.send(all);
  for (std::size_t i = 0; i < all_formats().size(); ++i)
    EXPECT_NE(read_reply(client).body.find("You said: hello"), std::string::npos);
  EXPECT_EQ(client.rest(), "");
}

TEST_F(mock_server_contract, an_error_comes_in_the_envelope_of_its_path) {
  auto& server = serve(R"({"times":0,"answer":{"status":500}})");
  bare_client client{server_->port()};
  for (const auto& format : all_formats()) {
    client.send(request_bytes(format.path, format.body));
    EXPECT_TRUE(read_reply(client).body.starts_with(format.in_error)) << format.path;
    client.send(request_bytes(format.path, json::array()));
    EXPECT_TRUE(read_reply(client).body.starts_with(format.in_error)) << format.path;
  }
  client.send(request_bytes("/v1/unheard", json::object()));
  EXPECT_TRUE(read_reply(client).head.starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(server.request_count(), 7u);
}

TEST_F(mock_server_contract, a_body_over_the_bound_is_refused_in_the_envelope_of_its_path) {
  serve();
  for (const auto& format : all_formats()) {
    bare_client client{server_->port()};
    client.send("POST " + std::string{format.path} + " HTTP/1.1\r\nHost: mock\r\nContent-Length: " +
                std::to_string(request_body_bytes_max + 1) + "\r\n\r\n");
    const auto got = read_reply(client);
    EXPECT_TRUE(got.head.starts_with("HTTP/1.1 413 ")) << got.head;
    EXPECT_TRUE(got.body.starts_with(format.in_error)) << got.body;
  }
}

TEST_F(mock_server_contract, a_key_is_never_kept) {
  auto& server = serve();
  bare_client client{server_->port()};
  for (const auto& format : all_formats()) {
    client.send(request_bytes(format.path, format.body));
    read_reply(client);
  }
  for (const auto& request : server.requests())
    for (const auto& [name, value] : request.headers)
      EXPECT_EQ(value.find("secret"), std::string::npos) << name;
  client.send("GET /requests HTTP/1.1\r\nHost: mock\r\n\r\n");
  const auto listed = json::parse(read_reply(client).body);
  EXPECT_EQ(listed["total"], 3);
  EXPECT_EQ(listed["requests"][2]["headers"]["x-api-key"], "(present)");
  EXPECT_GT(listed["requests"][2]["prompt_tokens"].get<int>(), 0);
}

} // namespace
} // namespace rind::hosts::mock_provider
