// The sample entries.
#include "tests/kit/journal_samples.hpp"

namespace rind::kit {

namespace {

message_ptr user(std::string text, std::string input_id, user_origin origin) {
  message msg;
  msg.role = message_role::user;
  msg.content = std::move(text);
  msg.origin = origin;
  msg.input_id = std::move(input_id);
  return std::make_shared<const message>(std::move(msg));
}

} // namespace

entry sample_entry(std::string id, entry_body body, std::int64_t time_ms, std::string turn_id) {
  return {0, std::move(id), time_ms, std::move(turn_id), std::move(body)};
}

entry_body sample_created(std::string model) {
  return entries::session_created{std::move(model), "be brief"};
}

entry_body sample_turn_started(operation_kind operation) {
  entries::turn_started body;
  body.operation = operation;
  return body;
}

entry_body sample_prompt(std::string text, std::string input_id) {
  return entries::user_message{user(std::move(text), std::move(input_id), user_origin::prompt)};
}

entry_body sample_answer(std::string text) {
  message msg;
  msg.role = message_role::assistant;
  msg.content = std::move(text);
  msg.model = "model-a";
  entries::assistant_message body;
  body.msg = std::make_shared<const message>(std::move(msg));
  body.usage.input_tokens = 12;
  body.sampling = 1;
  return body;
}

entry_body sample_accepted(std::string input_id, input_mode mode, std::string text) {
  return entries::input_accepted{std::move(input_id), mode, std::move(text)};
}

entry_body sample_delivered(std::string input_id, input_mode mode, std::string text) {
  const auto origin = mode == input_mode::steering ? user_origin::steering : user_origin::follow_up;
  return entries::input_delivered{user(std::move(text), std::move(input_id), origin)};
}

entry_body sample_boundary(std::int64_t generation) {
  compaction_record record;
  record.id = "record-" + std::to_string(generation);
  record.created_at_ms = sample_time_ms;
  record.generation = generation;
  record.message_end_index_exclusive = generation;
  record.history_digest = std::string(64, 'a');
  record.continuation_text = "goes on";
  record.handoff_text = "what was";
  record.tokens_before = 100;
  record.tokens_after = 40;
  record.summary_model = "model-a";
  return entries::boundary{std::make_shared<const compaction_record>(std::move(record))};
}

entry_body sample_ended(entries::turn_outcome outcome) {
  entries::turn_ended body;
  body.outcome = outcome;
  body.samplings = 1;
  if (outcome == entries::turn_outcome::failed)
    body.error = make_failure(error_code::server_error, "the provider is gone");
  return body;
}

journal::append_request sample_append(std::string session_id, std::uint64_t epoch,
                                      std::vector<entry> entries) {
  return {std::move(session_id), epoch, false, std::nullopt, std::move(entries)};
}

journal::append_request sample_create(const std::string& session_id, std::int64_t time_ms) {
  return {session_id,
          0,
          true,
          std::nullopt,
          {sample_entry(session_id + "/1", sample_created(), time_ms)}};
}

} // namespace rind::kit
