// Reading and judging of recorded answers.
#include "tests/unit/provider/recorded_cases.hpp"

#include <fstream>

#include "runtime/provider/anthropic_codec.hpp"
#include "runtime/provider/responses_codec.hpp"
#include "runtime/recovery/recovery_machine.hpp"

namespace rind::provider::testing {

using nlohmann::json;

std::vector<json> recorded_cases() {
  std::vector<json> cases;
  for (const auto* name : {"/provider_errors.jsonl", "/provider_errors_more.jsonl"}) {
    std::ifstream file{std::string{RIND_TEST_DATA} + name};
    for (std::string line; std::getline(file, line);)
      cases.push_back(json::parse(line));
  }
  return cases;
}

std::shared_ptr<const wire_codec> codec_of(const std::string& format) {
  if (format == "messages")
    return std::make_shared<anthropic_codec>();
  if (format == "responses")
    return std::make_shared<responses_codec>();
  return std::make_shared<chat_codec>();
}

sent_facts facts_of(const json& c) {
  sent_facts sent;
  sent.provider = c["server"];
  if (const auto found = c.find("sent"); found != c.end()) {
    sent.window_tokens = found->value("window", std::int64_t{0});
    sent.estimated_tokens = found->value("estimate", std::int64_t{0});
    sent.output_limit_tokens = found->value("output", std::int64_t{0});
  }
  return sent;
}

case_verdict judge_case(const json& c, std::size_t at) {
  response r;
  r.status = c["status"];
  r.headers.clear();
  if (const auto found = c.find("headers"); found != c.end())
    for (const auto& [name, value] : found->items())
      r.headers.push_back({name, value});
  r.sent = facts_of(c);
  r.codec = codec_of(c["format"]);
  const std::string_view all{c["body"].get_ref<const std::string&>()};
  const auto result = read_pieces({all.substr(0, at), all.substr(at)}, r);
  if (!result.is_answer())
    return {to_string(result.error().error_class), result.error()};
  recovery::request_facts facts;
  facts.estimated_tokens = r.sent.estimated_tokens;
  facts.window_tokens = r.sent.window_tokens;
  facts.output_limit_tokens = r.sent.output_limit_tokens;
  if (const auto error = recovery::judge_answer(result.answer(), facts))
    return {to_string(error->error_class), *error};
  return {"answer", {}};
}

} // namespace rind::provider::testing
