// Spellings of the error classes; the corpus of provider answers uses the same words.
#include "messages/sampling.hpp"

#include <array>

namespace rind {

const char* to_string(provider_error_class value) {
  constexpr std::array<const char*, provider_error_class_count> names{
      "context_length",     "output_limit",
      "rate_limit",         "overloaded",
      "server_error",       "timeout",
      "stream_interrupted", "auth",
      "permission",         "quota",
      "not_found",          "invalid_request",
      "content_filter",     "request_too_large",
      "unrecognised"};
  return names[static_cast<std::size_t>(value)];
}

} // namespace rind
