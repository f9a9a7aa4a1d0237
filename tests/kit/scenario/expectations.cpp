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

std::string differs(const char* what, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& found) {
  if (wanted == found)
    return {};
  return std::string{what} + ": " + nlohmann::json(found).dump() + " in place of " +
         nlohmann::json(wanted).dump() + "; ";
}

/// Everything that a message says to a model, and what was thought before it.
std::string texts_of(const message& m) {
  auto text = (m.reasoning ? m.reasoning->opaque + "\n" : "") + m.content + "\n";
  for (const auto& c : m.tool_calls)
    text += c.id + " " + c.name + " " + c.arguments + "\n";
  return text;
}

std::string texts_of(const std::vector<message_ptr>& messages) {
  std::string text;
  for (const auto& m : messages)
    text += texts_of(*m);
  return text;
}

/// What a restart would send.
std::string view_of(const std::string& session, world& w) {
  std::string text;
  const auto projection = w.projection_of(session);
  for (const auto& item : projection.view().items)
    text += texts_of(*item.msg);
  return text;
}

/// What does not hold of a text: these stand in it in this order, and none of those does.
std::string fault_in(const char* what, const std::string& text, const std::vector<std::string>& has,
                     const std::vector<std::string>& lacks) {
  std::string fault;
  std::size_t from = 0;
  for (const auto& part : has) {
    const auto at = text.find(part, from);
    if (at == std::string::npos)
      fault += std::string{what} + " lacks \"" + part + "\" at its place; ";
    else
      from = at + part.size();
  }
  for (const auto& part : lacks)
    if (text.find(part) != std::string::npos)
      fault += std::string{what} + " holds \"" + part + "\"; ";
  return fault;
}

} // namespace

void expectations::take_end(seen& s, const entries::turn_ended& end) {
  s.last = end_words(end);
  s.undelivered.clear();
  for (const auto& u : end.undelivered)
    s.undelivered.push_back(u.input_id);
}

void expectations::on_committed(const std::string& session_id,
                                const std::vector<entry_ptr>& entries) {
  auto& s = sessions_[session_id];
  for (const auto& e : entries) {
    if (const auto* start = std::get_if<entries::turn_started>(&e->body))
      ++(start->resumed ? s.resumes : s.turns);
    else if (const auto* end = std::get_if<entries::turn_ended>(&e->body))
      take_end(s, *end);
    else if (const auto* b = std::get_if<entries::boundary>(&e->body)) {
      ++s.boundaries;
      s.compactions.push_back(std::string{to_string(b->record->reason)} + ":" +
                              to_string(b->record->strategy));
    }
  }
}

void expectations::on_request(const sampling_request& request) {
  auto& s = sessions_[request.session_id];
  const bool is_summary = request.kind == sampling_kind::compact;
  ++(is_summary ? s.summaries : s.samplings);
  (is_summary ? s.summary_request : s.request) = texts_of(request.messages);
}

void expectations::on_tool_call(const tools::invocation& call) {
  ++sessions_[call.session_id].tool_runs;
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
              differs("turns", l.turns, s.turns) + differs("resumes", l.resumes, s.resumes) +
              differs("tool_runs", l.tool_runs, s.tool_runs);
  if (!l.compactions.empty())
    what += differs("compactions", l.compactions, s.compactions);
  if (l.undelivered)
    what += differs("undelivered", *l.undelivered, s.undelivered);
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
  what += fault_in("the newest request", s.request, l.request_has, l.request_lacks) +
          fault_in("the newest summary request", s.summary_request, l.summary_has, l.summary_lacks);
  if (!l.view_has.empty() || !l.view_lacks.empty())
    what += fault_in("the view", view_of(l.session, w), l.view_has, l.view_lacks);
  if (!what.empty())
    what += "newest end: " + (s.last.empty() ? std::string{"none"} : s.last);
  return what;
}

} // namespace rind::kit
