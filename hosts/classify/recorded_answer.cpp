// Reading of recorded answers.
#include "hosts/classify/recorded_answer.hpp"

#include <nlohmann/json.hpp>

#include "runtime/provider/embedded_text.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::hosts::classify {

namespace {

using nlohmann::json;

constexpr std::int64_t status_min = 100;
constexpr std::int64_t status_max = 599;

failure refused(std::string why) {
  return make_failure(error_code::invalid_request, std::move(why));
}

bool is_given(const json& value) {
  return !value.is_null();
}

/// Reads the members of one line; the first fault is kept.
class line_fields {
public:
  explicit line_fields(const json& line) : line_(line) {}

  std::string text(const char* name, bool is_needed) {
    const auto& value = provider::member(line_, name);
    if (value.is_string())
      return value.get<std::string>();
    if (is_given(value) || is_needed)
      fault(name, "must be a string");
    return {};
  }

  /// 0 where it is not given.
  std::int64_t count(const char* name) {
    const auto value = provider::count_member(line_, name);
    if (!value && is_given(provider::member(line_, name)))
      fault(name, "must be a whole number of at least 0");
    return value.value_or(0);
  }

  int status() {
    const auto value = provider::count_member(line_, "status");
    if (!value || *value < status_min || *value > status_max) {
      fault("status", "must be an HTTP status");
      return 0;
    }
    return static_cast<int>(*value);
  }

  std::vector<provider::http_header> headers() {
    std::vector<provider::http_header> all;
    const auto& value = provider::member(line_, "headers");
    if (is_given(value) && !value.is_object())
      fault("headers", "must be an object");
    if (!value.is_object())
      return all;
    for (const auto& [name, text] : value.items()) {
      if (text.is_string())
        all.push_back({provider::lowered(name), text.get<std::string>()});
      else
        fault("headers", "must hold strings");
    }
    return all;
  }

  const std::string& fault() const { return fault_; }

private:
  void fault(const std::string& name, const std::string& what) {
    if (fault_.empty())
      fault_ = "`" + name + "` " + what;
  }

  const json& line_;
  std::string fault_;
};

} // namespace

result<recorded_answer> read_recorded_answer(std::string_view line) {
  const auto value = provider::parse_outside_json(line);
  if (!value || !value->is_object())
    return refused("no JSON object");
  line_fields fields{*value};
  recorded_answer answer;
  answer.id = fields.text("id", true);
  answer.head.status = fields.status();
  answer.head.headers = fields.headers();
  answer.body = fields.text("body", true);
  answer.sent.provider = fields.text("provider", false);
  answer.sent.window_tokens = fields.count("context_window");
  answer.sent.estimated_tokens = fields.count("sent_estimate_tokens");
  answer.sent.output_limit_tokens = fields.count("max_tokens_sent");
  if (!fields.fault().empty())
    return refused(fields.fault());
  return answer;
}

} // namespace rind::hosts::classify
