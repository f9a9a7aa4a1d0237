// Gathering of evidence from error bodies.
#include "runtime/provider/error_evidence.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/provider/embedded_text.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

using nlohmann::json;

constexpr std::size_t depth_max = 10;
constexpr std::size_t quoted_code_bytes_max = 64;

/// Members that hold words for people.
constexpr std::array<std::string_view, 15> message_keys{"message",        "error_message",
                                                        "error_msg",      "msg",
                                                        "status_msg",     "detail",
                                                        "details",        "error",
                                                        "errors",         "raw",
                                                        "reason_phrase",  "title",
                                                        "upstream_error", "error_description",
                                                        "description"};
/// Members that hold words for programs.
constexpr std::array<std::string_view, 12> code_keys{
    "code",        "type",    "error_type", "error_code", "status",      "reason",
    "status_code", "quotaid", "__type",     "errortype",  "blockreason", "http_code"};
/// Members that hold seconds to wait.
constexpr std::array<std::string_view, 3> delay_keys{"resets_in_seconds", "retry_after",
                                                     "retry_after_seconds"};
/// Members that may hold a nested error.
constexpr std::array<std::string_view, 12> nest_keys{
    "promptfeedback", "metadata", "base_resp", "innererror", "inner_error", "response",
    "violations",     "body",     "cause",     "data",       "inner",       "exception"};

template <std::size_t N>
bool is_one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void add_text(std::vector<std::string>& list, std::string text) {
  if (text.size() > evidence_text_bytes_max)
    text = std::string{prefix_of(text, evidence_text_bytes_max)};
  if (!text.empty() && list.size() < evidence_texts_max &&
      std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(std::move(text));
}

std::optional<int> http_status_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 400 || number > 599)
    return std::nullopt;
  return number;
}

/// Seconds of "47s", "0.5s".
std::optional<double> seconds_of(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0 ||
      text.substr(static_cast<std::size_t>(end - text.data())) != "s")
    return std::nullopt;
  return value;
}

/// A size above zero.
std::optional<std::int64_t> size_of(const json& value) {
  if (!value.is_number_integer() || value.get<std::int64_t>() <= 0)
    return std::nullopt;
  return value.get<std::int64_t>();
}

class gatherer {
public:
  explicit gatherer(error_evidence& out) : out_(out) {}

  void take(const json& value, std::size_t depth) {
    if (depth > depth_max || ++nodes_ > evidence_nodes_max)
      return;
    if (value.is_array())
      for (const auto& item : value)
        take(item, depth + 1);
    else if (value.is_object())
      take_object(value, depth);
    else if (value.is_string())
      take_words(value.get_ref<const std::string&>(), depth);
  }

private:
  /// Members in the order of importance, so that the outermost message comes first whatever the
  /// order in the text.
  void take_object(const json& value, std::size_t depth) {
    for (const auto& [key, item] : value.items())
      take_scalar(lowered(key), item);
    for (const auto key : message_keys)
      if (const auto found = value.find(key); found != value.end())
        take(*found, depth + 1);
    for (const auto& [key, item] : value.items())
      if (is_one_of(lowered(key), nest_keys))
        take(item, depth + 1);
  }

  void take_scalar(const std::string& key, const json& item) {
    if (is_one_of(key, code_keys) && (item.is_string() || item.is_number_integer()))
      take_code(item.is_string() ? item.get<std::string>() : item.dump());
    else if (key == "param" && item.is_string())
      out_.param = lowered(item.get<std::string>());
    else if (key == "n_prompt_tokens")
      out_.prompt_tokens = size_of(item);
    else if (key == "n_ctx")
      out_.window_tokens = size_of(item);
    else if (key == "retrydelay" && item.is_string())
      out_.retry_delay_s = seconds_of(item.get<std::string>());
    else if (is_one_of(key, delay_keys) && item.is_number() && item.get<double>() >= 0)
      out_.retry_delay_s = item.get<double>();
    else if (key == "base_resp")
      take_numbered_state(item);
  }

