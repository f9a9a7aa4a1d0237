// Requests and answers.
#include "tests/kit/actors/scripted_client.hpp"

#include <caf/send.hpp>

namespace rind::kit {

using namespace rind::actors;

scripted_client::scripted_client(caf::actor_config& cfg, connection_id id)
    : subscriber::base(cfg), id_(id) {
  // nop
}

scripted_client::behavior_type scripted_client::make_behavior() {
  return {
      [this](const session_event_message& m) {
        const auto& event = m.update->event();
        if (keeps_)
          events_.push_back(std::make_shared<const session_event>(event));
        if (heard_)
          heard_(event);
      },
  };
}

// The test calls from outside of the actor's own execution, on the one thread that there is;
// between two runs the unit that executed the actor last is no more.
template <class T, class Reply, class Handle, class Command>
awaited<T> scripted_client::ask_of(const Handle& whom, Command command) {
  awaited<T> answer;
  context(nullptr);
  request(whom, caf::infinite, std::move(command))
      .then(
          [slot = answer.slot()](Reply& r) {
            slot->value.emplace(std::move(r.value));
            ++slot->answers;
            if (slot->arrived)
              slot->arrived();
          },
          [slot = answer.slot()](const caf::error&) {
            slot->lost = true;
            if (slot->arrived)
              slot->arrived();
          });
  return answer;
}

awaited<session_actor> scripted_client::open(const directory_actor& directory,
                                             open_session_command command) {
  return ask_of<session_actor, open_session_reply>(directory, std::move(command));
}

awaited<rind::done> scripted_client::stop(const directory_actor& directory, stop_command command) {
  return ask_of<rind::done, done_reply>(directory, command);
}

awaited<rind::done> scripted_client::subscribe() {
  return ask<rind::done, done_reply>(subscribe_command{id_, subscriber{this}});
}

awaited<prompt_outcome> scripted_client::prompt(std::string input, std::string input_id,
                                                std::string request_key) {
  return ask<prompt_outcome, prompt_reply>(
      prompt_command{id_, std::move(request_key), std::move(input), std::move(input_id), false});
}

awaited<prompt_outcome> scripted_client::resume() {
  return ask<prompt_outcome, prompt_reply>(prompt_command{id_, {}, {}, {}, true});
}

awaited<rind::done> scripted_client::withdraw(std::string request_key) {
  return ask<rind::done, done_reply>(withdraw_prompt_command{id_, std::move(request_key)});
}

awaited<std::shared_ptr<const compaction_record>> scripted_client::compact(std::string focus) {
  return ask<std::shared_ptr<const compaction_record>, compact_reply>(
      compact_command{std::move(focus)});
}

awaited<rind::done> scripted_client::cancel(std::string turn_id) {
  return ask<rind::done, done_reply>(cancel_command{std::move(turn_id)});
}

awaited<queued_answer> scripted_client::steer(std::string input, std::string input_id,
                                              std::string turn_id) {
  return ask<queued_answer, queued_reply>(queue_input_command{
      input_mode::steering, std::move(input), std::move(input_id), std::move(turn_id)});
}

awaited<queued_answer> scripted_client::follow_up(std::string input, std::string input_id,
                                                  std::string turn_id) {
  return ask<queued_answer, queued_reply>(queue_input_command{
      input_mode::follow_up, std::move(input), std::move(input_id), std::move(turn_id)});
}

awaited<queued_answer> scripted_client::take_back(input_mode mode, std::string input_id) {
  return ask<queued_answer, queued_reply>(take_back_command{mode, std::move(input_id)});
}

awaited<queued_answer> scripted_client::promote(std::string input_id) {
  return ask<queued_answer, queued_reply>(promote_command{std::move(input_id)});
}

awaited<rind::done> scripted_client::set_model(std::string model) {
  return ask<rind::done, done_reply>(set_model_command{std::move(model)});
}

awaited<session_info> scripted_client::info() {
  return ask<session_info, session_info_reply>(session_info_query{});
}

awaited<context_report> scripted_client::inspect() {
  return ask<context_report, context_reply>(context_query{});
}

awaited<replay_answer> scripted_client::replay(std::int64_t after_cursor, std::int64_t limit) {
  replay_command c;
  c.call.after_cursor = after_cursor;
  c.call.limit = limit;
  c.call.mode = replay_mode::events;
  return ask<replay_answer, replay_reply>(std::move(c));
}

awaited<rind::done> scripted_client::remove() {
  return ask<rind::done, done_reply>(delete_command{});
}

void scripted_client::disconnect() {
  context(nullptr);
  send(session_, connection_gone{id_});
}

std::shared_ptr<std::optional<rind::session::context_snapshot>> scripted_client::snapshot() {
  auto slot = std::make_shared<std::optional<rind::session::context_snapshot>>();
  context(nullptr);
  request(session_, caf::infinite, context_command{})
      .then([slot](context_snapshot_reply& r) { slot->emplace(std::move(r.snapshot)); },
            [](const caf::error&) {});
  return slot;
}

} // namespace rind::kit
