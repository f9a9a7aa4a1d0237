// Writing and reading of opaque reasoning:
//   {"format":"anthropic","parts":[{"reasoning":{...}},{"text_bytes":12},{"call":true}]}
//   {"format":"chat","members":{...}}
// This is kept in journals: what is written today must be read by every later version.
#include "runtime/provider/resent_reasoning.hpp"

#include <optional>

#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

std::string sealed(const json& opaque) {
  auto text = dump(opaque);
  return text.find(replacement_character) == std::string::npos ? text : std::string{};
}

std::optional<json> opened(const message& m, std::string_view format) {
  if (!m.reasoning || m.reasoning->opaque.empty())
    return std::nullopt;
  auto opaque = parse_outside_json(m.reasoning->opaque);
  if (!opaque || text_member(*opaque, "format") != format)
    return std::nullopt;
  return opaque;
}

std::vector<answer_part> plain_parts(const message& m) {
  std::vector<answer_part> parts;
  if (!m.content.empty())
    parts.push_back({part_kind::text, {}, m.content, 0});
  for (std::size_t i = 0; i < m.tool_calls.size(); ++i)
    parts.push_back({part_kind::call, {}, {}, i});
  return parts;
}

/// The parts as the list says, or nothing where it does not cover the message.
std::optional<std::vector<answer_part>> listed_parts(const message& m, const json& list) {
  std::vector<answer_part> parts;
  std::size_t text_at = 0;
  std::size_t calls = 0;
  for (const auto& entry : list) {
    if (const auto& item = member(entry, "reasoning"); item.is_object()) {
      parts.push_back({part_kind::reasoning, item, {}, 0});
    } else if (const auto bytes = count_member(entry, "text_bytes")) {
      const auto size = static_cast<std::size_t>(*bytes);
      if (size > m.content.size() - text_at)
        return std::nullopt;
      parts.push_back({part_kind::text, {}, m.content.substr(text_at, size), 0});
      text_at += size;
    } else {
      parts.push_back({part_kind::call, {}, {}, calls++});
    }
  }
  if (text_at != m.content.size() || calls != m.tool_calls.size())
    return std::nullopt;
  return parts;
}

} // namespace

std::string opaque_of(std::string_view format, const std::vector<answer_part>& parts) {
  auto list = json::array();
  std::size_t end = 0; // behind the last entry that something follows, or that is no reasoning
  bool has_reasoning = false;
  for (const auto& part : parts) {
    if (part.kind == part_kind::text && part.text.empty())
      continue;
    if (part.kind == part_kind::reasoning)
      list.push_back({{"reasoning", part.item}});
    else if (part.kind == part_kind::text)
      list.push_back({{"text_bytes", part.text.size()}});
    else
      list.push_back({{"call", true}});
    if (part.kind == part_kind::reasoning)
      continue;
    has_reasoning = has_reasoning || list.size() > end + 1;
    end = list.size();
  }
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(end), list.end());
  return has_reasoning ? sealed({{"format", format}, {"parts", std::move(list)}}) : std::string{};
}

std::string opaque_of_members(std::string_view format, const json& members) {
  return members.empty() ? std::string{} : sealed({{"format", format}, {"members", members}});
}

std::vector<answer_part> parts_of(const message& m, std::string_view format) {
  if (const auto opaque = opened(m, format))
    if (auto parts = listed_parts(m, member(*opaque, "parts")))
      return *std::move(parts);
  return plain_parts(m);
}

json members_of(const message& m, std::string_view format) {
  const auto opaque = opened(m, format);
  return opaque && member(*opaque, "members").is_object() ? member(*opaque, "members") : json{};
}

} // namespace rind::provider
