// The table of the context-length recovery and the bounded retries around it.
#include "runtime/recovery/recovery_machine.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/canary/canary.hpp"
#include "runtime/context/text_cut.hpp"
#include "runtime/provider/error_classifier.hpp"

namespace rind::recovery {

namespace {

/// A stated window below this is a number of something else: no session can work in it, and the
/// settings refuse it too.
constexpr std::int64_t learned_window_min_tokens = 2'048;

using enum stage;

constexpr transition no{};
constexpr transition to(stage next) {
  return {next, true};
}

// clang-format off
constexpr std::array<std::array<transition, trigger_count>, stage_count> table{{
    //                overflow        compaction_helped  compaction_useless  rescue_helped  rescue_useless
    /* steady     */ {to(compacting), no,                no,                 no,            no},
    /* compacting */ {no,             to(compacted),     to(rescuing),       no,            no},
    /* compacted  */ {to(rescuing),   no,                no,                 no,            no},
    /* rescuing   */ {no,             no,                no,                 to(rescued),   to(exhausted)},
    /* rescued    */ {to(rescuing),   no,                no,                 no,            no},
    /* exhausted  */ {no,             no,                no,                 no,            no},
}};
// clang-format on

error_code code_of(provider_error_class c) {
  switch (c) {
  case provider_error_class::context_length:
    return error_code::context_length_exceeded;
  case provider_error_class::output_limit:
    return error_code::output_truncated;
  case provider_error_class::rate_limit:
    return error_code::rate_limited;
  case provider_error_class::overloaded:
    return error_code::overloaded;
  case provider_error_class::server_error:
    return error_code::server_error;
  case provider_error_class::timeout:
    return error_code::provider_timeout;
  case provider_error_class::stream_interrupted:
    return error_code::stream_interrupted;
  case provider_error_class::auth:
    return error_code::auth;
  case provider_error_class::permission:
    return error_code::permission;
  case provider_error_class::quota:
    return error_code::quota;
  case provider_error_class::not_found:
    return error_code::not_found;
  case provider_error_class::content_filter:
    return error_code::content_filter;
  case provider_error_class::request_too_large:
    return error_code::request_too_large;
  case provider_error_class::invalid_request:
  case provider_error_class::unrecognised:
    return error_code::provider_invalid_request;
  }
  return error_code::internal_error;
}

/// The provider names a time that no turn waits for (S32).
bool must_come_back_later(const provider_error& error) {
  return error.retry_after_s && *error.retry_after_s > retry_after_max_s;
}

} // namespace

const std::array<std::array<transition, trigger_count>, stage_count>& stage_table() {
  return table;
}

const char* to_string(stage value) {
  constexpr std::array<const char*, stage_count> names{"steady",   "compacting", "compacted",
                                                       "rescuing", "rescued",    "exhausted"};
  return names[static_cast<std::size_t>(value)];
}

const char* to_string(trigger value) {
  constexpr std::array<const char*, trigger_count> names{
      "overflow", "compaction_helped", "compaction_useless", "rescue_helped", "rescue_useless"};
  return names[static_cast<std::size_t>(value)];
}

failure failure_of(const provider_error& error) {
  auto code = code_of(error.error_class);
  if (error.code == "empty_response")
    code = error_code::empty_response;
  if (error.error_class == provider_error_class::output_limit && error.status >= 400)
    code = error_code::provider_invalid_request; // the limit itself was refused; nothing was cut
  auto result = make_failure(code, error.message);
  if (!error.code.empty())
    result.error_type = error.code;
  if (code == error_code::request_too_large) {
    if (error.sent)
      result.source = error_source::provider;
    result.details.bytes = error.bytes;
    result.details.limit_bytes = error.limit_bytes;
  }
  if (code == error_code::rate_limited || code == error_code::overloaded)
    result.details.retry_after_s = error.retry_after_s;
  if (must_come_back_later(error))
    result.message += " (come back in " +
                      std::to_string(static_cast<std::int64_t>(std::ceil(*error.retry_after_s))) +
                      " s)";
  return result;
}

std::int64_t retry_delay_ms(std::int64_t attempt, std::optional<double> retry_after_s,
                            double chance) {
  const auto exponent = std::clamp<std::int64_t>(attempt, 1, 20);
  constexpr auto longest = static_cast<double>(retry_delay_max_ms);
  const auto base = std::min(std::ldexp(1000.0, static_cast<int>(exponent)), longest);
  if (retry_after_s)
    return static_cast<std::int64_t>(
        std::ceil(*retry_after_s * 1000.0 * (1.0 + retry_jitter * chance)));
  const auto spread = base * (1.0 - retry_jitter + 2.0 * retry_jitter * chance);
  // Folded back at the bound, not cut: cut delays would all be the same.
  return static_cast<std::int64_t>(std::min(spread, 2.0 * longest - spread));
}

std::int64_t refused_size(const provider_error& error, const request_facts& facts) {
  if (error.requested_tokens)
    return *error.requested_tokens;
  return facts.estimated_tokens + (error.shrink_output_first ? facts.output_limit_tokens : 0);
}

std::optional<std::int64_t> learned_window(const provider_error& error,
                                           const request_facts& facts) {
  if (error.error_class != provider_error_class::context_length || !error.limit_tokens ||
      *error.limit_tokens < learned_window_min_tokens)
    return std::nullopt;
  if (*error.limit_tokens > refused_size(error, facts) ||
      *error.limit_tokens == facts.window_tokens)
    return std::nullopt;
  return error.limit_tokens;
}

std::optional<provider_error> judge_answer(const sampling_answer& answer,
                                           const request_facts& facts) {
  provider::sent_facts sent;
  sent.estimated_tokens = facts.estimated_tokens;
  sent.window_tokens = facts.window_tokens;
  sent.output_limit_tokens = facts.output_limit_tokens;
  if (auto overflow = provider::silent_overflow(answer, sent))
    return overflow;
  provider_error error;
  error.usage = answer.usage;
  error.status = 200;
  switch (answer.finish) {
  case finish_reason::length:
    if (facts.output_limit_lowered) {
      error.error_class = provider_error_class::context_length;
      error.code = "output_limit_lowered";
      error.message =
          "the answer was cut at an output limit that had been lowered to fit the window";
      return error;
    }
    error.error_class = provider_error_class::output_limit;
    error.message = "the answer was cut at the output limit of " +
                    std::to_string(facts.output_limit_tokens) + " tokens";
    return error;
  case finish_reason::content_filter:
    error.error_class = provider_error_class::content_filter;
    error.message = "the provider's content filter stopped the answer";
    return error;
  case finish_reason::other:
    error.error_class = provider_error_class::stream_interrupted;
    error.message = "the answer ended with an unknown reason: " + answer.finish_text;
    return error;
  case finish_reason::stop:
  case finish_reason::tool_calls:
  case finish_reason::window_exceeded:
    break;
  }
  if (!provider::is_blank(answer))
    return std::nullopt;
  error.error_class = provider_error_class::stream_interrupted;
  error.code = "empty_response";
  error.message = "the model answered without text and without a call";
  return error;
}

recovery_machine::recovery_machine(const resume_state& before)
    : context_errors_(before.context_errors),
      rescues_(before.rescues),
      refused_estimate_(before.refused_estimate_tokens),
      tightened_(before.tightened_limit_tokens),
      attempts_(before.attempts),
      // Whether one of the errors before was an unrecognised one is not known: it is not tried a
      // second time.
      unrecognised_used_(before.context_errors > 0),
      output_lowered_(before.output_limit_tokens.has_value()) {
  if (rescues_ > 0)
    stage_ = refused_estimate_ > 0 ? stage::rescuing : stage::rescued;
  else if (context_errors_ > 0)
    stage_ = refused_estimate_ > 0 ? stage::compacting : stage::compacted;
}

void recovery_machine::begin_sampling() {
  stream_retries_ = server_retries_ = rate_retries_ = 0;
  output_lowered_ = false;
  attempt_ = 0;
  if (RIND_PLANTED(recovery_count_restarts)) {
    stage_ = stage::steady;
    context_errors_ = rescues_ = 0;
  }
}

void recovery_machine::sampling_succeeded() {
  refused_estimate_ = 0;
}

bool recovery_machine::step(trigger t) {
  const auto& row = table[static_cast<std::size_t>(stage_)][static_cast<std::size_t>(t)];
  if (!row.legal)
    return false;
  stage_ = row.next;
  return true;
}

decision recovery_machine::illegal(trigger t) const {
  decision d;
  d.error =
      make_failure(error_code::internal_error, std::string{"the recovery got "} + to_string(t) +
                                                   " in the stage " + to_string(stage_));
  return d;
}

decision recovery_machine::exhausted() const {
  std::string numbers;
  for (const auto& a : attempts_)
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(a.estimated_tokens) + " of " +
               std::to_string(a.limit_tokens);
  failure_details details;
  details.attempts = attempts_;
  decision d;
  d.error = make_failure(error_code::context_length_exhausted,
                         "the provider refused the length of every request that could be made "
                         "(estimate of limit, tokens: " +
                             numbers + ")" +
                             (last_words_.empty() ? "" : "; its last words: " + last_words_),
                         std::move(details));
  return d;
}

decision recovery_machine::retry(int& used, int max, const provider_error& error,
                                 const request_facts& facts) {
  decision d;
  d.reason = error.code == "empty_response" ? "empty_response" : to_string(error.error_class);
  d.detail = context::excerpt_line(error.message, retry_detail_characters_max);
  if (used >= max || must_come_back_later(error) || error.retry_same == std::optional{false}) {
    d.error = failure_of(error);
    return d;
  }
  ++used;
  d.action = action::retry;
  d.attempt = ++attempt_;
  d.delay_ms = retry_delay_ms(used, error.retry_after_s, facts.chance);
  return d;
}

decision recovery_machine::on_error(const provider_error& error, const request_facts& facts) {
  switch (error.error_class) {
  case provider_error_class::context_length:
    return on_overflow(error, facts);
  case provider_error_class::unrecognised:
    if (!unrecognised_used_ && facts.overflow_recovery &&
        static_cast<double>(facts.estimated_tokens) >
            suspicious_share * static_cast<double>(facts.window_tokens)) {
      unrecognised_used_ = true;
      return on_overflow(error, facts);
    }
    break;
  case provider_error_class::stream_interrupted:
    return retry(stream_retries_, stream_retries_max + RIND_PLANTED(one_retry_more), error, facts);
  case provider_error_class::server_error:
  case provider_error_class::timeout:
    return retry(server_retries_, server_retries_max, error, facts);
  case provider_error_class::rate_limit:
  case provider_error_class::overloaded:
    return retry(rate_retries_, rate_retries_max, error, facts);
  default:
    break;
  }
  decision d;
  d.reason = to_string(error.error_class);
  d.error = failure_of(error);
  return d;
}

decision recovery_machine::on_overflow(const provider_error& error, const request_facts& facts) {
  decision d;
  d.reason = to_string(provider_error_class::context_length);
  d.detail = context::excerpt_line(error.message, retry_detail_characters_max);
  d.learned_window_tokens = learned_window(error, facts);
  if (!facts.overflow_recovery) {
    d.error = make_failure(error_code::context_length_exceeded,
                           (error.sent ? "the provider refused the length of the request"
                                       : "the request is too long to be sent") +
                               std::string{" and overflow recovery is off; /compact makes room ("} +
                               error.message + ")");
    return d;
  }
  if (const auto lowered = lowered_output(error, facts)) {
    output_lowered_ = true;
    d.action = action::lower_output;
    d.output_limit_tokens = *lowered;
    d.attempt = ++attempt_;
    return d;
  }
  if (stage_ != stage::rescued || rescues_ < rescues_max)
    if (!step(trigger::overflow))
      return illegal(trigger::overflow);
  ++context_errors_;
  last_words_ = error.message;
  refused_estimate_ = facts.estimated_tokens;
  attempts_.push_back({facts.estimated_tokens, limit_of(facts)});
  if (stage_ == stage::compacting) {
    d.action = action::compact;
    return d;
  }
  // A window that the provider has just stated counts from now on.
  auto from_now = facts;
  if (d.learned_window_tokens)
    from_now.hard_limit_tokens = std::min(
        facts.hard_limit_tokens,
        std::max<std::int64_t>(*d.learned_window_tokens - context::hard_limit_margin_tokens, 1));
  if (stage_ == stage::rescued)
    stage_ = stage::exhausted;
  auto next = stage_ == stage::exhausted ? exhausted() : start_rescue(from_now);
  next.learned_window_tokens = d.learned_window_tokens;
  return next;
}

// Only prompt + output limit is over: asking for less output is smaller than what was refused, once
// a sampling.
std::optional<std::int64_t> recovery_machine::lowered_output(const provider_error& error,
                                                             const request_facts& facts) const {
  if (!error.shrink_output_first || output_lowered_)
    return std::nullopt;
  const auto limit = error.limit_tokens.value_or(facts.window_tokens);
  const auto prompt =
      error.requested_tokens
          ? std::max<std::int64_t>(*error.requested_tokens - facts.output_limit_tokens, 0)
          : facts.estimated_tokens;
  const auto lowered = std::min(limit - prompt, facts.output_limit_tokens - 1);
  return lowered >= context::output_limit_min_tokens ? std::optional{lowered} : std::nullopt;
}

std::int64_t recovery_machine::limit_of(const request_facts& facts) const {
  return std::min(facts.hard_limit_tokens, tightened_.value_or(facts.hard_limit_tokens));
}

std::int64_t recovery_machine::next_limit_tokens(const request_facts& facts) const {
  const auto base = std::min(limit_of(facts), refused_estimate_);
  return std::max(static_cast<std::int64_t>(tighten_factor * static_cast<double>(base)),
                  facts.fixed_tokens + context::rescue_floor_tokens);
}

decision recovery_machine::start_rescue(const request_facts& facts) {
  decision d;
  d.action = action::rescue;
  d.reason = to_string(provider_error_class::context_length);
  tightened_ = next_limit_tokens(facts);
  ++rescues_;
  d.limit_tokens = *tightened_;
  return d;
}

decision recovery_machine::retry_smaller() {
  decision d;
  d.action = action::retry;
  d.attempt = ++attempt_;
  d.reason = to_string(provider_error_class::context_length);
  d.detail = context::excerpt_line(last_words_, retry_detail_characters_max);
  return d;
}

decision recovery_machine::on_compaction(bool helped, const request_facts& facts) {
  const auto t = helped ? trigger::compaction_helped : trigger::compaction_useless;
  if (!step(t))
    return illegal(t);
  return helped ? retry_smaller() : start_rescue(facts);
}

decision recovery_machine::on_rescue(bool helped) {
  const auto t = helped ? trigger::rescue_helped : trigger::rescue_useless;
  if (!step(t))
    return illegal(t);
  return helped ? retry_smaller() : exhausted();
}

} // namespace rind::recovery
