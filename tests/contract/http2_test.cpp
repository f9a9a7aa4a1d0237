// The libcurl transport where HTTP/2 is offered: told by what the server saw.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/provider/curl_transport.hpp"
#include "tests/contract/http2_front.hpp"
#include "tests/contract/http_recorder.hpp"
#include "tests/contract/started_mock.hpp"

namespace rind::provider {
namespace {

using hosts::mock_provider::mock_server;
using hosts::mock_provider::mock_server_options;
using test::front_request;
using test::http2_front;
using test::patience_ms;
using test::recorder;

class http2_contract : public testing::Test {
protected:
  void serve(const std::string& rules, mock_server_options options = {}) {
    server_ = test::started_mock(rules, std::move(options));
  }

  void serve_behind_front(const std::string& rules) {
    serve(rules);
    front_ = std::make_unique<http2_front>(server_->port());
    url_ = front_->url();
    ca_file_ = front_->certificate_file();
  }

  std::shared_ptr<recorder> post(const std::string& text, bool http2 = true) {
    http_request request;
    request.id = ++last_id_;
    request.url = url_ + "/v1/chat/completions";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = std::make_shared<const std::string>(test::chat_body(text));
    request.proxy = "";
    request.ca_file = ca_file_;
    request.http2 = http2;
    auto handler = std::make_shared<recorder>();
    transport_.start(std::move(request), handler);
    return handler;
  }

  void expect_whole(const std::shared_ptr<recorder>& got) const {
    EXPECT_EQ(got->wait_end(), http_error::none) << got->result().text << front_complaints();
    EXPECT_TRUE(got->body().ends_with("[DONE]\n\n"));
  }

  std::string front_complaints() const {
    return front_ ? "\n(nghttpx comes with scripts/install-deps test)\n" + front_->complaints()
                  : std::string();
  }

  std::unique_ptr<mock_server> server_;
  std::unique_ptr<http2_front> front_;
  curl_transport transport_;
  http_request_id last_id_ = 0;
  std::string url_;
  std::string ca_file_;
};

std::set<std::string> connections_of(const std::vector<front_request>& seen) {
  std::set<std::string> ports;
  for (const auto& r : seen)
    ports.insert(r.client_port);
  return ports;
}

TEST_F(http2_contract, streams_that_run_at_once_share_one_connection) {
  constexpr std::size_t streams = 40;
  ASSERT_NO_FATAL_FAILURE(
      serve_behind_front(R"({"times":0,"answer":{"deltas":["1","2","3"],"gate":"all"}})"));
  std::vector<std::shared_ptr<recorder>> all;
  for (std::size_t i = 0; i < streams; ++i)
    all.push_back(post("stream " + std::to_string(i)));
  for (const auto& got : all)
    ASSERT_TRUE(got->wait_body(1)) << front_complaints();
  transport_.cancel(last_id_); // ends one of them, and no other
  EXPECT_EQ(all.back()->wait_end(), http_error::cancelled);
  all.pop_back();
  server_->open_gate("all");
  for (const auto& got : all)
    expect_whole(got);
  const auto seen = front_->stop();
  EXPECT_EQ(seen.size(), streams);
  for (const auto& r : seen)
    EXPECT_EQ(r.protocol, "HTTP/2");
  EXPECT_EQ(connections_of(seen).size(), 1u);
}

TEST_F(http2_contract, a_connection_is_kept_for_the_next_request) {
  ASSERT_NO_FATAL_FAILURE(serve_behind_front(R"({"times":0,"answer":{"text":"fine"}})"));
  for (int i = 0; i < 3; ++i)
    expect_whole(post("again"));
  const auto seen = front_->stop();
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(connections_of(seen).size(), 1u);
}

TEST_F(http2_contract, what_does_not_want_it_is_sent_by_the_older_version) {
  ASSERT_NO_FATAL_FAILURE(serve_behind_front(R"({"times":0,"answer":{"text":"fine"}})"));
  expect_whole(post("old", false));
  const auto seen = front_->stop();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].protocol, "HTTP/1.1");
}

TEST_F(http2_contract, where_it_is_not_offered_a_request_without_an_answer_holds_no_other_up) {
  const test::self_signed tls;
  mock_server_options options;
  options.tls_certificate_file = tls.certificate_file();
  options.tls_key_file = tls.key_file();
  for (const bool secure : {true, false}) {
    SCOPED_TRACE(secure ? "https" : "http");
    ASSERT_NO_FATAL_FAILURE(
        serve("{\"match\":{\"contains\":\"hang\"},\"times\":0,\"answer\":{\"hang\":true}}\n"
              "{\"times\":0,\"answer\":{\"text\":\"fine\"}}",
              secure ? options : mock_server_options{}));
    url_ = server_->url();
    ca_file_ = secure ? tls.certificate_file() : "";
    const auto hangs = post("hang");
    const auto hanging_id = last_id_;
    for (int i = 0; i < 3; ++i)
      expect_whole(post("go"));
    ASSERT_TRUE(server_->wait_for_requests(4, patience_ms));
    transport_.cancel(hanging_id);
    EXPECT_EQ(hangs->wait_end(), http_error::cancelled);
  }
}

} // namespace
} // namespace rind::provider
