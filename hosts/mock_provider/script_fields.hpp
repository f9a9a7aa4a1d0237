// Reads the fields of one JSON object strictly: each known field once and of the right type, and
// no other. The first fault is kept.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rind::hosts::mock_provider {

/// The number type in T, which may be a std::optional.
template <class T>
struct number_in {
  using type = T;
};
template <class T>
struct number_in<std::optional<T>> {
  using type = T;
};
template <class T>
using number_of = typename number_in<T>::type;

class script_fields {
public:
  /// `where` names the object in faults. Both arguments must outlive this.
  script_fields(const nlohmann::json& object, std::string where,
                std::initializer_list<std::string_view> known);

  /// Null where the field is absent.
  const nlohmann::json* find(const char* name) const;

  void fault(const std::string& field, const std::string& reason);

  /// Empty while all is well.
  const std::string& fault() const { return fault_; }

  /// Each leaves `into` as it is where the field is absent or wrong. `Optional` can be a
  /// std::optional of the type or the type itself.
  template <class Optional>
  void text(const char* name, Optional& into) {
    if (const auto* value = checked(name, &nlohmann::json::is_string, "a string"))
      into = value->template get<std::string>();
  }

  template <class Optional>
  void flag(const char* name, Optional& into) {
    if (const auto* value = checked(name, &nlohmann::json::is_boolean, "true or false"))
      into = value->template get<bool>();
  }

  /// A number from `least` to 10^12.
  template <class Optional>
  void number(const char* name, Optional& into, std::int64_t least = 0) {
    if (const auto* value = checked(name, &nlohmann::json::is_number_integer, "a whole number")) {
      if (const auto found = bounded(name, *value, least); found >= least)
        into = static_cast<number_of<Optional>>(found);
    }
  }

private:
  using predicate = bool (nlohmann::json::*)() const noexcept;

  const nlohmann::json* checked(const char* name, predicate is_right, const char* wanted);
  /// Less than `least` after a fault.
  std::int64_t bounded(const char* name, const nlohmann::json& value, std::int64_t least);

  const nlohmann::json& object_;
  std::string where_;
  std::string fault_;
};

} // namespace rind::hosts::mock_provider
