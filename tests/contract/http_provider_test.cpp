// The HTTP provider against the mock provider over real sockets: good answers, faults, deadlines,
// cancels, and many of all at once.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/provider/chat_codec.hpp"
#include "runtime/provider/curl_transport.hpp"
#include "runtime/provider/http_provider.hpp"
#include "tests/contract/started_mock.hpp"

namespace rind::provider {
namespace {

using hosts::mock_provider::mock_server;

/// How long a test waits for what must happen before it fails.
constexpr auto patience = std::chrono::seconds{60};

/// What one sink heard, on whatever thread.
class hearer {
public:
  sampling_sink sink() {
    return {[this](sampling_delta d) {
              const std::lock_guard lock{mutex_};
              EXPECT_EQ(ends_, 0) << "a delta after the end";
              text_ += d.text;
              changed_.notify_all();
            },
            [this](sampling_outcome o) {
              const std::lock_guard lock{mutex_};
              ++ends_;
              outcome_ = std::move(o);
              changed_.notify_all();
            }};
  }

  bool wait_for_text() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return !text_.empty() || ends_ > 0; });
  }

  sampling_outcome wait() {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(changed_.wait_for(lock, patience, [&] { return ends_ > 0; }));
    EXPECT_EQ(ends_, 1);
    return outcome_;
  }

  provider_error error() {
    const auto outcome = wait();
    const auto* error = std::get_if<provider_error>(&outcome);
    EXPECT_NE(error, nullptr);
    return error == nullptr ? provider_error{} : *error;
  }

  sampling_answer answer() {
    const auto outcome = wait();
    const auto* answer = std::get_if<sampling_answer>(&outcome);
    EXPECT_NE(answer, nullptr);
    return answer == nullptr
               ? sampling_answer{std::make_shared<const message>(), {}, finish_reason::other, ""}
               : *answer;
  }

  int ends() const {
    const std::lock_guard lock{mutex_};
    return ends_;
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  int ends_ = 0;
  sampling_outcome outcome_;
};

sampling_request request_of(const std::string& id, const std::string& text,
                            const std::string& session = "s1") {
  sampling_request r;
  r.request_id = id;
  r.session_id = session;
  r.model = "mock-model";
  message m;
  m.content = text;
  r.messages.push_back(std::make_shared<const message>(std::move(m)));
  r.output_limit_tokens = 1'000;
  return r;
}

/// A server with a script, a transport and a provider.
class world {
public:
  explicit world(const std::string& script) {
    server = test::started_mock(script);
    config::provider_settings settings;
    settings.base_url = server->url() + "/v1";
    settings.api_key = config::secret{"sk-test"};
    provider = std::make_unique<http_provider>(settings, std::make_shared<chat_codec>(), transport);
  }

  std::unique_ptr<mock_server> server;
  curl_transport transport;
  std::unique_ptr<http_provider> provider;
};

TEST(http_provider_contract, streams_an_answer_with_calls_reasoning_and_usage) {
  world w{
      R"({"answer":{"text":"Let me look that up for you, just a moment.","reasoning":"Hm.","tool_calls":[{"id":"a","name":"look","arguments":{"place":"here"}},{"id":"b","name":"now","arguments":""}]}})"};
  hearer h;
  w.provider->start(request_of("r1", "What is the weather?"), h.sink());
  const auto answer = h.answer();
  EXPECT_EQ(answer.msg->content, "Let me look that up for you, just a moment.");
  EXPECT_EQ(answer.msg->reasoning->text, "Hm.");
  EXPECT_EQ(answer.msg->tool_calls,
            (std::vector<tool_call>{{"a", "look", R"({"place":"here"})"}, {"b", "now", "{}"}}));
  EXPECT_EQ(answer.finish, finish_reason::tool_calls);
  EXPECT_GT(answer.usage.input_tokens.value_or(0), 0);
  const auto seen = w.server->requests();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].target, "/v1/chat/completions");
  EXPECT_EQ(seen[0].conversation, "s1");
  EXPECT_EQ(std::count(seen[0].headers.begin(), seen[0].headers.end(),
                       std::pair<std::string, std::string>{"authorization", "(present)"}),
            1);
}

