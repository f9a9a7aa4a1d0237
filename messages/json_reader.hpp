// How the codec reads and writes fields: one functor for each direction, so that a struct lists its
// fields once. Internal to messages/.
#pragma once

#include <concepts>
#include <limits>

#include <nlohmann/json.hpp>

#include "messages/words.hpp"

namespace rind::codec {

failure unreadable(const std::string& what);

// ---- single values: read_value answers whether the JSON had the right type
// -------------------------------------------------------
bool read_value(const nlohmann::json& in, std::string& out);
bool read_value(const nlohmann::json& in, bool& out);
bool read_value(const nlohmann::json& in, std::int64_t& out);
bool read_value(const nlohmann::json& in, double& out);
bool read_value(const nlohmann::json& in, token_usage& out);
bool read_value(const nlohmann::json& in, tool_call& out);
bool read_value(const nlohmann::json& in, reasoning_block& out);
bool read_value(const nlohmann::json& in, replacement& out);
bool read_value(const nlohmann::json& in, fallback_cause& out);
bool read_value(const nlohmann::json& in, refused_attempt& out);
bool read_value(const nlohmann::json& in, failure_details& out);
bool read_value(const nlohmann::json& in, failure& out);
bool read_value(const nlohmann::json& in, undelivered_input& out);
bool read_value(const nlohmann::json& in, message_ptr& out);
bool read_value(const nlohmann::json& in, std::shared_ptr<const compaction_record>& out);

template <class Enum>
requires std::is_enum_v<Enum>
bool read_value(const nlohmann::json& in, Enum& out) {
  const auto* word = in.get_ptr<const std::string*>();
  if (word == nullptr)
    return false;
  const auto value = from_word<Enum>(*word);
  if (value)
    out = *value;
  return value.has_value();
}

template <class T>
bool read_value(const nlohmann::json& in, std::optional<T>& out) {
  out.reset();
  return in.is_null() || read_value(in, out.emplace());
}

template <class T>
bool read_value(const nlohmann::json& in, std::vector<T>& out) {
  if (!in.is_array())
    return false;
  out.clear();
  out.reserve(in.size());
  for (const auto& element : in)
    if (!read_value(element, out.emplace_back()))
      return false;
  return true;
}

inline nlohmann::json write_value(const std::string& in) {
  return in;
}
inline nlohmann::json write_value(bool in) {
  return in;
}
inline nlohmann::json write_value(std::int64_t in) {
  return in;
}
inline nlohmann::json write_value(double in) {
  return in;
}
nlohmann::json write_value(const token_usage& in);
nlohmann::json write_value(const tool_call& in);
nlohmann::json write_value(const reasoning_block& in);
nlohmann::json write_value(const replacement& in);
nlohmann::json write_value(const fallback_cause& in);
nlohmann::json write_value(const refused_attempt& in);
nlohmann::json write_value(const failure_details& in);
nlohmann::json write_value(const failure& in);
nlohmann::json write_value(const undelivered_input& in);
nlohmann::json write_value(const message_ptr& in);
nlohmann::json write_value(const std::shared_ptr<const compaction_record>& in);

template <class Enum>
requires std::is_enum_v<Enum> nlohmann::json write_value(Enum in) {
  return to_string(in);
}

template <class T>
nlohmann::json write_value(const std::optional<T>& in) {
  return in ? write_value(*in) : nlohmann::json();
}

template <class T>
nlohmann::json write_value(const std::vector<T>& in) {
  auto out = nlohmann::json::array();
  for (const auto& element : in)
    out.push_back(write_value(element));
  return out;
}

// ---- fields of an object
// ---------------------------------------------------------------------------------------------------------

/// Writes each field that it is shown.
class field_writer {
public:
  template <class T>
  void operator()(const char* name, const T& value) {
    out_[name] = write_value(value);
  }

  /// A field that is left out where it has its default value.
  template <class T>
  void unless_default(const char* name, const T& value) {
    if (!(value == T{}))
      out_[name] = write_value(value);
  }

  nlohmann::json take() { return std::move(out_); }

private:
  nlohmann::json out_ = nlohmann::json::object();
};

/// Reads each field that it is shown; remembers the first that is missing or wrong.
class field_reader {
public:
  explicit field_reader(const nlohmann::json& in) : in_(in) {
    if (!in.is_object())
      wrong_ = "an object";
  }

  template <class T>
  void operator()(const char* name, T& value) {
    read(name, value, true);
  }

  template <class T>
  void unless_default(const char* name, T& value) {
    read(name, value, false);
  }

  bool ok() const { return wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }

private:
  template <class T>
  void read(const char* name, T& value, bool required) {
    if (!ok())
      return;
    const auto found = in_.find(name);
    const bool good = found == in_.end() ? !required : read_value(*found, value);
    if (!good)
      wrong_ = std::string("field '") + name + "'";
  }

  const nlohmann::json& in_;
  std::string wrong_;
};

} // namespace rind::codec
