// Pages over HTTP: what is answered, who is let in, and what no asker can do. No CAF: this runs
// under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/net/asio_client.hpp"
#include "runtime/net/status_server.hpp"
#include "tests/contract/net_recorder.hpp"
#include "tests/contract/self_signed.hpp"

namespace rind::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

status_page page(const std::string& path) {
  if (path == "/good")
    return {200, "text/plain", "it is good\n"};
  return {404, "text/plain", "nothing here\n"};
}

/// Says it, in pieces, and gives all that came back.
std::string asked(std::uint16_t port, const std::vector<std::string>& pieces,
                  tls_side_ptr tls = nullptr) {
  asio_client client;
  const auto heard = std::make_shared<recorder>();
  heard->watch_end = false;
  const auto made = client.connect_tcp({"127.0.0.1", port}, std::move(tls), connect_into(heard));
  EXPECT_TRUE(made);
  for (std::size_t sent = 0; const auto& piece : pieces) {
    heard->link()->send(piece);
    heard->wait_written(sent += piece.size());
  }
  EXPECT_TRUE(heard->wait_closed());
  return heard->received();
}

TEST(status_server, answers_what_is_asked_and_refuses_the_rest) {
  status_server server({page, {}});
  const auto port = server.listen({"127.0.0.1", 0}, nullptr);
  ASSERT_TRUE(port);
  const std::string long_one(40'000, 'x');
  const std::string noise(64, '\xff');
  struct row {
    std::string asks; // in one piece, or in two that are parted by a bar
    const char* begins;
    const char* ends;
  };
  std::vector<row> rows{
      {"GET /good HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK", "\r\n\r\nit is good\n"},
      {"GET /go|od?q=1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK", "\r\n\r\nit is good\n"},
      {"GET /good HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK", "it is good\n"},
      {"HEAD /good HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK", "Content-Length: 11\r\n\r\n"},
      {"GET /bad HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found", "nothing here\n"},
      {"POST /good HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405", "only GET and HEAD\n"},
      {"not http at all\r\n\r\n", "HTTP/1.1 400", "answers\n"},
      {noise, "HTTP/1.1 400", "answers\n"},
      {long_one, "HTTP/1.1 400", "answers\n"},
      {long_one, "HTTP/1.1 400", "answers\n"}};
  rows[7].asks.append("\n");
  rows[8].asks.insert(0, "GET /");
  rows[9].asks.insert(0, "GET /good HTTP/1.1\r\nX: ").append("\r\n\r\n");
  for (const auto& one : rows) {
    const auto bar = std::min(one.asks.find('|'), one.asks.size());
    std::vector<std::string> pieces;
    pieces.push_back(one.asks.substr(0, bar));
    if (bar < one.asks.size())
      pieces.push_back(one.asks.substr(bar + 1));
    const auto heard = asked(*port, pieces);
    EXPECT_THAT(heard, StartsWith(one.begins)) << one.asks.substr(0, 80);
    EXPECT_THAT(heard, EndsWith(one.ends)) << one.asks.substr(0, 80);
  }
}

TEST(status_server, S42_asks_for_a_token_where_one_is_needed) {
  const test::self_signed own;
  status_server server({page, [](const std::string& token) { return token == "right"; }});
  const auto side = tls_server({own.certificate_file(), own.key_file(), {}});
  const auto port = server.listen({"127.0.0.1", 0}, *side);
  ASSERT_TRUE(port);
  const auto with = [&](const std::string& header) {
    return asked(*port, {"GET /good HTTP/1.1\r\n" + header + "\r\n"},
                 *tls_client({{}, {}, own.certificate_file()}, "127.0.0.1"));
  };
  EXPECT_THAT(with("Authorization: Bearer right\r\n"), StartsWith("HTTP/1.1 200"));
  for (const auto* wrong : {"", "Authorization: Bearer wrong\r\n", "Authorization: right\r\n",
                            "Authorization: Bearer \r\n"}) {
    const auto heard = with(wrong);
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 401")) << wrong;
    EXPECT_THAT(heard, HasSubstr("WWW-Authenticate: Bearer"));
    EXPECT_THAT(heard, Not(HasSubstr("it is good")));
  }
}

TEST(status_server, more_askers_than_places_are_turned_away_and_others_are_served_after) {
  status_server server({page, {}});
  const auto port = server.listen({"127.0.0.1", 0}, nullptr);
  ASSERT_TRUE(port);
  asio_client client;
  std::vector<std::shared_ptr<recorder>> silent;
  for (std::size_t i = 0; i < status_connections_max; ++i) {
    silent.push_back(std::make_shared<recorder>());
    ASSERT_TRUE(client.connect_tcp({"127.0.0.1", *port}, nullptr, connect_into(silent.back())));
  }
  EXPECT_THAT(asked(*port, {}), StartsWith("HTTP/1.1 503"));
  client.stop();
  std::string heard;
  for (int tries = 0; tries < 1'000 && heard.find("200") == std::string::npos; ++tries)
    heard = asked(*port, {"GET /good HTTP/1.1\r\n\r\n"});
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200"));
}

} // namespace
} // namespace rind::net
