// The rules, a function a kind of line; which keys an action takes stands in one table.
#include "tests/kit/scenario/scenario_rules.hpp"

#include <algorithm>
#include <array>

#include "tests/kit/scenario/faults.hpp"
#include "tests/kit/scenario/scenario_words.hpp"

namespace rind::kit {

namespace {

constexpr std::array model_names{"model-a", "model-big", "model-tiny"};

// -- which keys an action takes ----------------------------------------------------------------

struct action_row {
  action what;
  bool has_session;
  bool has_id;
  bool has_text;
  bool has_model;
  bool has_number;
};

constexpr std::array action_rows{
    action_row{action::prompt, true, true, true, false, false},
    action_row{action::again, true, true, true, false, false},
    action_row{action::resume, true, true, false, false, false},
    action_row{action::compact, true, true, true, false, false},
    action_row{action::cancel, true, true, false, false, false},
    action_row{action::steer, true, true, true, false, false},
    action_row{action::follow_up, true, true, true, false, false},
    action_row{action::take_back_steering, true, true, false, false, false},
    action_row{action::take_back_follow_up, true, true, false, false, false},
    action_row{action::promote, true, true, false, false, false},
    action_row{action::set_model, true, true, false, true, false},
    action_row{action::disconnect, true, false, false, false, false},
    action_row{action::reconnect, true, false, false, false, false},
    action_row{action::wait, false, false, false, false, false}, // may name one, for its place
    action_row{action::crash, false, false, false, false, true},
    action_row{action::refuse_append, false, false, false, false, true},
    action_row{action::conflict_append, false, false, false, false, true},
    action_row{action::lose_append_answer, false, false, false, false, true},
    action_row{action::slow_commits, false, false, false, false, true},
    action_row{action::lose_runner, false, false, false, false, false},
};
static_assert(action_rows.size() == static_cast<std::size_t>(last_word<action>) + 1);

const action_row& row_of(action what) {
  return *std::find_if(action_rows.begin(), action_rows.end(),
                       [&](const action_row& row) { return row.what == what; });
}

void check_number(faults& f, const step_line& l, const scenario_world& world) {
  if (!l.number)
    return;
  constexpr std::int64_t appends_max = 1'000'000;
  switch (l.what) {
  case action::crash:
    f.range("number", *l.number, 0, static_cast<std::int64_t>(world.nodes) - 1);
    break;
  case action::slow_commits:
    f.range("number", *l.number, 0, scenario_commit_max_ms);
    break;
  default:
    f.range("number", *l.number, 1, appends_max);
  }
}

// -- words of expectations ---------------------------------------------------------------------

/// "turn_failed:CODE" in its two halves; the second is empty where there is no colon.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos)
    return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_end(std::string_view text) {
  const auto [end, why] = halves(text);
  if (end == "turn_failed")
    return from_word<error_code>(why).has_value();
  if (end == "turn_cancelled")
    return from_word<cancel_reason>(why).has_value();
  return text == "turn_completed";
}

bool is_compaction(std::string_view text) {
  const auto [reason, strategy] = halves(text);
  return from_word<compaction_reason>(reason) && from_word<compaction_strategy>(strategy);
}

bool is_answer(std::string_view text) {
  return text == "ok" || text == "lost" || text == "nothing" || from_word<error_code>(text);
}

void check_events(faults& f, const char* key, const std::vector<std::string>& types) {
  for (const auto& type : types) {
    const auto& all = event_types();
    f.when(std::find(all.begin(), all.end(), type) == all.end(), "\"", key, "\" may not hold \"",
           type, "\", which is no type of an event");
  }
}

bool expects_nothing(const expect_line& l) {
  expect_line bare;
  bare.session = l.session;
  bare.at_once = l.at_once;
  return l == bare;
}

std::int64_t wait_of(const script_line& l) {
  const auto* step = std::get_if<step_line>(&l);
  return step ? step->wait_ms : 0;
}

bool crashes(const script_line& l) {
  const auto* step = std::get_if<step_line>(&l);
  return step && step->what == action::crash;
}

} // namespace

const std::vector<std::string_view>& event_types() {
  static const std::vector<std::string_view> all{"turn_started",
                                                 "context_built",
                                                 "assistant_delta",
                                                 "reasoning_delta",
                                                 "assistant_message_completed",
                                                 "tool_requested",
                                                 "tool_call_started",
                                                 "tool_progress",
                                                 "tool_result",
                                                 "compaction_started",
                                                 "compaction_ended",
                                                 "context_compacted",
                                                 "queued_input_delivered",
                                                 "turn_step_retry",
                                                 "token_stats_updated",
                                                 "turn_completed",
                                                 "turn_failed",
                                                 "turn_cancelled"};
  return all;
}

std::string fault_of(const scenario_world& w, const scenario_world&) {
  constexpr std::int64_t tokens_max = 1'000'000'000;
  constexpr std::int64_t summaries_max = 1'000;
  constexpr double ratio_max = 100;
  faults f;
  f.when(w.journal != "memory" && w.journal != "sqlite", "\"journal\" is memory or sqlite")
      .range("nodes", static_cast<std::int64_t>(w.nodes), 1,
             static_cast<std::int64_t>(scenario_nodes_max))
      .range("window_tokens", w.window_tokens, 1, tokens_max)
      .range("true_window_tokens", w.true_window_tokens, 0, tokens_max)
      .when(w.token_ratio > ratio_max, "\"token_ratio\" is at most 100")
      .range("summaries_at_once", w.summaries_at_once, 1, summaries_max)
      .range("threshold_percent", w.threshold_percent.value_or(1), 1, 100)
      .range("system_prompt_tokens", w.system_prompt_tokens, 0, scenario_text_tokens_max)
      .range("max_output_tokens", w.max_output_tokens.value_or(1), 1, tokens_max)
      .when(!w.compaction_model.empty() && std::find(model_names.begin(), model_names.end(),
                                                     w.compaction_model) == model_names.end(),
            "\"compaction_model\" is model-a, model-big or model-tiny");
  return f.take();
}

std::string fault_of(const model_line& l, const scenario_world&) {
  const bool has_text = l.tokens > 0 || !l.says.empty();
  faults f;
  f.name("model", l.session)
      .when(!l.error.empty() && !from_word<provider_error_class>(l.error),
            "\"error\" may not be \"", l.error, "\"")
      .when(!l.finish.empty() && !from_word<finish_reason>(l.finish), "\"finish\" may not be \"",
            l.finish, "\"")
      .range("tokens", l.tokens, 0, scenario_text_tokens_max)
      .range("thinks_tokens", l.thinks_tokens, 0, scenario_text_tokens_max)
      .range("calls", l.calls, 0, scenario_calls_max)
      .range("pieces", l.pieces, 0, scenario_pieces_max)
      .range("after_ms", l.after_ms, 0, scenario_wait_max_ms)
      .when(l.error.empty() &&
                (!l.message.empty() || l.states_window_tokens > 0 || l.retry_after_s > 0),
            "\"message\", \"states_window_tokens\" and \"retry_after_s\" are of an \"error\"")
      .when(!l.error.empty() && (has_text || l.calls > 0 || l.thinks_tokens > 0 ||
                                 !l.finish.empty() || l.input_tokens > 0),
            "a line with an \"error\" has no answer: no says, tokens, thinks_tokens, calls, finish "
            "or input_tokens")
      .when(l.pieces > 0 && l.error.empty() && !has_text,
            "\"pieces\" are of a text or of an \"error\"")
      .text("says", l.says, l.session)
      .text("message", l.message, l.session);
  return f.take();
}

std::string fault_of(const tool_line& l, const scenario_world&) {
  faults f;
  f.name("tool", l.session)
      .range("tokens", l.tokens, 0, scenario_text_tokens_max)
      .range("after_ms", l.after_ms, 0, scenario_wait_max_ms)
      .text("says", l.says, l.session);
  return f.take();
}

std::string fault_of(const step_line& l, const scenario_world& world) {
  const auto& takes = row_of(l.what);
  const auto* name = to_string(l.what);
  faults f;
  const auto refuse = [&](bool is_given, bool is_taken, const char* key) {
    f.when(is_given && !is_taken, "\"", key, "\" is nothing that \"", name, "\" takes");
  };
  f.when(takes.has_session && l.session.empty(), "\"", name, "\" needs a \"session\"");
  refuse(!l.session.empty(), takes.has_session || l.what == action::wait, "session");
  refuse(!l.id.empty(), takes.has_id, "id");
  refuse(!l.text.empty(), takes.has_text, "text");
  refuse(l.tokens > 0, takes.has_text && l.what != action::compact, "tokens");
  refuse(!l.model.empty(), takes.has_model, "model");
  refuse(l.number.has_value(), takes.has_number, "number");
  f.when(takes.has_model && l.model.empty(), "\"set_model\" needs a \"model\"");
  if (!l.session.empty())
    f.name("session", l.session);
  if (!l.id.empty())
    f.name("id", l.id);
  f.when(l.id == last_prompt_id,
         "\"id\" may not be \"last\": so is the prompt called by which a run ends");
  check_number(f, l, world);
  f.range("tokens", l.tokens, 0, scenario_text_tokens_max)
      .range("run", l.run, 0, scenario_run_max)
      .range("wait_ms", l.wait_ms, 0, scenario_wait_max_ms)
      .text("text", l.text, l.session);
  return f.take();
}

std::string fault_of(const expect_line& l, const scenario_world&) {
  faults f;
  f.name("expect", l.session)
      .when(expects_nothing(l), "it expects nothing")
      .when(!l.last.empty() && !is_end(l.last), "\"last\" may not be \"", l.last,
            "\": it is turn_completed, turn_failed:CODE or turn_cancelled:REASON");
  for (const auto& one : l.compactions)
    f.when(!is_compaction(one), "\"compactions\" may not hold \"", one,
           "\": each is REASON:STRATEGY");
  for (const auto& [id, answer] : l.answers)
    f.when(!is_answer(answer), "\"answers\" may not be \"", answer,
           "\": each is ok, lost, nothing or the type of an error");
  check_events(f, "events_have", l.events_have);
  check_events(f, "events_lack", l.events_lack);
  return f.take();
}

std::string fault_between_lines(const scenario& s) {
  faults f;
  std::int64_t waits_ms = 0;
  for (const auto& l : s.script)
    waits_ms += wait_of(l);
  f.when(waits_ms > scenario_waits_max_ms,
         "all \"wait_ms\" together may be " + std::to_string(scenario_waits_max_ms) + " ms");
  // Each node has the disk's cache of its own process; one that dies would take the others' along.
  f.when(s.world.nodes > 1 && s.world.journal == "sqlite" &&
             std::any_of(s.script.begin(), s.script.end(), crashes),
         "nodes that share a disk die together: a \"crash\" needs one node, or the journal "
         "\"memory\"");
  const auto names = sessions_of(s);
  for (const auto* list : {&s.world.no_auto_compact, &s.world.no_overflow_recovery})
    for (const auto& name : *list)
      f.when(std::find(names.begin(), names.end(), name) == names.end(),
             "\"world\" names the session \"", name, "\", and no line does");
  return f.take();
}

std::string fault_of(const scenario& s) {
  auto fault = fault_of(s.world, s.world);
  const auto look = [&](const auto& l) {
    if (fault.empty())
      fault = fault_of(l, s.world);
  };
  std::for_each(s.model.begin(), s.model.end(), look);
  std::for_each(s.tools.begin(), s.tools.end(), look);
  for (const auto& l : s.script)
    std::visit(look, l);
  return fault.empty() ? fault_between_lines(s) : fault;
}

} // namespace rind::kit
