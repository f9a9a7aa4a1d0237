// The verbs of journal_builder.
#include "tests/kit/journal_builder.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::kit {

message_ptr make_message(message_role role, std::string text, std::vector<tool_call> calls,
                         std::string tool_call_id) {
  auto m = std::make_shared<message>();
  m->role = role;
  m->content = std::move(text);
  m->tool_calls = std::move(calls);
  m->tool_call_id = std::move(tool_call_id);
  if (role == message_role::tool)
    m->name = "read_file";
  return m;
}

tool_call make_call(std::string id, std::string name, std::string arguments) {
  return {std::move(id), std::move(name), std::move(arguments)};
}

std::string shown(const view::message_view& v) {
  std::string text;
  for (const auto& i : v.items)
    text += std::to_string(static_cast<int>(i.kind)) + " " + std::to_string(i.start) + "-" +
            std::to_string(i.end_exclusive) + " " + std::to_string(i.tokens) + " " +
            to_json(*i.msg).dump() + "\n";
  text += std::to_string(v.tokens) + " " + std::to_string(v.system_items) + " " +
          std::to_string(v.first_unread) + " " + std::to_string(v.corpus_start) + " " +
          std::to_string(v.message_count) + " " + std::to_string(v.generation) + " " +
          std::to_string(v.view_position) + " " + std::to_string(v.newest_user_index) + "\n";
  return text;
}

std::string text_of_tokens(std::int64_t tokens) {
  const std::string sentence = "The parser reads one line after the other. ";
  const auto each = context::estimate_text(sentence + sentence) - context::estimate_text(sentence);
  std::string text;
  for (std::int64_t taken = 0; taken < tokens; taken += each)
    text += sentence;
  return text;
}

journal_builder::journal_builder(std::string model, std::string system_prompt)
    : model_(std::move(model)) {
  add(entries::session_created{model_, std::move(system_prompt)});
}

journal_builder& journal_builder::add(entry_body body) {
  const auto position = static_cast<std::int64_t>(entries_.size()) + 1;
  if (const auto* set = std::get_if<entries::model_set>(&body))
    model_ = set->model;
  entries_.push_back(
      {position, "e" + std::to_string(position), 1'000 * position, turn_id_, std::move(body)});
  return *this;
}

journal_builder& journal_builder::turn(std::string turn_id, std::string input_id) {
  turn_id_ = std::move(turn_id);
  entries::turn_started started;
  started.input_id = std::move(input_id);
  return add(std::move(started));
}

journal_builder& journal_builder::compact_operation(std::string turn_id) {
  turn_id_ = std::move(turn_id);
  entries::turn_started started;
  started.operation = operation_kind::compact;
  return add(std::move(started));
}

journal_builder& journal_builder::resumed(bool handed_over) {
  entries::turn_started started;
  started.resumed = true;
  started.handed_over = handed_over;
  return add(std::move(started));
}

journal_builder& journal_builder::ended(entries::turn_outcome outcome) {
  entries::turn_ended end;
  end.outcome = outcome;
  return add(std::move(end));
}

journal_builder& journal_builder::user(std::string text) {
  return add(entries::user_message{make_message(message_role::user, std::move(text))});
}

journal_builder& journal_builder::assistant(std::string text, std::vector<tool_call> calls) {
  auto m = std::make_shared<message>(
      *make_message(message_role::assistant, std::move(text), std::move(calls)));
  m->model = model_;
  entries::assistant_message body;
  body.msg = std::move(m);
  body.request_generation = generation_;
  return add(std::move(body));
}

journal_builder& journal_builder::counted(std::string text, std::int64_t reported_input,
                                          std::int64_t request_local,
                                          std::int64_t request_generation) {
  auto m = std::make_shared<message>(*make_message(message_role::assistant, std::move(text)));
  m->model = model_;
  entries::assistant_message body;
  body.msg = std::move(m);
  body.usage.input_tokens = reported_input;
  body.request_local_tokens = request_local;
  body.request_generation = request_generation;
  return add(std::move(body));
}

journal_builder& journal_builder::result(std::string call_id, std::string text, bool is_error) {
  auto m = std::make_shared<message>(
      *make_message(message_role::tool, std::move(text), {}, std::move(call_id)));
  m->is_error = is_error;
  entries::tool_result body;
  body.msg = std::move(m);
  return add(std::move(body));
}

journal_builder& journal_builder::accepted(std::string input_id, input_mode mode,
                                           std::string text) {
  return add(entries::input_accepted{std::move(input_id), mode, std::move(text)});
}

journal_builder& journal_builder::delivered(std::string input_id, input_mode mode,
                                            std::string text) {
  auto m = std::make_shared<message>(*make_message(message_role::user, std::move(text)));
  m->input_id = std::move(input_id);
  m->origin = mode == input_mode::steering ? user_origin::steering : user_origin::follow_up;
  return add(entries::input_delivered{std::move(m)});
}

journal_builder& journal_builder::compacted(std::int64_t end, std::string handoff,
                                            std::vector<replacement> replaced) {
  auto record = std::make_shared<compaction_record>();
  record->generation = ++generation_;
  record->message_start_index = corpus_start_;
  record->message_end_index_exclusive = corpus_start_ = end;
  record->continuation_text = "Go on.";
  record->handoff_text = std::move(handoff);
  record->replaced = std::move(replaced);
  return add(entries::boundary{std::move(record)});
}

journal_builder& journal_builder::rescued(std::vector<replacement> replaced) {
  auto record = std::make_shared<compaction_record>();
  record->strategy = compaction_strategy::context_rescue;
  record->generation = ++generation_;
  record->message_start_index = record->message_end_index_exclusive = corpus_start_;
  record->replaced = std::move(replaced);
  return add(entries::boundary{std::move(record)});
}

view::projection journal_builder::project(view::projection_settings settings) const {
  view::projection p(std::move(settings));
  for (const auto& e : entries_)
    if (auto applied = p.apply(e); !applied)
      throw std::logic_error(applied.error().message);
  return p;
}

} // namespace rind::kit
