// Looks for what is wrong with a line of a scenario, and says it in words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace rind::kit {

/// The first fault of a line; later ones are not looked at.
class faults {
public:
  /// The parts make the fault's words, which cost nothing where there is none.
  template <class... Parts>
  faults& when(bool is_wrong, const Parts&... parts) {
    if (is_wrong && first_.empty())
      first_ = joined({std::string_view{parts}...});
    return *this;
  }
  faults& range(const char* key, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      when(true, quote, key, "\" is ", std::to_string(low), " to ", std::to_string(high));
    return *this;
  }
  faults& name(const char* key, const std::string& value) {
    return when(!is_name(value), quote, key, "\" is 1 to 64 letters, digits, _ or -");
  }
  /// Texts begin with marks that the kit puts there; another session's in a text would be taken for
  /// it.
  faults& text(const char* key, const std::string& value, const std::string& session);
  std::string take() { return std::move(first_); }

private:
  static constexpr const char* quote = "\"";
  static std::string joined(std::initializer_list<std::string_view> parts);
  static bool is_name(std::string_view text);

  std::string first_;
};

} // namespace rind::kit