TEST(http_provider_contract, faults_of_a_server_have_classes) {
  using enum provider_error_class;
  struct row {
    const char* answer;
    provider_error_class expected;
  };
  for (
      const auto& r : std::vector<row>{
          {R"({"status":529,"body":{"error":{"type":"overloaded_error","message":"Overloaded"}},"headers":{"Retry-After":"7"}})",
           overloaded},
          {R"({"status":401})", auth},
          {R"({"status":500})", server_error},
          {R"({"html":true})", server_error},
          {R"({"text":"abc","stream_error":{"message":"The server had an error","type":"server_error"}})",
           server_error},
          {R"({"text":"abc","error_field":{"code":500,"message":"Context size has been exceeded."}})",
           context_length},
          {R"({"text":"some text in some pieces","cut_after_chunks":2})", stream_interrupted},
          {R"({"text":"some text in some pieces","cut_after_chunks":2,"cut":"reset"})",
           stream_interrupted},
          {R"({"text":"日本語日本語","cut_mid_character":true,"cut":"clean","cut_after_chunks":2})",
           stream_interrupted},
          {R"({"text":"abc","finish":null,"done":false})", stream_interrupted},
          {R"({"text":"abc","flood":true})", server_error},
          {R"({"text":"abc","flood":"line"})", server_error},
          {R"({"text":"abc","reject_above_tokens":1})", context_length}}) {
    world w{std::string{R"({"answer":)"} + r.answer + "}"};
    hearer h;
    w.provider->start(request_of("r1", "Hello"), h.sink());
    const auto error = h.error();
    EXPECT_EQ(error.error_class, r.expected)
        << r.answer << " -> " << to_string(error.error_class) << " " << error.message;
    if (r.expected == overloaded) {
      EXPECT_EQ(error.retry_after_s, 7.0);
    }
    EXPECT_EQ(error.message.find("sk-test"), std::string::npos);
  }
}

TEST(http_provider_contract, S29_a_refused_length_comes_with_both_numbers) {
  world w{R"({"answer":{"text":"fine","reject_above_tokens":50}})"};
  hearer h;
  w.provider->start(request_of("r1", std::string(1'000, 'x')), h.sink());
  const auto error = h.error();
  EXPECT_EQ(error.error_class, provider_error_class::context_length);
  EXPECT_EQ(error.limit_tokens, 50);
  EXPECT_GT(error.requested_tokens.value_or(0), 250);
}

TEST(http_provider_contract, S23_silence_ends_a_request_and_comments_are_silence) {
  for (const auto* answer : {R"({"hang":true})", R"({"text":"abc","hang_after_chunks":2})",
                             R"({"keepalive_comments":true,"keepalive_every_ms":5})"}) {
    world w{std::string{R"({"answer":)"} + answer + "}"};
    hearer h;
    auto request = request_of("r1", "Hello");
    request.silence_deadline_ms = 150;
    w.provider->start(request, h.sink());
    EXPECT_EQ(h.error().error_class, provider_error_class::timeout) << answer;
    EXPECT_TRUE(w.server->wait_for_connections(0, 60'000)) << answer;
  }
}

TEST(http_provider_contract, S4_cancel_closes_the_transfer) {
  world w{
      R"({"times":0,"answer":{"text":"some text in a few pieces of it","hang_after_chunks":2}})"};
  hearer h;
  w.provider->start(request_of("r1", "Hello"), h.sink());
  ASSERT_TRUE(h.wait_for_text());
  w.provider->cancel("r1");
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(h.wait()));
  EXPECT_TRUE(w.server->wait_for_connections(0, 60'000));
  EXPECT_EQ(h.ends(), 1);
}

TEST(http_provider_contract, a_server_that_is_not_there_is_told_as_not_sent) {
  world w{""};
  w.server->stop();
  hearer h;
  w.provider->start(request_of("r1", "Hello"), h.sink());
  const auto error = h.error();
  EXPECT_EQ(error.error_class, provider_error_class::server_error);
  EXPECT_EQ(error.code, "connect_failed");
  EXPECT_FALSE(error.sent);
}

TEST(http_provider_contract, many_requests_and_cancels_from_many_threads_each_end_once) {
  world w{
      R"({"times":0,"match":{"contains":"cut"},"answer":{"text":"some text in some pieces","cut_after_chunks":2}}
{"times":0,"match":{"contains":"hang"},"answer":{"text":"abc","hang_after_chunks":1}}
{"times":0,"match":{"contains":"fail"},"answer":{"status":503}}
{"times":0,"answer":{"text":"a quite ordinary answer in a few pieces, as they come"}})"};
  constexpr std::size_t threads = 4;
  constexpr std::size_t requests_each = 50;
  std::vector<std::unique_ptr<hearer>> heard(threads * requests_each);
  for (auto& h : heard)
    h = std::make_unique<hearer>();
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937 chance{static_cast<std::uint32_t>(t)};
      constexpr std::array kinds{"plain", "cut", "hang", "fail"};
      for (std::size_t i = 0; i < requests_each; ++i) {
        const auto id = "r" + std::to_string(t) + "-" + std::to_string(i);
        const auto kind = chance() % kinds.size();
        w.provider->start(request_of(id, kinds[kind], id), heard[t * requests_each + i]->sink());
        if (kind == 2 || chance() % 3 == 0)
          w.provider->cancel(id);
      }
    });
  }
  for (auto& worker : workers)
    worker.join();
  for (auto& h : heard)
    h->wait();
  w.transport.stop();
  for (auto& h : heard)
    EXPECT_EQ(h->ends(), 1);
}

} // namespace
} // namespace rind::provider
