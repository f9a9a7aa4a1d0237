// A reply of the mock provider as bytes and waits: what the server plays on a connection without
// knowing what it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rind::hosts::mock_provider {

struct reply_chunk {
  std::int64_t delay_ms = 0; ///< before it is sent
  std::string bytes;
  std::string gate; ///< that has to be open before it is sent; empty: none
};

/// What follows the last chunk.
enum class reply_end {
  complete, ///< the body ends as HTTP wants it
  close,    ///< the connection is closed in the middle of the body
  reset,    ///< the connection is reset
  silence,  ///< nothing, until the client goes
  repeat,   ///< the last chunk again and again, until the client goes
};

struct mock_reply {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  /// Before the head.
  std::int64_t delay_ms = 0;
  /// Not even a head: the request is read, and then nothing comes.
  bool silent = false;
  /// A stream has a chunked body; any other a body of known length.
  bool stream = false;
  /// Announced length of a body that is no stream, in bytes; a cut reply sends less.
  std::size_t length_bytes = 0;
  std::vector<reply_chunk> chunks;
  reply_end end = reply_end::complete;
};

/// The status line and the headers, to the empty line.
std::string head_of(const mock_reply& reply);

/// ASCII letters in lower case.
std::string lower(std::string text);

} // namespace rind::hosts::mock_provider
