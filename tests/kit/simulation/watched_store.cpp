// Appends, once each.
#include "tests/kit/simulation/watched_store.hpp"

namespace rind::kit {

std::vector<result<journal::append_receipt>>
watched_store::append(std::span<const journal::append_request> group) {
  for (const auto& request : group)
    who_.on_append(request);
  auto answers = forwarding_store::append(group);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i])
      continue;
    auto& last = last_position_[group[i].session_id];
    const auto& receipt = *answers[i];
    if (receipt.first_position <= last)
      continue; // the same append, asked once more
    last = receipt.first_position + static_cast<std::int64_t>(receipt.entries.size()) - 1;
    who_.on_committed(group[i].session_id, receipt.entries);
  }
  return answers;
}

} // namespace rind::kit
