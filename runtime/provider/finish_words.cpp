// The table of finish words.
#include "runtime/provider/finish_words.hpp"

#include <array>

namespace rind::provider {

namespace {

struct finish_row {
  std::string_view word;
  finish_reason reason;
};

constexpr std::array<finish_row, 19> finish_table{{
    {"stop", finish_reason::stop},
    {"end_turn", finish_reason::stop},
    {"stop_sequence", finish_reason::stop},
    {"completed", finish_reason::stop},
    {"eos", finish_reason::stop},
    {"eos_token", finish_reason::stop},
    {"tool_calls", finish_reason::tool_calls},
    {"tool_use", finish_reason::tool_calls},
    {"function_call", finish_reason::tool_calls},
    {"length", finish_reason::length},
    {"max_tokens", finish_reason::length},
    {"max_output_tokens", finish_reason::length},
    {"content_filter", finish_reason::content_filter},
    {"safety", finish_reason::content_filter},
    {"sensitive", finish_reason::content_filter},
    {"refusal", finish_reason::content_filter},
    {"model_length", finish_reason::window_exceeded},
    {"model_context_window_exceeded", finish_reason::window_exceeded},
    // Only tools that run at the provider pause a turn, and none is ever offered: what came is no
    // whole answer.
    {"pause_turn", finish_reason::other},
}};

struct failed_row {
  std::string_view word;
  provider_error_class error_class;
};

constexpr std::array<failed_row, 4> failed_table{{
    {"error", provider_error_class::server_error},
    {"error_finish", provider_error_class::server_error},
    {"network_error", provider_error_class::server_error},
    {"insufficient_system_resource", provider_error_class::overloaded},
}};

} // namespace

finish_reason finish_of(std::string_view word) {
  for (const auto& row : finish_table)
    if (row.word == word)
      return row.reason;
  return finish_reason::other;
}

std::optional<provider_error_class> failure_of(std::string_view word) {
  for (const auto& row : failed_table)
    if (row.word == word)
      return row.error_class;
  return std::nullopt;
}

} // namespace rind::provider
