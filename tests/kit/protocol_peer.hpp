// A client of the session protocol for tests: requests with ids out, frames in, on the test's own
// thread. It judges nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/kit/line_channel.hpp"

namespace rind::kit {

class protocol_peer {
public:
  /// Over the pipes of a child, which the caller owns.
  explicit protocol_peer(line_channel& channel) : channel_(&channel) {}
  /// Over a Unix socket. Throws std::system_error.
  explicit protocol_peer(const std::string& socket_path);
  /// Over a channel of its own.
  explicit protocol_peer(std::unique_ptr<line_channel> channel)
      : owned_(std::move(channel)), channel_(owned_.get()) {}

  line_channel& channel() { return *channel_; }
  /// Sends a request and returns its id.
  std::int64_t send(const std::string& method,
                    const nlohmann::json& params = nlohmann::json::object());
  /// The next frame in order of arrival, kept ones first. None: the connection ended or the
  /// deadline passed. What is no JSON object comes as a string.
  std::optional<nlohmann::json> next_frame(std::int64_t deadline_ms = 30'000);
  /// A frame that has arrived already.
  std::optional<nlohmann::json> take_frame();
  /// The answer to a request; other frames that come first are kept for next_frame. Null where none
  /// came.
  nlohmann::json answer_to(std::int64_t request_id, std::int64_t deadline_ms = 30'000);
  nlohmann::json call(const std::string& method,
                      const nlohmann::json& params = nlohmann::json::object(),
                      std::int64_t deadline_ms = 30'000) {
    return answer_to(send(method, params), deadline_ms);
  }
  /// Skips frames up to the first event of this type (and session, where one is named); null where
  /// none came.
  nlohmann::json wait_for_event(const std::string& type, const std::string& session_id = {},
                                std::int64_t deadline_ms = 30'000);

private:
  std::unique_ptr<line_channel> owned_;
  line_channel* channel_;
  std::int64_t last_id_ = 0;
  std::deque<nlohmann::json> kept_;
};

/// `result` of an answer, or null; the type of its error, or an empty text.
nlohmann::json result_of(const nlohmann::json& answer);
std::string error_type_of(const nlohmann::json& answer);

} // namespace rind::kit
