// The circuit of a provider: when it opens, who probes, what is said meanwhile.
#include <gtest/gtest.h>

#include "runtime/provider/circuit_breaker.hpp"

namespace rind::provider {
namespace {

provider_error error_of(provider_error_class error_class, int status = 0) {
  provider_error error;
  error.error_class = error_class;
  error.status = status;
  error.message = "connection refused";
  return error;
}

const sampling_outcome nobody = error_of(provider_error_class::server_error);
const sampling_outcome answer = sampling_answer{};
const sampling_outcome cancelled = sampling_cancelled{};

/// A circuit and a clock; requests have the name of their session.
struct bench {
  circuit_breaker breaker;
  std::int64_t now_ms = 1'000'000;
  int requests = 0;

  std::string send(bool expected = true) {
    const auto id = "r" + std::to_string(++requests);
    EXPECT_EQ(breaker.admits(now_ms), expected);
    if (expected)
      breaker.sent(id);
    return id;
  }
  void end(const std::string& id, const sampling_outcome& outcome,
           const std::string& session = "s") {
    breaker.ended(id, session, outcome, now_ms, 0.0);
  }
  void trip() {
    for (int i = 0; i < circuit_failures_max; ++i)
      end(send(), nobody, "s" + std::to_string(i));
    ASSERT_EQ(breaker.state(), circuit::open);
  }
};

TEST(circuit_breaker, what_an_end_says_of_the_provider) {
  using enum provider_error_class;
  const struct {
    sampling_outcome outcome;
    reach said;
  } rows[]{
      {answer, reach::reached},
      {cancelled, reach::unknown},
      {error_of(server_error), reach::unreachable},
      {error_of(timeout), reach::unreachable},
      {error_of(stream_interrupted), reach::unreachable},
      {error_of(request_too_large), reach::unknown},
      {error_of(overloaded), reach::unknown},
      {error_of(invalid_request), reach::unknown},
      {error_of(server_error, 500), reach::reached},
      {error_of(overloaded, 503), reach::reached},
      {error_of(rate_limit, 429), reach::reached},
      {error_of(auth, 401), reach::reached},
      {error_of(timeout, 200), reach::reached},
      {error_of(stream_interrupted, 200), reach::reached},
      {error_of(server_error, 502), reach::unreachable},
      {error_of(timeout, 504), reach::unreachable},
      {error_of(server_error, 521), reach::unreachable},
  };
  for (const auto& row : rows)
    EXPECT_EQ(reach_of(row.outcome), row.said)
        << row.outcome.index() << " "
        << (row.outcome.index() == 1 ? std::get<provider_error>(row.outcome).status : -1);
}

TEST(circuit_breaker, every_state_meets_every_event) {
  for (std::size_t s = 0; s < circuit_count; ++s)
    for (std::size_t e = 0; e < circuit_event_count; ++e) {
      const auto next = circuit_table()[s][e];
      const auto event = static_cast<circuit_event>(e);
      auto expected = static_cast<circuit>(s);
      if (event == circuit_event::reached)
        expected = circuit::closed;
      else if (expected == circuit::closed)
        expected = event == circuit_event::tripped ? circuit::open : circuit::closed;
      else if (event != circuit_event::tripped)
        expected = event == circuit_event::probe_sent ? circuit::probing : circuit::open;
      EXPECT_EQ(next, expected) << "state " << s << ", event " << e;
    }
}

TEST(circuit_breaker, opens_after_the_last_of_several_failures_in_a_row) {
  bench b;
  for (int i = 1; i < circuit_failures_max; ++i)
    b.end(b.send(), nobody, "s" + std::to_string(i));
  EXPECT_EQ(b.breaker.state(), circuit::closed);
  b.end(b.send(), answer);
  for (int i = 1; i < circuit_failures_max; ++i)
    b.end(b.send(), nobody, "s" + std::to_string(i));
  EXPECT_EQ(b.breaker.state(), circuit::closed) << "an answer starts the count anew";
  b.end(b.send(), nobody);
  EXPECT_EQ(b.breaker.state(), circuit::open);
}

TEST(circuit_breaker, one_session_alone_never_opens_it) {
  bench b;
  for (int i = 0; i < 10 * circuit_failures_max; ++i)
    b.end(b.send(), nobody, i % 2 ? "one" : "two");
  EXPECT_EQ(b.breaker.state(), circuit::closed);
}

TEST(circuit_breaker, while_open_requests_are_refused_and_one_probes) {
  bench b;
  b.trip();
  b.send(false);
  const auto refusal = b.breaker.refusal("lab", b.now_ms);
  EXPECT_EQ(refusal.code, "provider_down");
  EXPECT_EQ(refusal.retry_same, std::optional{false});
  EXPECT_EQ(refusal.retry_after_s, std::optional{5.0});
  EXPECT_FALSE(refusal.sent);
  EXPECT_EQ(refusal.message,
            "provider `lab` cannot be reached (connection refused); it is tried again in 5 s");
  b.now_ms += circuit_open_ms - 1;
  b.send(false);
  b.now_ms += 1;
  const auto probe = b.send();
  EXPECT_EQ(b.breaker.state(), circuit::probing);
  b.send(false);
  b.end(probe, answer);
  EXPECT_EQ(b.breaker.state(), circuit::closed);
  b.send();
}

TEST(circuit_breaker, each_probe_that_fails_doubles_the_wait_up_to_a_bound) {
  bench b;
  b.trip();
  auto wait_ms = circuit_open_ms;
  for (int i = 0; i < 8; ++i) {
    b.now_ms += wait_ms - 1;
    b.send(false);
    b.now_ms += 1;
    b.end(b.send(), nobody);
    wait_ms = std::min(2 * wait_ms, circuit_open_max_ms);
  }
  EXPECT_EQ(wait_ms, circuit_open_max_ms);
}

TEST(circuit_breaker, a_cancelled_probe_lets_the_next_request_probe) {
  bench b;
  b.trip();
  b.now_ms += circuit_open_ms;
  b.end(b.send(), cancelled);
  EXPECT_EQ(b.breaker.state(), circuit::open);
  b.send();
  EXPECT_EQ(b.breaker.state(), circuit::probing);
}

TEST(circuit_breaker, requests_of_before_change_nothing_but_for_an_answer) {
  bench b;
  const auto old = b.send();
  const auto older = b.send();
  b.trip();
  b.now_ms += circuit_open_ms;
  const auto probe = b.send();
  b.end(old, nobody);
  EXPECT_EQ(b.breaker.state(), circuit::probing);
  b.end(older, answer);
  EXPECT_EQ(b.breaker.state(), circuit::closed);
  b.end(probe, nobody);
  EXPECT_EQ(b.breaker.state(), circuit::closed) << "one failure of a closed circuit";
}

TEST(circuit_breaker, the_wait_is_spread_upwards) {
  bench b;
  for (int i = 0; i < circuit_failures_max; ++i)
    b.breaker.ended(b.send(), "s" + std::to_string(i), nobody, b.now_ms, 0.5);
  b.now_ms += circuit_open_ms;
  b.send(false);
  b.now_ms += static_cast<std::int64_t>(circuit_open_ms * circuit_jitter * 0.5);
  b.send();
}

} // namespace
} // namespace rind::provider
