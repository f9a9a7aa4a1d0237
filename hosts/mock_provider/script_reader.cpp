// Reads the lines of a script into rules.
#include <algorithm>
#include <array>

#include "hosts/mock_provider/script.hpp"
#include "hosts/mock_provider/script_fields.hpp"

namespace rind::hosts::mock_provider {

namespace {

using nlohmann::json;

/// Code points a chunk of text where the script does not say.
constexpr std::size_t chunk_chars_default = 24;

constexpr const char* html_page = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>"
                                  "<body><h1>Sign in to this network</h1></body></html>\n";

template <class Enum>
struct name_of {
  const char* name;
  Enum value;
};

/// Reads a field that names a value of an enum.
template <class Enum, std::size_t N>
void choice(script_fields& fields, const char* name, const std::array<name_of<Enum>, N>& names,
            Enum& into) {
  std::string text;
  fields.text(name, text);
  if (text.empty())
    return;
  std::string known;
  for (const auto& entry : names) {
    if (text == entry.name) {
      into = entry.value;
      return;
    }
    known += std::string{known.empty() ? "" : ", "} + entry.name;
  }
  fields.fault(name, "must be one of: " + known);
}

void read_text(script_fields& fields, scripted_answer& answer) {
  std::optional<std::string> text;
  std::size_t chunk_chars = chunk_chars_default;
  fields.text("text", text);
  fields.number("chunk_chars", chunk_chars, 1);
  const auto* deltas = fields.find("deltas");
  if (deltas == nullptr) {
    answer.deltas = split_text(text.value_or(""), chunk_chars);
    return;
  }
  if (text)
    fields.fault("deltas", "cannot stand beside text");
  if (!deltas->is_array())
    return fields.fault("deltas", "must be an array of strings");
  for (const auto& delta : *deltas) {
    if (!delta.is_string())
      return fields.fault("deltas", "must be an array of strings");
    answer.deltas.push_back(delta.get<std::string>());
  }
}

void read_calls(script_fields& fields, scripted_answer& answer) {
  const auto* calls = fields.find("tool_calls");
  if (calls == nullptr)
    return;
  if (!calls->is_array())
    return fields.fault("tool_calls", "must be an array");
  for (const auto& entry : *calls) {
    script_fields call_fields{entry, "tool_calls[]", {"id", "name", "arguments"}};
    scripted_call call;
    call_fields.text("id", call.id);
    call_fields.text("name", call.name);
    if (const auto* arguments = call_fields.find("arguments"))
      call.arguments = arguments->is_string() ? arguments->get<std::string>() : arguments->dump();
    if (call.name.empty())
      call_fields.fault("name", "is missing");
    if (!call_fields.fault().empty())
      return fields.fault("tool_calls", "holds a bad call: " + call_fields.fault());
    answer.tool_calls.push_back(std::move(call));
  }
}

constexpr std::array<std::string_view, 4> count_names{"input", "cached", "output", "reasoning"};

/// Counts in neutral words are for every format; any other object is one format's own.
bool is_neutral(const json& usage) {
  return !usage.empty() &&
         std::all_of(usage.items().begin(), usage.items().end(), [](const auto& item) {
           return std::find(count_names.begin(), count_names.end(), item.key()) !=
                  count_names.end();
         });
}

void read_counts(script_fields& fields, const json& usage, scripted_counts& counts) {
  script_fields count_fields{usage, "usage", {"input", "cached", "output", "reasoning"}};
  count_fields.number("input", counts.input);
  count_fields.number("cached", counts.cached);
  count_fields.number("output", counts.output);
  count_fields.number("reasoning", counts.reasoning);
  if (!count_fields.fault().empty())
    fields.fault("usage", "holds a bad count: " + count_fields.fault());
}

void read_finish_and_usage(script_fields& fields, scripted_answer& answer) {
  if (const auto* finish = fields.find("finish")) {
    if (finish->is_null())
      answer.finish = "";
    else
      fields.text("finish", answer.finish);
  }
  fields.flag("done", answer.done_marker);
  const auto* usage = fields.find("usage");
  if (usage == nullptr)
    return;
  if (usage->is_null()) {
    answer.usage = usage_mode::null;
  } else if (usage->is_object() && is_neutral(*usage)) {
    read_counts(fields, *usage, answer.usage_counts);
  } else if (usage->is_object()) {
    answer.usage = usage_mode::scripted;
    answer.usage_object = *usage;
  } else if (*usage == "none") {
    answer.usage = usage_mode::none;
  } else {
    fields.fault("usage", "must be an object, null or \"none\"");
  }
}

void read_headers(script_fields& fields, scripted_answer& answer) {
  const auto* headers = fields.find("headers");
  if (headers == nullptr)
    return;
  if (!headers->is_object())
    return fields.fault("headers", "must be an object of strings");
  for (const auto& [name, value] : headers->items()) {
    if (!value.is_string())
      return fields.fault("headers", "must be an object of strings");
    answer.headers.emplace_back(name, value.get<std::string>());
  }
}

void read_plain_body(script_fields& fields, scripted_answer& answer) {
  fields.number("status", answer.status, 200);
  if (answer.status > 599)
    fields.fault("status", "must be at most 599");
  read_headers(fields, answer);
  if (const auto* body = fields.find("body")) {
    const bool text = body->is_string();
    answer.body = text ? body->get<std::string>() : body->dump();
    answer.content_type = text ? "text/plain; charset=utf-8" : "application/json";
  }
  bool html = false;
  fields.flag("html", html);
  if (!html)
    return;
  if (answer.body)
    fields.fault("html", "cannot stand beside body");
  answer.body = html_page;
  answer.content_type = "text/html; charset=utf-8";
}

void read_hang(script_fields& fields, scripted_answer& answer) {
  fields.flag("hang", answer.hang);
  fields.number("hang_after_chunks", answer.hang_after_chunks);
}

void read_flood(script_fields& fields, scripted_answer& answer) {
  static constexpr std::array<name_of<flood_mode>, 2> names{
      {{"events", flood_mode::events}, {"line", flood_mode::line}}};
  const auto* flood = fields.find("flood");
  if (flood != nullptr && flood->is_boolean())
    answer.flood = flood->get<bool>() ? flood_mode::events : flood_mode::none;
  else
    choice(fields, "flood", names, answer.flood);
}

void read_comments(script_fields& fields, scripted_answer& answer) {
  const auto* comments = fields.find("keepalive_comments");
  if (comments != nullptr && comments->is_boolean())
    answer.comments.endless = comments->get<bool>();
  else
    fields.number("keepalive_comments", answer.comments.count);
  fields.number("keepalive_every_ms", answer.comments.every_ms);
  if (answer.comments.endless && answer.comments.every_ms == 0)
    fields.fault("keepalive_every_ms", "must be above 0 where comments have no end");
}

void read_faults(script_fields& fields, scripted_answer& answer) {
  static constexpr std::array<name_of<cut_mode>, 3> cuts{
      {{"close", cut_mode::close}, {"reset", cut_mode::reset}, {"clean", cut_mode::clean}}};
  fields.number("cut_after_chunks", answer.cut_after_chunks);
  fields.flag("cut_mid_character", answer.cut_mid_character);
  choice(fields, "cut", cuts, answer.cut);
  if (const auto* error = fields.find("stream_error"))
    answer.stream_error = *error;
  if (const auto* error = fields.find("error_field"))
    answer.error_field = *error;
  read_hang(fields, answer);
  read_flood(fields, answer);
  read_comments(fields, answer);
  fields.number("reject_above_tokens", answer.reject_above_tokens);
  fields.number("window", answer.window_tokens, 1);
  fields.flag("reject_in_stream", answer.reject_in_stream);
}

std::string read_answer(const json& object, scripted_answer& answer) {
  script_fields fields{object,
                       "answer",
                       {"text",
                        "deltas",
                        "chunk_chars",
                        "reasoning",
                        "reasoning_hidden",
                        "tool_calls",
                        "finish",
                        "usage",
                        "done",
                        "delay_ms",
                        "delta_delay_ms",
                        "gate",
                        "status",
                        "body",
                        "headers",
                        "html",
                        "cut_after_chunks",
                        "cut_mid_character",
                        "cut",
                        "stream_error",
                        "error_field",
                        "hang",
                        "hang_after_chunks",
                        "flood",
                        "keepalive_comments",
                        "keepalive_every_ms",
                        "reject_above_tokens",
                        "window",
                        "reject_in_stream"}};
  if (!fields.fault().empty())
    return fields.fault();
  read_text(fields, answer);
  fields.text("reasoning", answer.reasoning);
  fields.flag("reasoning_hidden", answer.reasoning_hidden);
  read_calls(fields, answer);
  read_finish_and_usage(fields, answer);
  fields.number("delay_ms", answer.delay_ms);
  fields.number("delta_delay_ms", answer.delta_delay_ms);
  fields.text("gate", answer.gate);
  read_plain_body(fields, answer);
  read_faults(fields, answer);
  return fields.fault();
}

std::string read_match(const json& object, rule_match& match) {
  script_fields fields{object,
                       "match",
                       {"model", "contains", "has_tools", "has_tool_result", "nth", "min_chars",
                        "min_tokens", "max_tokens"}};
  fields.text("model", match.model);
  fields.text("contains", match.contains);
  fields.flag("has_tools", match.has_tools);
  fields.flag("has_tool_result", match.has_tool_result);
  fields.number("nth", match.nth, 1);
  fields.number("min_chars", match.min_chars);
  fields.number("min_tokens", match.min_tokens);
  fields.number("max_tokens", match.max_tokens);
  return fields.fault();
}

std::string read_rule(const json& object, script_rule& rule) {
  script_fields fields{object, "rule", {"conversation", "match", "times", "answer"}};
  fields.text("conversation", rule.conversation);
  fields.number("times", rule.times);
  if (!fields.fault().empty())
    return fields.fault();
  if (const auto* match = fields.find("match"))
    if (auto fault = read_match(*match, rule.match); !fault.empty())
      return fault;
  const auto* answer = fields.find("answer");
  return answer == nullptr ? "rule.answer is missing" : read_answer(*answer, rule.answer);
}

} // namespace

result<script> parse_script(std::string_view text) {
  script rules;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#')
      continue;
    const auto object = json::parse(line, nullptr, false);
    script_rule rule;
    rule.line = line_number;
    const auto fault = object.is_discarded() ? "not JSON" : read_rule(object, rule);
    if (!fault.empty())
      return make_failure(error_code::invalid_request,
                          "script line " + std::to_string(line_number) + ": " + fault);
    rules.push_back(std::move(rule));
  }
  return rules;
}

} // namespace rind::hosts::mock_provider
