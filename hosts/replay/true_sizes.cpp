// Intervals between known prompts, then sums.
#include "hosts/replay/true_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace rind::hosts::replay {

namespace {

constexpr std::int64_t bytes_per_token_before_the_first_count = 4;

/// Equal for a recorded message and the same one in a request, a shortened result included.
std::string identity_of(const message& m) {
  if (m.role == message_role::tool)
    return "t" + m.tool_call_id;
  std::string key = m.role == message_role::user ? "u" : "a";
  for (const auto& call : m.tool_calls)
    key += call.id + '\x1f';
  return key + '\x1e' + m.content;
}

} // namespace

true_sizes::true_sizes(const recording& r)
    : recording_(r), tokens_(r.size(), 0.0), known_(r.size(), false) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < r.size(); ++i) {
    places_[identity_of(r[i].msg)].push_back(i);
    if (!r[i].input_tokens)
      continue;
    if (before)
      count_between(*before, i);
    else
      count_before(i);
    before = i;
  }
  tokens_per_byte_ = known_bytes_ > 0
                         ? static_cast<double>(known_tokens_) / static_cast<double>(known_bytes_)
                         : 1.0 / static_cast<double>(bytes_per_token_before_the_first_count);
  for (std::size_t i = 0; i < r.size(); ++i)
    if (!known_[i])
      tokens_[i] = static_cast<double>(bytes_of(r[i].msg)) * tokens_per_byte_;
}

void true_sizes::count_before(std::size_t first_known) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < first_known; ++i)
    bytes += bytes_of(recording_[i].msg);
  const auto counted = *recording_[first_known].input_tokens;
  const auto tokens = std::min(counted, bytes / bytes_per_token_before_the_first_count);
  share(0, first_known, tokens);
  fixed_tokens_ = counted - tokens;
}

void true_sizes::count_between(std::size_t from, std::size_t to) {
  const auto grown = *recording_[to].input_tokens - *recording_[from].input_tokens;
  if (grown < 0)
    return; // the recorded agent changed its context
  std::int64_t bytes = 0;
  for (auto i = from; i < to; ++i)
    bytes += bytes_of(recording_[i].msg);
  const auto tokens = std::max<std::int64_t>(grown, 1);
  known_tokens_ += tokens;
  known_bytes_ += bytes;
  share(from, to, tokens);
}

void true_sizes::share(std::size_t from, std::size_t to, std::int64_t tokens) {
  std::int64_t bytes = 0;
  for (auto i = from; i < to; ++i)
    bytes += bytes_of(recording_[i].msg);
  for (auto i = from; i < to; ++i) {
    known_[i] = true;
    if (bytes > 0)
      tokens_[i] = static_cast<double>(tokens) * static_cast<double>(bytes_of(recording_[i].msg)) /
                   static_cast<double>(bytes);
  }
}

std::int64_t true_sizes::request_tokens(const std::vector<message_ptr>& messages,
                                        std::size_t played) const {
  double tokens = 0;
  for (auto m = messages.rbegin(); m != messages.rend(); ++m) {
    if ((*m)->role == message_role::system)
      continue;
    const auto bytes = static_cast<double>(bytes_of(**m));
    const auto found = places_.find(identity_of(**m));
    const auto* places = found == places_.end() ? nullptr : &found->second;
    const auto after = places ? std::lower_bound(places->begin(), places->end(), played)
                              : std::vector<std::size_t>::const_iterator{};
    if (!places || after == places->begin()) {
      tokens += bytes * tokens_per_byte_;
      continue;
    }
    played = *std::prev(after);
    const auto whole = bytes_of(recording_[played].msg);
    tokens += whole > 0 ? tokens_[played] * std::min(1.0, bytes / static_cast<double>(whole))
                        : tokens_[played];
  }
  return fixed_tokens_ + std::llround(tokens);
}

std::int64_t true_sizes::foreign_tokens(const std::vector<message_ptr>& messages) const {
  std::int64_t bytes = 0;
  for (const auto& m : messages)
    bytes += bytes_of(*m);
  return std::llround(static_cast<double>(bytes) * tokens_per_byte_);
}

} // namespace rind::hosts::replay
