// One request on libcurl: its easy handle, its callbacks, its clocks and the meaning of curl's
// codes. It belongs to the transport's thread and knows nothing of queues and of other transfers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

#include "runtime/provider/http_port.hpp"

namespace rind::provider {

using transfer_time = std::chrono::steady_clock::time_point;

/// Not copied and not moved: libcurl holds its address.
class curl_transfer {
public:
  curl_transfer(http_request request, std::shared_ptr<http_handler> handler, transfer_time now);
  curl_transfer(const curl_transfer&) = delete;
  curl_transfer& operator=(const curl_transfer&) = delete;
  /// The handle must have left its multi handle by now.
  ~curl_transfer();

  /// Checks the request and sets the handle up; says why the request cannot be sent.
  std::optional<http_result> prepare();

  CURL* handle() const { return easy_; }

  http_request_id id() const { return request_.id; }

  /// The limit that has run out by `now`, if one has.
  std::optional<http_result> expired(transfer_time now) const;

  /// When `expired` has to be asked again at the latest; `transfer_time::max()` without limits.
  transfer_time next_look(transfer_time now) const;

  /// What the code that curl ended with means for this request.
  http_result result_of(CURLcode code) const;

  /// Hands the result to the handler and lets go of it.
  void end(const http_result& result);

private:
  std::optional<http_result> check_headers();
  std::optional<http_result> check_url() const;
  void set_request();
  void set_trust();

  std::optional<transfer_time> ready_at() const;
  http_error mapped(CURLcode code) const;
  http_error current_limit(transfer_time now, transfer_time& at) const;

  bool take_header_line(std::string_view line);
  void take_status_end();
  bool take_body(std::string_view bytes);
  bool refuse(http_error error, std::string text);

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_read(char* data, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);

  http_request request_;
  std::shared_ptr<http_handler> handler_;
  CURL* easy_;
  curl_slist* header_list_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};

  std::size_t sent_bytes_ = 0;
  std::size_t head_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  std::vector<http_header> headers_; // of the head that is coming in
  bool head_done_ = false;
  bool data_seen_ = false;
  std::optional<http_result> verdict_; // why a callback broke the transfer off

  transfer_time started_at_;
  transfer_time last_sent_at_;
  transfer_time last_byte_at_;
  transfer_time last_data_at_;
};

} // namespace rind::provider
