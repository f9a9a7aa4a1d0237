// Whether a provider is worth asking: once several sessions in a row found nobody there, further
// requests are refused at once, and one probe at a time finds out when somebody is back. Pure; it
// knows nothing of how requests are sent. Times are ms since the epoch.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "messages/sampling.hpp"

namespace rind::provider {

/// The circuit opens after this many requests in a row that reached nobody …
inline constexpr int circuit_failures_max = 5;
/// … of at least this many sessions: one session's trouble may be its own.
inline constexpr std::size_t circuit_sessions_min = 3;
/// How long it stays open before a probe: doubled by each probe that fails.
inline constexpr std::int64_t circuit_open_ms = 5'000;
inline constexpr std::int64_t circuit_open_max_ms = 60'000;
/// The wait is spread upwards by this share, so that hosts do not probe in step.
inline constexpr double circuit_jitter = 0.25;

enum class circuit : std::uint8_t { closed, open, probing };
inline constexpr std::size_t circuit_count = 3;
const char* to_string(circuit value);

/// What the end of a request says about the provider.
enum class reach : std::uint8_t {
  reached,     // it answered, be it with an error
  unreachable, // no connection, no first byte, or a gateway that found nobody behind it
  unknown,     // cancelled, or refused on this side
};
inline constexpr std::size_t reach_count = 3;
const char* to_string(reach value);

/// A 500 is an answer and so is a 503: somebody is there, and it may be the one request that it
/// stumbles over. Only 502, 504 and Cloudflare's 521 to 524 say that nobody is.
reach reach_of(const sampling_outcome& outcome);

/// What can happen to a circuit.
enum class circuit_event : std::uint8_t {
  reached,    // any request was answered
  tripped,    // the last of the failures that circuit_failures_max and circuit_sessions_min ask for
  probe_sent, // the wait is over and a request goes out
  probe_failed, // it reached nobody
  probe_lost,   // it was cancelled: the next request probes
};
inline constexpr std::size_t circuit_event_count = 5;

/// The whole circuit. Events that cannot happen in a state leave it as it is.
const std::array<std::array<circuit, circuit_event_count>, circuit_count>& circuit_table();

class circuit_breaker {
public:
  /// Whether a request may be sent now: always while closed, else one at a time after the wait.
  bool admits(std::int64_t now_ms) const;

  /// An admitted request goes out; unless the circuit is closed, it is the probe.
  void sent(const std::string& request_id);

  /// A request that was sent has ended. `chance` in [0, 1).
  void ended(const std::string& request_id, const std::string& session_id,
             const sampling_outcome& outcome, std::int64_t now_ms, double chance);

  /// What a request that is not admitted gets: not sent, not to be repeated, with the time until
  /// the next probe and the words of the last failure.
  provider_error refusal(const std::string& provider, std::int64_t now_ms) const;

  circuit state() const { return state_; }

private:
  void step(circuit_event event);
  void forget();
  void end_probe(const sampling_outcome& outcome, std::int64_t now_ms, double chance);
  void wait_for_probe(std::int64_t now_ms, double chance);
  void count(const std::string& session_id, const provider_error& error);

  circuit state_ = circuit::closed;
  int failures_ = 0;               // in a row
  std::set<std::string> sessions_; // whose they were, up to circuit_sessions_min
  std::string last_words_;         // of the newest failure
  std::string probe_;              // the request that probes
  std::int64_t wait_ms_ = 0;       // of the newest opening, without jitter
  std::int64_t probe_at_ms_ = 0;
};

} // namespace rind::provider
