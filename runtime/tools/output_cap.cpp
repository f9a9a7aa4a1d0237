// Head and tail of a long output, cut between characters.
#include "runtime/tools/output_cap.hpp"

#include <algorithm>

#include "messages/json.hpp"

namespace rind::tools {

namespace {

constexpr std::size_t character_bytes_max = 4;
constexpr std::size_t append_bytes_max =
    64u << 10; // worked on at a time, so that a huge piece needs no huge copy

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

/// Bytes of the character that `lead` begins; 1 for what begins none.
std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xC2 && byte <= 0xDF)
    return 2;
  if (byte >= 0xE0 && byte <= 0xEF)
    return 3;
  if (byte >= 0xF0 && byte <= 0xF4)
    return 4;
  return 1;
}

/// Bytes at the end of `bytes` that begin a character which does not end there.
std::size_t incomplete_bytes(std::string_view bytes) {
  const auto reach = std::min(bytes.size(), character_bytes_max - 1);
  for (std::size_t back = 1; back <= reach; ++back) {
    const char byte = bytes[bytes.size() - back];
    if (!continues(byte))
      return character_bytes(byte) > back ? back : 0;
  }
  return 0;
}

/// Bytes of the first `characters` characters of well-formed text.
std::size_t prefix_bytes(std::string_view valid, std::int64_t characters) {
  std::size_t at = 0;
  for (; characters > 0 && at < valid.size(); --characters)
    for (++at; at < valid.size() && continues(valid[at]);)
      ++at;
  return at;
}

} // namespace

output_collector::output_collector(std::int64_t limit_chars)
    : limit_chars_(std::max(limit_chars, cap_limit_chars_min)),
      head_limit_chars_((limit_chars_ - cap_notice_chars_max) / 2) {}

void output_collector::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, append_bytes_max);
    bytes.remove_prefix(piece.size());
    pending_.append(piece);
    const auto rest = incomplete_bytes(pending_);
    auto whole = std::move(pending_);
    pending_ = whole.substr(whole.size() - rest);
    whole.resize(whole.size() - rest);
    keep(is_valid_utf8(whole) ? whole : repair_utf8(whole));
  }
}

void output_collector::keep(std::string_view valid) {
  const auto characters = count_characters(valid);
  seen_chars_ += characters;
  const auto for_head = std::min(head_limit_chars_ - head_chars_, characters);
  const auto cut = prefix_bytes(valid, for_head);
  head_.append(valid.substr(0, cut));
  head_chars_ += for_head;
  tail_.append(valid.substr(cut));
  tail_chars_ += characters - for_head;
  trim_tail();
}

void output_collector::trim_tail() {
  const auto needed_chars = limit_chars_ - head_limit_chars_;
  if (tail_chars_ <= 2 * needed_chars)
    return;
  tail_.erase(0, prefix_bytes(tail_, tail_chars_ - needed_chars));
  tail_chars_ = needed_chars;
}

std::string output_collector::text() const {
  if (!pending_.empty()) {
    auto ended = *this;
    ended.pending_.clear();
    ended.keep(repair_utf8(pending_));
    return ended.text();
  }
  if (seen_chars_ <= limit_chars_)
    return head_ + tail_;
  const auto kept_tail_chars = limit_chars_ - cap_notice_chars_max - head_limit_chars_;
  const auto left_out = seen_chars_ - head_chars_ - kept_tail_chars;
  auto out = head_ + "\n[... " + std::to_string(left_out) + " characters left out ...]\n";
  return out.append(tail_, prefix_bytes(tail_, tail_chars_ - kept_tail_chars), std::string::npos);
}

std::string cap_output(std::string_view text, std::int64_t limit_chars) {
  output_collector collector(limit_chars);
  collector.append(text);
  return collector.text();
}

} // namespace rind::tools
