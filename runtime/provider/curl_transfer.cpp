// Sets up, feeds and times one easy handle.
#include "runtime/provider/curl_transfer.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <utility>

namespace rind::provider {

namespace {

using std::chrono::milliseconds;

/// libcurl's own limit on connecting where the request sets none: its default of five minutes must
/// not end what was meant to have no limit.
constexpr long connect_without_limit_ms = 24L * 60 * 60 * 1000;

/// Bytes that curl buffers on the way up: the smallest that it allows, as there may be thousands
/// of uploads at once.
constexpr long upload_buffer_bytes = 16L << 10;

constexpr std::string_view secure_scheme = "https://";

bool is_token_byte(unsigned char byte) {
  return std::isalnum(byte) != 0 || std::strchr("!#$%&'*+-.^_`|~", byte) != nullptr;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c != '\0' && is_token_byte(static_cast<unsigned char>(c));
  });
}

bool is_header_value(std::string_view value) {
  return value.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// A limit of 0 never runs out.
transfer_time after(transfer_time start, std::int64_t limit_ms) {
  return limit_ms <= 0 ? transfer_time::max() : start + milliseconds{limit_ms};
}

http_result refusal(std::string text) {
  return {http_error::invalid_request, std::move(text)};
}

const char* limit_text(http_error error) {
  switch (error) {
  case http_error::timeout_connect:
    return "no connection within connect_ms";
  case http_error::timeout_first_byte:
    return "no answer within first_byte_ms";
  case http_error::timeout_idle:
    return "no byte within idle_ms";
  case http_error::timeout_first_data:
    return "no data within first_data_ms";
  case http_error::timeout_data_idle:
    return "no further data within data_idle_ms";
  default:
    return "not ended within total_ms";
  }
}

} // namespace

curl_transfer::curl_transfer(http_request request, std::shared_ptr<http_handler> handler,
                             transfer_time now)
    : request_(std::move(request)),
      handler_(std::move(handler)),
      easy_(curl_easy_init()),
      started_at_(now),
      last_sent_at_(now),
      last_byte_at_(now),
      last_data_at_(now) {}

curl_transfer::~curl_transfer() {
  if (easy_ != nullptr)
    curl_easy_cleanup(easy_);
  curl_slist_free_all(header_list_);
}

// -- setting up ----------------------------------------------------------------------------------

std::optional<http_result> curl_transfer::prepare() {
  if (easy_ == nullptr)
    return http_result{http_error::internal, "out of memory"};
  if (auto bad = check_url())
    return bad;
  if (auto bad = check_headers())
    return bad;
  set_request();
  set_trust();
  return std::nullopt;
}

std::optional<http_result> curl_transfer::check_url() const {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url{curl_url(), curl_url_cleanup};
  if (!url || curl_url_set(url.get(), CURLUPART_URL, request_.url.c_str(), 0) != CURLUE_OK)
    return refusal("malformed URL");
  char* scheme = nullptr;
  if (curl_url_get(url.get(), CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
    return refusal("URL without a scheme");
  const std::string found{scheme};
  curl_free(scheme);
  if (found != "http" && found != "https")
    return refusal("scheme '" + found + "' is not http or https");
  return std::nullopt;
}

std::optional<http_result> curl_transfer::check_headers() {
  // Without these two, curl adds an Expect that delays large bodies and a content type of its own.
  bool has_type = false;
  auto add = [this](const std::string& line) {
    auto* longer = curl_slist_append(header_list_, line.c_str());
    if (longer != nullptr)
      header_list_ = longer;
    return longer != nullptr;
  };
  bool added = add("Expect:");
  for (const auto& [name, value] : request_.headers) {
    // The value is not shown: it may be a key.
    if (!is_header_name(name) || !is_header_value(value))
      return refusal("header '" + (is_header_name(name) ? name : std::string{"?"}) +
                     "' holds a byte that a header cannot hold");
    has_type = has_type || lower(name) == "content-type";
    added = added && add(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!has_type)
    added = added && add("Content-Type:");
  if (!added)
    return http_result{http_error::internal, "out of memory"};
  return std::nullopt;
}

void curl_transfer::set_request() {
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // Else a transfer that ends while its name is being resolved makes the whole thread wait for the
  // resolver, and every other stream with it.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
#endif
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(
      easy_, CURLOPT_HTTP_VERSION,
      static_cast<long>(request_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Requests that start together wait for the handshake of the first, which says whether they can
  // share its connection. Without TLS it would be the first answer that says so.
  const bool may_share =
      request_.http2 && lower(request_.url.substr(0, secure_scheme.size())) == secure_scheme;
  curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, may_share ? 1L : 0L);
  const auto connect_ms = request_.timeouts.connect_ms;
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   connect_ms > 0 ? static_cast<long>(connect_ms) : connect_without_limit_ms);
  if (request_.proxy)
    curl_easy_setopt(easy_, CURLOPT_PROXY, request_.proxy->c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &curl_transfer::on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &curl_transfer::on_write);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  if (request_.method == http_method::get) {
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
    return;
  }
  const auto body_bytes = request_.body ? request_.body->size() : 0;
  curl_easy_setopt(easy_, CURLOPT_POST, 1L);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_bytes));
  curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer_bytes);
  curl_easy_setopt(easy_, CURLOPT_READFUNCTION, &curl_transfer::on_read);
  curl_easy_setopt(easy_, CURLOPT_READDATA, this);
  curl_easy_setopt(easy_, CURLOPT_SEEKFUNCTION, &curl_transfer::on_seek);
  curl_easy_setopt(easy_, CURLOPT_SEEKDATA, this);
}

