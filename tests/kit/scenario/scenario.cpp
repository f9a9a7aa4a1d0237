// Words, and writing: a line says what differs from the default.
#include "tests/kit/scenario/scenario.hpp"

#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/kit/scenario/scenario_fields.hpp"
#include "tests/kit/scenario/scenario_words.hpp"

namespace rind::kit {

namespace {

using nlohmann::json;

constexpr std::array action_names{
    "prompt",
    "again",
    "resume",
    "compact",
    "cancel",
    "steer",
    "follow_up",
    "take_back_steering",
    "take_back_follow_up",
    "promote",
    "set_model",
    "disconnect",
    "reconnect",
    "wait",
    "crash",
    "refuse_append",
    "conflict_append",
    "lose_append_answer",
    "slow_commits",
    "lose_runner",
};
constexpr std::array usage_names{"exact", "none", "zero", "cached", "huge"};

template <class Value>
json written(const Value& value) {
  if constexpr (std::is_same_v<Value, action> || std::is_same_v<Value, usage_style> ||
                std::is_same_v<Value, sampling_kind>)
    return to_string(value);
  else
    return value;
}

template <class Value>
json written(const std::optional<Value>& value) {
  return *value;
}

/// Writes what differs from `plain`; `first` always, for it tells what kind of line it is.
template <class Line>
class writer {
public:
  explicit writer(const char* first) : first_(first) {}
  nlohmann::ordered_json take(const Line& line) {
    plain_ = true;
    visit_fields(*this, default_);
    plain_ = false;
    visit_fields(*this, line);
    return std::move(out_);
  }
  template <class Value>
  void operator()(const char* key, const Value& value) {
    auto text = json{};
    if constexpr (requires { value.has_value(); })
      text = value ? written(value) : json{};
    else
      text = written(value);
    if (plain_)
      defaults_[key] = std::move(text);
    else if (text != defaults_[key] || (first_ && std::string_view{first_} == key))
      out_[key] = std::move(text);
  }

private:
  const char* first_;
  const Line default_{};
  bool plain_ = false;
  std::map<std::string, json> defaults_;
  nlohmann::ordered_json out_ = nlohmann::ordered_json::object();
};

template <class Line>
std::string line_text(const Line& line, const char* first) {
  return writer<Line>{first}.take(line).dump() + "\n";
}

} // namespace

std::int64_t declared_window_tokens(const std::string& model, const scenario_world& w) {
  if (model == "model-big")
    return w.window_tokens * 10;
  return model == "model-tiny" ? w.window_tokens * 6 / 10 : w.window_tokens;
}

const char* to_string(action what) {
  return action_names[static_cast<std::size_t>(what)];
}

const char* to_string(usage_style usage) {
  return usage_names[static_cast<std::size_t>(usage)];
}

std::string to_json_lines(const scenario& s) {
  nlohmann::ordered_json first;
  first["world"] = writer<scenario_world>{nullptr}.take(s.world);
  auto text = first.dump() + "\n";
  for (const auto& l : s.model)
    text += line_text(l, "model");
  for (const auto& l : s.tools)
    text += line_text(l, "tool");
  for (const auto& l : s.script)
    if (const auto* step = std::get_if<step_line>(&l))
      text += line_text(*step, "do");
    else
      text += line_text(std::get<expect_line>(l), "expect");
  return text;
}

std::vector<std::string> sessions_of(const scenario& s) {
  std::set<std::string> names;
  for (const auto& l : s.model)
    names.insert(l.session);
  for (const auto& l : s.tools)
    names.insert(l.session);
  for (const auto& l : s.script)
    names.insert(std::visit([](const auto& line) { return line.session; }, l));
  names.erase("");
  return {names.begin(), names.end()};
}

} // namespace rind::kit
