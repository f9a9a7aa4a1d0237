// The keys of the settings and what each may hold.
#include "runtime/config/fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"

namespace rind::config {

namespace {

constexpr std::int64_t day_ms = 86'400'000;
constexpr std::int64_t tokens_max = 1'000'000'000;
constexpr std::int64_t count_max = 1'000'000;
constexpr std::int64_t embedded_delta_max_ms = 10'000; // a longer pause looks like a broken model
constexpr std::int64_t price_max = 1'000'000'000;      // of a million tokens
constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
constexpr std::size_t compared_key_bytes_max = 64; // a longer key is compared by its beginning

field number(std::string_view key, field_target target, std::int64_t min, std::int64_t max) {
  return {key, target, min, max, {}, false};
}

field text(std::string_view key, std::string& target, std::vector<std::string_view> words = {}) {
  return {key, &target, 0, 0, std::move(words), false};
}

/// What a model may name as its wire format.
std::vector<std::string_view> format_words() {
  std::vector<std::string_view> words{providers_format};
  words.insert(words.end(), std::begin(wire_formats), std::end(wire_formats));
  return words;
}

/// The numbers that a model may have and that the fallback has for all.
void add_limits(context::model_limits& limits, std::optional<std::int64_t>& request_limit_bytes,
                fields& members) {
  members.push_back(number("context_window", &limits.window_tokens, window_min_tokens, tokens_max));
  members.push_back(number("input_cap", &limits.input_cap_tokens, window_min_tokens, tokens_max));
  members.push_back(number("max_output", &limits.max_output_tokens, 1, tokens_max));
  members.push_back(number("auto_compact_percent", &limits.threshold_percent, 1, 100));
  members.push_back(
      number("auto_compact_tokens", &limits.auto_compact_limit_tokens, 1, tokens_max));
  members.push_back(number("request_limit_bytes", &request_limit_bytes, 1'024, bytes_max));
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto above = row[j];
      const auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
      diagonal = above;
    }
  }
  return row.back();
}

} // namespace

fields fields_of(settings& values) {
  return {
      text("journal", values.journal),
      text("default_model", values.default_model),
      text("log_level", values.log_level, {"trace", "debug", "info", "warn", "error", "off"}),
      text("log_file", values.log_file),
      number("embedded_window_tokens", &values.embedded_window_tokens, window_min_tokens,
             tokens_max),
      number("embedded_delta_ms", &values.embedded_delta_ms, 0, embedded_delta_max_ms),
  };
}

fields fields_of(provider_settings& values) {
  return {
      text("name", values.name),
      text("base_url", values.base_url),
      text("format", values.format, {std::begin(wire_formats), std::end(wire_formats)}),
      text("api_key_env", values.api_key_env),
      text("api_key_file", values.api_key_file),
      text("max_tokens_field", values.max_tokens_field, {"max_completion_tokens", "max_tokens"}),
      text("proxy", values.proxy),
      text("ca_file", values.ca_file),
      number("connect_timeout_ms", &values.connect_timeout_ms, 1, day_ms),
      number("first_byte_timeout_ms", &values.first_byte_timeout_ms, 1, day_ms),
      number("idle_timeout_ms", &values.idle_timeout_ms, 1, day_ms),
      number("total_timeout_ms", &values.total_timeout_ms, 1, day_ms),
      number("requests_in_flight_max", &values.requests_in_flight_max, 1, count_max),
      number("request_limit_bytes", &values.request_limit_bytes, 1'024, bytes_max),
  };
}

fields fields_of(model_settings& values) {
  fields members{text("name", values.name)};
  add_limits(values.limits, values.request_limit_bytes, members);
  members.push_back(text("format", values.format, format_words()));
  members.push_back(text("reasoning", values.reasoning,
                         {std::begin(reasoning_words), std::end(reasoning_words)}));
  return members;
}

fields fields_of(price_settings& values) {
  return {
      number("input", &values.input, 0, price_max),
      number("cached_input", &values.cached_input, 0, price_max),
      number("output", &values.output, 0, price_max),
  };
}

fields fields_of(fallback_settings& values) {
  fields members;
  add_limits(values.limits, values.request_limit_bytes, members);
  return members;
}

fields fields_of(compaction_settings& values) {
  return {
      text("model", values.model),
      {"auto_compact", &values.auto_compact, 0, 0, {}, false},
      {"overflow_recovery", &values.overflow_recovery, 0, 0, {}, false},
      number("summaries_at_once_max", &values.summaries_at_once_max, 1, count_max),
      number("deadline_ms", &values.deadline_ms, 1, day_ms),
      number("silence_ms", &values.silence_ms, 1, day_ms),
  };
}

fields fields_of(session_settings& values) {
  return {
      text("system_prompt", values.system_prompt),
      {"auto_resume", &values.auto_resume, 0, 0, {}, false},
      {"demo_tools", &values.demo_tools, 0, 0, {}, false},
      number("waiting_prompts_max", &values.waiting_prompts_max, 0, count_max),
      number("queued_inputs_max", &values.queued_inputs_max, 0, count_max),
      number("queued_characters_max", &values.queued_characters_max, 0, tokens_max),
      number("samplings_max", &values.samplings_max, 1, count_max),
      number("resumes_max", &values.resumes_max, 0, count_max),
      number("idle_passivate_ms", &values.idle_passivate_ms, 1, 30 * day_ms),
  };
}

fields fields_of(server_settings& values) {
  return {
      text("socket_path", values.socket_path),
      text("listen", values.listen),
      text("status_listen", values.status_listen),
      text("tls_certificate_file", values.tls_certificate_file),
      text("tls_key_file", values.tls_key_file),
      text("tls_client_ca_file", values.tls_client_ca_file),
      text("token_env", values.token_env),
      text("token_file", values.token_file),
      number("token_connections_max", &values.token_connections_max, 1, count_max),
      number("token_requests_max", &values.token_requests_max, 1, count_max),
      number("token_sessions_max", &values.token_sessions_max, 1, count_max),
      number("initialize_timeout_ms", &values.initialize_timeout_ms, 1, day_ms),
      number("idle_timeout_ms", &values.idle_timeout_ms, 0, 30 * day_ms),
      number("drain_ms", &values.drain_ms, 0, day_ms),
      number("connections_max", &values.connections_max, 1, count_max),
      number("unsent_bytes_max", &values.unsent_bytes_max, 1'024, bytes_max),
      number("unsent_frames_max", &values.unsent_frames_max, 1, count_max),
  };
}

fields fields_of(command_tool_settings& values) {
  auto parameters = text("parameters", values.parameters);
  parameters.json = true;
  return {
      text("name", values.name),
      text("description", values.description),
      parameters,
      {"command", &values.command, 0, 0, {}, false},
      number("deadline_ms", &values.deadline_ms, 1, day_ms),
  };
}

std::vector<section> sections_of(settings& values) {
  return {{"", fields_of(values)},
          {"fallback", fields_of(values.fallback)},
          {"compaction", fields_of(values.compaction)},
          {"session", fields_of(values.session)},
          {"server", fields_of(values.server)}};
}

std::string full_key(std::string_view table, std::string_view key) {
  auto out = std::string(table);
  if (!out.empty())
    out += '.';
  return out.append(key);
}

std::string element(std::string_view table, std::size_t index) {
  return std::string(table) + "[" + std::to_string(index) + "]";
}

std::string expected(const field& f) {
  const auto number = [&](const char* kind) {
    return kind + std::string(" from ") + std::to_string(f.min) + " to " + std::to_string(f.max);
  };
  const auto whole_number = [&] { return number("a whole number"); };
  const auto words = [&] {
    if (f.words.empty())
      return std::string(f.json ? "a table, or a text that holds JSON" : "a text");
    auto out = std::string("one of");
    for (const auto word : f.words)
      out.append(word == f.words.front() ? " " : ", ").append(word);
    return out;
  };
  return std::visit(
      overloaded{[&](std::string*) { return words(); },
                 [&](std::int64_t*) { return whole_number(); },
                 [&](std::optional<std::int64_t>*) { return whole_number(); },
                 [&](std::optional<double>*) { return number("a number"); },
                 [](bool*) { return std::string("true or false"); },
                 [](std::vector<std::string>*) { return std::string("a list of texts"); }},
      f.target);
}

std::optional<std::string> assign(const field& f, std::string text_value) {
  const auto* target = std::get_if<std::string*>(&f.target);
  const bool known =
      f.words.empty() || std::find(f.words.begin(), f.words.end(), text_value) != f.words.end();
  if (target == nullptr || !known)
    return "must be " + expected(f);
  if (text_value.find('\0') != std::string::npos)
    return "must not hold a zero character";
  if (!is_valid_utf8(text_value))
    return "is not valid UTF-8";
  **target = std::move(text_value);
  return std::nullopt;
}

std::optional<std::string> assign(const field& f, std::int64_t number_value) {
  if (std::holds_alternative<std::optional<double>*>(f.target))
    return assign(f, static_cast<double>(number_value));
  const bool in_range = number_value >= f.min && number_value <= f.max;
  if (const auto* always = std::get_if<std::int64_t*>(&f.target); always != nullptr && in_range)
    **always = number_value;
  else if (const auto* maybe = std::get_if<std::optional<std::int64_t>*>(&f.target);
           maybe != nullptr && in_range)
    **maybe = number_value;
  else
    return "must be " + expected(f);
  return std::nullopt;
}

std::optional<std::string> assign(const field& f, double number_value) {
  const auto* target = std::get_if<std::optional<double>*>(&f.target);
  const bool in_range = number_value >= static_cast<double>(f.min) &&
                        number_value <= static_cast<double>(f.max); // false of what is no number
  if (target == nullptr || !in_range)
    return "must be " + expected(f);
  **target = number_value;
  return std::nullopt;
}

std::optional<std::string> assign(const field& f, bool flag) {
  const auto* target = std::get_if<bool*>(&f.target);
  if (target == nullptr)
    return "must be " + expected(f);
  **target = flag;
  return std::nullopt;
}

std::optional<std::string> assign_from_text(const field& f, const std::string& text_value) {
  if (std::holds_alternative<std::string*>(f.target))
    return assign(f, text_value);
  if (std::holds_alternative<bool*>(f.target)) {
    constexpr std::array<std::string_view, 4> yes{"true", "1", "yes", "on"};
    constexpr std::array<std::string_view, 4> no{"false", "0", "no", "off"};
    if (std::find(yes.begin(), yes.end(), text_value) != yes.end())
      return assign(f, true);
    if (std::find(no.begin(), no.end(), text_value) != no.end())
      return assign(f, false);
    return "must be " + expected(f);
  }
  std::int64_t number_value = 0;
  const auto* end = text_value.data() + text_value.size();
  const auto read = std::from_chars(text_value.data(), end, number_value);
  if (read.ec != std::errc() || read.ptr != end)
    return "must be " + expected(f);
  return assign(f, number_value);
}

std::string value_of(const field& f) {
  using nlohmann::json;
  const auto shown = [](const auto& maybe) { return maybe ? json(*maybe) : json(nullptr); };
  const auto value =
      std::visit(overloaded{[&](const std::optional<std::int64_t>* maybe) { return shown(*maybe); },
                            [&](const std::optional<double>* maybe) { return shown(*maybe); },
                            [](const auto* other) { return json(*other); }},
                 f.target);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string nearest(std::string_view key, const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& other) {
    return edit_distance(key.substr(0, compared_key_bytes_max), other);
  };
  std::string best;
  auto best_distance = std::numeric_limits<std::size_t>::max();
  for (const auto& candidate : known) {
    if (const auto d = distance(candidate); d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

} // namespace rind::config
