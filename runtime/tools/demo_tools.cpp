// The built-in demo tools.
#include "runtime/tools/demo_tools.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "runtime/tools/output_cap.hpp"

namespace rind::tools {

namespace {

/// Reads one expression by recursive descent; the first error stays and ends the reading.
class expression_reader {
public:
  explicit expression_reader(std::string_view text) : text_(text) {}

  std::optional<double> read() {
    const double value = sum();
    if (error_.empty() && peek() != '\0')
      fail("unexpected character");
    if (error_.empty() && !std::isfinite(value))
      fail("the value is too large");
    return error_.empty() ? std::optional(value) : std::nullopt;
  }

  const std::string& error() const { return error_; }

private:
  double sum() {
    double value = product();
    while (error_.empty()) {
      if (take('+'))
        value += product();
      else if (take('-'))
        value -= product();
      else
        break;
    }
    return value;
  }

  double product() {
    double value = factor();
    while (error_.empty()) {
      if (take('*'))
        value *= factor();
      else if (take('/'))
        value /= divisor();
      else if (take('%'))
        value = std::fmod(value, divisor());
      else
        break;
    }
    return value;
  }

  double divisor() {
    const double value = factor();
    if (error_.empty() && value == 0)
      fail("division by zero");
    return value;
  }

  double factor() {
    if (++depth_ > expression_depth_max) {
      fail("nested too deeply");
      return 0;
    }
    const double value = signed_factor();
    --depth_;
    return value;
  }

  double signed_factor() {
    if (take('-'))
      return -factor();
    if (take('+'))
      return factor();
    if (!take('('))
      return number();
    const double value = sum();
    if (error_.empty() && !take(')'))
      fail("a closing parenthesis is missing");
    return value;
  }

  double number() {
    const char first = peek();
    if (first != '.' && (first < '0' || first > '9')) {
      fail("a number is missing");
      return 0;
    }
    double value = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (read.ec != std::errc())
      fail("no number that can be used");
    else
      at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return value;
  }

  /// The next character that is no space; NUL at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char wanted) {
    if (peek() != wanted)
      return false;
    ++at_;
    return true;
  }

  void fail(const char* why) {
    if (error_.empty())
      error_ = std::string(why) + " at byte " + std::to_string(at_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t depth_ = 0;
  std::string error_;
};

std::string format_number(double value) {
  std::array<char, 64> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), written.ptr};
}

/// A whole number argument; `fallback` where it is missing, nothing where it is of another kind or
/// out of range.
std::optional<std::int64_t> whole_number(const nlohmann::json& arguments, const char* name,
                                         std::int64_t fallback, std::int64_t max) {
  const auto found = arguments.find(name);
  if (found == arguments.end())
    return fallback;
  if (!found->is_number_integer())
    return std::nullopt;
  const bool too_large =
      found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(max);
  if (too_large || found->get<std::int64_t>() < 1)
    return std::nullopt;
  return found->get<std::int64_t>();
}

std::string record_line(std::int64_t number) {
  constexpr std::array places{"north gate", "east yard", "south hall", "west tower", "depot"};
  constexpr std::array states{"checked", "waiting", "moved", "counted"};
  const auto index = static_cast<std::size_t>(number);
  return "record " + std::to_string(number) + ": " + places[index % places.size()] + ", " +
         states[index / places.size() % states.size()] + ", " +
         std::to_string(number * 37 % 1'000) + " pieces\n";
}

outcome refuse(std::string why) {
  return {tool_status::failed, std::move(why), "invalid_arguments"};
}

outcome run_calculate(const nlohmann::json& arguments, const tool_sink&) {
  const auto expression = arguments.find("expression");
  if (expression == arguments.end() || !expression->is_string())
    return refuse("`expression` must be a text");
  const auto value = calculate(expression->get_ref<const std::string&>());
  if (!value)
    return refuse(value.error().message);
  return {tool_status::completed, *value, ""};
}

outcome run_list_records(const nlohmann::json& arguments, const tool_sink& sink) {
  const auto count = whole_number(arguments, "count", 0, records_max);
  const auto first = whole_number(arguments, "first", 1, 1'000'000'000);
  if (!count || *count < 1)
    return refuse("`count` must be a whole number from 1 to " + std::to_string(records_max));
  if (!first)
    return refuse("`first` must be a whole number from 1 to 1000000000");
  output_collector lines;
  std::int64_t told = 0;
  for (std::int64_t i = 0; i < *count; ++i) {
    lines.append(record_line(*first + i));
    const auto due = (i + 1) * records_progress_notes / *count;
    if (due > told && sink.on_progress)
      sink.on_progress(std::to_string(i + 1) + " of " + std::to_string(*count) + " records");
    told = due;
  }
  return {tool_status::completed, lines.text(), ""};
}

/// A tool that is a function of its arguments.
class inline_tool final : public tool {
public:
  using body = outcome (*)(const nlohmann::json& arguments, const tool_sink& sink);

  inline_tool(tool_definition definition, body run)
      : definition_(std::move(definition)), run_(run) {}

  const tool_definition& definition() const override { return definition_; }

  void start(const invocation& call, tool_sink sink) override {
    const auto arguments = nlohmann::json::parse(call.call.arguments, nullptr, false);
    sink.on_end(arguments.is_object() ? run_(arguments, sink)
                                      : refuse("the arguments are no JSON object"));
  }

  // A call has ended when start returns: there is never one to cancel.
  void cancel(const std::string&) override {}

private:
  tool_definition definition_;
  body run_;
};

} // namespace

result<std::string> calculate(std::string_view expression) {
  if (expression.size() > static_cast<std::size_t>(expression_bytes_max))
    return make_failure(error_code::invalid_request, "the expression is longer than " +
                                                         std::to_string(expression_bytes_max) +
                                                         " bytes");
  expression_reader reader(expression);
  const auto value = reader.read();
  if (!value)
    return make_failure(error_code::invalid_request, reader.error());
  return format_number(*value);
}

std::shared_ptr<tool> make_calculate() {
  return std::make_shared<inline_tool>(
      tool_definition{std::string(calculate_name),
                      "Evaluates an arithmetic expression with + - * / % and parentheses.",
                      R"({"type":"object","properties":{"expression":{"type":"string"}},)"
                      R"("required":["expression"],"additionalProperties":false})"},
      run_calculate);
}

std::shared_ptr<tool> make_list_records() {
  const auto max = std::to_string(records_max);
  return std::make_shared<inline_tool>(
      tool_definition{std::string(list_records_name),
                      "Lists numbered records of a made-up store, one a line.",
                      R"({"type":"object","properties":{"count":{"type":"integer","minimum":1,)"
                      R"("maximum":)" +
                          max +
                          R"(},"first":{"type":"integer","minimum":1}},)"
                          R"("required":["count"],"additionalProperties":false})"},
      run_list_records);
}

void add_demo_tools(registry& tools) {
  tools.add(make_calculate());
  tools.add(make_list_records());
}

} // namespace rind::tools
