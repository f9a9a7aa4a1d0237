// What tests of the HTTP port start requests with, and what they hear of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/provider/http_port.hpp"

namespace rind::test {

using provider::body_progress;
using provider::http_error;
using provider::http_handler;
using provider::http_header;
using provider::http_result;

/// How long a test waits for what must happen before it fails.
inline constexpr std::int64_t patience_ms = 60'000;

/// Keeps what a transport told, and lets a test wait for it.
class recorder : public http_handler {
public:
  using body_hook = std::function<body_progress(std::string_view)>;

  explicit recorder(body_hook hook = {}) : hook_(std::move(hook)) {}

  void on_head(int status, const std::vector<http_header>& headers) noexcept override {
    const std::lock_guard lock{mutex_};
    EXPECT_EQ(ends_, 0);
    EXPECT_EQ(heads_++, 0);
    status_ = status;
    headers_ = headers;
    changed_.notify_all();
  }

  body_progress on_body(std::string_view bytes) noexcept override {
    {
      const std::lock_guard lock{mutex_};
      EXPECT_EQ(ends_, 0);
      EXPECT_EQ(heads_, 1);
      body_.append(bytes);
      changed_.notify_all();
    }
    return hook_ ? hook_(bytes) : body_progress::data;
  }

  void on_end(const http_result& result) noexcept override {
    const std::lock_guard lock{mutex_};
    EXPECT_EQ(ends_++, 0);
    result_ = result;
    changed_.notify_all();
  }

  http_error wait_end() {
    return wait([this] { return ends_ > 0; }) ? result().error : http_error::none;
  }

  bool wait_body(std::size_t bytes) {
    return wait([this, bytes] { return body_.size() >= bytes; });
  }

  http_result result() const { return locked(result_); }
  int status() const { return locked(status_); }
  std::string body() const { return locked(body_); }
  int ends() const { return locked(ends_); }

  std::vector<std::string> values_of(const std::string& name) const {
    std::vector<std::string> values;
    for (const auto& header : locked(headers_))
      if (header.name == name)
        values.push_back(header.value);
    return values;
  }

private:
  template <class Predicate>
  bool wait(Predicate holds) {
    std::unique_lock lock{mutex_};
    const bool held = changed_.wait_for(lock, std::chrono::milliseconds{patience_ms}, holds);
    EXPECT_TRUE(held) << "nothing happened";
    return held;
  }

  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock{mutex_};
    return value;
  }

  const body_hook hook_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int status_ = 0, heads_ = 0, ends_ = 0;
  std::vector<http_header> headers_;
  std::string body_;
  http_result result_;
};

inline std::string chat_body(const std::string& text, bool stream = true) {
  return nlohmann::json{
      {"model", "m"}, {"stream", stream}, {"messages", {{{"role", "user"}, {"content", text}}}}}
      .dump();
}

} // namespace rind::test
