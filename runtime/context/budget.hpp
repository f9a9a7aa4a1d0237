// Limits of a session with a model (S14, S19) as one value, from one resolver. Pure. Tokens
// throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/events.hpp"

namespace rind::context {

inline constexpr std::int64_t default_window_tokens = 256'000;
inline constexpr std::int64_t default_max_output_tokens = 16'384;
inline constexpr std::int64_t default_threshold_percent = 90;
inline constexpr std::int64_t hard_limit_margin_tokens = 1'024;
inline constexpr std::int64_t output_limit_min_tokens = 1'024;  // S14c
inline constexpr std::int64_t summary_limit_max_tokens = 8'192; // S19
inline constexpr std::int64_t rescue_floor_tokens = 2'048;      // S30: above the fixed part
inline constexpr std::int64_t shortened_head_chars = 2'000;     // S18a, S19
inline constexpr std::int64_t shortened_tail_chars = 2'000;
inline constexpr std::int64_t default_request_limit_bytes = 30'000'000; // S14b

/// What the settings (or a provider's statement, S16) say about a model. Absent: unknown.
struct model_limits {
  std::optional<std::int64_t> window_tokens;
  std::optional<std::int64_t> input_cap_tokens;
  std::optional<std::int64_t> max_output_tokens;
  std::optional<std::int64_t> auto_compact_limit_tokens; // absolute threshold, used if lower
  std::optional<std::int64_t> threshold_percent;
};

struct budget {
  std::string model;
  std::int64_t window_tokens = 0;
  std::string window_origin;         // "settings", "default", "provider" (learned)
  std::int64_t input_cap_tokens = 0; // = window where none is set
  std::int64_t hard_limit_tokens = 0;
  std::int64_t threshold_tokens = 0;
  std::int64_t output_limit_tokens = 0;        // before S14c
  std::int64_t summary_limit_tokens = 0;       // output limit of the summary request
  std::int64_t summary_input_limit_tokens = 0; // what the summary request may hold
  std::string summary_model;
};

/// Resolves the limits of `model`, with the summary made by `summary_model` (the same where none is
/// set). `learned_window` beats the settings. Never below 1; a window too small to work with still
/// gives consistent numbers.
budget resolve_budget(const std::string& model, const model_limits& limits,
                      std::optional<std::int64_t> learned_window, const std::string& summary_model,
                      const model_limits& summary_limits,
                      std::optional<std::int64_t> learned_summary_window);

/// The output limit of a sampling whose prompt is estimated at `active_tokens` (S14c).
std::int64_t output_limit_for(const budget& b, std::int64_t active_tokens);

/// What the budget says about the next sampling. The order of the enumerators is the order of
/// judging.
enum class verdict : std::uint8_t {
  fixed_too_large, // S14a: fail before any call
  over_hard_limit, // compact first, phase_detail hard_limit
  over_threshold,  // compact first
  fits,
};

/// Judges a request. `tightened` lowers the threshold (S30), never the hard limit that
/// context_budget_exceeded is judged by.
verdict judge(const budget& b, std::int64_t fixed_tokens, std::int64_t active_tokens,
              std::optional<std::int64_t> tightened);

} // namespace rind::context
