// What a request is answered with: the frames around results and errors, and the result of each
// method. Replay: replay.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/result.hpp"
#include "messages/session_info.hpp"
#include "runtime/journal/port.hpp"

namespace rind::protocol {

inline constexpr const char* protocol_version = "2";

/// A response as text with its newline. Where `numbered`, the sequence of the last event frame that
/// left before it belongs between head and tail, and what it tells of `covers_session` includes all
/// event frames up to there.
struct response_text {
  std::string head;
  std::string tail;
  bool numbered = false;
  std::string covers_session; // empty: none

  std::size_t bytes() const { return head.size() + tail.size(); }
};

response_text result_frame(const nlohmann::json& request_id, const nlohmann::json& result);
/// `{"type","message","details"?}`; details stand there where the failure has some.
response_text error_frame(const nlohmann::json& request_id, const failure& error);

/// How a failing journal is told to a request that is no compaction: Unavailable, its message
/// naming persistence_failed. All other failures come back unchanged.
failure as_response_error(const failure& error);

/// One row of `session/list`.
struct listed_session {
  journal::session_summary summary;
  std::optional<turn_state> turn;
};

/// The state that the journal alone shows: interrupted where an operation has no terminal entry,
/// else idle. For sessions that are not active.
std::optional<turn_state> state_in_journal(const journal::session_summary& summary);

nlohmann::json to_json(const std::optional<turn_state>& value); // null when idle
nlohmann::json to_json(const std::optional<live_turn>& value);
nlohmann::json to_json(const listed_session& value);

nlohmann::json ok_result();
nlohmann::json initialize_result(const session_info& session, const std::string& version);
nlohmann::json session_result(const session_info& session);
nlohmann::json list_result(std::span<const listed_session> sessions,
                           const std::string& current_session_id, const std::string& next);
nlohmann::json subscribed_result(const std::vector<std::string>& session_ids);
nlohmann::json prompt_result(const prompt_receipt& receipt);
nlohmann::json deleted_result(const std::string& session_id);
nlohmann::json models_result(const std::vector<std::string>& models, const std::string& current,
                             const std::string& otherwise);
nlohmann::json model_set_result(const std::string& model);
nlohmann::json accepted_result(const input_receipt& receipt);
nlohmann::json returned_result(const returned_input& input);
nlohmann::json text_result(const std::string& text);
nlohmann::json inspect_result(const context_report& report);
nlohmann::json background_result();
nlohmann::json goal_result();

} // namespace rind::protocol
