// Every history of the recovery machine, up to what it can tell apart: each error in each state,
// each end of a compaction and a rescue, and answers that start the next sampling, against the
// numbers of S30 to S33a kept here in their own words.
#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "runtime/recovery/recovery_machine.hpp"

namespace rind::recovery {
namespace {

constexpr std::int64_t window = 100'000;
constexpr std::int64_t first_estimate = 90'000;

/// What the rules say has happened so far.
struct account {
  int overflows = 0; // of the operation
  int rescues = 0;
  int stream_retries = 0; // of the sampling
  int server_retries = 0;
  int rate_retries = 0;
  bool unrecognised_used = false;
  enum class waits_for : std::uint8_t { answer, compaction, rescue } next = waits_for::answer;
  auto key() const {
    return std::tuple{overflows > 1 ? 2 : overflows,
                      rescues,
                      stream_retries,
                      server_retries,
                      rate_retries,
                      unrecognised_used,
                      static_cast<int>(next)};
  }
};

struct history {
  recovery_machine machine;
  account seen;
  std::int64_t estimate = first_estimate;
  std::string told; // for a failure's message
};

class explorer {
public:
  void go(const history& at) {
    if (!visited_.insert(std::tuple_cat(at.seen.key(), std::tuple{at.machine.at()})).second)
      return;
    switch (at.seen.next) {
    case account::waits_for::answer:
      for (std::size_t c = 0; c < provider_error_class_count; ++c)
        meet_error(at, static_cast<provider_error_class>(c));
      return meet_success(at);
    case account::waits_for::compaction:
      meet_compaction(at, true);
      return meet_compaction(at, false);
    case account::waits_for::rescue:
      meet_rescue(at, true);
      return meet_rescue(at, false);
    }
  }
  std::size_t states() const { return visited_.size(); }
  bool saw(stage s) const {
    return std::any_of(visited_.begin(), visited_.end(),
                       [s](const auto& key) { return std::get<stage>(key) == s; });
  }

private:
  static request_facts facts_of(const history& h) {
    request_facts f;
    f.estimated_tokens = h.estimate;
    f.output_limit_tokens = 4'000;
    f.fixed_tokens = 1'000;
    f.window_tokens = window;
    f.hard_limit_tokens = window - 1'024;
    return f;
  }

  void meet_error(history h, provider_error_class c) {
    h.told += std::string{" "} + to_string(c);
    provider_error e;
    e.error_class = c;
    const auto d = h.machine.on_error(e, facts_of(h));
    const bool suspicious = c == provider_error_class::unrecognised && !h.seen.unrecognised_used &&
                            static_cast<double>(h.estimate) > 0.6 * window;
    if (suspicious)
      h.seen.unrecognised_used = true;
    if (c == provider_error_class::context_length || suspicious)
      return overflow(std::move(h), d);
    int* used = nullptr;
    int most = 0;
    if (c == provider_error_class::stream_interrupted) {
      used = &h.seen.stream_retries;
      most = 3;
    } else if (c == provider_error_class::server_error || c == provider_error_class::timeout) {
      used = &h.seen.server_retries;
      most = 3;
    } else if (c == provider_error_class::rate_limit || c == provider_error_class::overloaded) {
      used = &h.seen.rate_retries;
      most = 5;
    }
    if (!used || *used == most)
      return expect_end(h, d);
    ++*used;
    ASSERT_EQ(d.action, action::retry) << h.told;
    EXPECT_GE(d.delay_ms, 0);
    EXPECT_LE(d.delay_ms, 12'500) << h.told; // 10 s and a quarter
    go(h);
  }

  void overflow(history h, const decision& d) {
    ++h.seen.overflows;
    if (h.seen.overflows == 1) {
      ASSERT_EQ(d.action, action::compact) << h.told;
      h.seen.next = account::waits_for::compaction;
      return go(h);
    }
    if (h.seen.rescues == 4)
      return expect_end(h, d);
    rescue(std::move(h), d);
  }

  void rescue(history h, const decision& d) {
    ASSERT_EQ(d.action, action::rescue) << h.told;
    EXPECT_LE(static_cast<double>(d.limit_tokens), 0.8 * static_cast<double>(h.estimate)) << h.told;
    h.estimate = d.limit_tokens;
    ++h.seen.rescues;
    h.seen.next = account::waits_for::rescue;
    go(h);
  }

  void meet_compaction(history h, bool helped) {
    h.told += helped ? " compacted" : " not-compacted";
    const auto d = h.machine.on_compaction(helped, facts_of(h));
    h.seen.next = account::waits_for::answer;
    if (!helped)
      return rescue(std::move(h), d);
    ASSERT_EQ(d.action, action::retry) << h.told;
    EXPECT_EQ(d.delay_ms, 0);
    h.estimate = h.estimate * 9 / 10;
    go(h);
  }

  void meet_rescue(history h, bool helped) {
    h.told += helped ? " rescued" : " not-rescued";
    const auto d = h.machine.on_rescue(helped);
    h.seen.next = account::waits_for::answer;
    if (!helped)
      return expect_end(h, d);
    ASSERT_EQ(d.action, action::retry) << h.told;
    EXPECT_LE(h.machine.rescues(), 4) << h.told;
    go(h);
  }

  /// The next sampling: its retries count anew, the operation's overflows do not.
  void meet_success(history h) {
    h.told += " answered";
    h.machine.sampling_succeeded();
    h.machine.begin_sampling();
    h.seen.stream_retries = h.seen.server_retries = h.seen.rate_retries = 0;
    h.estimate = first_estimate;
    go(h);
  }

  static void expect_end(const history& h, const decision& d) {
    EXPECT_EQ(d.action, action::fail) << h.told;
    EXPECT_TRUE(d.error.has_value()) << h.told;
  }

  std::set<std::tuple<int, int, int, int, int, bool, int, stage>> visited_;
};

TEST(recovery_machine, S30_S32_S33a_hold_in_every_history) {
  explorer e;
  e.go({});
  EXPECT_GT(e.states(), 1'000u);
  for (const auto s :
       {stage::steady, stage::compacting, stage::compacted, stage::rescuing, stage::rescued})
    EXPECT_TRUE(e.saw(s)) << to_string(s);
}

} // namespace
} // namespace rind::recovery
