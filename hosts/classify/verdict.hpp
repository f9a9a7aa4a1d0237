// What a session would make of a recorded answer: the answer goes through the reader and the
// decoder of its wire format and through the judgement of answers, as it does in a session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hosts/classify/recorded_answer.hpp"

namespace rind::hosts::classify {

struct verdict {
  /// The class of an error, or "answer". request_too_large and unrecognised are told as
  /// "invalid_request": both are refusals that nothing but another request can cure.
  std::string class_name;
  std::optional<std::int64_t> limit_tokens;
  std::optional<std::int64_t> requested_tokens;
  std::optional<double> retry_after_s;
  bool retry_same = false;
  bool shrink_output_first = false;
  /// What decided: a rule of the classifier (classification::matched_by), "stream:…" for how the
  /// transfer ended, "finish:…" for the word that ended the answer, "silent:…" for an overflow that
  /// only its numbers show.
  std::string matched_by;
};

verdict judge(const recorded_answer& answer);

} // namespace rind::hosts::classify
