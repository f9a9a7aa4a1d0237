// Matching of rules. Their reading is in script_reader.cpp.
#include "hosts/mock_provider/script.hpp"

#include <algorithm>
#include <utility>

#include "hosts/mock_provider/echo.hpp"

namespace rind::hosts::mock_provider {

namespace {

bool starts_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
}

std::int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), starts_code_point);
}

bool matches(const script_rule& rule, const mock_request& request, std::int64_t nth) {
  const auto& want = rule.match;
  return (!rule.conversation || *rule.conversation == request.conversation) &&
         (!want.model || *want.model == request.model) &&
         (!want.contains || request.last_text.find(*want.contains) != std::string::npos) &&
         (!want.has_tools || *want.has_tools == request.has_tools) &&
         (!want.has_tool_result || *want.has_tool_result == request.last_is_tool_result) &&
         (!want.nth || *want.nth == nth) &&
         (!want.min_chars || *want.min_chars <= code_points(request.last_text)) &&
         (!want.min_tokens || *want.min_tokens <= request.prompt_tokens) &&
         (!want.max_tokens || *want.max_tokens >= request.prompt_tokens);
}

} // namespace

std::vector<std::string> split_text(std::string_view text, std::size_t chars) {
  std::vector<std::string> pieces;
  std::size_t in_piece = chars; // full: the first code point opens a piece
  for (const char byte : text) {
    if (starts_code_point(byte) && in_piece++ >= chars) {
      pieces.emplace_back();
      in_piece = 1;
    }
    if (pieces.empty())
      pieces.emplace_back();
    pieces.back().push_back(byte);
  }
  return pieces;
}

script_player::script_player(script rules) : rules_(std::move(rules)), uses_(rules_.size(), 0) {}

picked_answer script_player::pick(const mock_request& request) {
  const auto nth = count(request.conversation);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const auto& rule = rules_[i];
    const bool used_up = rule.times > 0 && uses_[i] >= rule.times;
    if (used_up || !matches(rule, request, nth))
      continue;
    ++uses_[i];
    return {rule.line, rule.answer, nth};
  }
  return {0, default_answer(request), nth};
}

std::int64_t script_player::count(const std::string& conversation) {
  auto found = requests_.find(conversation);
  if (found == requests_.end()) {
    const bool full = requests_.size() >= counted_conversations_max;
    found = requests_.try_emplace(full ? std::string{} : conversation, 0).first;
  }
  return ++found->second;
}

} // namespace rind::hosts::mock_provider
