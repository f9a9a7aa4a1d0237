// Events as JSON: a function for each type, in the order of the table in docs/protocol.md.
#include "runtime/protocol/session_updates.hpp"

#include "messages/json.hpp"

namespace rind::protocol {

using nlohmann::json;

namespace {

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json undelivered_list(const std::vector<undelivered_input>& inputs) {
  auto out = json::array();
  for (const auto& input : inputs)
    out.push_back(to_json(input));
  return out;
}

/// The arguments of a call as an object, or null where the text is none. A text that nests too deep
/// is none: its dump recurses.
json arguments_object(const std::string& text) {
  if (nests_deeper_than(text, json_depth_limit))
    return nullptr;
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : json();
}

// ---- live events
// -----------------------------------------------------------------------------------------------------------------

json fields(const events::context_built& e) {
  return {{"type", "context_built"},
          {"message_count", e.stats.message_count},
          {"stats", to_json(e.stats)},
          {"decisions",
           {{"auto_compact_token_limit_reached", e.auto_compact_limit_reached},
            {"compact_required", e.compact_required},
            {"rescued_messages", e.rescued_messages}}}};
}

json fields(const events::assistant_delta& e) {
  return {{"type", "assistant_delta"}, {"text", e.text}};
}

json fields(const events::reasoning_delta& e) {
  return {{"type", "reasoning_delta"}, {"text", e.text}};
}

json fields(const events::tool_call_started& e) {
  return {{"type", "tool_call_started"},
          {"tool_call_id", e.tool_call_id},
          {"tool_name", e.tool_name},
          {"payload", json::object()}};
}

json fields(const events::tool_progress& e) {
  return {{"type", "tool_progress"},
          {"tool_call_id", e.tool_call_id},
          {"tool_name", e.tool_name},
          {"payload", {{"text", e.text}}}};
}

json fields(const events::compaction_started& e) {
  return {{"type", "compaction_started"},
          {"reason", to_string(e.reason)},
          {"phase_detail", or_null(to_string(e.detail))},
          {"waiting", e.waiting}};
}

json fields(const events::compaction_ended& e) {
  return {{"type", "compaction_ended"},
          {"outcome", e.outcome},
          {"tokens_before", e.tokens_before},
          {"tokens_after", e.tokens_after ? json(*e.tokens_after) : json()},
          {"duration_ms", e.duration_ms}};
}

json fields(const events::turn_step_retry& e) {
  return {{"type", "turn_step_retry"},
          {"attempt", e.attempt},
          {"reason", e.reason},
          {"delay_ms", e.delay_ms},
          {"discard_partial", e.discard_partial},
          {"detail", e.detail}};
}

json fields(const events::token_stats_updated& e) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? json(*value) : json();
  };
  return {{"type", "token_stats_updated"},
          {"stats",
           {{"input_tokens", number(e.usage.input_tokens)},
            {"output_tokens", number(e.usage.output_tokens)},
            {"cached_tokens", number(e.usage.cached_tokens)},
            {"reasoning_tokens", number(e.usage.reasoning_tokens)},
            {"sampling_kind", to_string(e.kind)}}}};
}

// ---- durable events
// --------------------------------------------------------------------------------------------------------------

json fields(const entries::turn_started& e) {
  return {{"type", "turn_started"},
          {"operation", to_string(e.operation)},
          {"user_message_chars", e.user_message_chars},
          {"resumed", e.resumed}};
}

json fields(const entries::assistant_message& e) {
  return {{"type", "assistant_message_completed"},
          {"content", e.msg->content},
          {"content_chars", count_characters(e.msg->content)}};
}

json fields(const entries::tool_requested& e) {
  return {{"type", "tool_requested"},
          {"tool_call_id", e.call.id},
          {"tool_name", e.call.name},
          {"args_preview", first_characters(e.call.arguments, args_preview_characters)},
          {"arguments", arguments_object(e.call.arguments)}};
}

json fields(const entries::tool_result& e) {
  return {{"type", "tool_result"},
          {"tool_call_id", e.msg->tool_call_id},
          {"tool_name", e.msg->name},
          {"status", to_string(e.status)},
          {"result", e.msg->content},
          {"error_type", or_null(e.error_type)},
          {"error_source", or_null(e.error_source)},
          {"duration_ms", e.duration_ms}};
}

json fields(const entries::boundary& e) {
  return {{"type", "context_compacted"}, {"record", to_json(*e.record)}};
}

json fields(const entries::input_delivered& e) {
  const auto mode =
      e.msg->origin == user_origin::follow_up ? input_mode::follow_up : input_mode::steering;
  return {{"type", "queued_input_delivered"},
          {"input_id", e.msg->input_id},
          {"input", e.msg->content},
          {"mode", to_string(mode)}};
}

