// The SSE parser: bytes are cut into lines first, and only whole lines are looked at. That alone
// makes it indifferent to pieces that end inside a UTF-8 character or inside a CRLF.
#include "runtime/provider/sse_parser.hpp"

#include <utility>

namespace rind::provider {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Position of the first CR or LF, or npos. Two scans for one byte each are much faster than one
/// scan for either.
std::size_t line_end(std::string_view bytes) {
  const auto feed = bytes.find('\n');
  const auto carriage = bytes.substr(0, feed).find('\r');
  return carriage == std::string_view::npos ? feed : carriage;
}

/// Whether the start of a line shows that it is more than a comment or nothing.
bool carries_data(std::string_view line) {
  if (line.substr(0, byte_order_mark.size()) == byte_order_mark)
    line.remove_prefix(byte_order_mark.size());
  return !line.empty() && line.front() != ':';
}

} // namespace

const char* to_string(sse_event_kind kind) noexcept {
  switch (kind) {
  case sse_event_kind::message:
    return "message";
  case sse_event_kind::error_field:
    return "error_field";
  }
  return "unknown";
}

const char* to_string(sse_error error) noexcept {
  switch (error) {
  case sse_error::line_too_long:
    return "line_too_long";
  case sse_error::event_too_long:
    return "event_too_long";
  }
  return "unknown";
}

sse_parser::sse_parser(sse_limits limits) : limits_(limits) {}

sse_batch sse_parser::feed(std::string_view bytes) {
  sse_batch batch;
  batch.error = error_;
  while (!bytes.empty() && !error_) {
    // The second half of a CRLF may be the first byte of a new piece.
    if (std::exchange(skip_line_feed_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = line_end(bytes);
    const auto piece = bytes.substr(0, end);
    if (partial_line_.size() + piece.size() > limits_.line_bytes) {
      fail(sse_error::line_too_long, batch);
      break;
    }
    if (end == std::string_view::npos) {
      partial_line_.append(piece);
      batch.has_data = batch.has_data || carries_data(partial_line_);
      break;
    }
    skip_line_feed_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (partial_line_.empty()) {
      take_line(piece, batch);
    } else {
      partial_line_.append(piece);
      take_line(std::exchange(partial_line_, {}), batch);
    }
  }
  return batch;
}

sse_tail sse_parser::finish() {
  const auto dropped = partial_line_.size() + data_.size();
  const sse_tail tail{in_event_ || carries_data(partial_line_), dropped};
  partial_line_.clear();
  data_.clear();
  type_.clear();
  in_event_ = false;
  return tail;
}

bool sse_parser::take_line(std::string_view line, sse_batch& batch) {
  if (std::exchange(first_line_, false) && line.substr(0, 3) == byte_order_mark)
    line.remove_prefix(byte_order_mark.size());
  if (line.empty()) {
    dispatch(batch);
    return true;
  }
  const auto colon = line.find(':');
  if (colon == 0)
    return true;
  batch.has_data = true;
  auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ')
    value.remove_prefix(1);
  return take_field(line.substr(0, colon), value, batch);
}

bool sse_parser::take_field(std::string_view name, std::string_view value, sse_batch& batch) {
  if (name == "data")
    return append_data(value, batch);
  if (name == "event") {
    type_ = value;
  } else if (name == "error") {
    // Told at once: the same block may go on with data that looks like a good end.
    if (value.size() > limits_.event_bytes)
      return fail(sse_error::event_too_long, batch);
    batch.events.push_back({sse_event_kind::error_field, {}, std::string{value}});
  }
  return true;
}

bool sse_parser::append_data(std::string_view value, sse_batch& batch) {
  const std::size_t joint = in_event_ ? 1 : 0;
  if (data_.size() + joint + value.size() > limits_.event_bytes)
    return fail(sse_error::event_too_long, batch);
  if (in_event_)
    data_.push_back('\n');
  data_.append(value);
  in_event_ = true;
  return true;
}

void sse_parser::dispatch(sse_batch& batch) {
  if (std::exchange(in_event_, false))
    batch.events.push_back(
        {sse_event_kind::message, std::exchange(type_, {}), std::exchange(data_, {})});
  type_.clear();
}

bool sse_parser::fail(sse_error error, sse_batch& batch) {
  error_ = error;
  batch.error = error;
  partial_line_ = {};
  data_ = {};
  in_event_ = false;
  return false;
}

} // namespace rind::provider
