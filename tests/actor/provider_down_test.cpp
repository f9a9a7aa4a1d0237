// A provider that is down: its sessions fail fast after the first few, the sessions of others go
// on, and one probe at a time brings it back.
#include <gtest/gtest.h>

#include "runtime/provider/circuit_breaker.hpp"
#include "tests/kit/simulation/dialogue.hpp"

namespace rind {
namespace {

using kit::refuses;
using kit::says;

constexpr int sessions = 40;

/// A second provider, "other", with "model-other"; the model hears which of the two is asked.
class provider_down : public ::testing::Test {
protected:
  static kit::world_options two_providers() {
    kit::world_options options;
    auto other = options.settings.providers.front();
    other.name = "other";
    other.models.resize(1);
    other.models.front().name = "model-other";
    options.settings.providers.push_back(other);
    return options;
  }

  provider_down() {
    w.model().serve([this](const sampling_request& r) {
      if (r.model == "model-other" || !down)
        return says("Here.");
      ++refused;
      provider_error nobody;
      nobody.error_class = provider_error_class::server_error;
      nobody.code = "connect_failed";
      nobody.message = "connection refused";
      nobody.sent = false;
      return refuses(nobody);
    });
  }

  kit::scripted_client& client(int i, const std::string& model = {}) {
    return w.client("s" + std::to_string(i), model);
  }

  kit::world w{two_providers()};
  bool down = true;
  std::int64_t refused = 0;
};

TEST_F(provider_down, sessions_fail_fast_after_the_first_few_while_others_go_on) {
  std::vector<kit::scripted_client*> clients;
  for (int i = 0; i < sessions; ++i)
    clients.push_back(&client(i));
  auto& other = client(sessions, "model-other");
  for (auto* c : {clients[0], clients[1], clients[2]})
    c->prompt("Hi.");
  w.advance(60'000); // three sessions with all their retries
  ASSERT_GE(refused, provider::circuit_failures_max);
  const auto asked = refused;
  std::vector<kit::awaited<actors::prompt_outcome>> answers;
  for (int i = 3; i < sessions; ++i)
    answers.push_back(clients[static_cast<std::size_t>(i)]->prompt("Hi."));
  auto elsewhere = other.prompt("Hi.");
  w.advance(1'000);
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ(elsewhere.value().outcome, entries::turn_outcome::completed);
  int failed = 0;
  for (const auto& answer : answers)
    failed += answer.ok() && answer.value().outcome == entries::turn_outcome::failed;
  EXPECT_GE(failed, sessions - 3 - 1) << "all but one that may probe";
  EXPECT_LE(refused - asked, 1) << "of all these, one request went out";
  const auto& why = kit::failure_of(clients.back()->events());
  EXPECT_EQ(why.error_type, "provider_down");
}

TEST_F(provider_down, a_probe_that_is_answered_brings_it_back) {
  for (int i = 0; i < 5; ++i)
    client(i).prompt("Hi.");
  w.advance(60'000);
  down = false;
  w.advance(2 * provider::circuit_open_max_ms);
  auto& ann = client(5);
  auto probe = ann.prompt("Hi.");
  w.run();
  EXPECT_EQ(probe.value().outcome, entries::turn_outcome::completed);
  std::vector<kit::awaited<actors::prompt_outcome>> answers;
  for (int i = 6; i < 16; ++i)
    answers.push_back(client(i).prompt("Hi."));
  w.run();
  for (const auto& answer : answers)
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::completed);
}

TEST_F(provider_down, S32_one_session_alone_gets_all_its_retries) {
  auto& ann = client(0);
  for (int i = 1; i <= 4; ++i) {
    auto answer = ann.prompt("Hi.");
    w.advance(60'000);
    EXPECT_EQ(answer.value().outcome, entries::turn_outcome::failed);
    EXPECT_EQ(refused, i * 4);
  }
}

} // namespace
} // namespace rind
