// Responses as JSON.
#include "runtime/protocol/responses.hpp"

#include "messages/json.hpp"
#include "runtime/protocol/requests.hpp"

namespace rind::protocol {

using nlohmann::json;

namespace {

std::string response_head(const json& request_id) {
  return R"({"kind":"response","request_id":)" + dump_json(request_id);
}

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json command_list() {
  auto out = json::array();
  for (const auto& row : commands())
    out.push_back({{"name", row.word},
                   {"description", row.description},
                   {"usage", row.usage},
                   {"aliases", json::array()}});
  return out;
}

json names(std::span<const char* const> texts) {
  auto out = json::array();
  for (const auto* text : texts)
    out.push_back(text);
  return out;
}

} // namespace

response_text result_frame(const json& request_id, const json& result) {
  return {response_head(request_id) + R"(,"result":)" + dump_json(result) + "}\n", "", false, ""};
}

response_text error_frame(const json& request_id, const failure& error) {
  json told{{"type", to_string(error.code)}, {"message", error.message}};
  if (!(error.details == failure_details{}))
    told["details"] = rind::to_json(error.details);
  return {response_head(request_id) + R"(,"error":)" + dump_json(told) + "}\n", "", false, ""};
}

failure as_response_error(const failure& error) {
  if (error.code != error_code::persistence_failed)
    return error;
  return make_failure(error_code::unavailable,
                      std::string(to_string(error.code)) + ": " + error.message);
}

std::optional<turn_state> state_in_journal(const journal::session_summary& summary) {
  if (summary.open_turn_id.empty())
    return std::nullopt;
  turn_state out;
  out.turn_id = summary.open_turn_id;
  out.operation = summary.open_operation;
  out.progress = turn_progress::interrupted;
  return out;
}

json to_json(const std::optional<turn_state>& value) {
  if (!value)
    return nullptr;
  return {{"turn_id", value->turn_id},           {"operation", to_string(value->operation)},
          {"state", to_string(value->progress)}, {"waiting_prompts", value->waiting_prompts},
          {"steering", value->steering},         {"follow_up", value->follow_up}};
}

json to_json(const std::optional<live_turn>& value) {
  if (!value)
    return nullptr;
  auto tools = json::array();
  for (const auto& tool : value->tools)
    tools.push_back({{"tool_call_id", tool.tool_call_id}, {"tool_name", tool.tool_name}});
  return {{"turn_id", value->turn_id},     {"operation", to_string(value->operation)},
          {"sampling", value->sampling},   {"text", value->text},
          {"reasoning", value->reasoning}, {"tools", std::move(tools)}};
}

json to_json(const listed_session& value) {
  const auto& summary = value.summary;
  return {{"session_id", summary.session_id},
          {"title", summary.title},
          {"model", summary.model},
          {"created_at", format_time(summary.created_at_ms)},
          {"updated_at", format_time(summary.updated_at_ms)},
          {"message_count", summary.message_count},
          {"generation", summary.generation},
          {"turn_state", to_json(value.turn)}};
}

json ok_result() {
  return {{"ok", true}};
}

json initialize_result(const session_info& session, const std::string& version) {
  return {{"protocol_version", protocol_version},
          {"version", version},
          {"session_id", session.session_id},
          {"draft", false},
          {"model", session.model},
          {"capabilities", names(capability_names())},
          {"methods", names(method_names())},
          {"commands", command_list()},
          {"turn_state", to_json(session.turn)},
          {"resume_preview", session.resume_preview}};
}

json session_result(const session_info& session) {
  return {{"session_id", session.session_id},
          {"draft", false},
          {"model", session.model},
          {"usage", session.usage ? rind::to_json(*session.usage) : json()},
          {"resume_preview", session.resume_preview}};
}

json list_result(std::span<const listed_session> sessions, const std::string& current_session_id,
                 const std::string& next) {
  auto rows = json::array();
  for (const auto& session : sessions)
    rows.push_back(to_json(session));
  return {{"sessions", std::move(rows)},
          {"current_session_id", or_null(current_session_id)},
          {"next", or_null(next)}};
}

json subscribed_result(const std::vector<std::string>& session_ids) {
  return {{"ok", true}, {"subscribed", session_ids}};
}

json prompt_result(const prompt_receipt& receipt) {
  return {{"ok", true},
          {"session_id", receipt.session_id},
          {"turn_id", receipt.turn_id},
          {"outcome", to_string(receipt.outcome)}};
}

json deleted_result(const std::string& session_id) {
  return {{"ok", true}, {"deleted", session_id}};
}

json models_result(const std::vector<std::string>& models, const std::string& current,
                   const std::string& otherwise) {
  return {{"models", models}, {"current_model", current}, {"default_model", otherwise}};
}

json model_set_result(const std::string& model) {
  return {{"runtime", true}, {"session", true}, {"model", model}};
}

json accepted_result(const input_receipt& receipt) {
  return {{"accepted", true},
          {"input_id", receipt.input_id},
          {"mode", to_string(receipt.mode)},
          {"pending", receipt.pending}};
}

json returned_result(const returned_input& input) {
  return {{"input_id", input.input_id},
          {"input", input.text},
          {"mode", to_string(input.mode)},
          {"pending", input.pending}};
}

json text_result(const std::string& text) {
  return {{"text", text}};
}

json inspect_result(const context_report& report) {
  auto decisions = json::array();
  for (const auto& d : report.decisions)
    decisions.push_back({{"ts", format_time(d.time_ms)},
                         {"turn_id", d.turn_id},
                         {"decision", d.decision},
                         {"reason", d.reason},
                         {"stats", rind::to_json(d.stats)}});
  auto boundaries = json::array();
  for (const auto& record : report.boundaries)
    boundaries.push_back(rind::to_json(*record));
  return {{"session_id", report.session_id},
          {"stats", rind::to_json(report.stats)},
          {"decisions", std::move(decisions)},
          {"boundaries", std::move(boundaries)}};
}

json background_result() {
  return {{"tasks", json::array()}};
}

json goal_result() {
  return {{"goal", nullptr}};
}

} // namespace rind::protocol
