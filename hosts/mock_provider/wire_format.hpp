// What a wire format is to the mock provider: how it reads a request, how it says an answer, how it
// says an error. The server routes by path and render.hpp does what is common; neither knows a
// format. These are the provider's side of the wire: they share nothing with the host's codecs, so
// that each side checks the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/script.hpp"
#include "hosts/mock_provider/spoken_answer.hpp"

namespace rind::hosts::mock_provider {

/// Names in lower case.
using header_list = std::vector<std::pair<std::string, std::string>>;

/// A request as it came.
struct arrived_request {
  std::string_view body;
  const header_list& headers;
  std::string conversation;
};

/// Why a provider refuses, before a format puts it into its own words. `code` and `param` are the
/// format's own; empty: none, or what the format has for the status.
struct provider_fault {
  int status = 400;
  std::string message;
  std::string code;
  std::string param;
};

using request_reading = std::variant<mock_request, provider_fault>;

/// A prompt that does not fit. All in tokens.
struct oversize {
  std::int64_t prompt = 0;
  std::int64_t output = 0; ///< the output limit of the request, where it counts
  std::int64_t limit = 0;
  bool with_output = false; ///< `limit` holds for prompt and output together
};

/// The frames of one stream. A frame is the bytes of one step of the answer, which is the same step
/// in every format: the head, a piece of reasoning, a piece of text, the start of a call, a piece
/// of its arguments; only the steps of the end are each format's own.
struct stream_frames {
  std::vector<std::string> start; ///< to the last piece of text, whose block is still open
  std::vector<std::string> rest;
};

class wire_format {
public:
  wire_format() = default;
  wire_format(const wire_format&) = delete;
  wire_format& operator=(const wire_format&) = delete;
  virtual ~wire_format() = default;

  /// Where requests are posted.
  virtual std::string_view path() const = 0;

  /// Reads a request and holds it against the rules of the format, as strictly as its strictest
  /// server and no more.
  virtual request_reading read(arrived_request arrived) const = 0;

  virtual stream_frames frames(const spoken_answer& said) const = 0;

  /// The body of an answer that is no stream.
  virtual nlohmann::ordered_json whole(const spoken_answer& said) const = 0;

  /// What is sent to keep a silent stream alive.
  virtual std::string keep_alive_frame() const = 0;

  /// The error without its envelope, as a stream or a body carries it.
  virtual nlohmann::ordered_json error_value(const provider_fault& fault) const = 0;

  /// A body with such an error.
  virtual nlohmann::ordered_json error_body(nlohmann::ordered_json error) const = 0;

  virtual provider_fault overflow(const oversize& size) const = 0;
};

/// All formats; the first is the one in which errors of no format are told.
std::span<const wire_format* const> wire_formats();

/// Null where no format has the path.
const wire_format* format_at(std::string_view path);

} // namespace rind::hosts::mock_provider
