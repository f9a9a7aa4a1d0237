// How much a model is asked to think before it answers, as the settings say it; each wire format
// has its own way to ask.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/config/settings.hpp"

namespace rind::provider {

enum class reasoning_effort : std::uint8_t {
  unset, // nothing is said: as the provider sees fit
  none,  // the model does not reason, and nothing about reasoning is sent
  low,
  medium,
  high,
};

/// The word of the settings.
constexpr std::string_view to_string(reasoning_effort effort) {
  return config::reasoning_words[static_cast<std::size_t>(effort)];
}
static_assert(to_string(reasoning_effort::high) == "high");

/// Whether it is a wish that is sent.
constexpr bool is_wish(reasoning_effort effort) {
  return effort > reasoning_effort::none;
}

} // namespace rind::provider
