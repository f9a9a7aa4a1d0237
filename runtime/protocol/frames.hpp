// Lines in, requests out: framing of the session protocol for one connection. What a request means
// stands in requests.hpp. Nothing here throws or recurses over what a client sent (S40).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "messages/result.hpp"

namespace rind::protocol {

/// Bytes of a request line, without its newline.
inline constexpr std::size_t request_line_limit_bytes = std::size_t{8} * 1024 * 1024;
/// Characters of a request id that is a string.
inline constexpr std::int64_t request_id_limit_characters = 256;

/// Cuts a stream of bytes into lines. Of a line over the limit nothing is kept: it is reported
/// once, as soon as it is known, and skipped to its newline. Holds at most the limit and what was
/// pushed since next() last answered nothing.
class line_splitter {
public:
  struct line {
    std::string text; // without the newline; empty where too_long
    bool too_long = false;
  };

  explicit line_splitter(std::size_t limit_bytes = request_line_limit_bytes);

  void push(std::string_view bytes);
  /// The next line, or nothing until more is pushed.
  std::optional<line> next();
  /// At the end of the stream: what stands after the last newline, if anything does.
  std::optional<line> rest();

private:
  void forget_consumed();

  std::size_t limit_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;   // of the line that is being read
  std::size_t scanned_ = 0; // no newline stands between start_ and here
  bool skipping_ = false;   // up to the newline of a line that was reported
};

/// A request whose envelope is right. `request_id` is a non-empty string or a number that reads
/// back as it was written.
struct request {
  nlohmann::json request_id;
  std::string method;
  nlohmann::json params; // an object
};

/// A line that is no request, and the id to answer it with (null where none could be read).
struct refused_line {
  nlohmann::json request_id;
  failure error;
};

/// ParseError for what is no JSON in UTF-8, InvalidRequest for all else that is wrong.
std::variant<request, refused_line> read_request(std::string_view line);

/// The answer to a line over the limit.
refused_line too_long_line(std::size_t limit_bytes = request_line_limit_bytes);

} // namespace rind::protocol
