// Reads the parameters of one request; remembers the first that is wrong. Internal to requests.cpp.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "messages/result.hpp"

namespace rind::protocol {

enum class need : std::uint8_t { optional, required };

class params_reader {
public:
  explicit params_reader(const nlohmann::json& params) : params_(params) {}

  /// Any text. A required one may be empty.
  std::string text(const char* name, need n = need::optional);
  /// Text that is not empty.
  std::string name(const char* name, need n = need::optional);
  /// Text that does not consist of white space alone.
  std::string input(const char* name);
  std::string session_id(need n = need::optional);
  std::string input_id(need n = need::optional);
  std::int64_t number(const char* name, std::int64_t lowest, std::int64_t highest,
                      std::int64_t otherwise);
  bool flag(const char* name);
  /// The value, or null where the parameter is left out.
  const nlohmann::json& any(const char* name) const;
  bool has(const char* name) const { return !any(name).is_null(); }

  void refuse(const char* name, const std::string& what);
  const std::optional<failure>& error() const { return error_; }

private:
  const nlohmann::json& params_;
  std::optional<failure> error_;
};

} // namespace rind::protocol
