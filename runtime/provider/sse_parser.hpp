// Splits a byte stream of server-sent events into events, incrementally and without any I/O.
// It knows nothing of JSON, of providers or of the end of an answer: codecs read its events.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rind::provider {

/// Default bound on one line of a stream, in bytes. The largest honest line is the closing event
/// of a format that repeats the whole answer in it.
inline constexpr std::size_t sse_line_bytes_max = 8u << 20;

/// Default bound on the joined data of one event, in bytes.
inline constexpr std::size_t sse_event_bytes_max = 16u << 20;

struct sse_limits {
  std::size_t line_bytes = sse_line_bytes_max;
  std::size_t event_bytes = sse_event_bytes_max;
};

enum class sse_event_kind {
  message,     ///< an ordinary event, made of its `data` lines
  error_field, ///< one `error:` line: not in the standard, but some servers report failures so
};

const char* to_string(sse_event_kind kind) noexcept;

struct sse_event {
  sse_event_kind kind = sse_event_kind::message;
  /// The value of the `event` field; empty if there was none. Always empty for `error_field`.
  std::string type;
  /// All `data` lines joined by LF, as bytes: the parser does not check UTF-8.
  std::string data;

  friend bool operator==(const sse_event&, const sse_event&) = default;
};

enum class sse_error {
  line_too_long,  ///< a line passed `sse_limits::line_bytes`
  event_too_long, ///< the data of an event passed `sse_limits::event_bytes`
};

const char* to_string(sse_error error) noexcept;

/// What one piece of the stream brought.
struct sse_batch {
  std::vector<sse_event> events;
  /// Whether the piece held anything but comments and empty lines. A stream that only stays
  /// alive brings batches without data.
  bool has_data = false;
  /// Set once a bound is broken. It stays: the parser takes nothing more. The events of the same
  /// batch were complete before and are good.
  std::optional<sse_error> error;
};

/// What was left when the stream ended.
struct sse_tail {
  /// An event had begun and was not closed by an empty line. The standard drops it, and so does
  /// the parser; the caller should take the stream for interrupted.
  bool unterminated = false;
  /// How many bytes of lines and data were dropped with it.
  std::size_t dropped_bytes = 0;
};

/// Lines end in LF, CRLF or CR, in any mixture. A byte order mark at the start and comments are
/// skipped, `id` and `retry` are ignored: no provider resumes a stream. The split of the stream
/// into pieces never changes the events. One object parses one stream.
class sse_parser {
public:
  explicit sse_parser(sse_limits limits = {});

  /// Takes the next bytes of the stream.
  sse_batch feed(std::string_view bytes);

  /// Ends the stream. Call it once; `feed` must not follow.
  sse_tail finish();

private:
  bool take_line(std::string_view line, sse_batch& batch);
  bool take_field(std::string_view name, std::string_view value, sse_batch& batch);
  bool append_data(std::string_view value, sse_batch& batch);
  void dispatch(sse_batch& batch);
  bool fail(sse_error error, sse_batch& batch);

  sse_limits limits_;
  std::string partial_line_; // the bytes of a line whose end has not come yet
  std::string type_;
  std::string data_;
  bool in_event_ = false;       // a `data` line of the current event was seen
  bool first_line_ = true;      // a byte order mark may still come
  bool skip_line_feed_ = false; // the last byte was CR: an LF that follows belongs to it
  std::optional<sse_error> error_;
};

} // namespace rind::provider
