// Answers of providers with what has to come of them (tests/data/provider_errors*.jsonl), read as a
// session reads them.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/provider/answer_kit.hpp"

namespace rind::provider::testing {

/// Each line of both files: `case`, `format`, `server`, `ends_as`, `status`, `headers`, `body`,
/// `sent` (`window`, `estimate`, `output`), `expect` (`class`, `limit`, `requested`, `same_again`,
/// `lower_output`, `wait_s`).
std::vector<nlohmann::json> recorded_cases();

/// chat, messages or responses.
std::shared_ptr<const wire_codec> codec_of(const std::string& format);

sent_facts facts_of(const nlohmann::json& c);

struct case_verdict {
  std::string error_class; // or "answer"
  provider_error error;
};

/// The body in one piece, or split at `at`.
case_verdict judge_case(const nlohmann::json& c, std::size_t at);

} // namespace rind::provider::testing
