// The fold from entries to a session's summary.
#include "runtime/journal/summary_tracker.hpp"

#include <algorithm>
#include <utility>

namespace rind::journal {

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

/// What each kind of entry does to the summary; kinds that are not named change nothing but
/// position and time.
struct apply_body {
  session_summary& summary;
  const entry& e;

  void operator()(const entries::session_created& body) const {
    summary.model = body.model;
    summary.created_at_ms = e.time_ms;
  }
  void operator()(const entries::turn_started& body) const {
    summary.open_turn_id = e.turn_id;
    summary.open_operation = body.operation;
  }
  void operator()(const entries::turn_ended&) const {
    summary.open_turn_id.clear();
    summary.open_operation = operation_kind::turn;
  }
  void operator()(const entries::user_message& body) const {
    if (summary.title.empty())
      summary.title = excerpt(body.msg->content, title_limit_characters);
  }
  void operator()(const entries::boundary& body) const {
    summary.generation = body.record->generation;
  }
  void operator()(const entries::model_set& body) const { summary.model = body.model; }
  template <class Other>
  void operator()(const Other&) const {}
};

} // namespace

summary_tracker::summary_tracker(std::string session_id) {
  summary_.session_id = std::move(session_id);
}

summary_tracker::summary_tracker(session_summary summary, std::int64_t view_position)
    : summary_(std::move(summary)), view_position_(view_position) {}

void summary_tracker::apply(const entry& e) {
  std::visit(apply_body{summary_, e}, e.body);
  if (message_of(e.body) != nullptr)
    ++summary_.message_count;
  if (moves_view(e.body))
    view_position_ = e.position;
  // A clock that is set back does not move a session back in the list.
  summary_.updated_at_ms = std::max(summary_.updated_at_ms, e.time_ms);
  summary_.last_position = e.position;
}

std::string input_id_of(const entry_body& body) {
  if (const auto* prompt = std::get_if<entries::user_message>(&body))
    return prompt->msg->input_id;
  if (const auto* accepted = std::get_if<entries::input_accepted>(&body))
    return accepted->input_id;
  return {};
}

input_trace trace_of(const entry& e) {
  input_trace trace;
  trace.turn_id = e.turn_id;
  if (const auto* prompt = std::get_if<entries::user_message>(&e.body)) {
    trace.text = prompt->msg->content;
  } else if (const auto* accepted = std::get_if<entries::input_accepted>(&e.body)) {
    trace.text = accepted->text;
    trace.mode = accepted->mode;
  }
  return trace;
}

std::string excerpt(std::string_view text, std::int64_t limit_characters) {
  std::string line;
  std::size_t fits_bytes =
      0; // of the first limit_characters - 1 characters: what stays where an ellipsis is needed
  std::int64_t characters = 0;
  bool gap = false;
  for (char c : text) {
    if (is_space(c)) {
      gap = !line.empty();
      continue;
    }
    const std::int64_t added = (starts_character(c) ? 1 : 0) + (gap ? 1 : 0);
    if (characters + added > limit_characters) {
      line.resize(fits_bytes);
      while (!line.empty() && line.back() == ' ')
        line.pop_back();
      return line + "\u2026";
    }
    if (gap)
      line += ' ';
    gap = false;
    characters += added;
    line += c;
    if (characters < limit_characters)
      fits_bytes = line.size();
  }
  return line;
}

} // namespace rind::journal
