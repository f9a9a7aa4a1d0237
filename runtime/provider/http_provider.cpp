// The exchange of one request over the HTTP port.
#include "runtime/provider/http_provider.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "runtime/provider/embedded_text.hpp"
#include "runtime/provider/response_reader.hpp"

namespace rind::provider {

namespace {

/// Ids of transfers are unique in the process, because providers share a transport.
http_request_id next_transfer_id() {
  static std::atomic<http_request_id> last{0};
  return ++last;
}

/// A shorter key is none that has to be kept, and is found inside of words; so is a shorter piece.
constexpr std::size_t blotted_key_bytes_min = 8;

/// The text without the key, and without a piece that the key begins with: words are shortened
/// before they come here, and codes are in lower case.
std::string blotted(std::string_view text, std::string_view key) {
  constexpr std::string_view blot = "[key]";
  if (key.size() < blotted_key_bytes_min)
    return std::string{text};
  const auto low_text = lowered(text);
  const auto low_key = lowered(key);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = std::string_view{low_text}.substr(at);
    const auto differ = std::mismatch(rest.begin(), rest.end(), low_key.begin(), low_key.end());
    const auto found = static_cast<std::size_t>(differ.first - rest.begin());
    if (found >= blotted_key_bytes_min) {
      out += blot;
      at += found;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::int64_t or_else(std::int64_t value, std::int64_t fallback) {
  return value > 0 ? value : fallback;
}

} // namespace

/// Requests on their way, by request id.
struct http_provider::running_exchanges {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<exchange>> by_id;
};

/// One request. The transport calls it from one thread at a time; only `cancelled_` is touched by
/// others. Once the sink has heard the end, nothing more reaches it, whatever the transfer still
/// brings.
class http_provider::exchange final : public http_handler {
public:
  exchange(http_request_id id, sampling_request request, sampling_sink sink,
           std::shared_ptr<const config::provider_settings> settings,
           std::shared_ptr<const wire_codec> codec, std::shared_ptr<running_exchanges> running)
      : id_(id),
        request_(std::move(request)),
        sink_(std::move(sink)),
        settings_(std::move(settings)),
        codec_(std::move(codec)),
        running_(std::move(running)),
        reader_(*codec_, request_, sent()) {}

  http_request_id id() const { return id_; }
  void mark_cancelled() { cancelled_ = true; }
  bool is_cancelled() const { return cancelled_; }

  void on_head(int status, const std::vector<http_header>& headers) noexcept override {
    reader_.on_head(status, headers);
  }

  body_progress on_body(std::string_view bytes) noexcept override {
    if (ended_)
      return body_progress::keep_alive;
    if (cancelled_) {
      end(sampling_cancelled{});
      return body_progress::stop;
    }
    auto progress = reader_.on_body(bytes);
    tell(std::move(progress.delta));
    if (progress.is_over) {
      const auto failed = reader_.has_failed();
      end_with_reader({});
      return failed ? body_progress::stop : body_progress::data;
    }
    return progress.has_data ? body_progress::data : body_progress::keep_alive;
  }

  void on_end(const http_result& result) noexcept override {
    if (ended_)
      return;
    if (cancelled_ || result.error == http_error::cancelled)
      end(sampling_cancelled{});
    else
      end_with_reader(result);
  }

private:
  sent_facts sent() const {
    return {settings_->name + " " + settings_->base_url, request_.estimated_tokens,
            request_.window_tokens, request_.output_limit_tokens};
  }

  void tell(sampling_delta delta) {
    if (!delta.text.empty() || !delta.reasoning.empty())
      sink_.on_delta(std::move(delta));
  }

  void end_with_reader(const http_result& result) {
    sampling_delta delta;
    auto outcome = reader_.finish(result, delta);
    tell(std::move(delta));
    if (auto* error = std::get_if<provider_error>(&outcome)) {
      error->message = blotted(error->message, settings_->api_key.reveal());
      error->code = blotted(error->code, settings_->api_key.reveal());
    }
    end(std::move(outcome));
  }

  void end(sampling_outcome outcome) {
    ended_ = true;
    if (const auto running = running_.lock()) {
      const std::lock_guard lock{running->mutex};
      const auto found = running->by_id.find(request_.request_id);
      if (found != running->by_id.end() && found->second.get() == this)
        running->by_id.erase(found);
    }
    const auto sink = std::move(sink_);
    sink.on_end(std::move(outcome));
  }

  const http_request_id id_;
  const sampling_request request_;
  sampling_sink sink_;
  const std::shared_ptr<const config::provider_settings> settings_;
  const std::shared_ptr<const wire_codec> codec_;
  const std::weak_ptr<running_exchanges> running_; // weak: the provider may be gone
  response_reader reader_;
  bool ended_ = false;
  std::atomic<bool> cancelled_{false};
};

http_provider::http_provider(config::provider_settings settings, model_codecs codecs,
                             http_transport& transport)
    : settings_(std::make_shared<const config::provider_settings>(std::move(settings))),
      codecs_(std::move(codecs)),
      transport_(transport),
      running_(std::make_shared<running_exchanges>()) {}

http_provider::http_provider(config::provider_settings settings,
                             std::shared_ptr<const wire_codec> codec, http_transport& transport)
    : http_provider(std::move(settings), model_codecs{std::move(codec)}, transport) {}

http_provider::~http_provider() = default;

void http_provider::start(sampling_request request, sampling_sink sink) {
  const auto codec = codecs_.of(request.model);
  auto body = std::make_shared<const std::string>(codec->request_body(request));
  const auto bytes = static_cast<std::int64_t>(body->size());
  const auto limit_bytes = or_else(request.byte_limit, settings_->request_limit_bytes);
  if (limit_bytes > 0 && bytes > limit_bytes) {
    provider_error error;
    error.error_class = provider_error_class::request_too_large;
    error.code = "request_too_large";
    error.message = "the request has " + std::to_string(bytes) + " bytes, the provider takes " +
                    std::to_string(limit_bytes);
    error.bytes = bytes;
    error.limit_bytes = limit_bytes;
    error.sent = false;
    sink.on_end(std::move(error));
    return;
  }
  auto http = make_request(request, *codec, std::move(body));
  const auto request_id = request.request_id;
  auto handler = std::make_shared<exchange>(http.id, std::move(request), std::move(sink), settings_,
                                            codec, running_);
  {
    const std::lock_guard lock{running_->mutex};
    running_->by_id.insert_or_assign(request_id, handler);
  }
  transport_.start(std::move(http), handler);
  if (handler->is_cancelled()) // between the two: the transport did not know it yet
    transport_.cancel(handler->id());
}

void http_provider::cancel(const std::string& request_id) {
  std::shared_ptr<exchange> handler;
  {
    const std::lock_guard lock{running_->mutex};
    const auto found = running_->by_id.find(request_id);
    if (found == running_->by_id.end())
      return;
    handler = found->second;
  }
  handler->mark_cancelled();
  transport_.cancel(handler->id());
}

http_request http_provider::make_request(const sampling_request& request, const wire_codec& codec,
                                         std::shared_ptr<const std::string> body) const {
  http_request http;
  http.id = next_transfer_id();
  http.url = settings_->base_url;
  while (!http.url.empty() && http.url.back() == '/')
    http.url.pop_back();
  http.url += codec.path();
  http.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
  for (auto& header : codec.fixed_headers())
    http.headers.push_back(std::move(header));
  if (!settings_->api_key.empty()) {
    const auto auth = codec.auth();
    http.headers.push_back({auth.name, auth.prefix + settings_->api_key.reveal()});
  }
  if (!request.session_id.empty())
    http.headers.push_back({"X-Rind-Session", request.session_id});
  http.body = std::move(body);
  const auto silence_ms = request.silence_deadline_ms;
  http.timeouts.connect_ms = settings_->connect_timeout_ms;
  http.timeouts.first_byte_ms = or_else(silence_ms, settings_->first_byte_timeout_ms);
  http.timeouts.idle_ms = or_else(silence_ms, settings_->idle_timeout_ms);
  http.timeouts.first_data_ms = http.timeouts.idle_ms;
  http.timeouts.data_idle_ms = http.timeouts.idle_ms;
  http.timeouts.total_ms = or_else(request.total_deadline_ms, settings_->total_timeout_ms);
  if (!settings_->proxy.empty())
    http.proxy = settings_->proxy;
  http.ca_file = settings_->ca_file;
  return http;
}

} // namespace rind::provider
