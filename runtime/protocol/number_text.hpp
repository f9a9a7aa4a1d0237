// Numbers as people read them. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace rind::protocol {

/// 31,020
std::string grouped(std::int64_t number);

} // namespace rind::protocol
