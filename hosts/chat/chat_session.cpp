// Each kind of input becomes one request.
#include "hosts/chat/chat_session.hpp"

#include <memory>

#include "hosts/chat/chat_input.hpp"

namespace rind::hosts::chat {

using client::response;
using nlohmann::json;

namespace {

std::string text_at(const json& object, const char* name) {
  if (!object.is_object())
    return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Another mode of operation is running or none is: what was meant for the running turn becomes a
/// prompt.
constexpr const char* turn_not_active = "TurnNotActive";

} // namespace

std::int64_t chat_session::ask(const std::string& method, json params, handler on_response) {
  ++waiting_answers_;
  return request_(method, params,
                  [this, callback = std::move(on_response)](const response& answer) {
                    --waiting_answers_;
                    callback(answer);
                  });
}

void chat_session::start() {
  json params = {{"client", "rind chat"}};
  if (!options_.session_id.empty())
    params["session_id"] = options_.session_id;
  if (!options_.token.empty())
    params["token"] = options_.token;
  ask("initialize", std::move(params), [this](const response& answer) {
    if (!answer) {
      over_ = true;
      return refused(answer);
    }
    enter_session(*answer);
    if (options_.model.empty() || options_.model == text_at(*answer, "model")) {
      ready_ = true;
      return;
    }
    ask("model/set", {{"model", options_.model}}, [this](const response& set) {
      ready_ = true;
      if (set)
        return;
      over_ = !interactive_; // a pipe asked for this model, so no other one shall answer
      refused(set);
    });
  });
}

void chat_session::enter_session(const json& result) {
  transcript_.forget_session();
  if (!interactive_)
    return;
  transcript_.say(text_style::notice, "session " + text_at(result, "session_id") + ", model " +
                                          text_at(result, "model"));
  if (const auto preview = text_at(result, "resume_preview"); !preview.empty())
    transcript_.say(text_style::quiet, preview);
  const auto state = result.find("turn_state");
  if (state != result.end() && text_at(*state, "state") == "interrupted")
    transcript_.say(
        text_style::warning,
        "the last turn was interrupted: /resume goes on with it, a new prompt gives it up");
}

void chat_session::take_event(const json& frame) {
  transcript_.take_event(frame);
}

void chat_session::take_line(const std::string& line) {
  auto input = classify(line, interactive_ && is_busy());
  switch (input.kind) {
  case input_kind::nothing:
    return;
  case input_kind::prompt:
    transcript_.take_user_text(input.text, "> ");
    return prompt({{"input", input.text}});
  case input_kind::steer:
    return steer(input.text);
  case input_kind::follow_up:
    return follow_up(input.text);
  case input_kind::resume:
    return prompt({{"resume", true}});
  case input_kind::cancel:
    if (!cancel())
      transcript_.say(text_style::notice, "nothing is running");
    return;
  case input_kind::new_session:
    ask("session/new", options_.model.empty() ? json::object() : json{{"model", options_.model}},
        [this](const response& answer) { answer ? enter_session(*answer) : refused(answer); });
    return;
  case input_kind::switch_session:
    ask("session/switch", {{"session_id", input.text}},
        [this](const response& answer) { answer ? enter_session(*answer) : refused(answer); });
    return;
  case input_kind::server_command:
    return command(input.text, false);
  case input_kind::help:
    return command("/help", true);
  case input_kind::quit:
    over_ = true;
    return;
  case input_kind::wrong_use:
    failed_ = true;
    return transcript_.say(text_style::error, input.text);
  }
}

void chat_session::prompt(json params) {
  const auto id = std::make_shared<std::int64_t>(0);
  *id = ask("session/prompt", std::move(params), [this, id](const response& answer) {
    if (waiting_prompt_ == *id)
      waiting_prompt_.reset();
    if (!answer)
      refused(answer);
  });
  waiting_prompt_ = *id;
}

void chat_session::steer(const std::string& text) {
  ask("rind/session/steer", {{"input", text}}, [this, text](const response& answer) {
    if (answer)
      return transcript_.say(text_style::quiet, "(will be told to the running turn) " + text);
    if (answer.error_type != turn_not_active)
      return refused(answer);
    transcript_.take_user_text(text, "> ");
    prompt({{"input", text}});
  });
}

void chat_session::follow_up(const std::string& text) {
  ask("rind/session/follow_up", {{"input", text}}, [this, text](const response& answer) {
    if (answer)
      return transcript_.say(text_style::quiet, "(comes after the running task) " + text);
    if (answer.error_type != turn_not_active)
      return refused(answer);
    transcript_.take_user_text(text, "> ");
    prompt({{"input", text}});
  });
}

void chat_session::command(const std::string& line, bool with_own_help) {
  ask("rind/command/execute", {{"input", line}}, [this, with_own_help](const response& answer) {
    if (!answer)
      return refused(answer);
    show(text_at(*answer, "text"));
    if (with_own_help)
      show(help_text());
  });
}

bool chat_session::cancel() {
  if (!is_busy())
    return false;
  ask("session/cancel", json::object(), [this](const response& answer) {
    if (answer)
      return;
    // No turn runs, so the prompt still waits for its place.
    if (answer.error_type != turn_not_active)
      return refused(answer);
    if (waiting_prompt_)
      ask("session/cancel", {{"request_id", *waiting_prompt_}}, [](const response&) {
        // A refusal means that the prompt was answered meanwhile; its own answer is shown.
      });
  });
  return true;
}

void chat_session::refused(const response& answer) {
  failed_ = true;
  transcript_.say(text_style::error, answer.error_message + " (" + answer.error_type + ")");
}

void chat_session::show(const std::string& text) {
  transcript_.say(interactive_ ? text_style::quiet : text_style::answer, text);
}

} // namespace rind::hosts::chat
