// The words of scenarios that are read back.
#pragma once

#include "messages/words.hpp"
#include "tests/kit/scenario/scenario.hpp"

namespace rind {

template <>
inline constexpr kit::action last_word<kit::action> = kit::action::lose_runner;
template <>
inline constexpr kit::usage_style last_word<kit::usage_style> = kit::usage_style::huge;

} // namespace rind
