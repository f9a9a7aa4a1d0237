// What a provider answered and what it was asked, as one line of JSON has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/result.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::hosts::classify {

struct recorded_answer {
  std::string id;
  provider::response_head head;
  std::string body;
  provider::sent_facts sent; // 0: not recorded
};

/// A failure says what is missing or wrong. Members that are not known are ignored.
result<recorded_answer> read_recorded_answer(std::string_view line);

} // namespace rind::hosts::classify
