// Every way in which an operation can fail or a request can be refused. A code exists only where
// somebody can react to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rind {

/// Codes of a failed operation (the `code` of `turn_failed`) and types of an error response.
/// to_string gives the wire's spelling.
enum class error_code : std::uint8_t {
  // a failed operation
  compact_input_too_large,  // the summary request would not fit the summary model's window (S19)
  no_gain,                  // a compaction would not have made the view smaller (S24)
  context_budget_exceeded,  // still above the hard limit after all that is allowed (S18a, S25)
  fixed_context_too_large,  // system messages and tool schemas alone reach the threshold (S14a)
  context_length_exceeded,  // the provider refused the length and recovery is off (S14)
  context_length_exhausted, // the bounded recovery came to its end (S30)
  request_too_large,        // bytes, not tokens (S14b)
  output_truncated,         // the output limit cut the answer (S33)
  empty_response,           // a normal stop without text and calls, again and again (S32)
  rate_limited,
  overloaded,
  server_error,
  stream_interrupted,
  provider_timeout,
  auth,
  permission,
  quota,
  not_found,
  provider_invalid_request, // wire: invalid_request; the provider found the request wrong
  content_filter,
  sampling_limit_reached,   // S7
  resume_limit,             // S10
  invalid_message_boundary, // S8
  persistence_failed,       // S39
  persistence_conflict,     // S24
  internal_error,           // S43
  // an error response
  parse_error,
  invalid_request,
  method_not_found,
  not_initialized,
  unauthorized,
  too_many_requests, // wire: RateLimited
  session_not_found,
  session_exists,
  unknown_model,
  session_busy,
  turn_active,
  turn_not_active,
  nothing_to_compact,
  input_queue_full,
  input_not_pending,
  slow_consumer,
  server_stopping,
  not_owner,
  unavailable,
  cancelled,
};

inline constexpr std::size_t error_code_count = static_cast<std::size_t>(error_code::cancelled) + 1;

enum class error_source : std::uint8_t { provider, tool, persistence, runtime };

enum class failure_status : std::uint8_t { rejected, failed, timed_out, unavailable };

/// A request that was refused for its length, and the limit it was held against (tokens).
struct refused_attempt {
  std::int64_t estimated_tokens = 0;
  std::int64_t limit_tokens = 0;
  friend bool operator==(const refused_attempt&, const refused_attempt&) = default;
};

/// The numbers behind a failure; only those that the code's row in docs/protocol.md names are set.
struct failure_details {
  std::optional<std::int64_t> estimated_tokens;
  std::optional<std::int64_t> limit_tokens;
  std::optional<double> retry_after_s;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> limit_bytes;
  std::vector<refused_attempt> attempts;
  friend bool operator==(const failure_details&, const failure_details&) = default;
};

/// A failure as a value. `message` is for people; `error_type` names the class of the cause (the
/// provider's own code where it has one). Source and status follow from the code unless set
/// otherwise (see default_source, default_status).
struct failure {
  error_code code = error_code::internal_error;
  std::string message;
  std::string error_type;
  error_source source = error_source::runtime;
  failure_status status = failure_status::failed;
  failure_details details;
  friend bool operator==(const failure&, const failure&) = default;
};

/// The wire's spelling of a code; total over the enum.
const char* to_string(error_code code);
/// The code spelled so among the codes of a failed operation, or none. (`invalid_request` reads as
/// provider_invalid_request.)
std::optional<error_code> failed_operation_code(const std::string& text);
const char* to_string(error_source source);
const char* to_string(failure_status status);

/// A failure with the source and status that its code has by the table of docs/protocol.md.
failure make_failure(error_code code, std::string message, failure_details details = {});

} // namespace rind
