// Pieces of requests.
#include "runtime/provider/request_parts.hpp"

#include <algorithm>
#include <cstdio>

#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr const char* invalid_json_key = "invalid_json";

bool is_wire_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// FNV-1a: the same on every machine and in every version, unlike std::hash.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (const char c : text) {
    digest ^= static_cast<unsigned char>(c);
    digest *= 0x100000001b3u;
  }
  return digest;
}

/// The `use`th use of an id in a request.
std::string sent_id(const std::string& id, std::size_t use) {
  if (use <= 1 && !id.empty() && id.size() <= wire_id_chars_max &&
      std::all_of(id.begin(), id.end(), is_wire_char))
    return id;
  char made[32];
  std::snprintf(made, sizeof made, "call_%016llx",
                static_cast<unsigned long long>(digest_of(id + '#' + std::to_string(use))));
  return made;
}

} // namespace

std::string arguments_text(const std::string& arguments) {
  if (arguments.empty())
    return "{}";
  return parse_outside_json(arguments) ? arguments : dump(json{{invalid_json_key, arguments}});
}

json arguments_object(const std::string& arguments) {
  if (arguments.empty())
    return json::object();
  auto value = parse_outside_json(arguments);
  return value && value->is_object() ? *std::move(value) : json{{invalid_json_key, arguments}};
}

json parameters_object(const tool_definition& tool) {
  auto parameters = parse_outside_json(tool.parameters);
  if (parameters && parameters->is_object())
    return *std::move(parameters);
  return json{{"type", "object"}, {"properties", json::object()}};
}

std::string call_ids::of_call(const std::string& id) {
  return sent_id(id, ++uses_[id]);
}

std::string call_ids::of_result(const std::string& id) const {
  const auto found = uses_.find(id);
  return sent_id(id, found == uses_.end() ? 1 : found->second);
}

std::string wire_tool_name(const std::string& name) {
  auto out = name.substr(0, wire_id_chars_max);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_wire_char(c); }, '_');
  return out;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

} // namespace rind::provider
