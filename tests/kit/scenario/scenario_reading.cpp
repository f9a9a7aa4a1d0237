// Reading: what is not known is refused, with its line.
#include <istream>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/scenario/scenario_fields.hpp"
#include "tests/kit/scenario/scenario_rules.hpp"
#include "tests/kit/scenario/scenario_words.hpp"

namespace rind::kit {

namespace {

using nlohmann::json;

class reader {
public:
  explicit reader(const json& in) : in_(in) {}

  template <class Value>
  void operator()(const char* key, Value& value) {
    known_.insert(key);
    const auto i = in_.find(key);
    if (i != in_.end() && !read(*i, value) && fault_.empty())
      fault_ = std::string{"\""} + key + "\" may not be " + i->dump();
  }
  /// Empty, or the first fault.
  std::string fault() const {
    if (!fault_.empty())
      return fault_;
    for (const auto& [key, value] : in_.items())
      if (!known_.count(key))
        return "unknown key \"" + key + "\"";
    return {};
  }

private:
  static bool read(const json& in, std::string& out) {
    if (in.is_string())
      out = in.get<std::string>();
    return in.is_string();
  }
  static bool read(const json& in, bool& out) {
    if (in.is_boolean())
      out = in.get<bool>();
    return in.is_boolean();
  }
  static bool read(const json& in, double& out) {
    const bool is_good = in.is_number() && in.get<double>() > 0;
    if (is_good)
      out = in.get<double>();
    return is_good;
  }
  /// Nothing in a scenario counts below zero.
  template <class Number>
  requires std::is_integral_v<Number>
  static bool read(const json& in, Number& out) {
    if (!in.is_number_unsigned() || in.get<std::uint64_t>() > number_max<Number>())
      return false;
    out = in.get<Number>();
    return true;
  }
  template <class Number>
  static constexpr std::uint64_t number_max() {
    if constexpr (std::is_same_v<Number, std::int64_t>)
      return 1'000'000'000'000; // far from overflow in sums
    else
      return std::numeric_limits<Number>::max();
  }
  template <class Value>
  static bool read(const json& in, std::optional<Value>& out) {
    return read(in, out.emplace());
  }
  static bool read(const json& in, std::vector<std::string>& out) {
    if (!in.is_array())
      return false;
    for (const auto& text : in)
      if (!read(text, out.emplace_back()))
        return false;
    return true;
  }
  static bool read(const json& in, std::map<std::string, std::string>& out) {
    if (!in.is_object())
      return false;
    for (const auto& [key, text] : in.items())
      if (!read(text, out[key]))
        return false;
    return true;
  }
  template <class Word>
  requires std::is_enum_v<Word>
  static bool read(const json& in, Word& out) {
    const auto value =
        in.is_string() ? from_word<Word>(in.get<std::string>()) : std::optional<Word>{};
    out = value.value_or(out);
    return value.has_value();
  }

  const json& in_;
  std::set<std::string> known_;
  std::string fault_;
};

/// Reads the fields of a line and looks whether they make sense.
template <class Line>
std::string take_fields(const json& in, Line& line, const scenario_world& world) {
  reader r{in};
  visit_fields(r, line);
  auto fault = r.fault();
  return fault.empty() ? fault_of(line, world) : fault;
}

std::string take_world(const json& in, scenario& out, bool is_first) {
  if (!is_first)
    return "\"world\" stands in the first line only";
  if (in.size() != 1 || !in["world"].is_object())
    return "\"world\" is an object and stands alone";
  return take_fields(in["world"], out.world, out.world);
}

/// Adds what one line says; answers its fault, or nothing.
std::string take_line(const json& in, scenario& out, bool is_first) {
  if (!in.is_object())
    return "a line is a JSON object";
  if (in.contains("world"))
    return take_world(in, out, is_first);
  if (in.contains("do"))
    return take_fields(in, std::get<step_line>(out.script.emplace_back(step_line{})), out.world);
  if (in.contains("expect"))
    return take_fields(in, std::get<expect_line>(out.script.emplace_back(expect_line{})),
                       out.world);
  if (in.contains("tool"))
    return take_fields(in, out.tools.emplace_back(), out.world);
  if (in.contains("model"))
    return take_fields(in, out.model.emplace_back(), out.world);
  return "a line has one of world, model, tool, do and expect";
}

/// Parses one line; a key that stands twice in one object is noted in `twice`.
json parsed(const std::string& line, std::string& twice) {
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(value.get<std::string>()).second && twice.empty())
      twice = value.get<std::string>();
    return true;
  };
  return json::parse(line, look, false);
}

enum class line_end : std::uint8_t { newline, end_of_input, too_long };

/// Reads no more of a line than it may have.
line_end next_line(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n')
      return line_end::newline;
    if (line.size() == scenario_line_limit_bytes)
      return line_end::too_long;
    line.push_back(static_cast<char>(c));
  }
  return line_end::end_of_input;
}

failure bad_line(std::size_t number, const std::string& what) {
  return make_failure(error_code::invalid_request,
                      "scenario, line " + std::to_string(number) + ": " + what);
}

/// The fault of a line that is neither empty nor a comment.
std::string take_text(const std::string& line, scenario& out, bool is_first) {
  if (nests_deeper_than(line, json_depth_limit))
    return "it nests too deep";
  std::string twice;
  const auto object = parsed(line, twice);
  if (object.is_discarded())
    return "it is no JSON";
  if (!twice.empty())
    return "\"" + twice + "\" stands in it twice";
  return take_line(object, out, is_first);
}

} // namespace

result<scenario> read_scenario(std::istream& in) {
  scenario s;
  bool is_first = true;
  std::string line;
  auto end = line_end::newline;
  for (std::size_t number = 1; end == line_end::newline; ++number) {
    end = next_line(in, line);
    if (end == line_end::too_long)
      return bad_line(number,
                      "it is longer than " + std::to_string(scenario_line_limit_bytes) + " bytes");
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#')
      continue;
    if (number > scenario_lines_max)
      return bad_line(number, "there may be " + std::to_string(scenario_lines_max) + " lines");
    if (const auto fault = take_text(line, s, is_first); !fault.empty())
      return bad_line(number, fault);
    is_first = false;
  }
  if (in.bad())
    return make_failure(error_code::unavailable, "the scenario cannot be read to its end");
  if (is_first)
    return make_failure(error_code::invalid_request, "the scenario is empty");
  if (const auto fault = fault_between_lines(s); !fault.empty())
    return make_failure(error_code::invalid_request, "scenario: " + fault);
  return s;
}

} // namespace rind::kit
