// Parameters of a request, checked.
#include "runtime/protocol/params.hpp"

#include <limits>

#include "messages/json.hpp"
#include "runtime/protocol/requests.hpp"

namespace rind::protocol {

using nlohmann::json;

namespace {

constexpr std::string_view white_space = " \t\r\n\f\v";

} // namespace

const json& params_reader::any(const char* name) const {
  static const json none;
  const auto found = params_.find(name);
  return found == params_.end() ? none : *found;
}

void params_reader::refuse(const char* name, const std::string& what) {
  if (!error_)
    error_ = make_failure(error_code::invalid_request, std::string(name) + ": " + what);
}

std::string params_reader::text(const char* name, need n) {
  const json& value = any(name);
  if (value.is_null() && n == need::optional)
    return {};
  if (const auto* found = value.get_ptr<const std::string*>())
    return *found;
  refuse(name, value.is_null() ? "is missing; must be a string" : "must be a string");
  return {};
}

std::string params_reader::name(const char* name, need n) {
  std::string out = text(name, n);
  if (out.empty() && has(name))
    refuse(name, "must not be empty");
  return out;
}

std::string params_reader::input(const char* name) {
  std::string out = text(name, need::required);
  if (out.find_first_not_of(white_space) == std::string::npos)
    refuse(name, "must not be empty");
  return out;
}

std::string params_reader::session_id(need n) {
  std::string out = text("session_id", n);
  if (has("session_id") && !is_session_id(out))
    refuse("session_id", "must be 1 to " + std::to_string(session_id_limit_characters) +
                             " of the characters A-Z a-z 0-9 _ -");
  return out;
}

std::string params_reader::input_id(need n) {
  std::string out = text("input_id", n);
  if (has("input_id") &&
      (out.empty() || !is_valid_utf8(out) || count_characters(out) > input_id_limit_characters))
    refuse("input_id",
           "must be a string of 1 to " + std::to_string(input_id_limit_characters) + " characters");
  return out;
}

std::int64_t params_reader::number(const char* name, std::int64_t lowest, std::int64_t highest,
                                   std::int64_t otherwise) {
  const json& value = any(name);
  if (value.is_null())
    return otherwise;
  const auto* natural = value.get_ptr<const std::uint64_t*>();
  const bool too_large =
      natural != nullptr &&
      *natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t out =
      value.is_number_integer() && !too_large ? value.get<std::int64_t>() : lowest - 1;
  if (out >= lowest && out <= highest)
    return out;
  refuse(name, highest == std::numeric_limits<std::int64_t>::max()
                   ? "must be an integer of at least " + std::to_string(lowest)
                   : "must be an integer from " + std::to_string(lowest) + " to " +
                         std::to_string(highest));
  return otherwise;
}

bool params_reader::flag(const char* name) {
  const json& value = any(name);
  if (!value.is_null() && !value.is_boolean())
    refuse(name, "must be true or false");
  return value.is_boolean() && value.get<bool>();
}

} // namespace rind::protocol
