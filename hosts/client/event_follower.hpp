// Joins the replay of a session with its live events, so that each durable event is seen once and
// in order. Pure: frames and pages in, frames out; asking for the pages is left to protocol_client.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rind::hosts::client {

/// Live frames that may be held back while pages are still coming.
inline constexpr std::size_t held_frames_max = 200'000;

class event_follower {
public:
  /// Everything up to this cursor is known already; 0: nothing is.
  explicit event_follower(std::int64_t after_cursor) : cursor_(after_cursor) {}

  /// A live event frame: comes back if it is to be told now. Held back until the last page; a
  /// repeat is dropped.
  std::optional<nlohmann::json> take_frame(nlohmann::json frame);

  /// The answer of `session/replay`. Afterwards either another page is needed (`cursor()` says
  /// after what) or `take_released` has the frames that were held back. False: the answer has not
  /// the shape of one.
  bool take_page(const nlohmann::json& page);
  std::vector<nlohmann::json> take_released() { return std::exchange(held_, {}); }

  bool is_live() const { return live_; }
  /// More was held back than held_frames_max: frames are lost, start anew from `cursor()`.
  bool is_overrun() const { return overrun_; }
  /// The newest durable event that was told: where to go on after a reconnect.
  std::int64_t cursor() const { return cursor_; }

private:
  bool is_repeat(const nlohmann::json& frame);

  std::int64_t cursor_;
  bool live_ = false;
  bool overrun_ = false;
  std::vector<nlohmann::json> held_;
};

} // namespace rind::hosts::client