json failed_fields(const failure& error) {
  return {{"type", "turn_failed"},
          {"error", error.message},
          {"error_type", error.error_type},
          {"code", to_string(error.code)},
          {"status", to_string(error.status)},
          {"error_source", to_string(error.source)},
          {"details", to_json(error.details)}};
}

json fields(const entries::turn_ended& e) {
  json out;
  switch (e.outcome) {
  case entries::turn_outcome::completed:
    out = {{"type", "turn_completed"},
           {"duration_ms", e.duration_ms},
           {"samplings", e.samplings},
           {"compactions", e.compactions}};
    break;
  case entries::turn_outcome::failed:
    out = failed_fields(
        e.error ? *e.error
                : make_failure(error_code::internal_error, "the turn failed without a reason"));
    break;
  case entries::turn_outcome::cancelled:
    out = {{"type", "turn_cancelled"}, {"reason", to_string(e.reason)}};
    break;
  }
  out["undelivered"] = undelivered_list(e.undelivered);
  return out;
}

/// All other entries are told to nobody.
template <class T>
json fields(const T&) {
  return nullptr;
}

struct identity {
  const std::string& session_id;
  const std::string& turn_id;
  const std::string& event_id;
  std::int64_t time_ms;
};

json with_identity(json body, const identity& who) {
  body["ts"] = format_time(who.time_ms);
  body["event_id"] = who.event_id;
  body["session_id"] = who.session_id;
  body["turn_id"] = who.turn_id;
  return body;
}

std::string frame_tail(const session_event& event, const json& body) {
  const auto* durable = std::get_if<entry_ptr>(&event.body);
  const std::string& turn_id = durable == nullptr ? event.turn_id : (*durable)->turn_id;
  return std::string(R"(,"durability":)") +
         (durable == nullptr ? R"("incremental")" : R"("durable")") + R"(,"session_id":)" +
         dump_json(event.session_id) + R"(,"turn_id":)" + dump_json(turn_id) + R"(,"event":)" +
         dump_json(body) + "}\n";
}

} // namespace

json durable_event_body(const std::string& session_id, const entry& e) {
  json body = std::visit([](const auto& b) { return fields(b); }, e.body);
  if (body.is_null())
    return body;
  body["cursor"] = e.position;
  return with_identity(std::move(body), {session_id, e.turn_id, e.id, e.time_ms});
}

json event_body(const session_event& event) {
  if (const auto* durable = std::get_if<entry_ptr>(&event.body))
    return durable_event_body(event.session_id, **durable);
  return with_identity(
      std::visit([](const auto& b) { return fields(b); }, std::get<live_event_body>(event.body)),
      {event.session_id, event.turn_id, event.event_id, event.time_ms});
}

std::optional<json> message_item(const entry& e) {
  const message_ptr* msg = message_of(e.body);
  if (msg == nullptr)
    return std::nullopt;
  const message& m = **msg;
  json out{{"role", to_string(m.role)},
           {"content", m.content},
           {"cursor", e.position},
           {"ts", format_time(e.time_ms)}};
  if (m.role == message_role::assistant) {
    auto calls = json::array();
    for (const auto& call : m.tool_calls)
      calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
    out["tool_calls"] = std::move(calls);
    if (m.reasoning && !m.reasoning->text.empty())
      out["reasoning"] = m.reasoning->text;
  } else if (m.role == message_role::tool) {
    out["tool_call_id"] = m.tool_call_id;
    out["name"] = m.name;
    out["is_error"] = m.is_error;
  }
  return out;
}

const std::string* delta_text(const session_event& event) {
  const auto* live = std::get_if<live_event_body>(&event.body);
  if (live == nullptr)
    return nullptr;
  if (const auto* assistant = std::get_if<events::assistant_delta>(live))
    return &assistant->text;
  if (const auto* reasoning = std::get_if<events::reasoning_delta>(live))
    return &reasoning->text;
  return nullptr;
}

session_event with_delta_text(const session_event& event, std::string text) {
  session_event out = event;
  auto& live = std::get<live_event_body>(out.body);
  if (auto* reasoning = std::get_if<events::reasoning_delta>(&live))
    reasoning->text = std::move(text);
  else
    std::get<events::assistant_delta>(live).text = std::move(text);
  return out;
}

const std::string& session_update::tail() const {
  std::call_once(encoded_, [this] { tail_ = frame_tail(*event_, event_body(*event_)); });
  return tail_;
}

std::string delta_tail(const session_event& event, std::int64_t dropped_characters) {
  json body = event_body(event);
  if (dropped_characters > 0)
    body["dropped_chars"] = dropped_characters;
  return frame_tail(event, body);
}

std::string event_frame(std::int64_t sequence, const std::string& tail) {
  return R"({"kind":"event","method":"session/update","sequence":)" + std::to_string(sequence) +
         tail;
}

} // namespace rind::protocol
