// What a wire format is to the HTTP provider: a request body out, an answer in. Pure; one
// implementation a format.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "messages/sampling.hpp"
#include "runtime/provider/http_port.hpp"
#include "runtime/provider/sse_parser.hpp"

namespace rind::provider {

// Bounds on one answer; what passes them ends as an error (code answer_too_large).
inline constexpr std::size_t answer_text_bytes_max = 16u << 20;      // text and reasoning together
inline constexpr std::size_t answer_arguments_bytes_max = 16u << 20; // of all calls together
inline constexpr std::size_t answer_calls_max = 256;
inline constexpr std::size_t answer_parts_max = 1'024;      // blocks, items, pieces of reasoning
inline constexpr std::size_t answer_name_bytes_max = 1'024; // of a tool's name or a call's id

/// What was sent, as far as an answer or an error is judged by it. Tokens; 0: unknown.
struct sent_facts {
  std::string provider; // its name or URL: a few servers have habits of their own
  std::int64_t estimated_tokens = 0;
  std::int64_t window_tokens = 0;
  std::int64_t output_limit_tokens = 0;
};

/// Status and headers of a response.
struct response_head {
  int status = 0;
  std::vector<http_header> headers; // names in lower case
};

/// Reads one answer. Not judged beyond the format: an empty text or a cut answer arrives as such.
class wire_decoder {
public:
  virtual ~wire_decoder() = default;

  /// Takes the next event of a stream; what it brings for the reader is appended to `delta`.
  virtual void take(const sse_event& event, sampling_delta& delta) = 0;

  /// Takes a whole body instead of a stream: the server did not stream.
  virtual void take_whole(const nlohmann::json& body, sampling_delta& delta) = 0;

  /// An error has come, or a bound was passed: nothing that may follow changes the outcome.
  virtual bool has_failed() const = 0;

  /// The provider has said how the answer ended; usage may still follow.
  virtual bool has_finish() const = 0;

  /// The answer is complete: nothing has to follow.
  virtual bool is_complete() const = 0;

  /// The outcome when nothing more comes: an answer if its finish was seen, else an error
  /// (stream_interrupted where nothing else is known). Call it once.
  virtual sampling_outcome finish() = 0;

  /// Usage so far.
  virtual token_usage usage() const = 0;
};

/// The header that carries the key: `prefix` stands before it. Codecs never see the key itself.
struct key_header {
  std::string name = "Authorization";
  std::string prefix = "Bearer ";
};

class wire_codec {
public:
  virtual ~wire_codec() = default;

  /// Below the base URL, with a leading slash.
  virtual std::string path() const = 0;

  /// How the key travels, where there is one.
  virtual key_header auth() const { return {}; }

  /// Headers of every request beside the key and the content types.
  virtual std::vector<http_header> fixed_headers() const { return {}; }

  /// The body of the request, in JSON.
  virtual std::string request_body(const sampling_request& request) const = 0;

  virtual std::unique_ptr<wire_decoder> make_decoder(const sampling_request& request,
                                                     response_head head, sent_facts sent) const = 0;
};

} // namespace rind::provider
