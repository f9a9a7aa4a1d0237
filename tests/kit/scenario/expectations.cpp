// Bookkeeping and comparison.
#include "tests/kit/scenario/expectations.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

namespace {

std::string end_words(const entries::turn_ended& end) {
  switch (end.outcome) {
  case entries::turn_outcome::completed:
    return "turn_completed";
  case entries::turn_outcome::failed:
    return std::string{"turn_failed:"} +
           (end.error ? to_string(end.error->code) : "without a code");
  case entries::turn_outcome::cancelled:
    return std::string{"turn_cancelled:"} + to_string(end.reason);
  }
  return {};
}

/// What of `wanted` does not stand in `heard` in this order, others between; empty: all do.
std::string first_missing(const std::vector<std::string>& wanted,
                          const std::vector<std::string>& heard) {
  auto from = heard.begin();
  for (const auto& type : wanted) {
    from = std::find(from, heard.end(), type);
    if (from == heard.end())
      return type;
    ++from;
  }
  return {};
}

std::string differs(const char* what, const std::optional<std::int64_t>& wanted,
                    std::int64_t found) {
  if (!wanted || *wanted == found)
    return {};
  return std::string{what} + ": " + std::to_string(found) + " in place of " +
         std::to_string(*wanted) + "; ";
}

} // namespace

void expectations::on_committed(const std::string& session_id,
                                const std::vector<entry_ptr>& entries) {
  auto& s = sessions_[session_id];
  for (const auto& e : entries) {
    if (const auto* start = std::get_if<entries::turn_started>(&e->body))
      s.turns += !start->resumed;
    else if (const auto* end = std::get_if<entries::turn_ended>(&e->body))
      s.last = end_words(*end);
    else if (std::holds_alternative<entries::boundary>(e->body))
      ++s.boundaries;
  }
}

void expectations::on_request(const sampling_request& request) {
  auto& s = sessions_[request.session_id];
  ++(request.kind == sampling_kind::compact ? s.summaries : s.samplings);
}

void expectations::on_answered(const client_request& request, const client_answer& answer) {
  auto said = std::string{"ok"};
  if (answer.lost)
    said = "lost";
  else if (answer.error)
    said = to_string(answer.error->code);
  sessions_[request.session_id]
      .answers[request.input_id.empty() ? to_string(request.kind) : request.input_id] = said;
}

void expectations::on_event(std::size_t, const session_event& event) {
  auto& s = sessions_[event.session_id];
  if (s.newest_event == event.event_id)
    return; // another client heard it
  s.newest_event = event.event_id;
  s.events.push_back(protocol::event_body(event).at("type").get<std::string>());
}

std::string expectations::check(const expect_line& l, world& w) const {
  static const seen nothing;
  const auto i = sessions_.find(l.session);
  const auto& s = i == sessions_.end() ? nothing : i->second;
  auto what = differs("samplings", l.samplings, s.samplings) +
              differs("summaries", l.summaries, s.summaries) +
              differs("boundaries", l.boundaries, s.boundaries) +
              differs("turns", l.turns, s.turns);
  if (!l.last.empty() && l.last != s.last)
    what += "last: " + s.last + " in place of " + l.last + "; ";
  for (const auto& [id, wanted] : l.answers) {
    const auto found = s.answers.find(id);
    const auto said = found == s.answers.end() ? std::string{"nothing"} : found->second;
    if (said != wanted)
      what += "answer to " + id + ": " + said + " in place of " + wanted + "; ";
  }
  if (const auto missing = first_missing(l.events_have, s.events); !missing.empty())
    what += "no event " + missing + " at its place; ";
  for (const auto& type : l.events_lack)
    if (std::find(s.events.begin(), s.events.end(), type) != s.events.end())
      what += "there is an event " + type + "; ";
  if (l.view_has.empty() && l.view_lacks.empty())
    return what;
  std::string view;
  const auto projection = w.projection_of(l.session);
  for (const auto& item : projection.view().items)
    view += item.msg->content + "\n";
  for (const auto& text : l.view_has)
    if (view.find(text) == std::string::npos)
      what += "the view lacks \"" + text + "\"; ";
  for (const auto& text : l.view_lacks)
    if (view.find(text) != std::string::npos)
      what += "the view holds \"" + text + "\"; ";
  return what;
}

} // namespace rind::kit
