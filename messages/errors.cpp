// Spellings, sources and states of the error codes, as one table.
#include "messages/errors.hpp"

#include <array>
#include <cstring>

namespace rind {

namespace {

struct code_row {
  error_code code;
  const char* name;
  error_source source;
  failure_status status;
};

using enum error_source;
using enum failure_status;

constexpr std::array<code_row, error_code_count> code_table{{
    {error_code::compact_input_too_large, "compact_input_too_large", runtime, rejected},
    {error_code::no_gain, "no_gain", runtime, rejected},
    {error_code::context_budget_exceeded, "context_budget_exceeded", runtime, rejected},
    {error_code::fixed_context_too_large, "fixed_context_too_large", runtime, rejected},
    {error_code::context_length_exceeded, "context_length_exceeded", provider, rejected},
    {error_code::context_length_exhausted, "context_length_exhausted", provider, rejected},
    {error_code::request_too_large, "request_too_large", runtime, rejected},
    {error_code::output_truncated, "output_truncated", provider, failed},
    {error_code::empty_response, "empty_response", provider, failed},
    {error_code::rate_limited, "rate_limited", provider, failure_status::unavailable},
    {error_code::overloaded, "overloaded", provider, failure_status::unavailable},
    {error_code::server_error, "server_error", provider, failure_status::unavailable},
    {error_code::stream_interrupted, "stream_interrupted", provider, failure_status::unavailable},
    {error_code::provider_timeout, "provider_timeout", provider, timed_out},
    {error_code::auth, "auth", provider, rejected},
    {error_code::permission, "permission", provider, rejected},
    {error_code::quota, "quota", provider, rejected},
    {error_code::not_found, "not_found", provider, rejected},
    {error_code::provider_invalid_request, "invalid_request", provider, rejected},
    {error_code::content_filter, "content_filter", provider, rejected},
    {error_code::sampling_limit_reached, "sampling_limit_reached", runtime, failed},
    {error_code::resume_limit, "resume_limit", runtime, failed},
    {error_code::invalid_message_boundary, "invalid_message_boundary", runtime, failed},
    {error_code::persistence_failed, "persistence_failed", persistence, failed},
    {error_code::persistence_conflict, "persistence_conflict", persistence, failed},
    {error_code::internal_error, "internal_error", runtime, failed},
    {error_code::parse_error, "ParseError", runtime, rejected},
    {error_code::invalid_request, "InvalidRequest", runtime, rejected},
    {error_code::method_not_found, "MethodNotFound", runtime, rejected},
    {error_code::not_initialized, "NotInitialized", runtime, rejected},
    {error_code::unauthorized, "Unauthorized", runtime, rejected},
    {error_code::too_many_requests, "RateLimited", runtime, rejected},
    {error_code::session_not_found, "SessionNotFound", runtime, rejected},
    {error_code::session_exists, "SessionExists", runtime, rejected},
    {error_code::unknown_model, "UnknownModel", runtime, rejected},
    {error_code::session_busy, "SessionBusy", runtime, rejected},
    {error_code::turn_active, "TurnActive", runtime, rejected},
    {error_code::turn_not_active, "TurnNotActive", runtime, rejected},
    {error_code::nothing_to_compact, "NothingToCompact", runtime, rejected},
    {error_code::input_queue_full, "InputQueueFull", runtime, rejected},
    {error_code::input_not_pending, "InputNotPending", runtime, rejected},
    {error_code::slow_consumer, "SlowConsumer", runtime, rejected},
    {error_code::server_stopping, "ServerStopping", runtime, failure_status::unavailable},
    {error_code::not_owner, "NotOwner", persistence, rejected},
    {error_code::unavailable, "Unavailable", persistence, failure_status::unavailable},
    {error_code::cancelled, "Cancelled", runtime, rejected},
}};

constexpr bool table_is_in_enum_order() {
  for (std::size_t i = 0; i < code_table.size(); ++i)
    if (static_cast<std::size_t>(code_table[i].code) != i)
      return false;
  return true;
}
static_assert(table_is_in_enum_order());

} // namespace

const char* to_string(error_code code) {
  return code_table[static_cast<std::size_t>(code)].name;
}

std::optional<error_code> failed_operation_code(const std::string& text) {
  for (const auto& row : code_table) {
    if (row.code == error_code::parse_error)
      break;
    if (text == row.name)
      return row.code;
  }
  return std::nullopt;
}

const char* to_string(error_source source) {
  constexpr std::array names{"provider", "tool", "persistence", "runtime"};
  return names[static_cast<std::size_t>(source)];
}

const char* to_string(failure_status status) {
  constexpr std::array names{"rejected", "failed", "timed_out", "unavailable"};
  return names[static_cast<std::size_t>(status)];
}

failure make_failure(error_code code, std::string message, failure_details details) {
  const auto& row = code_table[static_cast<std::size_t>(code)];
  return {code, std::move(message), row.name, row.source, row.status, std::move(details)};
}

} // namespace rind
