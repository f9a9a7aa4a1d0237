// Comparing a token without telling by the time taken how much of it was right (S42).
#pragma once

#include <string_view>

namespace rind::protocol {

bool equal_in_constant_time(std::string_view expected, std::string_view given);

} // namespace rind::protocol
