// What a provider's error does to an operation (S30–S34): one pure state machine, bounded in every
// direction. It decides; the turn machine carries the decision out and reports what came of it.
// Tokens are active estimates of whole requests.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "messages/sampling.hpp"
#include "runtime/context/budget.hpp"

namespace rind::recovery {

inline constexpr int stream_retries_max = 3; // a sampling
inline constexpr int server_retries_max = 3; // a sampling; server_error and timeout
inline constexpr int rate_retries_max = 5;   // a sampling; rate limited and overloaded
inline constexpr int rescues_max = 4;        // an operation
inline constexpr std::int64_t retry_delay_max_ms = 10'000;
inline constexpr double retry_after_max_s = 60.0;
inline constexpr double retry_jitter =
    0.25; // a delay is spread by this share to both sides, a Retry-After only upwards
inline constexpr std::int64_t retry_detail_characters_max = 200; // of the provider's words
inline constexpr double tighten_factor = 0.8;                    // S30
inline constexpr double suspicious_share =
    0.6; // S33a: an unrecognised 400 above this share of the window

/// Where the recovery of an operation stands.
enum class stage : std::uint8_t {
  steady,     // no context-length error so far
  compacting, // the first one: a compaction is being made
  compacted,  // its retry is on the way, or was answered
  rescuing,   // a rescue is being planned
  rescued,    // its retry is on the way, or was answered
  exhausted,  // the operation has failed
};
inline constexpr std::size_t stage_count = 6;
const char* to_string(stage value);

/// What can happen to it.
enum class trigger : std::uint8_t {
  overflow,           // a context-length error (also a silent one, also one without a call)
  compaction_helped,  // committed, smaller than what was refused and under the hard limit
  compaction_useless, // anything else that the outcome table sends to the first rescue
  rescue_helped,      // changed something and is smaller than what was refused
  rescue_useless,
};
inline constexpr std::size_t trigger_count = 5;
const char* to_string(trigger value);

struct transition {
  stage next = stage::exhausted;
  bool legal = false;
};

/// The context-length recovery of one operation as one table. `overflow` in `rescued` goes to
/// `exhausted` instead once rescues_max is reached; that bound is the only thing the table does not
/// show.
const std::array<std::array<transition, trigger_count>, stage_count>& stage_table();

/// Facts of the request that failed.
struct request_facts {
  std::int64_t estimated_tokens = 0;
  std::int64_t output_limit_tokens = 0;
  bool output_limit_lowered = false; // by S14c or S30
  bool deltas_sent = false;
  std::int64_t fixed_tokens = 0;
  std::int64_t hard_limit_tokens = 0; // untightened
  std::int64_t window_tokens = 0;
  bool overflow_recovery = true;
  double chance = 0.5; // [0, 1): for the jitter
};

enum class action : std::uint8_t { fail, retry, lower_output, compact, rescue };

struct decision {
  recovery::action action = action::fail;
  std::optional<failure> error;                      // fail
  std::int64_t delay_ms = 0;                         // retry
  std::int64_t attempt = 0;                          // number of this retry of the sampling, from 1
  std::string reason;                                // class of the cause, for turn_step_retry
  std::string detail;                                // the cause in the provider's words, shortened
  std::int64_t output_limit_tokens = 0;              // lower_output
  std::int64_t limit_tokens = 0;                     // rescue: the tightened limit
  std::optional<std::int64_t> learned_window_tokens; // S16
};

/// What an operation that goes on after a crash brings with it (S10).
struct resume_state {
  std::int64_t context_errors = 0;
  std::int64_t rescues = 0;
  std::int64_t refused_estimate_tokens = 0;
  std::optional<std::int64_t> tightened_limit_tokens;
  std::vector<refused_attempt> attempts;
  std::optional<std::int64_t> output_limit_tokens; // lowered for the sampling that was under way
};

class recovery_machine {
public:
  recovery_machine() = default;
  /// Continues where the journal's attempts left off.
  explicit recovery_machine(const resume_state& before);

  /// A new sampling begins: its retries count from zero. The context-length count goes on.
  void begin_sampling();
  /// A sampling succeeded: the next overflow is a later one, but nothing refused is outstanding.
  void sampling_succeeded();
  /// The tightened limit has ended: the session's model was set (S30).
  void end_tightened_limit() { tightened_.reset(); }

  /// A provider error, or an answer that is one (see judge_answer).
  decision on_error(const provider_error& error, const request_facts& facts);

  /// What came of the compaction that `compact` asked for. `helped`: as trigger::compaction_helped.
  /// Otherwise a rescue follows.
  decision on_compaction(bool helped, const request_facts& facts);

  /// What came of the rescue that `rescue` asked for. retry (without delay) or the end.
  decision on_rescue(bool helped);

  /// The limit that a rescue of the refused request has to come under: 0.8 of the smaller of limit
  /// and estimate, not below the floor.
  std::int64_t next_limit_tokens(const request_facts& facts) const;

  stage at() const { return stage_; }
  /// What was refused for its length, oldest first, with the limit it was held against.
  const std::vector<refused_attempt>& attempts() const { return attempts_; }
  std::int64_t context_errors() const { return context_errors_; }
  std::int64_t rescues() const { return rescues_; }
  std::int64_t refused_estimate_tokens() const { return refused_estimate_; }
  std::optional<std::int64_t> tightened_limit_tokens() const { return tightened_; }
  std::int64_t attempt() const { return attempt_; }

private:
  decision on_overflow(const provider_error& error, const request_facts& facts);
  decision retry(int& used, int max, const provider_error& error, const request_facts& facts);
  decision start_rescue(const request_facts& facts);
  decision retry_smaller();
  decision exhausted() const;
  decision illegal(trigger t) const;
  std::optional<std::int64_t> lowered_output(const provider_error& error,
                                             const request_facts& facts) const;
  std::int64_t limit_of(const request_facts& facts) const;
  bool step(trigger t);

  stage stage_ = stage::steady;
  std::int64_t context_errors_ = 0;
  std::int64_t rescues_ = 0;
  std::int64_t refused_estimate_ = 0;
  std::optional<std::int64_t> tightened_;
  std::vector<refused_attempt> attempts_;
  std::string last_words_;         // of the newest context-length error
  bool unrecognised_used_ = false; // S33a: once an operation
  // of the running sampling
  bool output_lowered_ = false;
  int stream_retries_ = 0;
  int server_retries_ = 0;
  int rate_retries_ = 0;
  std::int64_t attempt_ = 0;
};

/// The size that was refused, as the provider counts where it said so, else by the estimate plus
/// the output limit where that counted.
std::int64_t refused_size(const provider_error& error, const request_facts& facts);

/// S16: a stated window not above the refused size.
std::optional<std::int64_t> learned_window(const provider_error& error, const request_facts& facts);

/// Whether an answer may be committed: nullopt, or the error that it amounts to (S32–S34).
std::optional<provider_error> judge_answer(const sampling_answer& answer,
                                           const request_facts& facts);

/// The failure that ends an operation for an error that is not recovered.
failure failure_of(const provider_error& error);

/// Delay of retry number `attempt` (from 1), spread by `chance`.
std::int64_t retry_delay_ms(std::int64_t attempt, std::optional<double> retry_after_s,
                            double chance);

} // namespace rind::recovery
