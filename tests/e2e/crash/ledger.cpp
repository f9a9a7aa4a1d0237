// What was told against what is there.
#include "tests/e2e/crash/ledger.hpp"

#include <algorithm>

namespace rind::e2e {

using nlohmann::json;

namespace {

std::string short_text(const json& value) {
  const auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 300 ? text : text.substr(0, 300) + "...";
}

bool is_terminal(const std::string& event_type) {
  return event_type == "turn_completed" || event_type == "turn_failed" ||
         event_type == "turn_cancelled";
}

std::size_t count_of(const std::vector<json>& messages, const std::string& user_text) {
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [&](const json& m) {
        return m["role"] == "user" && m["content"] == user_text;
      }));
}

/// The durable event's type that an entry gives rise to; empty: none.
std::string event_type_of(const json& entry) {
  static const std::map<std::string, std::string> types{
      {"turn_started", "turn_started"},     {"assistant_message", "assistant_message_completed"},
      {"tool_requested", "tool_requested"}, {"tool_result", "tool_result"},
      {"boundary", "context_compacted"},    {"input_delivered", "queued_input_delivered"}};
  const auto found = types.find(entry["kind"].get<std::string>());
  return found == types.end() ? std::string() : found->second;
}

} // namespace

void ledger::saw_event(const json& event, complaints& out) {
  const auto cursor = event["cursor"].get<std::int64_t>();
  if (const auto known = told_.find(cursor); known != told_.end()) {
    if (known->second != event)
      out.push_back("S36: cursor " + std::to_string(cursor) + " was told as " +
                    short_text(known->second) + " and then as " + short_text(event));
    return;
  }
  if (cursor < this->cursor())
    out.push_back("S37: cursor " + std::to_string(cursor) + " came after " +
                  std::to_string(this->cursor()));
  told_[cursor] = event;
}

void ledger::prompt_answered(const std::string& input_id, const std::string& turn_id,
                             const std::string& outcome) {
  prompts_[input_id].turn_id = turn_id;
  prompts_[input_id].outcome = outcome;
}

void ledger::sent_input(const std::string& input_id, const std::string& mode,
                        const std::string& text) {
  inputs_[input_id] = {mode, text, false, false, false};
}

std::size_t ledger::accepted_count() const {
  return static_cast<std::size_t>(std::count_if(
      inputs_.begin(), inputs_.end(), [](const auto& one) { return one.second.is_accepted; }));
}

std::size_t ledger::boundary_count(const std::string& strategy) const {
  return static_cast<std::size_t>(std::count_if(told_.begin(), told_.end(), [&](const auto& one) {
    return one.second["type"] == "context_compacted" &&
           one.second["record"]["strategy"] == strategy;
  }));
}

void ledger::check_journal(const std::vector<json>& entries, complaints& out) const {
  check_told_entries(entries, out);
  check_inputs(entries, out);
  check_operations(entries, out);
  check_boundaries(entries, out);
}

void ledger::check_told_entries(const std::vector<json>& entries, complaints& out) const {
  std::map<std::int64_t, const json*> by_position;
  std::map<std::string, int> prompts;
  std::map<std::string, std::string> endings; // turn_id -> outcome
  for (const auto& e : entries) {
    by_position[e["position"].get<std::int64_t>()] = &e;
    if (e["kind"] == "user_message")
      ++prompts[e["body"]["message"]["content"].get<std::string>()];
    if (e["kind"] == "turn_ended")
      endings[e["turn_id"].get<std::string>()] = e["body"]["outcome"].get<std::string>();
  }
  for (const auto& [cursor, event] : told_) {
    const auto found = by_position.find(cursor);
    const auto type = event["type"].get<std::string>();
    if (found == by_position.end()) {
      out.push_back("S35: told and lost: " + short_text(event));
      continue;
    }
    const json& entry = *found->second;
    const auto kept =
        is_terminal(type) ? "turn_" + entry["body"].value("outcome", "") : event_type_of(entry);
    if (entry["id"] != event["event_id"] || entry["ts"] != event["ts"] || kept != type)
      out.push_back("S35: told " + short_text(event) + " but the journal has " + short_text(entry));
  }
  for (const auto& [input_id, prompt] : prompts_) {
    const int times = prompts.count(prompt.text) ? prompts.at(prompt.text) : 0;
    if (prompt.is_started && times != 1)
      out.push_back("S6: prompt " + input_id + " was started and is there " +
                    std::to_string(times) + " times");
    if (times > 1)
      out.push_back("S3a: prompt " + input_id + " ran " + std::to_string(times) + " times");
    if (!prompt.outcome.empty() && endings[prompt.turn_id] != prompt.outcome)
      out.push_back("S5: prompt " + input_id + " was answered " + prompt.outcome +
                    ", its turn ended '" + endings[prompt.turn_id] + "'");
  }
}

