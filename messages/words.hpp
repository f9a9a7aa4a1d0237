// Reads enum words back. Each enum lists its last value here; its spellings come from its
// to_string, so that no word stands twice.
#pragma once

#include <optional>
#include <string_view>

#include "messages/json.hpp"

namespace rind {

/// The last enumerator of an enum that has wire words; enumerators count from 0 without gaps.
template <class Enum>
inline constexpr Enum last_word = Enum::no_words_known;

template <>
inline constexpr message_role last_word<message_role> = message_role::tool;
template <>
inline constexpr user_origin last_word<user_origin> = user_origin::rescue_note;
template <>
inline constexpr tool_status last_word<tool_status> = tool_status::unavailable;
template <>
inline constexpr input_mode last_word<input_mode> = input_mode::follow_up;
template <>
inline constexpr operation_kind last_word<operation_kind> = operation_kind::compact;
template <>
inline constexpr sampling_kind last_word<sampling_kind> = sampling_kind::compact;
template <>
inline constexpr cancel_reason last_word<cancel_reason> = cancel_reason::handover;
template <>
inline constexpr entries::turn_outcome last_word<entries::turn_outcome> =
    entries::turn_outcome::cancelled;
template <>
inline constexpr token_source last_word<token_source> = token_source::local_estimate;
template <>
inline constexpr finish_reason last_word<finish_reason> = finish_reason::other;
template <>
inline constexpr provider_error_class last_word<provider_error_class> =
    provider_error_class::unrecognised;
template <>
inline constexpr error_code last_word<error_code> = error_code::cancelled;
template <>
inline constexpr error_source last_word<error_source> = error_source::runtime;
template <>
inline constexpr failure_status last_word<failure_status> = failure_status::unavailable;
template <>
inline constexpr compaction_reason last_word<compaction_reason> =
    compaction_reason::context_length_error;
template <>
inline constexpr compaction_phase last_word<compaction_phase> = compaction_phase::mid_turn;
template <>
inline constexpr phase_detail last_word<phase_detail> = phase_detail::context_length_recovery;
template <>
inline constexpr compaction_strategy last_word<compaction_strategy> =
    compaction_strategy::context_rescue;
template <>
inline constexpr replacement_kind last_word<replacement_kind> = replacement_kind::units;

/// The value spelled so, or nullopt. Spellings are exact; an empty word means phase_detail::none.
template <class Enum>
std::optional<Enum> from_word(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(last_word<Enum>); ++i)
    if (word == to_string(static_cast<Enum>(i)))
      return static_cast<Enum>(i);
  return std::nullopt;
}

} // namespace rind
