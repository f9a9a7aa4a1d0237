// One function for each event type that a person wants to see.
#include "hosts/chat/transcript_renderer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "hosts/chat/text_width.hpp"

namespace rind::hosts::chat {

using nlohmann::json;

namespace {

constexpr int gauge_cells = 8;
constexpr int preview_columns = 100;

std::string text_at(const json& object, const char* name) {
  if (!object.is_object())
    return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& object_at(const json& object, const char* name) {
  static const json none = json::object();
  if (!object.is_object())
    return none;
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : none;
}

double number_at(const json& object, const char* name, double otherwise = 0) {
  if (!object.is_object())
    return otherwise;
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::int64_t count_at(const json& object, const char* name) {
  const double number = number_at(object, name);
  return std::abs(number) < 9e15 ? static_cast<std::int64_t>(number) : 0;
}

bool flag_at(const json& object, const char* name) {
  if (!object.is_object())
    return false;
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

/// The first line of a text, short enough to stand in a row.
std::string preview(const std::string& text) {
  const auto end = text.find('\n');
  const auto first = printable(text.substr(0, std::min(end, std::size_t{4} * preview_columns)));
  const auto shown = fit(first, preview_columns);
  return end != std::string::npos && shown == first ? shown + " …" : shown;
}

std::string decimal(double number, const char* unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f%s", number, unit);
  return text.data();
}

std::string duration(double ms) {
  return ms < 1'000 ? std::to_string(static_cast<std::int64_t>(ms)) + " ms"
                    : decimal(ms / 1'000, " s");
}

} // namespace

std::string short_count(std::int64_t number) {
  if (number < 1'000)
    return std::to_string(number);
  if (number < 1'000'000) {
    const double thousands = static_cast<double>(number) / 1'000;
    return number < 10'000 && number % 1'000 != 0 ? decimal(thousands, "k")
                                                  : std::to_string(std::llround(thousands)) + "k";
  }
  return number % 1'000'000 == 0 ? std::to_string(number / 1'000'000) + "M"
                                 : decimal(static_cast<double>(number) / 1'000'000, "M");
}

std::string context_gauge(double used_percent, std::int64_t window_tokens,
                          std::int64_t generation) {
  if (window_tokens <= 0)
    return {};
  const double share = std::clamp(used_percent, 0.0, 100.0) / 100;
  const auto full = static_cast<std::size_t>(std::lround(share * gauge_cells));
  return "[" + std::string(full, '#') + std::string(gauge_cells - full, '.') + "] " +
         std::to_string(std::lround(std::clamp(used_percent, 0.0, 999.0))) + " % of " +
         short_count(window_tokens) + ", generation " + std::to_string(generation);
}

void transcript_renderer::take_event(const json& frame) {
  const auto& event = object_at(frame, "event");
  const auto type = text_at(event, "type");
  if (type == "assistant_delta")
    return delta(event);
  if (type == "assistant_message_completed")
    return message_completed(event);
  if (type == "turn_started")
    return turn_started(event);
  if (type == "turn_completed" || type == "turn_failed" || type == "turn_cancelled")
    return turn_ended(event, type);
  if (is_quiet())
    return;
  if (type == "reasoning_delta")
    activity_ = "thinking";
  else if (type == "context_built")
    context_built(event);
  else if (type == "token_stats_updated")
    token_stats_updated(event);
  else if (type == "tool_requested")
    tool_requested(event);
  else if (type == "tool_call_started")
    activity_ = "running " + preview(text_at(event, "tool_name"));
  else if (type == "tool_result")
    tool_result(event);
  else if (type == "compaction_started")
    compaction_started(event);
  else if (type == "compaction_ended")
    compaction_ended(event);
  else if (type == "context_compacted")
    context_compacted(event);
  else if (type == "turn_step_retry")
    retry(event);
  else if (type == "queued_input_delivered")
    input_delivered(event);
}

void transcript_renderer::turn_started(const json& event) {
  running_ = true;
  streamed_.clear();
  activity_ =
      text_at(event, "operation") == "compact" ? "compacting the context" : "waiting for the model";
  if (flag_at(event, "resumed") && !is_quiet())
    line(text_style::notice, "the interrupted turn goes on");
}

void transcript_renderer::take_stats(const json& stats) {
  window_tokens_ = count_at(stats, "context_window_tokens");
  used_percent_ = number_at(stats, "context_usage_percent", used_percent_);
  generation_ = count_at(stats, "compact_generation");
}

void transcript_renderer::context_built(const json& event) {
  take_stats(object_at(event, "stats"));
  activity_ = "waiting for the model";
  const auto rescued = count_at(object_at(event, "decisions"), "rescued_messages");
  if (rescued > 0)
    line(text_style::warning, "context rescue: " + grouped(rescued) +
                                  " messages are shortened or left out of this request");
}

void transcript_renderer::token_stats_updated(const json& event) {
  const auto& stats = object_at(event, "stats");
  const auto input = number_at(stats, "input_tokens");
  if (text_at(stats, "sampling_kind") != "assistant" || input <= 0 || window_tokens_ <= 0)
    return;
  used_percent_ =
      (input + number_at(stats, "output_tokens")) * 100 / static_cast<double>(window_tokens_);
}

void transcript_renderer::delta(const json& event) {
  if (is_quiet())
    return;
  activity_ = "writing";
  if (const auto dropped = count_at(event, "dropped_chars"); dropped > 0)
    line(text_style::quiet,
         "(" + grouped(dropped) + " characters were not shown in time; the whole answer follows)");
  stream(text_at(event, "text"));
}

void transcript_renderer::stream(const std::string& text) {
  streamed_ += text;
  const auto shown = printable(text);
  std::size_t start = 0;
  for (std::size_t end = 0; (end = shown.find('\n', start)) != std::string::npos; start = end + 1) {
    pieces_.push_back({text_style::answer, shown.substr(start, end - start), true});
    open_line_ = false;
  }
  if (start == shown.size())
    return;
  pieces_.push_back({text_style::answer, shown.substr(start), false});
  open_line_ = true;
}

void transcript_renderer::message_completed(const json& event) {
  auto content = text_at(event, "content");
  if (is_quiet()) {
    if (!content.empty())
      pieces_.push_back({text_style::answer, std::move(content), true});
    return;
  }
  // What was streamed is on the screen already; after dropped pieces, or where the stream began
  // before this client, it is not whole.
  const auto streamed = std::exchange(streamed_, {});
  if (content.starts_with(streamed))
    stream(content.substr(streamed.size()));
  else {
    end_open_line();
    stream(content);
  }
  end_open_line();
  streamed_.clear();
}

void transcript_renderer::tool_requested(const json& event) {
  line(text_style::quiet,
       "* " + preview(text_at(event, "tool_name") + " " + text_at(event, "args_preview")));
}

void transcript_renderer::tool_result(const json& event) {
  const auto status = text_at(event, "status");
  const bool good = status == "completed";
  auto text = "  " + status + " in " + duration(number_at(event, "duration_ms"));
  if (const auto shown = preview(text_at(event, "result")); !shown.empty())
    text += ": " + shown;
  line(good ? text_style::quiet : text_style::warning, text);
  activity_ = "waiting for the model";
}

void transcript_renderer::compaction_started(const json& event) {
  activity_ = flag_at(event, "waiting") ? "waiting for a place to compact the context"
                                        : "compacting the context";
  if (text_at(event, "reason") == "context_length_error")
    line(text_style::notice, "the model refused the length of the context: compacting it");
}

void transcript_renderer::compaction_ended(const json& event) {
  activity_ = "waiting for the model";
  const auto outcome = text_at(event, "outcome");
  if (outcome != "committed")
    line(text_style::warning, "the context was not compacted: " + preview(outcome));
}

void transcript_renderer::context_compacted(const json& event) {
  const auto& record = object_at(event, "record");
  const auto strategy = text_at(record, "strategy");
  const auto after = count_at(record, "tokens_after");
  std::string text = strategy == "context_rescue" ? "context rescued: " : "context compacted: ";
  text += grouped(count_at(record, "tokens_before")) + " -> " + grouped(after) + " tokens";
  if (strategy == "deterministic_fallback")
    text +=
        " (without a model: " + preview(text_at(object_at(record, "fallback_error"), "message")) +
        ")";
  line(text_style::notice, text);
  ++compactions_told_;
  generation_ = count_at(record, "generation");
  if (window_tokens_ > 0)
    used_percent_ = static_cast<double>(after) * 100 / static_cast<double>(window_tokens_);
}

void transcript_renderer::retry(const json& event) {
  const auto delay_ms = number_at(event, "delay_ms");
  std::string text = "trying again";
  if (delay_ms > 0)
    text += " in " + duration(delay_ms);
  text += ": " + preview(text_at(event, "reason"));
  if (const auto detail = preview(text_at(event, "detail")); !detail.empty())
    text += ": " + detail;
  if (flag_at(event, "discard_partial")) {
    text += " (the answer above was cut off and starts anew)";
    streamed_.clear();
  }
  line(text_style::warning, text);
  activity_ = "trying again";
}

void transcript_renderer::input_delivered(const json& event) {
  const bool steering = text_at(event, "mode") == "steering";
  take_user_text(text_at(event, "input"), steering ? ">> " : "> ");
}

void transcript_renderer::turn_ended(const json& event, const std::string& type) {
  running_ = false;
  activity_.clear();
  streamed_.clear();
  end_open_line();
  if (type == "turn_failed") {
    failed_ = true;
    const auto code = text_at(event, "code");
    line(text_style::error, "the turn failed: " + printable(text_at(event, "error")) +
                                (code.empty() ? "" : " (" + code + ")"));
  } else if (type == "turn_cancelled") {
    const auto reason = text_at(event, "reason");
    line(is_quiet() ? text_style::error : text_style::notice,
         "cancelled" + (reason == "user" ? "" : " (" + reason + ")"));
  }
  const auto undelivered = event.find("undelivered");
  if (undelivered == event.end() || !undelivered->is_array())
    return;
  for (const auto& input : *undelivered)
    line(is_quiet() ? text_style::error : text_style::warning,
         "not delivered: " + preview(text_at(input, "input")));
}

void transcript_renderer::take_user_text(const std::string& text, const std::string& mark) {
  if (is_quiet())
    return;
  say(text_style::user, mark + text);
}

void transcript_renderer::say(text_style style, const std::string& text) {
  auto rest = is_quiet() ? text : printable(text);
  if (!is_quiet())
    while (rest.ends_with('\n'))
      rest.pop_back();
  std::size_t start = 0;
  for (std::size_t end = 0; (end = rest.find('\n', start)) != std::string::npos; start = end + 1)
    line(style, rest.substr(start, end - start));
  line(style, rest.substr(start));
}

void transcript_renderer::forget_session() {
  end_open_line();
  running_ = false;
  activity_.clear();
  streamed_.clear();
  used_percent_ = 0;
  window_tokens_ = 0;
  generation_ = 0;
}

void transcript_renderer::end_open_line() {
  if (open_line_)
    pieces_.push_back({text_style::answer, "", true});
  open_line_ = false;
}

void transcript_renderer::line(text_style style, const std::string& text) {
  end_open_line();
  pieces_.push_back({style, text, true});
}

std::vector<piece> transcript_renderer::take_pieces() {
  return std::exchange(pieces_, {});
}

std::string transcript_renderer::status() const {
  const auto gauge = context_gauge(used_percent_, window_tokens_, generation_);
  if (gauge.empty() || activity_.empty())
    return gauge + activity_;
  return gauge + "  " + activity_;
}

} // namespace rind::hosts::chat