void ledger::check_inputs(const std::vector<json>& entries, complaints& out) const {
  struct fate {
    bool is_accepted = false;
    bool is_promoted = false;
    int delivered = 0;
    int taken_back = 0;
    int handed_back = 0;
    std::string turn_id;
  };
  std::map<std::string, fate> fates;
  std::set<std::string> ended;
  for (const auto& e : entries) {
    const auto kind = e["kind"].get<std::string>();
    const auto& body = e["body"];
    if (kind == "input_accepted") {
      fates[body["input_id"]].is_accepted = true;
      fates[body["input_id"]].turn_id = e["turn_id"];
    } else if (kind == "input_promoted") {
      fates[body["input_id"]].is_promoted = true;
    } else if (kind == "input_taken_back") {
      ++fates[body["input_id"]].taken_back;
    } else if (kind == "input_delivered") {
      ++fates[body["message"].value("input_id", "")].delivered;
    } else if (kind == "turn_ended") {
      ended.insert(e["turn_id"].get<std::string>());
      for (const auto& in : body["undelivered"])
        ++fates[in["input_id"]].handed_back;
    }
  }
  for (const auto& [input_id, f] : fates) {
    const int sum = f.delivered + f.taken_back + f.handed_back;
    if (!f.is_accepted || sum > 1 || (sum == 0 && ended.count(f.turn_id)))
      out.push_back("S3: input " + input_id + " has accepted=" + std::to_string(f.is_accepted) +
                    " delivered=" + std::to_string(f.delivered) + " taken back=" +
                    std::to_string(f.taken_back) + " handed back=" + std::to_string(f.handed_back));
  }
  for (const auto& [input_id, in] : inputs_) {
    const auto& f = fates[input_id];
    if ((in.is_accepted && !f.is_accepted) || (in.is_promoted && !f.is_promoted) ||
        (in.is_taken_back && f.taken_back != 1))
      out.push_back("S3: input " + input_id + ": what was answered (" +
                    (in.is_accepted ? "accepted " : "") + (in.is_promoted ? "promoted " : "") +
                    (in.is_taken_back ? "taken back" : "") + ") is not in the journal");
  }
}

void ledger::check_replay(const whole_session& now, complaints& out) {
  std::map<std::int64_t, const json*> by_cursor;
  std::int64_t last = 0;
  for (const auto& event : now.events) {
    const auto cursor = event["cursor"].get<std::int64_t>();
    if (cursor <= last)
      out.push_back("S37: replay has cursor " + std::to_string(cursor) + " after " +
                    std::to_string(last));
    last = cursor;
    by_cursor[cursor] = &event;
  }
  for (const auto& [cursor, event] : told_)
    if (!by_cursor.count(cursor) || *by_cursor[cursor] != event)
      out.push_back(
          "S35: told " + short_text(event) + ", replayed as " +
          (by_cursor.count(cursor) ? short_text(*by_cursor[cursor]) : std::string("nothing")));
  for (std::size_t i = 0; i < replay_before_.size(); ++i)
    if (i >= now.events.size() || now.events[i] != replay_before_[i]) {
      out.push_back("S36: the replay before had " + short_text(replay_before_[i]));
      break;
    }
  replay_before_ = now.events;
  for (const auto& [input_id, prompt] : prompts_)
    if (const auto times = count_of(now.messages, prompt.text);
        times > 1 || (prompt.is_started && times != 1))
      out.push_back("S6: prompt " + input_id + " is replayed " + std::to_string(times) + " times");
  for (const auto& m : now.messages) {
    if (m["cursor"].get<std::int64_t>() > last)
      break; // came between the two: a turn that the host resumed by itself
    const auto same = by_cursor.find(m["cursor"].get<std::int64_t>());
    if (m["role"] == "assistant" &&
        (same == by_cursor.end() || (*same->second)["content"] != m["content"]))
      out.push_back("S37: the two replays differ at " + short_text(m));
  }
  for (const auto& record : records_)
    if (std::none_of(now.events.begin(), now.events.end(), [&](const json& e) {
          return e["type"] == "context_compacted" && e["record"] == record;
        }))
      out.push_back("S35: an answered compaction is not in the replay: " + short_text(record));
}

void ledger::check_end(const whole_session& now, complaints& out) const {
  for (const auto& event : now.events)
    if (!told_.count(event["cursor"].get<std::int64_t>()))
      out.push_back("S37: the follower never saw " + short_text(event));
  std::set<std::string> ended;
  for (const auto& e : now.entries)
    if (e["kind"] == "turn_ended")
      ended.insert(e["turn_id"].get<std::string>());
  for (const auto& e : now.entries)
    if (const auto turn = e["turn_id"].get<std::string>();
        e["kind"] == "turn_started" && !ended.count(turn))
      out.push_back("S10: operation " + turn + " never ended");
}

} // namespace rind::e2e
