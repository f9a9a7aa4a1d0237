// Each kind of input becomes one request.
#include "hosts/chat/chat_session.hpp"

#include <memory>

#include "hosts/chat/chat_input.hpp"
#include "runtime/protocol/requests.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::hosts::chat {

using client::response;
using nlohmann::json;
using provider::text_member;

namespace {

/// Another mode of operation is running or none is: what was meant for the running turn becomes a
/// prompt.
constexpr const char* turn_not_active = "TurnNotActive";

/// `, window 32,000 tokens`, and that the size is a guess where it is one; empty where the server
/// does not tell.
std::string window_words(const json& stats) {
  const auto tokens = provider::count_member(stats, "context_window_tokens");
  if (!tokens)
    return {};
  const bool is_assumed = text_member(stats, "context_window_origin") == "default";
  return ", window " + grouped(*tokens) + " tokens" +
         (is_assumed ? " (assumed; set --context-window)" : "");
}

bool is_compact(const std::string& line) {
  return protocol::read_command(line).name == protocol::command_name::compact;
}

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
      over_ = turned_away_ = true;
      return refused(answer);
    }
    choose_model(*answer);
  });
}

/// What a caller asked for comes before the first line is taken.
void chat_session::choose_model(const json& result) {
  if (options_.model.empty() || options_.model == text_member(result, "model"))
    return enter_session(result);
  ask("model/set", {{"model", options_.model}},
      [this, chosen = json(result)](const response& set) mutable {
        if (set)
          chosen["model"] = options_.model;
        else
          refused(set);
        if (!set && !interactive_)
          over_ = true; // a pipe asked for this model, so no other one shall answer
        else
          enter_session(chosen);
      });
}

std::string chat_session::way_back() const {
  return options_.again.empty() || session_id_.empty()
             ? std::string()
             : options_.again + " --session " + session_id_;
}

void chat_session::enter_session(const json& result) {
  transcript_.forget_session();
  session_id_ = text_member(result, "session_id");
  if (!interactive_) {
    ready_ = true;
    return;
  }
  ask("rind/context/inspect", json::object(), [this, result](const response& answer) {
    const bool is_first = !std::exchange(ready_, true);
    greet(result, answer ? provider::member(*answer, "stats") : json());
    if (is_first)
      transcript_.say(text_style::quiet, "/help lists the commands, Ctrl-D leaves");
    tell_past(result);
  });
}

void chat_session::greet(const json& result, const json& stats) {
  transcript_.take_stats(stats);
  transcript_.say(text_style::notice,
                  "model " + text_member(result, "model") + window_words(stats));
  transcript_.say(text_style::notice,
                  options_.again.empty()
                      ? "session " + session_id_ + " (kept in memory, it ends with this chat)"
                      : "to go on later: " + way_back());
}

/// How the conversation ended that is gone on with.
void chat_session::tell_past(const json& result) {
  if (const auto preview = text_member(result, "resume_preview"); !preview.empty())
    transcript_.say(text_style::quiet, preview);
  if (text_member(provider::member(result, "turn_state"), "state") == "interrupted")
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
  const auto told = transcript_.compactions_told();
  ask("rind/command/execute", {{"input", line}},
      [this, line, with_own_help, told](const response& answer) {
        if (!answer)
          return refused(answer);
        if (is_compact(line) && transcript_.compactions_told() > told)
          return; // its event said it already
        show(text_member(*answer, "text"));
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
