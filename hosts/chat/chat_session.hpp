// What chat does with lines and with what the server says: requests out, transcript in. Knows no
// terminal; runs on chat's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "hosts/chat/chat.hpp"
#include "hosts/chat/transcript_renderer.hpp"

namespace rind::hosts::chat {

/// Sends a request; the callback comes back on chat's thread. Answers the request's id.
using request_function =
    std::function<std::int64_t(const std::string& method, const nlohmann::json& params,
                               client::response_callback on_response)>;

class chat_session {
public:
  chat_session(const chat_options& options, bool is_interactive, request_function request)
      : options_(options),
        interactive_(is_interactive),
        request_(std::move(request)),
        transcript_(is_interactive ? transcript_detail::everything
                                   : transcript_detail::answers_only) {}

  void start();
  void take_event(const nlohmann::json& frame);
  void take_line(const std::string& line);
  /// Ctrl-C. False: there was nothing to cancel.
  bool cancel();

  /// Whether another line may be given: always for a person once the session is known, one at a
  /// time for a pipe.
  bool wants_line() const { return ready_ && !over_ && (interactive_ || waiting_answers_ == 0); }
  bool is_busy() const { return waiting_answers_ > 0 || transcript_.is_turn_running(); }
  /// The server gave no session to talk with.
  bool is_turned_away() const { return turned_away_; }
  /// The user wants to leave, or there is no session to talk with.
  bool is_over() const { return over_; }
  /// Something was refused or failed since the start.
  bool has_failed() const { return failed_ || transcript_.has_failed(); }
  /// The command that goes on with this session; empty where there is none, or it ends with its
  /// host.
  std::string way_back() const;
  transcript_renderer& transcript() { return transcript_; }

private:
  using handler = std::function<void(const client::response&)>;
  std::int64_t ask(const std::string& method, nlohmann::json params, handler on_response);
  void prompt(nlohmann::json params);
  void steer(const std::string& text);
  void follow_up(const std::string& text);
  void command(const std::string& line, bool with_own_help);
  void choose_model(const nlohmann::json& result);
  void enter_session(const nlohmann::json& result);
  void tell_past(const nlohmann::json& result);
  void greet(const nlohmann::json& result, const nlohmann::json& stats);
  void refused(const client::response& answer);
  void show(const std::string& text);

  const chat_options& options_;
  bool interactive_;
  request_function request_;
  transcript_renderer transcript_;
  int waiting_answers_ = 0;
  std::optional<std::int64_t> waiting_prompt_; // its request's id
  bool ready_ = false;
  std::string session_id_; // empty: not known yet
  bool over_ = false;
  bool turned_away_ = false;
  bool failed_ = false;
};

} // namespace rind::hosts::chat
