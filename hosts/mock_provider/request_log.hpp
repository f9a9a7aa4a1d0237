// The requests that arrived, for inspection, and the counts that a test waits for. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/mock_server.hpp"

namespace rind::hosts::mock_provider {

/// The value of a header that is kept: "(present)" in place of what may be a key. `name` in lower
/// case.
std::string kept_value(const std::string& name, const std::string& value);

class request_log {
public:
  /// Gives it its number; drops the oldest over the bounds.
  void keep(recorded_request record);

  std::vector<recorded_request> requests() const;
  std::uint64_t request_count() const;
  std::size_t open_connections() const;

  bool wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const;
  bool wait_for_connections(std::size_t count, std::int64_t timeout_ms) const;

  /// {"total", "requests": [...]}, as docs/mock-provider.md describes it.
  nlohmann::ordered_json list() const;

  /// Counts a connection while it lives.
  class open_connection {
  public:
    explicit open_connection(request_log& log) : log_(log) { log_.change_connections(true); }
    open_connection(const open_connection&) = delete;
    open_connection& operator=(const open_connection&) = delete;
    ~open_connection() { log_.change_connections(false); }

  private:
    request_log& log_;
  };

private:
  void change_connections(bool one_more);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<recorded_request> records_;
  std::size_t record_bytes_ = 0;
  std::uint64_t arrived_ = 0;
  std::size_t connections_ = 0;
};

} // namespace rind::hosts::mock_provider
