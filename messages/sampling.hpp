// One request to a model and what comes back. The same values for every provider and for the
// embedded model.
#pragma once

#include "messages/conversation.hpp"
#include "messages/journal_entry.hpp"

namespace rind {

/// One request. `messages` starts with the system messages. The provider sends what stands here,
/// nothing else.
struct sampling_request {
  std::string request_id; // unique in the process; names the request for cancel
  std::string session_id;
  std::string turn_id;
  std::string model;
  sampling_kind kind = sampling_kind::assistant;
  std::vector<message_ptr> messages;
  tool_definitions tools; // null: no tools
  std::int64_t output_limit_tokens = 0;
  std::int64_t estimated_tokens = 0; // active estimate of the prompt
  std::int64_t window_tokens = 0;
  std::int64_t byte_limit = 0;          // of the request body; 0: the provider's
  std::int64_t total_deadline_ms = 0;   // 0: the provider's own; counted from the sending
  std::int64_t silence_deadline_ms = 0; // without data; 0: the provider's own
};

enum class finish_reason : std::uint8_t {
  stop,
  tool_calls,
  length,
  content_filter,
  window_exceeded,
  other
};

/// A piece of the answer while it streams.
struct sampling_delta {
  std::string text;
  std::string reasoning;
};

/// A whole answer. `finish_text` is the provider's word for the finish. Nothing here is judged yet:
/// an empty text or a cut answer arrives as such and runtime/recovery decides.
struct sampling_answer {
  message_ptr msg;
  token_usage usage;
  finish_reason finish = finish_reason::stop;
  std::string finish_text;
};

/// Classes of provider errors; each has its own reaction in the recovery machine.
enum class provider_error_class : std::uint8_t {
  context_length,
  output_limit, // the output limit itself is illegal or cut the answer
  rate_limit,
  overloaded,
  server_error,
  timeout,
  stream_interrupted,
  auth,
  permission,
  quota,
  not_found,
  invalid_request,
  content_filter,
  request_too_large, // bytes
  unrecognised,      // a 400 that no rule knows (S33a)
};
inline constexpr std::size_t provider_error_class_count =
    static_cast<std::size_t>(provider_error_class::unrecognised) + 1;
const char* to_string(provider_error_class value);

/// A provider error as a value: the class decides, the rest explains.
struct provider_error {
  provider_error_class error_class = provider_error_class::server_error;
  std::string code;                             // the provider's own, may be empty
  std::string message;                          // the provider's own words, shortened
  int status = 0;                               // HTTP; 0: none
  std::optional<std::int64_t> limit_tokens;     // a window that the provider stated
  std::optional<std::int64_t> requested_tokens; // what the provider counted
  std::optional<double> retry_after_s;
  std::optional<bool> retry_same;    // the provider's own word on a resend
  bool shrink_output_first = false;  // the prompt fits, prompt + output limit does not
  std::optional<std::int64_t> bytes; // request_too_large: the body
  std::optional<std::int64_t> limit_bytes;
  token_usage usage; // reported before the failure
  bool sent = true;  // false: refused before anything went out
};

/// How a sampling ended. Exactly one per request; a cancelled request ends with `cancelled`.
struct sampling_cancelled {};
using sampling_outcome = std::variant<sampling_answer, provider_error, sampling_cancelled>;

} // namespace rind