void curl_transfer::set_trust() {
  const bool own = !request_.ca_file.empty();
  if (own)
    curl_easy_setopt(easy_, CURLOPT_CAINFO, request_.ca_file.c_str());
  // A folder of certificates beside the file would be trusted as well, and it keeps curl from
  // caching the parsed file, which then costs milliseconds at every connection.
  const auto* version = curl_version_info(CURLVERSION_NOW);
  if (own || version->cainfo != nullptr)
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
}

// -- clocks --------------------------------------------------------------------------------------

/// When the connection was there and the request could go out.
std::optional<transfer_time> curl_transfer::ready_at() const {
  curl_off_t us = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &us);
  if (us <= 0)
    return std::nullopt;
  return started_at_ + std::chrono::microseconds{us};
}

/// The limit that runs out first in the present phase, and when.
http_error curl_transfer::current_limit(transfer_time now, transfer_time& at) const {
  const auto& limits = request_.timeouts;
  auto first = http_error::timeout_total;
  at = after(started_at_, limits.total_ms);
  auto consider = [&](http_error error, transfer_time when) {
    if (when < at) {
      at = when;
      first = error;
    }
  };
  if (head_done_) {
    consider(http_error::timeout_idle, after(last_byte_at_, limits.idle_ms));
    if (data_seen_)
      consider(http_error::timeout_data_idle, after(last_data_at_, limits.data_idle_ms));
    else
      consider(http_error::timeout_first_data, after(last_data_at_, limits.first_data_ms));
  } else if (const auto ready = ready_at()) {
    consider(http_error::timeout_first_byte,
             after(std::max(*ready, std::min(last_sent_at_, now)), limits.first_byte_ms));
  } else {
    consider(http_error::timeout_connect, after(started_at_, limits.connect_ms));
  }
  return first;
}

std::optional<http_result> curl_transfer::expired(transfer_time now) const {
  transfer_time at;
  const auto limit = current_limit(now, at);
  if (now < at)
    return std::nullopt;
  return http_result{limit, limit_text(limit)};
}

transfer_time curl_transfer::next_look(transfer_time now) const {
  // A phase that begins after this look cannot run out before its limit has passed from now on.
  transfer_time at;
  current_limit(now, at);
  const auto& limits = request_.timeouts;
  for (const auto limit_ms :
       {limits.first_byte_ms, limits.idle_ms, limits.first_data_ms, limits.data_idle_ms})
    at = std::min(at, after(now, limit_ms));
  return at;
}

// -- ending --------------------------------------------------------------------------------------

http_error curl_transfer::mapped(CURLcode code) const {
  switch (code) {
  case CURLE_OK:
    return http_error::none;
  case CURLE_URL_MALFORMAT:
    return http_error::invalid_request;
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_CONNECT:
    return http_error::connect_failed;
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_PROXY:
    return http_error::proxy;
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_SSL_ENGINE_NOTFOUND:
  case CURLE_SSL_ENGINE_SETFAILED:
  case CURLE_SSL_ENGINE_INITFAILED:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_USE_SSL_FAILED:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_SHUTDOWN_FAILED:
  case CURLE_SSL_CRL_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
  case CURLE_SSL_INVALIDCERTSTATUS:
    return http_error::tls;
  case CURLE_PARTIAL_FILE:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_HTTP2:
  case CURLE_HTTP2_STREAM:
    return http_error::partial;
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_WEIRD_SERVER_REPLY:
  case CURLE_BAD_CONTENT_ENCODING:
    return http_error::protocol;
  case CURLE_OPERATION_TIMEDOUT:
    return ready_at() ? http_error::timeout_total : http_error::timeout_connect;
  // This is how curl says that a single header line passed its own bound.
  case CURLE_OUT_OF_MEMORY:
    return ready_at() && !head_done_ ? http_error::too_large : http_error::internal;
  default:
    return http_error::internal;
  }
}

