// The JSON form: each struct lists its fields once; one visitor writes what differs from the
// default, the other reads and refuses what it does not know.
#include "tests/kit/scenario/scenario.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <set>

#include <nlohmann/json.hpp>

#include "messages/words.hpp"

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

template <class Enum, std::size_t n>
std::optional<Enum> named(const std::array<const char*, n>& names, const std::string& word) {
  const auto i = std::find(names.begin(), names.end(), word);
  if (i == names.end())
    return std::nullopt;
  return static_cast<Enum>(i - names.begin());
}

// -- the fields of each line, once ---------------------------------------------

template <class Visitor, class World>
requires std::is_same_v<std::remove_const_t<World>, scenario_world>
void visit_fields(Visitor& v, World& w) {
  v("name", w.name);
  v("seed", w.seed);
  v("shuffled", w.shuffled);
  v("nodes", w.nodes);
  v("journal", w.journal);
  v("window_tokens", w.window_tokens);
  v("true_window_tokens", w.true_window_tokens);
  v("token_ratio", w.token_ratio);
  v("summaries_at_once", w.summaries_at_once);
  v("threshold_percent", w.threshold_percent);
  v("auto_compact", w.auto_compact);
  v("overflow_recovery", w.overflow_recovery);
  v("auto_resume", w.auto_resume);
  v("system_prompt_tokens", w.system_prompt_tokens);
  v("max_output_tokens", w.max_output_tokens);
  v("compaction_model", w.compaction_model);
  v("no_auto_compact", w.no_auto_compact);
  v("no_overflow_recovery", w.no_overflow_recovery);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, model_line>
void visit_fields(Visitor& v, Line& l) {
  v("model", l.session);
  v("kind", l.kind);
  v("says", l.says);
  v("tokens", l.tokens);
  v("thinks_tokens", l.thinks_tokens);
  v("calls", l.calls);
  v("error", l.error);
  v("message", l.message);
  v("states_window_tokens", l.states_window_tokens);
  v("retry_after_s", l.retry_after_s);
  v("finish", l.finish);
  v("usage", l.usage);
  v("input_tokens", l.input_tokens);
  v("after_ms", l.after_ms);
  v("pieces", l.pieces);
  v("hangs", l.hangs);
  v("deaf", l.deaf);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, tool_line>
void visit_fields(Visitor& v, Line& l) {
  v("tool", l.session);
  v("says", l.says);
  v("tokens", l.tokens);
  v("fails", l.fails);
  v("throws", l.throws);
  v("hangs", l.hangs);
  v("deaf", l.deaf);
  v("after_ms", l.after_ms);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, step_line>
void visit_fields(Visitor& v, Line& l) {
  v("do", l.what);
  v("session", l.session);
  v("id", l.id);
  v("text", l.text);
  v("tokens", l.tokens);
  v("model", l.model);
  v("number", l.number);
  v("run", l.run);
  v("wait_ms", l.wait_ms);
  v("settles", l.settles);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, expect_line>
void visit_fields(Visitor& v, Line& l) {
  v("expect", l.session);
  v("at_once", l.at_once);
  v("last", l.last);
  v("samplings", l.samplings);
  v("summaries", l.summaries);
  v("boundaries", l.boundaries);
  v("turns", l.turns);
  v("resumes", l.resumes);
  v("tool_runs", l.tool_runs);
  v("compactions", l.compactions);
  v("undelivered", l.undelivered);
  v("answers", l.answers);
  v("events_have", l.events_have);
  v("events_lack", l.events_lack);
  v("view_has", l.view_has);
  v("view_lacks", l.view_lacks);
  v("request_has", l.request_has);
  v("request_lacks", l.request_lacks);
  v("summary_has", l.summary_has);
  v("summary_lacks", l.summary_lacks);
}

// -- writing ---------------------------------------------------------------------

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

// -- reading ---------------------------------------------------------------------

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
  static bool read(const json& in, action& out) { return read_word(in, action_names, out); }
  static bool read(const json& in, usage_style& out) { return read_word(in, usage_names, out); }
  static bool read(const json& in, sampling_kind& out) {
    const auto value = in.is_string() ? from_word<sampling_kind>(in.get<std::string>())
                                      : std::optional<sampling_kind>{};
    out = value.value_or(out);
    return value.has_value();
  }
  template <class Enum, std::size_t n>
  static bool read_word(const json& in, const std::array<const char*, n>& names, Enum& out) {
    const auto value =
        in.is_string() ? named<Enum>(names, in.get<std::string>()) : std::optional<Enum>{};
    out = value.value_or(out);
    return value.has_value();
  }

  const json& in_;
  std::set<std::string> known_;
  std::string fault_;
};

template <class Line>
std::string read_into(const json& in, Line& line) {
  reader r{in};
  visit_fields(r, line);
  return r.fault();
}

bool is_error_class(const std::string& word) {
  for (std::size_t i = 0; i < provider_error_class_count; ++i)
    if (word == to_string(static_cast<provider_error_class>(i)))
      return true;
  return false;
}

std::string fault_of(const model_line& l) {
  if (!l.error.empty() && !is_error_class(l.error))
    return "\"error\" may not be \"" + l.error + "\"";
  if (!l.finish.empty() && !from_word<finish_reason>(l.finish))
    return "\"finish\" may not be \"" + l.finish + "\"";
  return {};
}

std::string fault_of(const scenario_world& w) {
  if (w.journal != "memory" && w.journal != "sqlite")
    return "\"journal\" is memory or sqlite";
  if (w.nodes < 1 || w.nodes > 16)
    return "\"nodes\" is 1 to 16";
  return {};
}

/// Adds what one line says; answers its fault, or nothing.
std::string take_line(const json& in, scenario& out, bool is_first) {
  if (!in.is_object())
    return "a line is a JSON object";
  if (in.contains("world")) {
    if (!is_first)
      return "\"world\" stands in the first line only";
    if (in.size() != 1 || !in["world"].is_object())
      return "\"world\" is an object and stands alone";
    const auto fault = read_into(in["world"], out.world);
    return fault.empty() ? fault_of(out.world) : fault;
  }
  if (in.contains("do"))
    return read_into(in, std::get<step_line>(out.script.emplace_back(step_line{})));
  if (in.contains("expect"))
    return read_into(in, std::get<expect_line>(out.script.emplace_back(expect_line{})));
  if (in.contains("tool"))
    return read_into(in, out.tools.emplace_back());
  if (in.contains("model")) {
    const auto fault = read_into(in, out.model.emplace_back());
    return fault.empty() ? fault_of(out.model.back()) : fault;
  }
  return "a line has one of world, model, tool, do and expect";
}

failure bad_line(std::size_t number, const std::string& what) {
  return make_failure(error_code::invalid_request,
                      "scenario, line " + std::to_string(number) + ": " + what);
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

result<scenario> read_scenario(std::istream& in) {
  scenario s;
  std::size_t number = 0;
  bool is_first = true;
  for (std::string line; std::getline(in, line);) {
    if (++number > scenario_lines_max)
      return bad_line(number, "there may be " + std::to_string(scenario_lines_max) + " lines");
    if (line.size() > scenario_line_limit_bytes)
      return bad_line(number, "it is too long");
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#')
      continue;
    if (nests_deeper_than(line, json_depth_limit))
      return bad_line(number, "it nests too deep");
    const auto parsed = json::parse(line, nullptr, false);
    if (parsed.is_discarded())
      return bad_line(number, "it is no JSON");
    if (const auto fault = take_line(parsed, s, is_first); !fault.empty())
      return bad_line(number, fault);
    is_first = false;
  }
  if (is_first)
    return make_failure(error_code::invalid_request, "the scenario is empty");
  return s;
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
