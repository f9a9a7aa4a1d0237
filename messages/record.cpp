// Spellings of the record's enums.
#include "messages/record.hpp"

#include <array>

namespace rind {

const char* to_string(compaction_reason reason) {
  constexpr std::array names{"manual", "auto", "context_length_error"};
  return names[static_cast<std::size_t>(reason)];
}

const char* to_string(phase_detail detail) {
  constexpr std::array names{"", "before_first_sampling", "between_samplings", "hard_limit",
                             "context_length_recovery"};
  return names[static_cast<std::size_t>(detail)];
}

const char* to_string(compaction_strategy strategy) {
  constexpr std::array names{"llm_inline", "deterministic_fallback", "context_rescue"};
  return names[static_cast<std::size_t>(strategy)];
}

} // namespace rind
