// Turns one HTTP response into deltas and one outcome: status, headers and bytes in, values out.
// Pure; the HTTP provider feeds it on the transport's thread. It decides between a stream, a whole
// body and a failure; formats stand in their decoders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messages/sampling.hpp"
#include "runtime/provider/http_port.hpp"
#include "runtime/provider/sse_parser.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// A body that is no stream is read up to this length, in bytes: an answer, and an error.
inline constexpr std::size_t whole_body_bytes_max = 32u << 20;
inline constexpr std::size_t error_body_bytes_max = 256u << 10;

/// What a piece of the body brought.
struct read_progress {
  sampling_delta delta;  // merged
  bool has_data = false; // more than signs of life
  bool is_over = false;  // nothing that follows matters: call finish
};

class response_reader {
public:
  response_reader(const wire_codec& codec, const sampling_request& request, sent_facts sent);

  void on_head(int status, const std::vector<http_header>& headers);
  read_progress on_body(std::string_view bytes);

  /// The outcome once the transfer has ended, with `http_error::none` or an error, or once a piece
  /// was over. Call it once.
  sampling_outcome finish(const http_result& end, sampling_delta& delta);

  /// An error event or a flood ended it early: the connection is of no more use.
  bool has_failed() const;

private:
  enum class form : std::uint8_t { unknown, stream, whole, failure };

  void choose_form(std::string_view bytes);
  void feed_stream(std::string_view bytes, read_progress& progress);
  sampling_outcome finish_whole(sampling_delta& delta);
  provider_error failed(const http_result& end) const;

  const wire_codec& codec_;
  const sampling_request& request_;
  sent_facts sent_;
  response_head head_;
  form form_ = form::unknown;
  sse_parser parser_;
  std::unique_ptr<wire_decoder> decoder_;
  std::string body_; // whole and failure; the start of a form that is still unknown
  std::optional<provider_error> error_;
};

/// The class of a transfer that failed. Connections that cannot be made are server_error (code
/// connect_failed, proxy, tls): another try may succeed; nothing was sent then. Deadlines are
/// timeout, broken transfers stream_interrupted.
provider_error transport_error(const http_result& end);

} // namespace rind::provider
