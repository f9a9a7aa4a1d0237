// Closed, open, probing.
#include "runtime/provider/circuit_breaker.hpp"

#include <algorithm>

namespace rind::provider {

namespace {

constexpr std::array gateway_statuses{502, 504, 521, 522, 523, 524};

bool found_nobody(const provider_error& error) {
  if (error.status != 0)
    return std::find(gateway_statuses.begin(), gateway_statuses.end(), error.status) !=
           gateway_statuses.end();
  return error.error_class == provider_error_class::server_error ||
         error.error_class == provider_error_class::timeout ||
         error.error_class == provider_error_class::stream_interrupted;
}

bool refused_on_this_side(const provider_error& error) {
  return error.status == 0 && !found_nobody(error);
}

} // namespace

const char* to_string(circuit value) {
  switch (value) {
  case circuit::closed:
    return "closed";
  case circuit::open:
    return "open";
  case circuit::probing:
    return "probing";
  }
  return "?";
}

const char* to_string(reach value) {
  switch (value) {
  case reach::reached:
    return "reached";
  case reach::unreachable:
    return "unreachable";
  case reach::unknown:
    return "unknown";
  }
  return "?";
}

reach reach_of(const sampling_outcome& outcome) {
  if (std::holds_alternative<sampling_cancelled>(outcome))
    return reach::unknown;
  const auto* error = std::get_if<provider_error>(&outcome);
  if (!error)
    return reach::reached;
  if (refused_on_this_side(*error))
    return reach::unknown;
  return found_nobody(*error) ? reach::unreachable : reach::reached;
}

const std::array<std::array<circuit, circuit_event_count>, circuit_count>& circuit_table() {
  using enum circuit;
  static constexpr std::array<std::array<circuit, circuit_event_count>, circuit_count> table{{
      // reached, tripped, probe_sent, probe_failed, probe_lost
      {closed, open, closed, closed, closed}, // closed
      {closed, open, probing, open, open},    // open
      {closed, probing, probing, open, open}, // probing
  }};
  return table;
}

bool circuit_breaker::admits(std::int64_t now_ms) const {
  return state_ == circuit::closed || (state_ == circuit::open && now_ms >= probe_at_ms_);
}

void circuit_breaker::sent(const std::string& request_id) {
  if (state_ == circuit::closed)
    return;
  probe_ = request_id;
  step(circuit_event::probe_sent);
}

void circuit_breaker::ended(const std::string& request_id, const std::string& session_id,
                            const sampling_outcome& outcome, std::int64_t now_ms, double chance) {
  const auto said = reach_of(outcome);
  if (said == reach::reached)
    return forget();
  if (state_ == circuit::probing && request_id == probe_)
    return end_probe(outcome, now_ms, chance);
  if (state_ != circuit::closed || said == reach::unknown)
    return;
  count(session_id, std::get<provider_error>(outcome));
  if (failures_ < circuit_failures_max || sessions_.size() < circuit_sessions_min)
    return;
  step(circuit_event::tripped);
  wait_for_probe(now_ms, chance);
}

void circuit_breaker::forget() {
  step(circuit_event::reached);
  failures_ = 0;
  sessions_.clear();
  wait_ms_ = 0;
}

void circuit_breaker::end_probe(const sampling_outcome& outcome, std::int64_t now_ms,
                                double chance) {
  const auto* error = std::get_if<provider_error>(&outcome);
  if (!error || reach_of(outcome) == reach::unknown)
    return step(circuit_event::probe_lost);
  last_words_ = error->message;
  step(circuit_event::probe_failed);
  wait_for_probe(now_ms, chance);
}

void circuit_breaker::step(circuit_event event) {
  state_ = circuit_table()[static_cast<std::size_t>(state_)][static_cast<std::size_t>(event)];
}

void circuit_breaker::count(const std::string& session_id, const provider_error& error) {
  failures_ = std::min(failures_ + 1, circuit_failures_max);
  if (sessions_.size() < circuit_sessions_min)
    sessions_.insert(session_id);
  last_words_ = error.message;
}

void circuit_breaker::wait_for_probe(std::int64_t now_ms, double chance) {
  wait_ms_ = wait_ms_ == 0 ? circuit_open_ms : std::min(2 * wait_ms_, circuit_open_max_ms);
  probe_at_ms_ = now_ms + static_cast<std::int64_t>(static_cast<double>(wait_ms_) *
                                                    (1.0 + circuit_jitter * chance));
}

provider_error circuit_breaker::refusal(const std::string& provider, std::int64_t now_ms) const {
  const auto wait_ms = std::max<std::int64_t>(probe_at_ms_ - now_ms, 1'000);
  const auto wait_s = (wait_ms + 999) / 1'000;
  provider_error error;
  error.error_class = provider_error_class::server_error;
  error.code = "provider_down";
  error.message = "provider `" + provider + "` cannot be reached (" + last_words_ +
                  "); it is tried again in " + std::to_string(wait_s) + " s";
  error.retry_after_s = static_cast<double>(wait_s);
  error.retry_same = false;
  error.sent = false;
  return error;
}

} // namespace rind::provider
