// The provider's reported usage as the anchor of the estimate (S13). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/events.hpp"

namespace rind::context {

/// Bounds of the ratio between what a provider counted and what was estimated.
inline constexpr double anchor_ratio_min = 0.2;
inline constexpr double anchor_ratio_max = 2.0;
/// A report above this many times the prediction is not believed (F11).
inline constexpr double anchor_jump_max = 2.0;
/// Models of one session whose ratio is remembered; the oldest is forgotten first.
inline constexpr std::size_t anchor_models_max = 32;

struct anchor_sample {
  std::string model;
  std::int64_t generation = 0;
  std::int64_t reported_input_tokens = 0;
  std::int64_t local_tokens = 0; // plain local estimate of the same request
};

/// An active estimate and where it comes from.
struct active_estimate {
  std::int64_t tokens = 0;
  token_source source = token_source::local_estimate;
  std::string fallback_reason; // empty with an anchor
};

class usage_anchor {
public:
  /// Takes the usage of a successful conversation sampling. Missing or zero input is unknown and
  /// changes nothing; a report of more than anchor_jump_max times what the anchor before it (same
  /// model and generation) predicts is no anchor. Answers why it was not taken; empty: it was.
  std::string offer(const anchor_sample& sample, bool usage_known);

  /// The active estimate of a request whose plain local estimate is `local_tokens`.
  active_estimate estimate(const std::string& model, std::int64_t generation,
                           std::int64_t local_tokens) const;

  /// The last clamped ratio known for this model, else 1: active = local × ratio for a request that
  /// has no anchor of its own, such as the one for a summary.
  double ratio_of(const std::string& model) const;

private:
  void remember_ratio(const std::string& model, double ratio);

  std::optional<anchor_sample> anchor_;
  std::string rejected_; // why the newest report was no anchor, or empty
  struct known_ratio {
    std::string model;
    double ratio = 1.0;
  };
  std::vector<known_ratio> ratios_; // last clamped ratio per model of this session
};

} // namespace rind::context
