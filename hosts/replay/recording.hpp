// A recorded conversation as values: JSON lines in, messages out. How it is played stands in
// plan.hpp.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "messages/conversation.hpp"
#include "messages/result.hpp"

namespace rind::hosts::replay {

/// Bytes of one line of a recording.
inline constexpr std::size_t line_limit_bytes = 64 * 1024 * 1024;

/// One recorded message. `input_tokens` is what the provider counted for the whole prompt of the
/// sampling that an assistant message came from; absent where it is not known.
struct recorded_message {
  message msg;
  std::size_t line = 0; // in the file, from 1
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  bool ended_well = true; // assistant: false where it was aborted or ended in an error
};

/// Oldest first. Lines that tell of the recorded agent's own compactions are not in it.
using recording = std::vector<recorded_message>;

/// Reads JSON lines; empty lines are passed over. Fails with invalid_request, naming the line.
result<recording> read_recording(std::istream& in);
/// The same from a file.
result<recording> read_recording_file(const std::string& path);

/// Bytes of what a message says: text, reasoning, names and arguments of calls.
std::int64_t bytes_of(const message& m);

} // namespace rind::hosts::replay
