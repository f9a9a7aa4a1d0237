// Overflows that arrive as answers.
#include "runtime/context/token_estimator.hpp"
#include "runtime/provider/error_classifier.hpp"

namespace rind::provider {

namespace {

constexpr double full_share = 0.99;     // of the window
constexpr double near_full_share = 0.9; // of the window, by our own estimate
constexpr double half_share_min = 0.45; // about half of the window
constexpr double half_share_max = 0.55;
constexpr double far_below_share = 2.0 / 3;   // reported input below this part of what was sent
constexpr std::int64_t window_min_tokens = 1; // without a window nothing is judged

provider_error overflow(const sampling_answer& answer, std::string code, std::string message) {
  provider_error error;
  error.error_class = provider_error_class::context_length;
  error.code = std::move(code);
  error.message = std::move(message);
  error.status = 200;
  error.usage = answer.usage;
  return error;
}

// The completion as the provider counted it, else as it is estimated (S33).
double completion_of(const sampling_answer& answer) {
  if (answer.usage.output_tokens)
    return static_cast<double>(*answer.usage.output_tokens);
  if (!answer.msg)
    return 0.0;
  auto tokens = context::estimate_message(*answer.msg);
  if (answer.msg->reasoning) // written all the same where it is not resent
    tokens += context::estimate_text(answer.msg->reasoning->text);
  return static_cast<double>(tokens);
}

} // namespace

bool is_blank(const sampling_answer& answer) {
  return !answer.msg || (answer.msg->content.find_first_not_of(" \t\r\n") == std::string::npos &&
                         answer.msg->tool_calls.empty());
}

std::optional<provider_error> silent_overflow(const sampling_answer& answer,
                                              const sent_facts& sent) {
  if (answer.finish == finish_reason::window_exceeded)
    return overflow(answer, answer.finish_text,
                    "the provider ended the answer because the context window is full");
  if (sent.window_tokens < window_min_tokens)
    return std::nullopt;
  const auto window = static_cast<double>(sent.window_tokens);
  const auto estimate = static_cast<double>(sent.estimated_tokens);
  const auto input = static_cast<double>(answer.usage.input_tokens.value_or(0));
  const auto input_known = answer.usage.input_tokens.has_value();
  if (input_known && *answer.usage.input_tokens > sent.window_tokens) {
    auto error = overflow(answer, "input_above_window",
                          "the provider reports more input than the context window holds");
    error.requested_tokens = answer.usage.input_tokens;
    return error;
  }
  if (input_known && input < far_below_share * estimate && input >= half_share_min * window &&
      input <= half_share_max * window)
    return overflow(answer, "input_cut",
                    "the provider reports far less input than was sent, about half of the window: "
                    "it cut the input");
  const auto total = (input_known ? input : estimate) + completion_of(answer);
  if (answer.finish == finish_reason::length && total >= full_share * window)
    return overflow(answer, "window_full", "the answer was cut where the context window ends");
  if (answer.finish == finish_reason::stop && is_blank(answer) &&
      estimate >= near_full_share * window)
    return overflow(answer, "empty_near_window",
                    "an empty answer to a request that nearly fills the context window");
  return std::nullopt;
}

} // namespace rind::provider