  /// A state whose numbers are the server's own: they must not be taken for those of another.
  void take_numbered_state(const json& state) {
    if (const auto number = count_member(state, "status_code"))
      add_text(out_.codes, "base_resp " + std::to_string(*number));
  }

  void take_code(const std::string& text) {
    if (const auto status = http_status_of(text)) {
      if (!out_.inner_status)
        out_.inner_status = status;
      return;
    }
    add_text(out_.codes, lowered(prefix_of(text, evidence_text_bytes_max)));
  }

  /// Words, JSON that travels as text, or words around such JSON.
  void take_words(const std::string& text, std::size_t depth) {
    const auto body = trimmed(text);
    const auto begin = body.find_first_of("{[");
    const auto end = body.find_last_of("}]");
    if (begin != std::string_view::npos && end != std::string_view::npos && begin < end)
      if (const auto inner = parse_outside_json(body.substr(begin, end + 1 - begin));
          inner && (begin == 0 || inner->is_object())) {
        const auto around = std::string{body.substr(0, begin)} + std::string{body.substr(end + 1)};
        add_text(out_.messages, std::string{trimmed(around)});
        take(*inner, depth + 1);
        return;
      }
    take_quoted_codes(body);
    add_text(out_.messages, std::string{body});
  }

  /// Codes inside of words that some program printed: 'code': 'insufficient_quota'.
  void take_quoted_codes(std::string_view text) {
    for (const std::string_view mark : {"'code': '", "'type': '"})
      for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
        const auto begin = at + mark.size();
        const auto end = text.find('\'', begin);
        if (end != std::string_view::npos && end - begin <= quoted_code_bytes_max)
          take_code(std::string{text.substr(begin, end - begin)});
      }
  }

  error_evidence& out_;
  std::size_t nodes_ = 0;
};

std::string html_title(std::string_view html) {
  const auto low = lowered(prefix_of(html, evidence_text_bytes_max));
  const auto begin = low.find("<title>");
  const auto end = low.find("</title>");
  if (begin == std::string::npos || end == std::string::npos || end < begin + 7)
    return "an HTML page";
  return std::string{trimmed(html.substr(begin + 7, end - begin - 7))};
}

bool looks_like_html(std::string_view text) {
  const auto low = lowered(text.substr(0, 64));
  return low.rfind("<!doctype", 0) == 0 || low.rfind("<html", 0) == 0 ||
         low.rfind("<head", 0) == 0 || low.rfind("<body", 0) == 0;
}

bool is_set(const json& value) {
  return !(value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()) ||
           ((value.is_object() || value.is_array()) && value.empty()) ||
           (value.is_boolean() && !value.get<bool>()));
}

} // namespace

error_evidence read_evidence(std::string_view body) {
  error_evidence evidence;
  const auto text = trimmed(body);
  evidence.is_empty = text.empty();
  if (text.empty())
    return evidence;
  gatherer gather{evidence};
  if (text.front() == '{' || text.front() == '[' || text.front() == '"') {
    if (const auto value = parse_outside_json(text)) {
      evidence.is_json = true;
      gather.take(*value, 0);
      return evidence;
    }
  }
  if (looks_like_html(text)) {
    evidence.is_html = true;
    add_text(evidence.messages, html_title(text));
    return evidence;
  }
  add_text(evidence.messages, std::string{prefix_of(text, evidence_text_bytes_max)});
  return evidence;
}

bool is_error_body(const json& value) {
  if (value.is_array())
    return !value.empty() && value.front().is_object() && is_error_body(value.front());
  if (!value.is_object())
    return true;
  if (is_set(member(value, "error")) || is_set(member(value, "errors")) ||
      is_set(member(value, "error_message")) || is_set(member(value, "error_msg")) ||
      is_set(member(member(value, "response"), "error")) ||
      is_set(member(member(value, "promptFeedback"), "blockReason")) ||
      text_member(value, "type") == "error" || text_member(value, "object") == "error")
    return true;
  const auto& state = member(member(value, "base_resp"), "status_code");
  if (state.is_number_integer() && state.get<std::int64_t>() != 0)
    return true;
  return !is_set(member(value, "choices")) && member(value, "message").is_string();
}

} // namespace rind::provider