http_result curl_transfer::result_of(CURLcode code) const {
  if (verdict_)
    return *verdict_;
  if (code == CURLE_OK && !head_done_) // curl takes a head that breaks off for a whole one
    return {http_error::partial, "the head of the response broke off"};
  http_result result{mapped(code), {}};
  if (code == CURLE_OK)
    return result;
  long connect_status = 0;
  curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &connect_status);
  if (connect_status >= 300)
    result.error = http_error::proxy;
  result.text = error_text_.front() != '\0' ? error_text_.data() : curl_easy_strerror(code);
  return result;
}

void curl_transfer::end(const http_result& result) {
  std::exchange(handler_, nullptr)->on_end(result);
}

// -- what comes in -------------------------------------------------------------------------------

bool curl_transfer::refuse(http_error error, std::string text) {
  verdict_ = http_result{error, std::move(text)};
  return false;
}

bool curl_transfer::take_header_line(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > request_.head_bytes_max)
    return refuse(http_error::too_large, "the head of the response passed its bound");
  if (head_done_) // a trailer
    return true;
  if (line.substr(0, 5) == "HTTP/") {
    headers_.clear();
    return true;
  }
  const auto content = trimmed(line);
  if (content.empty()) {
    take_status_end();
    return true;
  }
  const bool folded = line.front() == ' ' || line.front() == '\t';
  if (folded && !headers_.empty()) {
    headers_.back().value.append(" ").append(content);
    return true;
  }
  const auto colon = content.find(':');
  if (colon != std::string_view::npos)
    headers_.push_back({lower(trimmed(content.substr(0, colon))),
                        std::string{trimmed(content.substr(colon + 1))}});
  return true;
}

void curl_transfer::take_status_end() {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200 && status != 101)
    return;
  head_done_ = true;
  last_byte_at_ = last_data_at_ = std::chrono::steady_clock::now();
  handler_->on_head(static_cast<int>(status), headers_);
  headers_ = {};
}

bool curl_transfer::take_body(std::string_view bytes) {
  body_bytes_ += bytes.size();
  if (body_bytes_ > request_.body_bytes_max)
    return refuse(http_error::too_large, "the body of the response passed its bound");
  last_byte_at_ = std::chrono::steady_clock::now();
  switch (handler_->on_body(bytes)) {
  case body_progress::data:
    last_data_at_ = last_byte_at_;
    data_seen_ = true;
    return true;
  case body_progress::keep_alive:
    return true;
  case body_progress::stop:
    break;
  }
  return refuse(http_error::stopped_by_handler, "ended by its reader");
}

std::size_t curl_transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  const auto bytes = size * count;
  return static_cast<curl_transfer*>(self)->take_header_line({data, bytes}) ? bytes : 0;
}

std::size_t curl_transfer::on_write(char* data, std::size_t size, std::size_t count, void* self) {
  const auto bytes = size * count;
  if (bytes == 0)
    return 0;
  return static_cast<curl_transfer*>(self)->take_body({data, bytes}) ? bytes : 0;
}

std::size_t curl_transfer::on_read(char* data, std::size_t size, std::size_t count, void* self) {
  auto& me = *static_cast<curl_transfer*>(self);
  if (!me.request_.body)
    return 0;
  const auto& body = *me.request_.body;
  const auto bytes = std::min(size * count, body.size() - me.sent_bytes_);
  std::memcpy(data, body.data() + me.sent_bytes_, bytes);
  me.sent_bytes_ += bytes;
  me.last_sent_at_ = std::chrono::steady_clock::now();
  return bytes;
}

/// curl goes back to the start when a reused connection turns out to be dead.
int curl_transfer::on_seek(void* self, curl_off_t offset, int origin) {
  auto& me = *static_cast<curl_transfer*>(self);
  const auto size = me.request_.body ? me.request_.body->size() : 0;
  if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > size)
    return CURL_SEEKFUNC_FAIL;
  me.sent_bytes_ = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

} // namespace rind::provider
