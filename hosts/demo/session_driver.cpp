// The steps, and the requests that they are made of.
#include "hosts/demo/session_driver.hpp"

namespace rind::hosts::demo {

using nlohmann::json;

namespace {

/// A step whose moment was missed (the turn ended too early) is played again.
constexpr int tries_max = 4;
constexpr std::int64_t replay_page_items = 1'000;
constexpr const char* turn_not_active = "TurnNotActive";

bool is_compaction(const json& event, const char* reason) {
  return !is_rescue(event) && text_of(event.at("record"), "reason") == reason;
}

std::string told(const client::response& answer) {
  return answer.error_type + ": " + answer.error_message;
}

} // namespace

session_driver::session_driver(demo_stage stage, int session)
    : stage_(stage),
      session_(session),
      id_(session_name(session)),
      log_(std::make_shared<session_log>(stage.run, stage.totals)) {
  evidence_.session_id = id_;
}

session_evidence session_driver::evidence() const {
  auto all = evidence_;
  all.seen = log_->copy();
  return all;
}

void session_driver::play() {
  try {
    play_steps();
  } catch (const step_failed& failed) {
    evidence_.failed_step = step_ + ": " + failed.why;
  }
  arrive_at_gate();
  ++stage_.totals.sessions_done;
}

void session_driver::play_steps() {
  const auto created = call("session/new", {{"session_id", id_}});
  if (!created)
    fail("session/new: " + told(created));
  const auto step = [this](const char* name, auto body) {
    step_ = name;
    body();
  };
  step("work", [this] { work(); });
  step("steering", [this] { steer(); });
  step("cancel", [this] { cancel(); });
  step("manual compaction", [this] { compact(); });
  step("restart of the host", [this] { meet_the_crash(); });
  step("automatic compaction", [this] {
    fill_until(ask_to_fill, "automatic compaction",
               [](const json& event) { return is_compaction(event, "auto"); });
  });
  step("context-length error", [this] {
    fill_until(ask_to_overflow, "compaction after a context-length error",
               [](const json& event) { return is_compaction(event, "context_length_error"); });
  });
  step("rescue", [this] { fill_until(ask_to_be_rescued, "rescue", is_rescue); });
  step("retry", [this] { finish(send_prompt(ask_when_busy), "completed"); });
  step("replay", [this] { read_again(); });
}

// -- steps ---------------------------------------------------------------------------------------

void session_driver::work() {
  finish(send_prompt(ask_work), "completed");
}

void session_driver::steer() {
  const auto accepted = [this] { return evidence_.accepted.size(); };
  for (int attempt = 0; attempt < tries_max && accepted() < 3; ++attempt) {
    const auto deltas = log_->deltas();
    auto sent = send_prompt(ask_steadily);
    wait_for_delta_after(deltas);
    steer_while_it_runs();
    finish(std::move(sent), "completed");
  }
  if (accepted() < 3)
    fail("every turn ended before it could be steered");
}

void session_driver::steer_while_it_runs() {
  std::string promoted;
  if (!queue("rind/session/steer", steering_text) ||
      !queue("rind/session/follow_up", follow_up_text, &promoted) ||
      !queue("rind/session/follow_up", second_thought))
    return;
  const auto back = call("rind/session/dequeue_follow_up", json::object()); // the newest
  if (back)
    evidence_.taken_back.insert(text_of(*back, "input_id"));
  else if (back.error_type != "InputNotPending")
    fail("dequeue_follow_up: " + told(back));
  if (session_ % 2 == 0)
    return;
  const auto first = call("rind/session/promote_follow_up", {{"input_id", promoted}});
  if (!first && first.error_type != "InputNotPending")
    fail("promote_follow_up: " + told(first));
}

void session_driver::cancel() {
  const auto deltas = log_->deltas();
  auto sent = send_prompt(ask_slowly);
  wait_for_delta_after(deltas);
  if (!queue("rind/session/steer", steering_text) ||
      !queue("rind/session/follow_up", follow_up_text))
    fail("the turn ended before it could be cancelled");
  if (const auto answer = call("session/cancel", json::object()); !answer)
    fail("session/cancel: " + told(answer));
  finish(std::move(sent), "cancelled");
}

void session_driver::compact() {
  const bool slowly = session_ % 16 == 0;
  const auto summaries = stage_.watch.summaries(id_);
  auto reply =
      request("rind/session/compact", slowly ? json{{"instructions", slow_focus}} : json::object());
  if (slowly && stage_.watch.wait_for_summary_after(id_, summaries))
    queue("rind/session/follow_up", follow_up_text); // runs after the boundary
  if (const auto answer = wait(reply, "rind/session/compact"); !answer)
    fail("rind/session/compact: " + told(answer));
}

void session_driver::fill_until(const char* prompt, const std::string& what,
                                const session_log::event_test& seen) {
  const auto before = log_->count("context_compacted", seen);
  for (int attempt = 0; attempt < tries_max; ++attempt) {
    finish(send_prompt(prompt), "completed");
    if (log_->count("context_compacted", seen) > before)
      return;
  }
  fail("no " + what + " in " + std::to_string(tries_max) + " turns");
}

// -- the crash -----------------------------------------------------------------------------------

void session_driver::meet_the_crash() {
  switch (scene_of(session_)) {
  case crash_scene::stream:
    return crash_in_stream(false);
  case crash_scene::stream_with_inputs:
    return crash_in_stream(true);
  case crash_scene::manual_compaction:
    return crash_in_manual_compaction();
  case crash_scene::auto_compaction:
    return crash_in_auto_compaction();
  }
}

void session_driver::crash_in_stream(bool with_inputs) {
  const auto deltas = log_->deltas();
  auto sent = send_prompt(ask_at_length);
  wait_for_delta_after(deltas);
  if (with_inputs && (!queue("rind/session/steer", steering_text) ||
                      !queue("rind/session/follow_up", follow_up_text)))
    fail("the turn ended before the host was killed");
  arrive_at_gate();
  finish_after_crash(std::move(sent), !with_inputs);
}

void session_driver::crash_in_manual_compaction() {
  work();
  work();
  const auto summaries = stage_.watch.summaries(id_);
  auto reply = request("rind/session/compact", json::object());
  if (!stage_.watch.wait_for_summary_after(id_, summaries))
    fail("the summary of the compaction was never asked for");
  queue("rind/session/follow_up", follow_up_text);
  const auto turn = log_->open_turn();
  arrive_at_gate();
  const auto answer = wait(reply, "rind/session/compact");
  if (answer.error_type != client::connection_closed)
    fail("the compaction ended before the host was killed");
  connection(); // activates the session, which settles what was interrupted
  if (!log_->wait([](const session_log::counts& now) { return now.open_turn.empty(); }))
    fail("the interrupted compaction " + turn + " was not settled");
  compact();
}

void session_driver::crash_in_auto_compaction() {
  const auto summaries = stage_.watch.summaries(id_);
  auto sent = send_prompt(ask_to_fill);
  if (!stage_.watch.wait_for_summary_after(id_, summaries))
    fail("the summary of the automatic compaction was never asked for");
  arrive_at_gate();
  finish_after_crash(std::move(sent), true);
}

void session_driver::finish_after_crash(sent_prompt sent, bool resume) {
  const auto first = wait(sent.reply, "session/prompt");
  if (first.error_type != client::connection_closed)
    fail(first ? "the turn ended before the host was killed" : told(first));
  connection();
  const auto params = resume && !log_->open_turn().empty()
                          ? json{{"session_id", id_}, {"resume", true}}
                          : sent.params;
  finish({sent.params, request("session/prompt", params)}, "completed");
}

void session_driver::arrive_at_gate() {
  if (!std::exchange(at_gate_, true))
    stage_.gate.arrive();
}

// -- the end -------------------------------------------------------------------------------------

void session_driver::read_again() {
  std::int64_t cursor = 0;
  for (bool more = true; more;) {
    const auto page =
        call("session/replay",
             {{"after_cursor", cursor}, {"limit", replay_page_items}, {"mode", "events"}});
    if (!page)
      fail("session/replay: " + told(page));
    for (const auto& event : page->at("events"))
      evidence_.replayed.push_back(event);
    cursor = page->at("cursor").get<std::int64_t>();
    more = page->at("has_more").get<bool>();
  }
}

// -- requests ------------------------------------------------------------------------------------

session_driver::sent_prompt session_driver::send_prompt(const char* text) {
  json params{{"session_id", id_}, {"input", text}, {"input_id", new_input_id()}};
  return {params, request("session/prompt", params)};
}

void session_driver::finish(sent_prompt sent, const std::string& outcome) {
  const auto answer = wait(sent.reply, "session/prompt");
  if (!answer)
    fail("session/prompt: " + told(answer));
  const auto ended = text_of(*answer, "outcome");
  evidence_.outcomes[text_of(*answer, "turn_id")] = ended;
  if (ended != outcome)
    fail("the turn ended " + ended + ", not " + outcome);
}

std::string session_driver::new_input_id() {
  return id_ + "-" + std::to_string(++inputs_);
}

bool session_driver::queue(const char* method, const char* text, std::string* id) {
  const auto input_id = new_input_id();
  const auto answer = call(method, {{"input", text}, {"input_id", input_id}});
  if (!answer && answer.error_type != turn_not_active)
    fail(std::string(method) + ": " + told(answer));
  if (!answer)
    return false;
  evidence_.accepted[input_id] = text_of(*answer, "mode");
  if (id != nullptr)
    *id = input_id;
  return true;
}

client_ptr session_driver::connection() {
  auto client = stage_.connections.of(session_);
  if (!client)
    fail(client.error().message);
  if (*client != followed_ && step_ != "start")
    follow(*client);
  return *client;
}

void session_driver::follow(const client_ptr& client) {
  auto ready = std::make_shared<std::promise<response>>();
  auto is_ready = ready->get_future();
  client::follow_events events;
  events.on_item = [log = log_](const json& event) { log->take(event); };
  events.on_event = [log = log_](const json& frame) { log->take(frame.at("event")); };
  events.on_ready = [ready] { ready->set_value(response{"", "", std::make_shared<json>()}); };
  events.on_failed = [ready](const response& error) { ready->set_value(error); };
  client->follow({id_, log_->cursor(), false}, std::move(events));
  if (const auto followed = wait(is_ready, "following the session"); !followed)
    fail("following the session: " + told(followed));
  followed_ = client;
}

std::future<client::response> session_driver::request(const std::string& method, json params) {
  params["session_id"] = id_;
  return connection()->request(method, params);
}

client::response session_driver::call(const std::string& method, json params) {
  auto reply = request(method, std::move(params));
  return wait(reply, method);
}

client::response session_driver::wait(std::future<response>& reply, const std::string& what) {
  const auto deadline = stage_.run.deadline();
  while (reply.wait_for(wait_slice) != std::future_status::ready) {
    if (stage_.run.is_given_up())
      fail(stage_.run.reason());
    if (steady::now() >= deadline)
      fail(what + " was not answered in time");
  }
  return reply.get();
}

void session_driver::wait_for_delta_after(std::int64_t deltas) {
  if (!log_->wait([deltas](const session_log::counts& now) { return now.deltas > deltas; }))
    fail(stage_.run.is_given_up() ? stage_.run.reason()
                                  : "the model's answer did not begin in time");
}

void session_driver::fail(const std::string& why) const {
  throw step_failed{why};
}

} // namespace rind::hosts::demo
