// Events, terminals and inputs. Boundaries are in boundary_checks.cpp.
#include "hosts/demo/checks.hpp"

#include "hosts/demo/boundary_checks.hpp"
#include "messages/json.hpp"
#include "runtime/protocol/session_updates.hpp"

namespace rind::hosts::demo {

using nlohmann::json;

namespace {

class session_check {
public:
  session_check(const session_evidence& seen, const std::vector<entry>& journal, tally& to)
      : seen_(seen), journal_(journal), to_(to) {}

  void events();
  void terminals();
  void outcomes();
  void inputs();
  void sums();

private:
  void blame(std::string text) { to_.faults.push_back({seen_.session_id, std::move(text)}); }

  template <class Body, class Visit>
  void each(Visit visit) const {
    for (const auto& e : journal_)
      if (const auto* body = std::get_if<Body>(&e.body))
        visit(e, *body);
  }

  const session_evidence& seen_;
  const std::vector<entry>& journal_;
  tally& to_;
};

std::string short_form(const json& event) {
  return text_of(event, "type") + " at cursor " +
         (event.contains("cursor") ? event["cursor"].dump() : std::string("none"));
}

/// Where two lists of events differ first; empty: nowhere.
std::string difference(const std::vector<const json*>& one, const std::vector<const json*>& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    if (i >= one.size())
      return "lacks " + short_form(*other[i]);
    if (i >= other.size())
      return "has " + short_form(*one[i]) + " in addition";
    if (*one[i] != *other[i])
      return "has " + short_form(*one[i]) + " where it should have " + short_form(*other[i]);
  }
  return {};
}

std::vector<const json*> pointers(const std::vector<json>& events) {
  std::vector<const json*> out;
  for (const auto& event : events)
    out.push_back(&event);
  return out;
}

/// Live, replayed and journaled are one and the same list (S36, S37).
void session_check::events() {
  std::vector<json> journaled;
  for (const auto& e : journal_)
    if (auto event = protocol::durable_event_body(seen_.session_id, e); !event.is_null())
      journaled.push_back(std::move(event));
  std::vector<const json*> live;
  for (const auto& one : seen_.seen.events)
    if (one.durable)
      live.push_back(&one.event);
  if (const auto what = difference(live, pointers(journaled)); !what.empty())
    blame("what the client saw " + what);
  // Who stopped early did not come to the replay.
  if (const auto what = difference(pointers(seen_.replayed), pointers(journaled));
      !what.empty() && seen_.failed_step.empty())
    blame("the replay at the end " + what);
  if (seen_.seen.after_terminal > 0)
    blame(std::to_string(seen_.seen.after_terminal) +
          " events of an operation came after its terminal event");
}

void session_check::terminals() {
  struct ends {
    int seen = 0;
    int journaled = 0;
  };
  std::map<std::string, ends> operations;
  each<entries::turn_started>([&](const entry& e, const auto&) { operations[e.turn_id]; });
  each<entries::turn_ended>(
      [&](const entry& e, const auto&) { ++operations[e.turn_id].journaled; });
  for (const auto& one : seen_.seen.events) {
    const auto type = text_of(one.event, "type");
    if (type == "turn_started")
      operations[text_of(one.event, "turn_id")];
    else if (is_terminal(type))
      ++operations[text_of(one.event, "turn_id")].seen;
  }
  for (const auto& [turn, count] : operations)
    if (count.seen != 1 || count.journaled != 1) {
      ++to_.terminal_events_missing_or_double;
      blame("operation " + turn + " has " + std::to_string(count.seen) + " terminal events and " +
            std::to_string(count.journaled) + " terminal entries");
    }
}

/// An answered prompt ended as its answer says.
void session_check::outcomes() {
  std::map<std::string, std::string> ended;
  each<entries::turn_ended>([&](const entry& e, const entries::turn_ended& body) {
    ended[e.turn_id] = to_string(body.outcome);
  });
  for (const auto& [turn, outcome] : seen_.outcomes)
    if (ended[turn] != outcome)
      blame("operation " + turn + " was answered " + outcome + ", the journal says " +
            (ended[turn].empty() ? "nothing" : ended[turn]));
}

/// Each accepted input went exactly one way (S3).
void session_check::inputs() {
  std::map<std::string, int> ways;
  each<entries::input_accepted>([&](const entry&, const entries::input_accepted& body) {
    ways[body.input_id];
    ++to_.inputs_accepted;
    if (seen_.accepted.count(body.input_id) == 0)
      blame("the journal holds an input that no answer accepted: " + body.input_id);
  });
  for (const auto& [id, mode] : seen_.accepted)
    if (ways.count(id) == 0)
      blame("an accepted input is not in the journal: " + id);
  const auto went = [&](const std::string& id, std::int64_t& count) {
    ++count;
    ++ways[id];
  };
  for (const auto& id : seen_.taken_back)
    went(id, to_.inputs_returned);
  for (const auto& one : seen_.seen.events) {
    const auto type = text_of(one.event, "type");
    if (type == "queued_input_delivered")
      went(text_of(one.event, "input_id"), to_.inputs_delivered);
    if (!is_terminal(type))
      continue;
    const bool dropped = type == "turn_cancelled" && text_of(one.event, "reason") == "user";
    for (const auto& input : one.event.at("undelivered"))
      went(text_of(input, "input_id"),
           dropped ? to_.inputs_dropped_by_cancel : to_.inputs_returned);
  }
  for (const auto& [id, count] : ways)
    if (count != 1)
      blame("input " + id + " went " + std::to_string(count) + " ways instead of one");
}

void session_check::sums() {
  for (const auto& one : seen_.seen.events) {
    const auto type = text_of(one.event, "type");
    if (type == "turn_started") {
      const bool resumed = one.event.at("resumed").get<bool>();
      to_.resumed += resumed;
      to_.turns += !resumed && text_of(one.event, "operation") == "turn";
    } else if (type == "assistant_message_completed") {
      ++to_.samplings;
    } else if (type == "turn_step_retry") {
      ++to_.retries;
    } else if (type == "context_compacted") {
      const auto reason = text_of(one.event.at("record"), "reason");
      if (is_rescue(one.event))
        ++to_.rescues;
      else
        ++(reason == "manual" ? to_.manual
           : reason == "auto" ? to_.automatic
                              : to_.context_length_error);
    }
  }
}

} // namespace

