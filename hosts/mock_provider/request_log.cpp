// Records, their bounds, their JSON.
#include "hosts/mock_provider/request_log.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace rind::hosts::mock_provider {

namespace {

constexpr std::array<std::string_view, 3> secret_headers{"authorization", "proxy-authorization",
                                                         "x-api-key"};

nlohmann::json to_json(const recorded_request& record) {
  auto body = nlohmann::json::parse(record.body, nullptr, false);
  if (body.is_discarded())
    body = record.body;
  auto headers = nlohmann::json::object();
  for (const auto& [name, value] : record.headers)
    headers[name] = value;
  return {{"number", record.number},
          {"method", record.method},
          {"target", record.target},
          {"conversation", record.conversation},
          {"headers", headers},
          {"body", body},
          {"prompt_tokens", record.prompt_tokens},
          {"rule_line", record.rule_line}};
}

} // namespace

std::string kept_value(const std::string& name, const std::string& value) {
  const bool secret =
      std::find(secret_headers.begin(), secret_headers.end(), name) != secret_headers.end();
  return secret ? "(present)" : value;
}

void request_log::keep(recorded_request record) {
  const std::lock_guard lock{mutex_};
  record.number = ++arrived_;
  record_bytes_ += record.body.size();
  records_.push_back(std::move(record));
  while (records_.size() > kept_requests_max || record_bytes_ > kept_request_bytes_max) {
    record_bytes_ -= records_.front().body.size();
    records_.pop_front();
  }
  changed_.notify_all();
}

std::vector<recorded_request> request_log::requests() const {
  const std::lock_guard lock{mutex_};
  return {records_.begin(), records_.end()};
}

std::uint64_t request_log::request_count() const {
  const std::lock_guard lock{mutex_};
  return arrived_;
}

std::size_t request_log::open_connections() const {
  const std::lock_guard lock{mutex_};
  return connections_;
}

bool request_log::wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::milliseconds{timeout_ms},
                           [&] { return arrived_ >= count; });
}

bool request_log::wait_for_connections(std::size_t count, std::int64_t timeout_ms) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::milliseconds{timeout_ms},
                           [&] { return connections_ <= count; });
}

nlohmann::ordered_json request_log::list() const {
  auto list = nlohmann::json::array();
  for (const auto& record : requests())
    list.push_back(to_json(record));
  return {{"total", request_count()}, {"requests", std::move(list)}};
}

void request_log::change_connections(bool one_more) {
  const std::lock_guard lock{mutex_};
  one_more ? ++connections_ : --connections_;
  changed_.notify_all();
}

} // namespace rind::hosts::mock_provider
