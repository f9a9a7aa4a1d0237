// What is kept of a long tool output: its head and its tail, with the number of characters that
// were left out between. Works while the output arrives, in bounded memory. The text that comes out
// is valid UTF-8, whatever bytes went in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/tools/port.hpp"

namespace rind::tools {

inline constexpr std::int64_t cap_notice_chars_max = 64; // the sentence between head and tail
inline constexpr std::int64_t cap_limit_chars_min = 2 * cap_notice_chars_max;

/// Collects output in any pieces, cut inside of characters too. Holds at most about 8 bytes for
/// each character of its limit.
class output_collector {
public:
  /// `limit_chars` bounds the text that `text` gives, the notice included; a smaller one than
  /// cap_limit_chars_min counts as that.
  explicit output_collector(std::int64_t limit_chars = output_limit_chars);

  void append(std::string_view bytes);

  /// What was appended: whole if it has at most the limit's characters, else head, notice and tail.
  /// Invalid bytes are U+FFFD.
  std::string text() const;

  /// Characters appended so far; a character that is still incomplete does not count.
  std::int64_t characters() const { return seen_chars_; }

private:
  void keep(std::string_view valid);
  void trim_tail();

  std::int64_t limit_chars_;
  std::int64_t head_limit_chars_;
  std::int64_t seen_chars_ = 0;
  std::int64_t head_chars_ = 0;
  std::int64_t tail_chars_ = 0;
  std::string head_;
  std::string tail_;    // the newest characters after the head, at least limit - head of them where
                        // there were that many
  std::string pending_; // the first bytes of a character whose rest has not come, at most 3
};

/// `text` by the rules of output_collector. A text that was capped once stays as it is under the
/// same limit.
std::string cap_output(std::string_view text, std::int64_t limit_chars = output_limit_chars);

} // namespace rind::tools