void check_session(const session_evidence& seen, const std::vector<entry>& journal,
                   const request_faults& requests, tally& to) {
  ++to.sessions;
  const auto blame = [&](const std::string& text) { to.faults.push_back({seen.session_id, text}); };
  if (!seen.failed_step.empty())
    blame(seen.failed_step);
  session_check check(seen, journal, to);
  check.events();
  check.terminals();
  check.outcomes();
  check.inputs();
  check.sums();
  for (const auto& violation : boundary_violations(journal)) {
    ++to.boundary_violations;
    blame(violation);
  }
  to.boundary_violations += requests.count;
  for (const auto& text : requests.first)
    blame("a request reached the model that must not be sent: " + text);
}

void check_sums(tally& sums) {
  const auto at_least = [&](std::int64_t count, std::int64_t wanted, const char* what) {
    if (count < wanted)
      sums.faults.push_back({"all", std::to_string(count) + " " + what + ", at least " +
                                        std::to_string(wanted) + " are wanted"});
  };
  at_least(sums.manual, sums.sessions, "manual compactions");
  at_least(sums.automatic, sums.sessions, "automatic compactions");
  at_least(sums.context_length_error, sums.sessions, "compactions after a context-length error");
  at_least(sums.rescues, 1, "rescues");
  at_least(sums.resumed, 1, "operations that went on after the restart");
  const auto accounted =
      sums.inputs_delivered + sums.inputs_returned + sums.inputs_dropped_by_cancel;
  if (accounted != sums.inputs_accepted)
    sums.faults.push_back({"all", std::to_string(sums.inputs_accepted) + " inputs were accepted, " +
                                      std::to_string(accounted) + " are accounted for"});
}

} // namespace rind::hosts::demo
