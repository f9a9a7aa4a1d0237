// A second reading of the journal: the messages are kept here, word for word, beside the
// projection.
#include "hosts/demo/boundary_checks.hpp"

#include <algorithm>

#include "messages/json.hpp"
#include "runtime/compaction/handoff.hpp"
#include "runtime/view/projection.hpp"

namespace rind::hosts::demo {

namespace {

std::vector<message_ptr> messages_of(const view::message_view& v) {
  std::vector<message_ptr> out;
  for (const auto& item : v.items)
    out.push_back(item.msg);
  return out;
}

class reader {
public:
  void take(const entry& e) {
    const auto* answer = std::get_if<entries::assistant_message>(&e.body);
    if (answer != nullptr)
      if (const auto fault = view::boundary_fault(messages_of(state_.view())))
        blame(e, "an answer was committed to a view that must not be sent: " + *fault);
    if (const auto* boundary = std::get_if<entries::boundary>(&e.body))
      check(e, *boundary->record);
    if (auto applied = state_.apply(e); !applied)
      return blame(e, applied.error().message);
    if (const auto* msg = message_of(e.body))
      messages_.push_back(*msg);
    if (const auto* boundary = std::get_if<entries::boundary>(&e.body))
      check_view_after(e, *boundary->record);
  }

  std::vector<std::string> found() { return std::move(found_); }

private:
  void blame(const entry& e, const std::string& text) {
    found_.push_back("journal entry " + std::to_string(e.position) + ": " + text);
  }

  void check(const entry& e, const compaction_record& record) {
    const auto count = static_cast<std::int64_t>(messages_.size());
    const auto start = record.message_start_index;
    const auto end = record.message_end_index_exclusive;
    const bool rescue = record.strategy == compaction_strategy::context_rescue;
    if (record.generation != ++generation_)
      blame(e, "generation " + std::to_string(record.generation) + " instead of " +
                   std::to_string(generation_));
    if (start != end_ || end < start || end > count || (rescue && end != start))
      return blame(e, "the boundary covers " + std::to_string(start) + " to " +
                          std::to_string(end) + " of " + std::to_string(count) +
                          " messages, the one before ended at " + std::to_string(end_));
    const std::vector<message_ptr> corpus(messages_.begin() + start, messages_.begin() + end);
    if (record.history_digest != compaction::history_digest(corpus))
      blame(e, "the digest is not that of the messages " + std::to_string(start) + " to " +
                   std::to_string(end));
    if (record.tokens_after >= record.tokens_before)
      blame(e, "the boundary made the view no smaller");
    for (const auto& r : record.replaced)
      if (r.start < end || r.start >= r.end_exclusive || r.end_exclusive > count)
        blame(e, "a replacement lies outside of the messages that the view holds");
    if (!rescue)
      check_handoff(e, record, corpus);
    end_ = end;
  }

  void check_handoff(const entry& e, const compaction_record& record,
                     const std::vector<message_ptr>& corpus) {
    if (!record.handoff_text || !record.continuation_text)
      return blame(e, "a compaction without a handoff");
    std::vector<std::string> calls;
    for (const auto& msg : corpus)
      for (const auto& call : msg->tool_calls)
        calls.push_back(call.id);
    if (calls != record.tool_call_ids)
      blame(e, "the record names other tool calls than its messages hold");
    const auto newest = std::find_if(messages_.rbegin(), messages_.rend(), [](const auto& msg) {
      return msg->role == message_role::user;
    });
    if (newest == messages_.rend())
      return;
    const auto index = messages_.rend() - newest - 1;
    const auto words = first_characters((*newest)->content, compaction::verbatim_user_chars_max);
    if (index < record.message_end_index_exclusive &&
        record.handoff_text->find(words) == std::string::npos)
      blame(e, "the person's newest words are neither in the suffix nor in the handoff");
  }

  /// A turn goes on with the view; after a manual compaction it waits for its next input.
  void check_view_after(const entry& e, const compaction_record& record) {
    const bool waits = record.reason == compaction_reason::manual;
    const auto kept = waits ? state_.structure_fault() : state_.fault();
    if (kept)
      blame(e, "the view after the boundary must not be sent: " + *kept);
    const auto whole = view::boundary_fault(messages_of(state_.view()));
    if (!waits && whole.has_value() != kept.has_value())
      blame(e, "the view's running check and the whole check differ");
  }

  view::projection state_{view::projection_settings{}};
  std::vector<message_ptr> messages_;
  std::vector<std::string> found_;
  std::int64_t generation_ = 0;
  std::int64_t end_ = 0;
};

} // namespace

std::vector<std::string> boundary_violations(const std::vector<entry>& journal) {
  reader read;
  for (const auto& e : journal)
    read.take(e);
  return read.found();
}

} // namespace rind::hosts::demo
