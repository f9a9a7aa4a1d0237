// Puts the frames of a stream together: what opens or closes a block has no frame of its own, it
// goes with the next step.
#pragma once

#include <string>
#include <utility>

#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

class frame_writer {
public:
  /// Goes before the next step.
  void hold(const std::string& bytes) { held_ += bytes; }

  /// A step of the answer.
  void step(const std::string& bytes) {
    (text_over_ ? frames_.rest : frames_.start).push_back(std::exchange(held_, {}) + bytes);
  }

  /// No text follows.
  void text_is_over() { text_over_ = true; }

  stream_frames take() {
    if (!held_.empty())
      step({});
    return std::move(frames_);
  }

private:
  stream_frames frames_;
  std::string held_;
  bool text_over_ = false;
};

} // namespace rind::hosts::mock_provider
