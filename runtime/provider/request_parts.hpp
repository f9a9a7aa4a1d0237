// Pieces of requests that more than one wire format needs: arguments, schemas, ids and names in the
// form that strict servers take. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "messages/sampling.hpp"

namespace rind::provider {

inline constexpr std::size_t wire_id_chars_max = 64; // of a call's id and of a tool's name

/// Arguments as the model wrote them; `{}` for none. Text that is no JSON goes inside
/// {"invalid_json": text}, which strict servers accept.
std::string arguments_text(const std::string& arguments);

/// The same as an object; JSON that is none goes inside as well.
nlohmann::json arguments_object(const std::string& arguments);

/// The schema of a tool's arguments; any object where it is none.
nlohmann::json parameters_object(const tool_definition& tool);

/// Ids of the calls of one request, in the form that strict servers take: 1 to 64 letters, digits,
/// `_` or `-`, each used once. Ids that are so already stay; ids of other formats may look
/// different, and some servers begin to count anew in each answer. What is made of an id depends
/// on nothing but the id and how often it came before.
class call_ids {
public:
  std::string of_call(const std::string& id);
  /// Of the newest call with this id.
  std::string of_result(const std::string& id) const;

private:
  std::map<std::string, std::size_t> uses_;
};

/// The name with `_` for what such a name can not hold, cut to its bound: a model may have made it
/// up.
std::string wire_tool_name(const std::string& name);

/// Nothing but white space: strict servers refuse such text.
bool is_blank(std::string_view text);

} // namespace rind::provider
