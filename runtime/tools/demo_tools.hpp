// Two built-in tools that show a tool loop without anything installed: `calculate` answers at once,
// `list_records` gives as many lines as asked for, so that a context fills quickly. Both are
// deterministic, need no files and no network, and run inside `start`.
#pragma once

#include <string_view>

#include "messages/result.hpp"
#include "runtime/tools/port.hpp"

namespace rind::tools {

inline constexpr std::int64_t expression_bytes_max = 1'000;
inline constexpr std::int64_t expression_depth_max = 64;
inline constexpr std::int64_t records_max = 50'000;
inline constexpr std::int64_t records_progress_notes =
    10; // progress notes of one call of list_records

inline constexpr std::string_view calculate_name = "calculate";
inline constexpr std::string_view list_records_name = "list_records";

/// The value of an expression of numbers, + - * / %, parentheses and signs, as text. A failure
/// (invalid_request) says what is wrong and at which byte.
result<std::string> calculate(std::string_view expression);

/// Arguments `{"expression": text}`; answers the value.
std::shared_ptr<tool> make_calculate();

/// Arguments `{"count": n, "first": m}`, `first` is 1 where it is missing; answers n numbered lines
/// and tells its progress.
std::shared_ptr<tool> make_list_records();

void add_demo_tools(registry& tools);

} // namespace rind::tools
