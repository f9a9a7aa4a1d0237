// The anchor of the estimate: which report is believed and what it says about the next request
// (S13).
#include "runtime/context/anchor.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/canary/canary.hpp"

namespace rind::context {

namespace {

double clamped_ratio(const anchor_sample& s) {
  return std::clamp(static_cast<double>(s.reported_input_tokens) /
                        static_cast<double>(s.local_tokens),
                    anchor_ratio_min, anchor_ratio_max);
}

std::int64_t scaled(std::int64_t tokens, double ratio) {
  return std::llround(static_cast<double>(tokens) * ratio);
}

std::int64_t predicted(const anchor_sample& anchor, std::int64_t local_tokens) {
  return anchor.reported_input_tokens +
         scaled(local_tokens - anchor.local_tokens, clamped_ratio(anchor));
}

} // namespace

std::string usage_anchor::offer(const anchor_sample& sample, bool usage_known) {
  if (!usage_known || sample.reported_input_tokens <= 0)
    return rejected_ = "the provider reported no usage";
  if (sample.local_tokens <= 0)
    return rejected_ = "the request of the report has no local estimate";
  if (anchor_ && sample.generation < anchor_->generation)
    return "the report belongs to an earlier generation";
  if (anchor_ && anchor_->model == sample.model && anchor_->generation == sample.generation) {
    const auto expected = predicted(*anchor_, sample.local_tokens);
    if (static_cast<double>(sample.reported_input_tokens) >
        anchor_jump_max * static_cast<double>(expected))
      return rejected_ = "the provider reported " + std::to_string(sample.reported_input_tokens) +
                         " tokens where " + std::to_string(expected) + " were expected";
  }
  anchor_ = sample;
  rejected_.clear();
  remember_ratio(sample.model, clamped_ratio(sample));
  return {};
}

active_estimate usage_anchor::estimate(const std::string& model, std::int64_t generation,
                                       std::int64_t local_tokens) const {
  if (RIND_PLANTED(anchor_survives_boundary) && anchor_ && anchor_->generation < generation)
    return {predicted(*anchor_, std::max(local_tokens, anchor_->local_tokens)),
            token_source::assistant_usage_plus_local_delta,
            {}};
  std::string reason;
  if (!anchor_)
    reason = rejected_.empty() ? "no usage reported yet" : rejected_;
  else if (anchor_->model != model)
    reason = "the anchor belongs to another model";
  else if (anchor_->generation != generation)
    reason = "the anchor belongs to another generation";
  else if (local_tokens < anchor_->local_tokens)
    reason = "the local estimate is below the anchor's";
  else
    return {predicted(*anchor_, local_tokens), token_source::assistant_usage_plus_local_delta, {}};
  return {scaled(local_tokens, ratio_of(model)), token_source::local_estimate, std::move(reason)};
}

double usage_anchor::ratio_of(const std::string& model) const {
  const auto found = std::find_if(ratios_.begin(), ratios_.end(),
                                  [&](const known_ratio& r) { return r.model == model; });
  return found == ratios_.end() ? 1.0 : found->ratio;
}

void usage_anchor::remember_ratio(const std::string& model, double ratio) {
  const auto found = std::find_if(ratios_.begin(), ratios_.end(),
                                  [&](const known_ratio& r) { return r.model == model; });
  if (found != ratios_.end()) {
    found->ratio = ratio;
    return;
  }
  if (ratios_.size() == anchor_models_max)
    ratios_.erase(ratios_.begin());
  ratios_.push_back({model, ratio});
}

} // namespace rind::context
