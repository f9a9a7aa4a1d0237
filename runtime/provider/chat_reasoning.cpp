// Assembly of reasoning details.
#include "runtime/provider/chat_reasoning.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> joined_members{"text", "summary", "data"};

bool is_joined(std::string_view key) {
  return std::find(joined_members.begin(), joined_members.end(), key) != joined_members.end();
}

void merge(json& piece, const json& fragment) {
  for (const auto& [key, value] : fragment.items()) {
    if (value.is_null() && piece.contains(key))
      continue;
    auto& place = piece[key];
    if (is_joined(key) && place.is_string() && value.is_string())
      place.get_ref<std::string&>() += value.get_ref<const std::string&>();
    else
      place = value;
  }
}

bool names_another(const json& piece, const json& fragment) {
  const auto id = text_member(fragment, "id");
  const auto known = text_member(piece, "id");
  return !id.empty() && !known.empty() && id != known;
}

} // namespace

json* detail_assembly::find(const json& fragment) {
  const auto index = count_member(fragment, "index");
  const auto type = text_member(fragment, "type");
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (text_member(*piece, "type") == type && count_member(*piece, "index") == index)
      return names_another(*piece, fragment) ? nullptr : &*piece;
    if (!index)
      break;
  }
  return nullptr;
}

bool detail_assembly::take(const json& list) {
  if (!list.is_array())
    return true;
  for (const auto& fragment : list) {
    if (!fragment.is_object())
      continue;
    if (auto* piece = find(fragment))
      merge(*piece, fragment);
    else if (pieces_.size() < answer_parts_max)
      pieces_.push_back(fragment);
    else
      return false;
  }
  return true;
}

} // namespace rind::provider
