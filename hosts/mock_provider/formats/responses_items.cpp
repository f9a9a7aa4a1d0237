// Item ids: PREFIX "mock_" TAG "_" INDEX, and "_r" KEY after reasoning.
#include "hosts/mock_provider/formats/responses_items.hpp"

#include "hosts/mock_provider/seal.hpp"

namespace rind::hosts::mock_provider {

namespace {

constexpr std::size_t key_chars = 12;
constexpr std::string_view own_mark = "mock_";
constexpr std::string_view key_mark = "_r";

} // namespace

std::string reasoning_key(std::string_view reasoning) {
  return digest_of(reasoning).substr(0, key_chars);
}

std::string item_id(std::string_view prefix, std::string_view tag, std::size_t index,
                    std::string_view key) {
  std::string id{prefix};
  id.append(own_mark).append(tag).append("_").append(std::to_string(index));
  if (!key.empty())
    id.append(key_mark).append(key);
  return id;
}

std::string key_in(std::string_view id) {
  const auto mark = id.rfind(key_mark);
  const bool keyed = is_own_id(id) && mark != std::string_view::npos &&
                     id.size() == mark + key_mark.size() + key_chars;
  return keyed ? std::string{id.substr(mark + key_mark.size())} : std::string{};
}

bool is_own_id(std::string_view id) {
  const auto prefix = id.find('_');
  return prefix != std::string_view::npos && id.substr(prefix + 1).starts_with(own_mark);
}

} // namespace rind::hosts::mock_provider
