// Checks that every store with rows makes alike.
#include "runtime/journal/stored_rows.hpp"

#include <algorithm>

#include "messages/json.hpp"

namespace rind::journal {

void damaged(const std::string& session_id, const std::string& what) {
  throw damaged_session("the journal of session " + session_id + " cannot be read: " + what);
}

std::vector<encoded_entry> encode(const std::vector<entry>& entries) {
  std::vector<encoded_entry> encoded;
  encoded.reserve(entries.size());
  for (const entry& e : entries) {
    encoded.push_back({kind_of(e.body), encode_body(e.body), input_id_of(e.body)});
    if (encoded.back().body.size() > body_limit_bytes)
      throw std::length_error("entry " + e.id + " is larger than an entry may be");
  }
  return encoded;
}

entry_ptr decode(const std::string& session_id, entry_columns columns) {
  auto e = std::make_shared<entry>();
  e->position = columns.position;
  e->id = std::move(columns.id);
  e->time_ms = columns.time_ms;
  e->turn_id = std::move(columns.turn_id);
  auto body = decode_body(columns.kind, columns.body);
  if (!body)
    damaged(session_id, "entry " + std::to_string(e->position) + ": " + body.error().message);
  e->body = std::move(*body);
  return e;
}

operation_kind decode_operation(const std::string& session_id, const std::string& word) {
  for (const auto kind : {operation_kind::turn, operation_kind::compact})
    if (word == to_string(kind))
      return kind;
  damaged(session_id, "its operation is of the unknown kind '" + word + "'");
}

entry_run::entry_run(const session_summary& session, std::int64_t after_position,
                     std::int64_t limit)
    : session_(session),
      last_(std::clamp<std::int64_t>(after_position, 0, session.last_position)),
      limit_(limit) {}

void entry_run::take(entry_ptr e) {
  if (e->position != last_ + 1 || e->position > session_.last_position)
    damaged(session_.session_id,
            "entry " + std::to_string(e->position) + " comes after " + std::to_string(last_));
  last_ = e->position;
  entries_.push_back(std::move(e));
}

std::vector<entry_ptr> entry_run::finish() {
  const bool is_end = static_cast<std::int64_t>(entries_.size()) < limit_;
  if (is_end && last_ != session_.last_position)
    damaged(session_.session_id, "it ends at entry " + std::to_string(last_) + " of " +
                                     std::to_string(session_.last_position));
  return std::move(entries_);
}

void check_end(const std::string& session_id, std::int64_t last_position, std::int64_t highest) {
  if (highest != last_position)
    throw damaged_session("the journal of session " + session_id +
                          " cannot be written: it does not end where it should");
}

placed_append place(session_state before, const append_request& request) {
  placed_append placed{std::move(before), {}, {}};
  auto& tracker = placed.state.tracker;
  placed.receipt.epoch = placed.state.epoch;
  placed.receipt.first_position = tracker.summary().last_position + 1;
  for (const entry& e : request.entries) {
    auto stored = std::make_shared<entry>(e);
    stored->position = tracker.summary().last_position + 1;
    placed.message_indices.push_back(message_of(e.body) == nullptr
                                         ? std::nullopt
                                         : std::optional(tracker.summary().message_count));
    tracker.apply(*stored);
    placed.receipt.entries.push_back(std::move(stored));
  }
  return placed;
}

result<append_receipt> repeated(const append_request& request, const session_state& state,
                                std::vector<entry_ptr> stored) {
  const auto same_id = [](const entry_ptr& there, const entry& asked) {
    return there->id == asked.id;
  };
  if (!std::equal(stored.begin(), stored.end(), request.entries.begin(), request.entries.end(),
                  same_id))
    return id_in_use(request.entries.front().id);
  append_receipt receipt;
  receipt.epoch = request.create ? state.first_epoch : request.epoch;
  receipt.first_position = stored.front()->position;
  receipt.entries = std::move(stored);
  return receipt;
}

} // namespace rind::journal
