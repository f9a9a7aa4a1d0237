// What the provider of a recording would have counted for requests that it never saw: its reported
// prompt sizes, shared out among the messages. Independent of the estimator, so that an estimate is
// not measured against itself. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hosts/replay/recording.hpp"

namespace rind::hosts::replay {

class true_sizes {
public:
  explicit true_sizes(const recording& r);

  /// Tokens of system messages and tool schemas: what the first known prompt holds beyond its
  /// messages, those taken at 4 bytes a token.
  std::int64_t fixed_tokens() const { return fixed_tokens_; }
  /// Tokens a byte over all known intervals; for what was never counted: handoffs, notes,
  /// summaries.
  double tokens_per_byte() const { return tokens_per_byte_; }
  /// Tokens of a recorded message.
  double tokens_of(std::size_t index) const { return tokens_[index]; }

  /// Tokens of a conversation request: the fixed part, and each message as recorded. A shortened
  /// body counts its share; what is not of the recording counts by its bytes. `played` is one past
  /// the newest message of the recording that was played: it decides between messages that say the
  /// same.
  std::int64_t request_tokens(const std::vector<message_ptr>& messages, std::size_t played) const;
  /// Tokens of a request that has nothing of the recording in it word for word.
  std::int64_t foreign_tokens(const std::vector<message_ptr>& messages) const;

private:
  void count_before(std::size_t first_known);
  void count_between(std::size_t from, std::size_t to);
  void share(std::size_t from, std::size_t to, std::int64_t tokens);

  const recording& recording_;
  std::vector<double> tokens_;
  std::vector<bool> known_;
  std::int64_t fixed_tokens_ = 0;
  double tokens_per_byte_ = 0;
  std::int64_t known_tokens_ = 0;
  std::int64_t known_bytes_ = 0;
  std::map<std::string, std::vector<std::size_t>>
      places_; // ascending, by what identifies a message
};

} // namespace rind::hosts::replay
