// The HTTP provider over a scripted transport: what is sent, and that the sink hears each thing
// once, in order, and nothing after the end.
#include <nlohmann/json.hpp>

#include "runtime/provider/http_provider.hpp"
#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider {
namespace {

using testing::chunk;
using testing::event;

/// Keeps the requests; the test plays the transport's part by hand.
class scripted_transport final : public http_transport {
public:
  struct transfer {
    http_request request;
    std::shared_ptr<http_handler> handler;
    bool cancelled = false;
  };

  void start(http_request request, std::shared_ptr<http_handler> handler) override {
    transfers.push_back({std::move(request), std::move(handler)});
    if (refuse_at_the_door != http_error::none)
      end({refuse_at_the_door, "full"});
  }

  void cancel(http_request_id id) override {
    for (auto& t : transfers)
      if (t.request.id == id)
        t.cancelled = true;
  }

  void head(int status = 200, const std::vector<http_header>& headers = {}) {
    transfers.back().handler->on_head(status, headers);
  }
  body_progress body(const std::string& text) { return transfers.back().handler->on_body(text); }
  void end(const http_result& result = {}) { transfers.back().handler->on_end(result); }

  std::vector<transfer> transfers;
  http_error refuse_at_the_door = http_error::none;
};

struct heard {
  std::vector<std::string> deltas;
  std::vector<sampling_outcome> ends;

  sampling_sink sink() {
    return {[this](sampling_delta d) {
              EXPECT_TRUE(ends.empty()) << "a delta after the end";
              deltas.push_back(d.text);
            },
            [this](sampling_outcome o) { ends.push_back(std::move(o)); }};
  }
  const provider_error& error() const { return std::get<provider_error>(ends.at(0)); }
  const sampling_answer& answer() const { return std::get<sampling_answer>(ends.at(0)); }
};

config::provider_settings settings() {
  config::provider_settings s;
  s.name = "test";
  s.base_url = "https://models.example/v1/";
  s.api_key = config::secret{"sk-very-secret"};
  s.connect_timeout_ms = 1;
  s.first_byte_timeout_ms = 2;
  s.idle_timeout_ms = 3;
  s.total_timeout_ms = 4;
  return s;
}

class http_provider_test : public ::testing::Test {
protected:
  void start(sampling_request request = testing::plain_request()) {
    provider.start(std::move(request), h.sink());
  }

