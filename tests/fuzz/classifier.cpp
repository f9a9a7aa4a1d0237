// The classifier against any body: it always has a class, never throws, keeps the provider's words
// short, and states no number that is none.
#include "runtime/provider/error_classifier.hpp"
#include "tests/fuzz/play.hpp"
#include "tests/fuzz/targets.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rind::provider;
  const auto input = rind::fuzz::read_input(data, size);
  const response_head head{input.status, {{"retry-after", std::string{input.body.substr(0, 16)}}}};
  const auto found = classify(head, input.body, {"fuzz", 7'000, 8'000, 1'000});
  const auto& error = found.error;
  if (static_cast<std::size_t>(error.error_class) >= rind::provider_error_class_count)
    rind::fuzz::broken("an error has a class");
  if (found.matched_by.empty())
    rind::fuzz::broken("the classifier says what it went by");
  if (error.message.size() > provider_words_bytes_max)
    rind::fuzz::broken("provider_words_bytes_max");
  if (error.limit_tokens.value_or(1) <= 0 || error.requested_tokens.value_or(1) <= 0)
    rind::fuzz::broken("a stated number is above zero");
  if (error.retry_after_s.value_or(0) < 0)
    rind::fuzz::broken("a delay is not below zero");
  return 0;
}
