// The request that asks a model for the handoff, and the check that it fits before it is made (S19,
// S20). Pure.
#pragma once

#include <functional>

#include "messages/result.hpp"
#include "messages/sampling.hpp"
#include "runtime/compaction/corpus.hpp"

namespace rind::compaction {

struct summary_request {
  std::vector<message_ptr> messages; // no tools
  std::int64_t estimated_tokens = 0;
  std::int64_t output_limit_tokens = 0;
  std::int64_t shortened_bodies = 0; // tool results shortened to fit, oldest first
};

/// Builds the request for a corpus. `ratio_of` turns a plain local estimate into an active one for
/// the summary model. Bodies of tool results may be shortened, oldest first, only as many as
/// needed; nothing else is. Fails with compact_input_too_large and both numbers.
result<summary_request>
make_summary_request(const cut& c, const context::budget& b, const std::string& focus,
                     const std::function<std::int64_t(std::int64_t)>& active_of);

} // namespace rind::compaction
