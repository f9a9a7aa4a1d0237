// What it does next, by chance; what it was told, to the ledger.
#include "tests/e2e/crash/walker.hpp"

namespace rind::e2e {

using nlohmann::json;

namespace {

constexpr std::size_t talk_characters = 2'400;
constexpr int replay_limit = 1'000;

std::string long_text(const std::string& head, std::size_t characters) {
  std::string text = head;
  while (text.size() < characters)
    text += " and so it goes on, word after word";
  return text;
}

bool is_terminal(const std::string& type) {
  return type == "turn_completed" || type == "turn_failed" || type == "turn_cancelled";
}

} // namespace

void walker::send(const std::string& kind, const std::string& input_id, const std::string& method,
                  json params) {
  if (is_lost_)
    return;
  params["session_id"] = session_id_;
  open_requests_[peer_->send(method, params)] = {kind, input_id};
}

// -- connecting
// ------------------------------------------------------------------------------------

void walker::connect(const std::string& socket_path, complaints& out) {
  peer_ = std::make_unique<kit::protocol_peer>(socket_path);
  open_requests_.clear();
  is_lost_ = is_running_ = false;
  auto answer = peer_->call("initialize", {{"session_id", session_id_}});
  if (kit::error_type_of(answer) == "SessionNotFound") {
    if (book_.told_count() > 0)
      out.push_back("S35: session " + session_id_ + " is gone");
    peer_->call("initialize");
    answer = peer_->call("session/new", {{"session_id", session_id_}});
  }
  if (kit::result_of(answer).value("session_id", "") != session_id_)
    return out.push_back("could not open session " + session_id_ + ": " + answer.dump());
  auto now = replay();
  book_.check_replay(now, out);
  json turn_state;
  const auto told_before = book_.cursor();
  for (const auto& event : replay_pages("events", &turn_state))
    if (event["cursor"].get<std::int64_t>() > told_before)
      book_.saw_event(event, out);
  go_on_after_crash(turn_state);
}

whole_session walker::replay() {
  return {replay_pages("events", nullptr), replay_pages("messages", nullptr), {}};
}

std::vector<json> walker::replay_pages(const std::string& mode, json* turn_state) {
  std::vector<json> items;
  for (std::int64_t after = 0;;) {
    const auto page = kit::result_of(peer_->call("session/replay", {{"session_id", session_id_},
                                                                    {"mode", mode},
                                                                    {"after_cursor", after},
                                                                    {"limit", replay_limit}}));
    if (!page.is_object())
      return items;
    for (const auto& item : page[mode])
      items.push_back(item);
    after = page["cursor"];
    if (page["has_more"].get<bool>())
      continue;
    if (turn_state != nullptr)
      *turn_state = page["turn_state"];
    return items;
  }
}

void walker::lose_connection(complaints& out) {
  is_lost_ = true;
  peer_->channel().read_to_end();
  while (const auto frame = peer_->take_frame())
    take(*frame, out);
  if (!peer_->channel().is_ended())
    out.push_back("the connection of " + session_id_ + " outlived its host");
  open_requests_.clear();
}

void walker::wind_down() {
  is_winding_down_ = true;
  if (is_idle())
    go_on();
}

// -- what is told
// ----------------------------------------------------------------------------------

void walker::take(const json& frame, complaints& out) {
  if (!frame.is_object())
    return out.push_back("no frame: " + frame.dump());
  if (frame.value("kind", "") == "event") {
    if (frame["session_id"] == session_id_)
      on_event(frame["event"], out);
    return;
  }
  const auto found = frame["request_id"].is_number()
                         ? open_requests_.find(frame["request_id"].get<std::int64_t>())
                         : open_requests_.end();
  if (found == open_requests_.end())
    return; // asked while connecting
  const auto request = found->second;
  open_requests_.erase(found);
  if (frame.contains("error"))
    on_refusal(request, frame["error"], out);
  else
    on_answer(request, frame, out);
  if (is_idle())
    go_on();
}

void walker::on_event(const json& event, complaints& out) {
  const auto type = event["type"].get<std::string>();
  if (event.contains("cursor"))
    book_.saw_event(event, out);
  if (type == "turn_started") {
    is_running_ = true;
    if (event["operation"] == "turn" && !event["resumed"].get<bool>() && !prompt_id_.empty())
      book_.prompt_started(prompt_id_);
    meddle();
  } else if (is_terminal(type)) {
    is_running_ = false;
    if (is_idle())
      go_on();
  } else if (type == "tool_requested" || type == "compaction_started") {
    if (happens(50))
      meddle();
  }
}

void walker::on_answer(const open_request& request, const json& frame, complaints& out) {
  const auto& result = frame["result"];
  if (request.kind == "prompt" || request.kind == "resume") {
    // A resume names no input: it answers the prompt that was out when the host died, if one was.
    if (request.kind == "prompt")
      book_.prompt_answered(request.input_id, result["turn_id"], result["outcome"]);
    if (request.kind == "prompt" && request.input_id == prompt_id_)
      prompt_id_.clear();
  } else if (request.kind == "steer" || request.kind == "follow_up") {
    if (result["accepted"] != true || result["input_id"] != request.input_id)
      out.push_back("S3: an answer of another input: " + frame.dump());
    book_.input_accepted(request.input_id);
    if (request.kind == "follow_up")
      last_follow_up_ = request.input_id;
  } else if (request.kind == "take_back") {
    book_.input_taken_back(result["input_id"]);
  } else if (request.kind == "promote") {
    book_.input_promoted(request.input_id);
  } else if (request.kind == "compact") {
    book_.compacted(result);
  }
}

void walker::on_refusal(const open_request& request, const json& error, complaints& out) {
  static const std::map<std::string, std::set<std::string>> allowed{
      {"prompt", {}},
      {"resume", {"TurnNotActive", "TurnActive"}},
      {"steer", {"TurnNotActive", "InputQueueFull"}},
      {"follow_up", {"TurnNotActive", "InputQueueFull"}},
      {"take_back", {"InputNotPending"}},
      {"promote", {"InputNotPending", "InputQueueFull"}},
      {"settle", {"TurnNotActive"}},
      {"compact",
       {"NothingToCompact", "TurnActive", "no_gain", "compact_input_too_large", "Cancelled"}}};
  if (!allowed.at(request.kind).count(error.value("type", "")))
    out.push_back(request.kind + " was refused: " + error.dump());
}

// -- what it does
// ----------------------------------------------------------------------------------

void walker::go_on() {
  if (is_lost_)
    return;
  if (!prompt_id_.empty())
    return send_prompt_again();
  if (is_winding_down_)
    return;
  const int all = appetite_.talk + appetite_.tools + appetite_.overflow + appetite_.compact;
  if (static_cast<int>(chance_() % static_cast<unsigned>(all)) < appetite_.compact &&
      book_.told_count() > 0)
    return send("compact", {}, "rind/session/compact", {});
  send_new_prompt();
}

void walker::send_new_prompt() {
  const auto kinds = appetite_.talk + appetite_.tools + appetite_.overflow;
  const auto drawn = static_cast<int>(chance_() % static_cast<unsigned>(std::max(kinds, 1)));
  prompt_id_ = next_name("prompt");
  if (drawn < appetite_.talk)
    prompt_text_ = long_text(prompt_id_ + " tell me", talk_characters);
  else if (drawn < appetite_.talk + appetite_.tools)
    prompt_text_ = prompt_id_ + " use-tools";
  else
    prompt_text_ = prompt_id_ + " use-large-tool";
  book_.sent_prompt(prompt_id_, prompt_text_);
  send_prompt_again();
}

void walker::send_prompt_again() {
  send("prompt", prompt_id_, "session/prompt", {{"input", prompt_text_}, {"input_id", prompt_id_}});
}

void walker::go_on_after_crash(const json& turn_state) {
  if (turn_state.is_null())
    return go_on();
  if (turn_state["state"] == "running") { // resumed by the host itself
    is_running_ = true;
    if (!prompt_id_.empty() && happens(50))
      send_prompt_again();
    return;
  }
  const int drawn = static_cast<int>(chance_() % 100);
  if (drawn < 50 && !prompt_id_.empty())
    return send_prompt_again();
  if (drawn < 80 || is_winding_down_)
    return send("resume", {}, "session/prompt", {{"resume", true}});
  if (drawn < 90)
    return send("settle", {}, "session/cancel", {});
  send("compact", {}, "rind/session/compact", {});
}

// Steers, follows up, takes back, promotes while an operation runs.
void walker::meddle() {
  const auto queue = [this](const char* kind, const char* method) {
    const auto input_id = next_name(kind);
    const auto text = input_id + " please mind this";
    book_.sent_input(input_id, kind, text);
    send(kind, input_id, method, {{"input", text}, {"input_id", input_id}});
  };
  if (is_lost_ || is_winding_down_)
    return;
  if (happens(50))
    queue("steer", "rind/session/steer");
  if (happens(40))
    queue("follow_up", "rind/session/follow_up");
  if (happens(15))
    send("take_back", {}, "rind/session/unsteer", {});
  if (happens(15))
    send("take_back", {}, "rind/session/dequeue_follow_up", {});
  if (happens(20) && !last_follow_up_.empty())
    send("promote", last_follow_up_, "rind/session/promote_follow_up",
         {{"input_id", last_follow_up_}});
}

} // namespace rind::e2e
