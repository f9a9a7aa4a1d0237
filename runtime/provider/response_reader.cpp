// Reading of one response.
#include "runtime/provider/response_reader.hpp"

#include <algorithm>
#include <array>

#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct transport_row {
  http_error error;
  provider_error_class error_class;
  bool sent;
};

constexpr std::array<transport_row, 16> transport_table{{
    {http_error::invalid_request, provider_error_class::invalid_request, false},
    {http_error::overloaded, provider_error_class::overloaded, false},
    {http_error::connect_failed, provider_error_class::server_error, false},
    {http_error::proxy, provider_error_class::server_error, false},
    {http_error::tls, provider_error_class::server_error, false},
    {http_error::timeout_connect, provider_error_class::timeout, false},
    {http_error::timeout_first_byte, provider_error_class::timeout, true},
    {http_error::timeout_idle, provider_error_class::timeout, true},
    {http_error::timeout_first_data, provider_error_class::timeout, true},
    {http_error::timeout_data_idle, provider_error_class::timeout, true},
    {http_error::timeout_total, provider_error_class::timeout, true},
    {http_error::partial, provider_error_class::stream_interrupted, true},
    {http_error::protocol, provider_error_class::server_error, true},
    {http_error::too_large, provider_error_class::server_error, true},
    {http_error::stopped_by_handler, provider_error_class::stream_interrupted, true},
    {http_error::internal, provider_error_class::server_error, true},
}};

bool is_success(int status) {
  return status >= 200 && status < 300;
}

provider_error plain_error(provider_error_class error_class, std::string code, std::string message,
                           int status) {
  provider_error error;
  error.error_class = error_class;
  error.code = std::move(code);
  error.message = std::move(message);
  error.status = status;
  return error;
}

/// The last line of a body of JSON lines that holds an error, or "".
std::string_view failed_line(std::string_view body) {
  while (!body.empty()) {
    const auto begin = body.find_last_of('\n');
    const auto line = begin == std::string_view::npos ? body : body.substr(begin + 1);
    const auto value = parse_outside_json(line);
    if (value && value->is_object() && is_error_body(*value))
      return line;
    body = begin == std::string_view::npos ? std::string_view{} : body.substr(0, begin);
  }
  return {};
}

} // namespace

provider_error transport_error(const http_result& end) {
  auto error = plain_error(provider_error_class::server_error, to_string(end.error), end.text, 0);
  for (const auto& row : transport_table) {
    if (row.error != end.error)
      continue;
    error.error_class = row.error_class;
    error.sent = row.sent;
  }
  if (end.error == http_error::too_large)
    error.retry_same = false;
  return error;
}

response_reader::response_reader(const wire_codec& codec, const sampling_request& request,
                                 sent_facts sent)
    : codec_(codec), request_(request), sent_(std::move(sent)) {}

void response_reader::on_head(int status, const std::vector<http_header>& headers) {
  head_ = {status, headers};
  if (!is_success(status))
    form_ = form::failure;
}

/// The first byte tells more than the content type: servers answer errors and whole bodies under
/// any type.
void response_reader::choose_form(std::string_view bytes) {
  body_ += bytes;
  std::string_view text{body_};
  if (text.size() < byte_order_mark.size() && byte_order_mark.substr(0, text.size()) == text)
    return;
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark)
    text.remove_prefix(byte_order_mark.size());
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    if (body_.size() > error_body_bytes_max)
      form_ = form::stream; // nothing but blanks: the parser skips them
    return;
  }
  const auto c = text[first];
  form_ = c == '{' || c == '[' || c == '<' ? form::whole : form::stream;
}

read_progress response_reader::on_body(std::string_view bytes) {
  read_progress progress;
  if (form_ == form::unknown) {
    choose_form(bytes);
    if (form_ == form::stream) {
      decoder_ = codec_.make_decoder(request_, head_, sent_);
      const auto begin = std::move(body_);
      body_.clear();
      feed_stream(begin, progress);
    } else {
      progress.has_data = form_ == form::whole;
    }
  } else if (form_ == form::stream) {
    feed_stream(bytes, progress);
  } else {
    const auto bound = form_ == form::failure ? error_body_bytes_max : whole_body_bytes_max;
    progress.has_data = true;
    body_ += bytes.substr(0, bound - std::min(bound, body_.size()));
    progress.is_over = body_.size() >= bound;
  }
  return progress;
}

void response_reader::feed_stream(std::string_view bytes, read_progress& progress) {
  const auto batch = parser_.feed(bytes);
  for (const auto& event : batch.events)
    if (!decoder_->has_failed() && !decoder_->is_complete())
      decoder_->take(event, progress.delta);
  progress.has_data = batch.has_data;
  if (batch.error && !decoder_->has_failed()) {
    error_ = plain_error(provider_error_class::server_error, to_string(*batch.error),
                         "the provider's stream passed its bounds", head_.status);
    error_->retry_same = false;
    error_->usage = decoder_->usage();
  }
  progress.is_over = error_.has_value() || decoder_->has_failed() || decoder_->is_complete();
}

bool response_reader::has_failed() const {
  return error_.has_value() || form_ == form::failure || form_ == form::whole ||
         (decoder_ && decoder_->has_failed());
}

sampling_outcome response_reader::finish(const http_result& end, sampling_delta& delta) {
  if (error_)
    return std::move(*error_);
  const auto cut = end.error != http_error::none;
  if (decoder_ &&
      (decoder_->has_failed() || decoder_->is_complete() || decoder_->has_finish() || !cut))
    return decoder_->finish();
  if (form_ == form::failure && head_.status >= 400)
    return classify_error(head_, body_,
                          sent_); // also where its end is missing: the status is known
  if (cut)
    return failed(end);
  if (form_ == form::failure)
    return plain_error(provider_error_class::invalid_request, "redirected",
                       "the provider answered with status " + std::to_string(head_.status) +
                           "; redirects are not followed, check base_url",
                       head_.status);
  if (form_ == form::whole)
    return finish_whole(delta);
  return plain_error(provider_error_class::stream_interrupted, "stream_interrupted",
                     "the stream ended without an answer", head_.status);
}

provider_error response_reader::failed(const http_result& end) const {
  auto error = transport_error(end);
  error.status = head_.status;
  if (decoder_)
    error.usage = decoder_->usage();
  return error;
}

sampling_outcome response_reader::finish_whole(sampling_delta& delta) {
  if (const auto value = parse_outside_json(body_)) {
    decoder_ = codec_.make_decoder(request_, head_, sent_);
    decoder_->take_whole(*value, delta);
    return decoder_->finish();
  }
  if (const auto line = failed_line(body_); !line.empty())
    return classify_error(head_, line, sent_);
  const auto evidence = read_evidence(body_);
  if (evidence.is_html)
    return plain_error(provider_error_class::server_error, "unexpected_content",
                       "the provider answered with a page instead of an answer: " +
                           evidence.messages.front(),
                       head_.status);
  return plain_error(provider_error_class::stream_interrupted, "stream_interrupted",
                     "the answer is no complete JSON", head_.status);
}

} // namespace rind::provider
