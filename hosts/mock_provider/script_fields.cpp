// The strict reading of script objects.
#include "hosts/mock_provider/script_fields.hpp"

#include <algorithm>
#include <utility>

namespace rind::hosts::mock_provider {

namespace {

constexpr std::int64_t number_max = 1'000'000'000'000;

} // namespace

script_fields::script_fields(const nlohmann::json& object, std::string where,
                             std::initializer_list<std::string_view> known)
    : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) {
    fault_ = where_ + " must be an object";
    return;
  }
  for (const auto& item : object_.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      fault(item.key(), "is not a known field");
}

const nlohmann::json* script_fields::find(const char* name) const {
  if (!object_.is_object())
    return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void script_fields::fault(const std::string& field, const std::string& reason) {
  if (fault_.empty())
    fault_ = where_ + "." + field + " " + reason;
}

const nlohmann::json* script_fields::checked(const char* name, predicate is_right,
                                             const char* wanted) {
  const auto* value = find(name);
  if (value == nullptr || (value->*is_right)())
    return value;
  fault(name, std::string{"must be "} + wanted);
  return nullptr;
}

std::int64_t script_fields::bounded(const char* name, const nlohmann::json& value,
                                    std::int64_t least) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(number_max)
                        : value.get<std::int64_t>() >= least;
  const auto number = fits ? value.get<std::int64_t>() : least - 1;
  if (number >= least)
    return number;
  fault(name, "must be from " + std::to_string(least) + " to " + std::to_string(number_max));
  return least - 1;
}

} // namespace rind::hosts::mock_provider