  scripted_transport transport;
  http_provider provider{settings(), std::make_shared<chat_codec>(), transport};
  heard h;
};

std::string header(const http_request& request, const std::string& name) {
  for (const auto& header : request.headers)
    if (header.name == name)
      return header.value;
  return {};
}

TEST_F(http_provider_test, sends_what_the_format_and_the_settings_say) {
  start();
  const auto& request = transport.transfers.at(0).request;
  EXPECT_EQ(request.url, "https://models.example/v1/chat/completions");
  EXPECT_EQ(header(request, "Authorization"), "Bearer sk-very-secret");
  EXPECT_EQ(header(request, "X-Rind-Session"), "s1");
  EXPECT_EQ(header(request, "Content-Type"), "application/json");
  EXPECT_EQ(nlohmann::json::parse(*request.body)["model"], "m");
  EXPECT_EQ(request.timeouts.connect_ms, 1);
  EXPECT_EQ(request.timeouts.first_byte_ms, 2);
  EXPECT_EQ(request.timeouts.first_data_ms, 3);
  EXPECT_EQ(request.timeouts.data_idle_ms, 3);
  EXPECT_EQ(request.timeouts.total_ms, 4);
  EXPECT_FALSE(request.proxy.has_value());
}

TEST_F(http_provider_test, S41_the_key_travels_in_the_header_that_the_models_format_has) {
  auto s = settings();
  s.models = {{"m", {}, {}, "anthropic"}, {"other", {}, {}, "responses"}};
  http_provider mixed{s, make_codecs(s), transport};
  auto request = testing::plain_request();
  mixed.start(request, h.sink());
  request.model = "other";
  request.request_id = "r2";
  mixed.start(request, h.sink());
  const auto& first = transport.transfers.at(0).request;
  EXPECT_EQ(first.url, "https://models.example/v1/messages");
  EXPECT_EQ(header(first, "x-api-key"), "sk-very-secret");
  EXPECT_EQ(header(first, "anthropic-version"), "2023-06-01");
  EXPECT_EQ(header(first, "Authorization"), "");
  const auto& second = transport.transfers.at(1).request;
  EXPECT_EQ(second.url, "https://models.example/v1/responses");
  EXPECT_EQ(header(second, "Authorization"), "Bearer sk-very-secret");
  EXPECT_EQ(header(second, "x-api-key"), "");
}

TEST_F(http_provider_test, S23_deadlines_of_the_request_go_first) {
  auto request = testing::plain_request();
  request.total_deadline_ms = 120'000;
  request.silence_deadline_ms = 30'000;
  start(request);
  const auto& t = transport.transfers.at(0).request.timeouts;
  EXPECT_EQ(t.total_ms, 120'000);
  EXPECT_EQ(t.first_byte_ms, 30'000);
  EXPECT_EQ(t.data_idle_ms, 30'000);
}

TEST_F(http_provider_test, merges_the_deltas_of_a_piece_and_ends_once) {
  start();
  transport.head();
  EXPECT_EQ(transport.body(": keep-alive\n\n"), body_progress::keep_alive);
  EXPECT_EQ(transport.body(event(chunk(R"({"content":"a"})")) + event(chunk(R"({"content":"b"})"))),
            body_progress::data);
  EXPECT_EQ(h.deltas, std::vector<std::string>{"ab"});
  EXPECT_EQ(transport.body(event(chunk("{}", "stop")) + event("[DONE]")), body_progress::data);
  ASSERT_EQ(h.ends.size(), 1u) << "the outcome is told when the answer is complete";
  transport.body(event(chunk(R"({"content":"late"})")));
  transport.end();
  EXPECT_EQ(h.ends.size(), 1u);
  EXPECT_EQ(h.deltas.size(), 1u);
  EXPECT_EQ(h.answer().msg->content, "ab");
}

TEST_F(http_provider_test, an_error_event_closes_the_transfer) {
  start();
  transport.head();
  EXPECT_EQ(
      transport.body(event(R"({"error":{"message":"Overloaded","type":"overloaded_error"}})")),
      body_progress::stop);
  transport.end({http_error::stopped_by_handler, ""});
  ASSERT_EQ(h.ends.size(), 1u);
  EXPECT_EQ(h.error().error_class, provider_error_class::overloaded);
}

TEST_F(http_provider_test, S14b_a_body_above_the_byte_limit_is_not_sent) {
  auto request = testing::plain_request();
  request.byte_limit = 100;
  start(request);
  EXPECT_TRUE(transport.transfers.empty());
  ASSERT_EQ(h.ends.size(), 1u);
  EXPECT_EQ(h.error().error_class, provider_error_class::request_too_large);
  EXPECT_EQ(h.error().limit_bytes, 100);
  EXPECT_GT(*h.error().bytes, 100);
  EXPECT_FALSE(h.error().sent);
}

TEST_F(http_provider_test, S32_transport_errors_have_classes) {
  using enum provider_error_class;
  struct row {
    http_error error;
    provider_error_class expected;
    bool sent;
  };
  for (const auto& r : std::vector<row>{{http_error::connect_failed, server_error, false},
                                        {http_error::tls, server_error, false},
                                        {http_error::proxy, server_error, false},
                                        {http_error::timeout_connect, timeout, false},
                                        {http_error::timeout_first_byte, timeout, true},
                                        {http_error::timeout_data_idle, timeout, true},
                                        {http_error::timeout_total, timeout, true},
                                        {http_error::partial, stream_interrupted, true},
                                        {http_error::invalid_request, invalid_request, false},
                                        {http_error::overloaded, overloaded, false},
                                        {http_error::too_large, server_error, true},
                                        {http_error::internal, server_error, true}}) {
    h = {};
    start();
    transport.end({r.error, "words"});
    ASSERT_EQ(h.ends.size(), 1u);
    EXPECT_EQ(h.error().error_class, r.expected) << to_string(r.error);
    EXPECT_EQ(h.error().sent, r.sent) << to_string(r.error);
    EXPECT_EQ(h.error().code, to_string(r.error));
    EXPECT_EQ(h.error().message, "words");
  }
}

TEST_F(http_provider_test, a_refusal_at_the_door_ends_before_start_returns) {
  transport.refuse_at_the_door = http_error::overloaded;
  start();
  ASSERT_EQ(h.ends.size(), 1u);
  EXPECT_EQ(h.error().error_class, provider_error_class::overloaded);
}

TEST_F(http_provider_test, S4_cancel_ends_exactly_once) {
  start();
  transport.head();
  provider.cancel("r1");
  provider.cancel("unknown");
  EXPECT_TRUE(transport.transfers.at(0).cancelled);
  EXPECT_EQ(transport.body(event(chunk(R"({"content":"a"})"))), body_progress::stop);
  transport.end({http_error::cancelled, ""});
  ASSERT_EQ(h.ends.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(h.ends[0]));
  EXPECT_TRUE(h.deltas.empty());
  provider.cancel("r1"); // unknown by now
}

TEST_F(http_provider_test, S41_the_key_is_in_no_part_of_an_error) {
  const std::string key = settings().api_key.reveal(); // "sk-very-secret"
  for (const auto& body : std::vector<std::string>{
           R"({"error":{"message":"no","code":"bad_)" + key + R"("}})",
           R"({"error":{"message":"no","type":"SK-VERY-SECRET"}})",
           R"({"error":{"message":")" + std::string(provider_words_bytes_max - 20, 'x') + " " +
               key + R"( was refused"}})",
       }) {
    SCOPED_TRACE(body.substr(0, 60));
    start();
    transport.head(400);
    transport.body(body);
    transport.end();
    const auto& error = std::get<provider_error>(h.ends.back());
    for (const auto* text : {&error.message, &error.code})
      for (const auto* piece : {"sk-very-", "SK-VERY-"})
        EXPECT_EQ(text->find(piece), std::string::npos) << *text;
  }
}

TEST_F(http_provider_test, S41_a_repeated_key_is_blotted_out) {
  start();
  transport.head(401);
  transport.body(R"({"error":{"message":"Incorrect API key provided: sk-very-secret."}})");
  transport.end();
  EXPECT_EQ(h.error().error_class, provider_error_class::auth);
  EXPECT_EQ(h.error().message, "Incorrect API key provided: [key].");
}

TEST_F(http_provider_test, keeps_usage_of_a_failed_stream) {
  start();
  transport.head();
  transport.body(event(
      R"({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}})"));
  transport.end({http_error::partial, "cut"});
  EXPECT_EQ(h.error().usage.input_tokens, 5);
  EXPECT_EQ(h.error().status, 200);
}

TEST_F(http_provider_test, a_redirect_is_told_as_what_it_is) {
  start();
  transport.head(301, {{"location", "https://elsewhere.example"}});
  transport.end();
  EXPECT_EQ(h.error().error_class, provider_error_class::invalid_request);
  EXPECT_EQ(h.error().code, "redirected");
}

} // namespace
} // namespace rind::provider
