// The contract of the HTTP port, on the libcurl transport against real sockets.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "runtime/provider/curl_transport.hpp"
#include "tests/contract/http_recorder.hpp"
#include "tests/contract/raw_server.hpp"
#include "tests/contract/self_signed.hpp"
#include "tests/contract/started_mock.hpp"

namespace rind::provider {
namespace {

using hosts::mock_provider::mock_server;
using hosts::mock_provider::mock_server_options;
using test::chat_body;
using test::patience_ms;
using test::raw_server;
using test::recorder;
using test::self_signed;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class http_transport_contract : public testing::Test {
protected:
  static void SetUpTestSuite() {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  mock_server& serve(const std::string& rules, mock_server_options options = {}) {
    server_ = test::started_mock(rules, std::move(options));
    return *server_;
  }

  http_request post(const std::string& text = "hello") {
    http_request request;
    request.id = ++last_id_;
    request.url = (server_ ? server_->url() : "http://127.0.0.1:9") + "/v1/chat/completions";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = std::make_shared<const std::string>(chat_body(text));
    request.proxy = "";
    return request;
  }

  http_request post_to(const std::string& url) {
    auto request = post();
    request.url = url;
    return request;
  }

  std::shared_ptr<recorder> run(http_request request, recorder::body_hook hook = {}) {
    auto handler = std::make_shared<recorder>(std::move(hook));
    transport_.start(std::move(request), handler);
    return handler;
  }

  std::unique_ptr<mock_server> server_;
  curl_transport transport_;
  http_request_id last_id_ = 0;
};

// -- good answers --------------------------------------------------------------------------------

TEST_F(http_transport_contract, a_stream_arrives_whole) {
  serve(R"({"answer":{"deltas":["a","b"],"headers":{"X-One":"1","X-TWO":" two "}}})");
  const auto got = run(post());
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(got->result().text, "");
  EXPECT_EQ(got->status(), 200);
  EXPECT_EQ(got->values_of("content-type"), std::vector<std::string>{"text/event-stream"});
  EXPECT_EQ(got->values_of("x-one"), std::vector<std::string>{"1"});
  EXPECT_EQ(got->values_of("x-two"), std::vector<std::string>{"two"});
  EXPECT_TRUE(got->body().ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(transport_.in_flight(), 0u);
}

TEST_F(http_transport_contract, a_get_has_no_body) {
  auto& server = serve("");
  auto request = post_to(server.url() + "/v1/models");
  request.method = http_method::get;
  request.body = nullptr;
  const auto got = run(request);
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(nlohmann::json::parse(got->body())["object"], "list");
  EXPECT_EQ(server.requests().front().method, "GET");
}

TEST_F(http_transport_contract, a_large_body_is_sent_without_expect) {
  auto& server = serve("");
  const std::string text(5u << 20, 'x');
  const auto got = run(post(text));
  EXPECT_EQ(got->wait_end(), http_error::none);
  const auto request = server.requests().front();
  EXPECT_EQ(request.body.size(), chat_body(text).size());
  for (const auto& [name, value] : request.headers)
    EXPECT_NE(name, "expect") << value;
}

TEST_F(http_transport_contract, headers_are_sent_as_given) {
  auto& server = serve("");
  auto request = post();
  request.headers = {{"X-Rind-Session", "s1"}, {"X-Empty", ""}, {"Authorization", "Bearer k"}};
  EXPECT_EQ(run(request)->wait_end(), http_error::none);
  const auto seen = server.requests().front();
  EXPECT_EQ(seen.conversation, "s1");
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::count(seen.headers.begin(), seen.headers.end(), std::pair{name, value});
  };
  EXPECT_EQ(has("x-empty", ""), 1);
  EXPECT_EQ(has("authorization", "(present)"), 1);
  for (const auto& [name, value] : seen.headers)
    EXPECT_NE(name, "content-type") << value;
}

TEST_F(http_transport_contract, an_error_status_brings_its_body) {
  serve(
      R"({"answer":{"status":429,"body":{"error":{"message":"slow"}},"headers":{"retry-after":"7"}}})");
  const auto got = run(post());
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(got->status(), 429);
  EXPECT_EQ(got->values_of("retry-after"), std::vector<std::string>{"7"});
  EXPECT_EQ(got->body(), R"({"error":{"message":"slow"}})");
}

TEST_F(http_transport_contract, a_page_of_html_is_an_answer_like_any_other) {
  serve(R"({"answer":{"html":true}})");
  const auto got = run(post());
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(got->values_of("content-type"), std::vector<std::string>{"text/html; charset=utf-8"});
  EXPECT_NE(got->body().find("<html>"), std::string::npos);
}

TEST_F(http_transport_contract, a_redirect_is_not_followed) {
  auto& server = serve("");
  const raw_server elsewhere{"HTTP/1.1 307 Go\r\nLocation: " + server.url() +
                             "/v1/models\r\nContent-Length: 0\r\n\r\n"};
  const auto got = run(post_to("http://" + elsewhere.address() + "/"));
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(got->status(), 307);
  EXPECT_EQ(server.request_count(), 0u);
}

TEST_F(http_transport_contract, connections_are_used_again) {
  auto& server = serve("");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(run(post())->wait_end(), http_error::none);
  EXPECT_EQ(server.request_count(), 5u);
  EXPECT_EQ(server.open_connections(), 1u);
}

TEST_F(http_transport_contract, a_dead_connection_is_replaced) {
  auto& server = serve("");
  EXPECT_EQ(run(post())->wait_end(), http_error::none);
  mock_server_options options;
  options.port = static_cast<std::uint16_t>(std::stoi(server.url().substr(17)));
  server.stop();
  serve("", options);
  EXPECT_EQ(run(post(std::string(1u << 20, 'x')))->wait_end(), http_error::none);
}

TEST_F(http_transport_contract, headers_of_an_informational_answer_are_dropped) {
  const raw_server server{"HTTP/1.1 103 Early\r\nRetry-After: 99\r\n\r\nHTTP/1.1 200 "
                          "OK\r\nX-Folded: a\r\n b\r\nX-Twice: 1\r\n"
                          "x-twice: 2\r\nContent-Length: 2\r\n\r\nok"};
  const auto got = run(post_to("http://" + server.address() + "/"));
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(got->status(), 200);
  EXPECT_TRUE(got->values_of("retry-after").empty());
  EXPECT_EQ(got->values_of("x-twice"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(got->values_of("x-folded"), std::vector<std::string>{"a b"});
  EXPECT_EQ(got->body(), "ok");
}

TEST_F(http_transport_contract, trailers_do_not_disturb) {
  const raw_server server{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-late\r\n\r\n"
                          "2\r\nok\r\n0\r\nX-Late: 1\r\n\r\n"};
  const auto got = run(post_to("http://" + server.address() + "/"));
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_TRUE(got->values_of("x-late").empty());
}

// -- broken answers ------------------------------------------------------------------------------

TEST_F(http_transport_contract, broken_answers_have_a_type_each) {
  const std::vector<std::pair<std::string, http_error>> cases{
      {"", http_error::partial},
      {"HTTP/1.1 200 OK\r\nContent-Le", http_error::partial},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", http_error::partial},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", http_error::partial},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", http_error::partial},
      {"<html>no head at all</html>\r\n\r\n", http_error::protocol},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", http_error::none},
      {"HTTP/1.1 200 OK\r\nX-Long: " + std::string(200'000, 'x') + "\r\n\r\n",
       http_error::too_large},
  };
  for (const auto& [answer, error] : cases) {
    SCOPED_TRACE(answer.substr(0, 80));
    const raw_server server{answer};
    const auto got = run(post_to("http://" + server.address() + "/"));
    EXPECT_EQ(got->wait_end(), error) << to_string(got->result().error) << got->result().text;
    EXPECT_EQ(got->result().text.empty(), error == http_error::none);
  }
}

TEST_F(http_transport_contract, a_cut_stream_is_partial_and_keeps_what_came) {
  for (const auto* cut : {R"("cut":"close")", R"("cut":"reset")", R"("cut_mid_character":true)"}) {
    SCOPED_TRACE(cut);
    serve(std::string{R"({"answer":{"deltas":["one","zwei ä"],"cut_after_chunks":2,)"} + cut +
          "}}");
    const auto got = run(post());
    EXPECT_EQ(got->wait_end(), http_error::partial);
    EXPECT_EQ(got->status(), 200);
  }
  serve(R"({"answer":{"deltas":["one"],"cut_after_chunks":2,"cut":"clean"}})");
  const auto got = run(post());
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_NE(got->body().find("one"), std::string::npos);
}

TEST_F(http_transport_contract, a_head_over_its_bound_is_too_large) {
  const std::string value(20'000, 'x');
  serve(R"({"answer":{"headers":{"a":")" + value + R"(","b":")" + value + R"(","c":")" + value +
        R"(","d":")" + value + R"("}}})");
  const auto got = run(post());
  EXPECT_EQ(got->wait_end(), http_error::too_large);
  EXPECT_EQ(got->status(), 0);
}

TEST_F(http_transport_contract, a_flood_ends_at_the_bound) {
  auto& server = serve(R"({"times":0,"answer":{"flood":"line"}})");
  auto request = post();
  request.body_bytes_max = 1u << 20;
  const auto got = run(request);
  EXPECT_EQ(got->wait_end(), http_error::too_large);
  EXPECT_LE(got->body().size(), request.body_bytes_max);
  EXPECT_TRUE(server.wait_for_connections(0, patience_ms));
}

// -- no connection -------------------------------------------------------------------------------

TEST_F(http_transport_contract, a_refused_connection_is_told) {
  std::string address;
  {
    const raw_server gone{raw_server::mute{}};
    address = gone.address();
  }
  const auto got = run(post_to("http://" + address + "/"));
  EXPECT_EQ(got->wait_end(), http_error::connect_failed);
  EXPECT_FALSE(got->result().text.empty());
}

TEST_F(http_transport_contract, an_impossible_request_is_refused) {
  std::vector<http_request> requests{
      post_to("not a url"), post_to(""), post_to("ftp://127.0.0.1/x"), post(), post(), post()};
  requests[3].headers.push_back({"X-Bad", "a\r\nX-Injected: 1"});
  requests[4].headers.push_back({"X Bad", "a"});
  requests[5].headers.push_back({"", "a"});
  for (auto& request : requests) {
    const auto got = run(request);
    EXPECT_EQ(got->wait_end(), http_error::invalid_request) << got->result().text;
    EXPECT_EQ(got->result().text.find("Injected"), std::string::npos);
  }
  EXPECT_EQ(transport_.in_flight(), 0u);
}

TEST_F(http_transport_contract, a_proxy_is_asked_in_place_of_the_server) {
  auto& proxy = serve("");
  auto request = post_to("http://provider.invalid/v1/x");
  request.proxy = proxy.url();
  const auto got = run(request);
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_EQ(proxy.requests().front().target, "http://provider.invalid/v1/x");
}

TEST_F(http_transport_contract, a_proxy_that_refuses_is_told_apart) {
  auto& proxy = serve("");
  auto refused = post_to("https://provider.invalid/v1/x");
  refused.proxy = proxy.url();
  EXPECT_EQ(run(refused)->wait_end(), http_error::proxy);
  EXPECT_EQ(proxy.requests().front().method, "CONNECT");
}

// -- TLS -----------------------------------------------------------------------------------------

TEST_F(http_transport_contract, https_works_with_its_authority_and_only_with_it) {
  const self_signed tls;
  mock_server_options options;
  options.tls_certificate_file = tls.certificate_file();
  options.tls_key_file = tls.key_file();
  auto& server = serve(R"({"times":0,"answer":{"text":"secret"}})", options);
  EXPECT_TRUE(server.url().starts_with("https://"));
  auto request = post();
  request.ca_file = tls.certificate_file();
  const auto got = run(request);
  EXPECT_EQ(got->wait_end(), http_error::none) << got->result().text;
  EXPECT_NE(got->body().find("secret"), std::string::npos);
  const self_signed other;
  for (const auto& wrong :
       {other.certificate_file(), std::string{}, std::string{"/nonexistent.pem"}}) {
    auto untrusted = post();
    untrusted.ca_file = wrong;
    EXPECT_EQ(run(untrusted)->wait_end(), http_error::tls) << wrong;
  }
  EXPECT_EQ(server.request_count(), 1u);
}

TEST_F(http_transport_contract, a_cut_tls_stream_is_partial) {
  const self_signed tls;
  mock_server_options options;
  options.tls_certificate_file = tls.certificate_file();
  options.tls_key_file = tls.key_file();
  serve(R"({"answer":{"text":"secret","cut_after_chunks":2}})", options);
  auto request = post();
  request.ca_file = tls.certificate_file();
  EXPECT_EQ(run(request)->wait_end(), http_error::partial);
}

// -- limits on waiting ---------------------------------------------------------------------------

TEST_F(http_transport_contract, a_connection_that_is_not_secured_in_time_is_given_up) {
  const raw_server silent{raw_server::mute{}};
  auto request = post_to("https://" + silent.address() + "/");
  request.timeouts.connect_ms = 50;
  request.timeouts.first_byte_ms = 1; // has not begun
  EXPECT_EQ(run(request)->wait_end(), http_error::timeout_connect);
}

struct timeout_case {
  const char* answer;
  http_timeouts timeouts;
  http_error error;
};

TEST_F(http_transport_contract, each_limit_on_waiting_runs_out_as_itself) {
  const char* comments = R"({"keepalive_comments":true,"keepalive_every_ms":5})";
  const std::vector<timeout_case> cases{
      {R"({"hang":true})",
       {.first_byte_ms = 50, .idle_ms = 1, .total_ms = 50'000},
       http_error::timeout_first_byte},
      {R"({"text":"a","hang_after_chunks":2})",
       {.first_byte_ms = 50'000, .idle_ms = 50},
       http_error::timeout_idle},
      {R"({"text":"a","hang_after_chunks":0})", {.idle_ms = 50}, http_error::timeout_idle},
      {comments,
       {.idle_ms = 40'000, .first_data_ms = 60, .data_idle_ms = 1},
       http_error::timeout_first_data},
      {R"({"text":"a","hang_after_chunks":2,"keepalive_comments":true,"keepalive_every_ms":5})",
       {.idle_ms = 40'000, .data_idle_ms = 60},
       http_error::timeout_data_idle},
      {comments,
       {.idle_ms = 40'000, .first_data_ms = 40'000, .total_ms = 60},
       http_error::timeout_total},
      {R"({"flood":true,"delta_delay_ms":5})",
       {.idle_ms = 40'000, .data_idle_ms = 40'000, .total_ms = 60},
       http_error::timeout_total},
  };
  const auto progress = [](std::string_view bytes) {
    return bytes.front() == ':' ? body_progress::keep_alive : body_progress::data;
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(std::string{test.answer} + " " + to_string(test.error));
    auto& server = serve(std::string{R"({"answer":)"} + test.answer + "}");
    auto request = post();
    request.timeouts = test.timeouts;
    const auto got = run(request, progress);
    EXPECT_EQ(got->wait_end(), test.error) << to_string(got->result().error);
    EXPECT_TRUE(is_timeout(got->result().error));
    EXPECT_TRUE(server.wait_for_connections(0, patience_ms)) << "the connection stayed open";
  }
}

TEST_F(http_transport_contract, signs_of_life_hold_a_stream_open_where_data_is_not_asked_for) {
  serve(R"({"answer":{"text":"late","keepalive_comments":20,"keepalive_every_ms":5}})");
  auto request = post();
  request.timeouts.idle_ms = 5'000;
  const auto got = run(request, [](std::string_view) { return body_progress::keep_alive; });
  EXPECT_EQ(got->wait_end(), http_error::none);
  EXPECT_NE(got->body().find("late"), std::string::npos);
}

// -- ending on purpose ---------------------------------------------------------------------------

TEST_F(http_transport_contract, cancel_closes_the_transfer) {
  auto& server = serve(R"({"times":0,"answer":{"text":"a","hang_after_chunks":2}})");
  auto request = post();
  const auto id = request.id;
  const auto got = run(request);
  ASSERT_TRUE(got->wait_body(1));
  transport_.cancel(id);
  EXPECT_EQ(got->wait_end(), http_error::cancelled);
  EXPECT_TRUE(server.wait_for_connections(0, patience_ms));
  transport_.cancel(id); // unknown by now
  EXPECT_EQ(run(post())->ends(), 0);
}

TEST_F(http_transport_contract, cancel_right_after_start_ends_it_once) {
  serve(R"({"times":0,"answer":{"hang":true}})");
  for (int i = 0; i < 50; ++i) {
    auto request = post();
    const auto id = request.id;
    const auto got = run(request);
    transport_.cancel(id);
    EXPECT_EQ(got->wait_end(), http_error::cancelled);
  }
}

TEST_F(http_transport_contract, cancel_does_not_wait_for_a_name) {
  auto request = post_to("http://provider.invalid/");
  const auto id = request.id;
  const auto got = run(request);
  transport_.cancel(id);
  const auto error = got->wait_end();
  EXPECT_TRUE(error == http_error::cancelled || error == http_error::connect_failed);
}

TEST_F(http_transport_contract, a_handler_can_end_its_transfer) {
  auto& server = serve(R"({"answer":{"flood":true}})");
  const auto got = run(post(), [](std::string_view) { return body_progress::stop; });
  EXPECT_EQ(got->wait_end(), http_error::stopped_by_handler);
  EXPECT_TRUE(server.wait_for_connections(0, patience_ms));
}

TEST_F(http_transport_contract, a_handler_can_start_and_cancel) {
  serve(R"({"times":0,"answer":{"flood":true,"delta_delay_ms":1}})");
  auto first = post();
  auto second = post();
  const auto second_got = std::make_shared<recorder>();
  std::atomic<bool> started{false};
  const auto first_got = run(first, [&, id = first.id](std::string_view) {
    if (!started.exchange(true)) {
      transport_.start(second, second_got);
      transport_.cancel(id);
    }
    return body_progress::data;
  });
  EXPECT_EQ(first_got->wait_end(), http_error::cancelled);
  EXPECT_TRUE(second_got->wait_body(1));
  transport_.cancel(second.id);
  EXPECT_EQ(second_got->wait_end(), http_error::cancelled);
}

TEST_F(http_transport_contract, an_id_in_use_is_refused) {
  serve(R"({"times":0,"answer":{"hang":true}})");
  auto request = post();
  const auto first = run(request);
  const auto second = run(request);
  EXPECT_EQ(second->wait_end(), http_error::invalid_request);
  EXPECT_EQ(first->ends(), 0);
  transport_.cancel(request.id);
  EXPECT_EQ(first->wait_end(), http_error::cancelled);
}

TEST_F(http_transport_contract, requests_over_the_bound_are_refused) {
  serve(R"({"times":0,"answer":{"hang":true}})");
  curl_transport small{{.in_flight_max = 1}};
  const auto first = std::make_shared<recorder>();
  const auto second = std::make_shared<recorder>();
  small.start(post(), first);
  small.start(post(), second);
  EXPECT_EQ(second->wait_end(), http_error::overloaded);
  small.stop();
  EXPECT_EQ(first->wait_end(), http_error::cancelled);
}

TEST_F(http_transport_contract, stop_ends_everything_and_refuses_the_rest) {
  auto& server = serve(R"({"times":0,"answer":{"hang":true}})");
  std::vector<std::shared_ptr<recorder>> open;
  for (int i = 0; i < 20; ++i)
    open.push_back(run(post()));
  EXPECT_TRUE(server.wait_for_requests(20, patience_ms));
  open.push_back(run(post()));
  transport_.stop();
  for (const auto& got : open) {
    EXPECT_EQ(got->ends(), 1);
    EXPECT_EQ(got->result().error, http_error::cancelled);
  }
  EXPECT_TRUE(server.wait_for_connections(0, patience_ms));
  const auto late = run(post());
  EXPECT_EQ(late->ends(), 1);
  EXPECT_EQ(late->result().error, http_error::cancelled);
  transport_.cancel(last_id_);
  transport_.stop();
}

// -- many at once --------------------------------------------------------------------------------

TEST_F(http_transport_contract, a_thousand_streams_run_at_once_and_leave_nothing) {
  constexpr std::size_t streams = 1'000;
  auto& server = serve(R"({"times":0,"answer":{"text":"a","hang_after_chunks":2}})");
  const auto before = open_descriptors();
  std::vector<std::shared_ptr<recorder>> open;
  const auto first_id = last_id_ + 1;
  for (std::size_t i = 0; i < streams; ++i)
    open.push_back(run(post()));
  for (const auto& got : open)
    ASSERT_TRUE(got->wait_body(1));
  EXPECT_EQ(server.open_connections(), streams);
  EXPECT_EQ(transport_.in_flight(), streams);
  for (auto id = first_id; id <= last_id_; ++id)
    transport_.cancel(id);
  for (const auto& got : open)
    EXPECT_EQ(got->wait_end(), http_error::cancelled);
  EXPECT_TRUE(server.wait_for_connections(0, patience_ms));
  EXPECT_EQ(transport_.in_flight(), 0u);
  EXPECT_LE(open_descriptors(), before);
}

TEST_F(http_transport_contract, broken_streams_do_not_disturb_the_others) {
  constexpr std::size_t streams = 1'000;
  mock_server_options options;
  options.threads = 2;
  serve(
      "{\"conversation\":\"cut\",\"times\":0,\"answer\":{\"text\":\"a\",\"cut_after_chunks\":2}}\n"
      "{\"times\":0,\"answer\":{\"deltas\":[\"1\",\"2\",\"3\",\"4\"],\"delta_delay_ms\":2}}",
      options);
  std::vector<std::shared_ptr<recorder>> all;
  for (std::size_t i = 0; i < streams; ++i) {
    auto request = post();
    request.headers.push_back({"X-Rind-Session", i % 10 == 0 ? "cut" : "good"});
    all.push_back(run(std::move(request)));
  }
  for (std::size_t i = 0; i < streams; ++i) {
    EXPECT_EQ(all[i]->wait_end(), i % 10 == 0 ? http_error::partial : http_error::none);
    EXPECT_EQ(all[i]->body().ends_with("[DONE]\n\n"), i % 10 != 0);
  }
}

TEST_F(http_transport_contract, threads_that_start_and_cancel_at_will_get_one_end_each) {
  constexpr int threads = 4;
  constexpr int requests = 100;
  serve("{\"match\":{\"contains\":\"hang\"},\"times\":0,\"answer\":{\"hang\":true}}\n"
        "{\"times\":0,\"answer\":{\"text\":\"a b c\",\"chunk_chars\":1}}");
  const auto base = post("hello");
  const auto hanging = post("hang");
  std::vector<std::vector<std::shared_ptr<recorder>>> got(threads);
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t)
    callers.emplace_back([&, t] {
      std::minstd_rand chance{static_cast<unsigned>(t + 1)};
      for (int i = 0; i < requests; ++i) {
        const bool hangs = chance() % 2 == 0;
        auto request = hangs ? hanging : base;
        request.id = static_cast<http_request_id>(1000 + t * requests + i);
        got[static_cast<std::size_t>(t)].push_back(run(request));
        if (hangs || chance() % 3 == 0)
          transport_.cancel(request.id);
      }
    });
  for (auto& caller : callers)
    caller.join();
  for (const auto& mine : got)
    for (const auto& one : mine) {
      const auto error = one->wait_end();
      EXPECT_TRUE(error == http_error::none || error == http_error::cancelled) << to_string(error);
    }
  EXPECT_EQ(transport_.in_flight(), 0u);
}

TEST_F(http_transport_contract, a_stop_among_callers_ends_each_request_once) {
  constexpr int threads = 3;
  serve(R"({"times":0,"answer":{"flood":true,"delta_delay_ms":1}})");
  for (int round = 0; round < 10; ++round) {
    curl_transport transport;
    const auto base = post();
    std::vector<std::vector<std::shared_ptr<recorder>>> got(threads);
    std::vector<std::thread> callers;
    for (int t = 0; t < threads; ++t)
      callers.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          auto request = base;
          request.id = static_cast<http_request_id>(1000 + t * 100 + i);
          auto& mine = got[static_cast<std::size_t>(t)];
          mine.push_back(std::make_shared<recorder>());
          transport.start(request, mine.back());
        }
      });
    transport.stop();
    for (auto& caller : callers)
      caller.join();
    for (const auto& mine : got)
      for (const auto& one : mine) {
        EXPECT_EQ(one->ends(), 1);
        EXPECT_EQ(one->result().error, http_error::cancelled);
      }
  }
}

} // namespace
} // namespace rind::provider
