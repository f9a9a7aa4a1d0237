// The fields of each kind of line, once: for writing and for reading.
#pragma once

#include <type_traits>

#include "tests/kit/scenario/scenario.hpp"

namespace rind::kit {

template <class Visitor, class World>
requires std::is_same_v<std::remove_const_t<World>, scenario_world>
void visit_fields(Visitor& v, World& w) {
  v("name", w.name);
  v("seed", w.seed);
  v("shuffled", w.shuffled);
  v("nodes", w.nodes);
  v("journal", w.journal);
  v("window_tokens", w.window_tokens);
  v("true_window_tokens", w.true_window_tokens);
  v("token_ratio", w.token_ratio);
  v("summaries_at_once", w.summaries_at_once);
  v("threshold_percent", w.threshold_percent);
  v("auto_compact", w.auto_compact);
  v("overflow_recovery", w.overflow_recovery);
  v("auto_resume", w.auto_resume);
  v("system_prompt_tokens", w.system_prompt_tokens);
  v("max_output_tokens", w.max_output_tokens);
  v("compaction_model", w.compaction_model);
  v("no_auto_compact", w.no_auto_compact);
  v("no_overflow_recovery", w.no_overflow_recovery);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, model_line>
void visit_fields(Visitor& v, Line& l) {
  v("model", l.session);
  v("kind", l.kind);
  v("says", l.says);
  v("tokens", l.tokens);
  v("thinks_tokens", l.thinks_tokens);
  v("calls", l.calls);
  v("error", l.error);
  v("message", l.message);
  v("states_window_tokens", l.states_window_tokens);
  v("retry_after_s", l.retry_after_s);
  v("finish", l.finish);
  v("usage", l.usage);
  v("input_tokens", l.input_tokens);
  v("after_ms", l.after_ms);
  v("pieces", l.pieces);
  v("hangs", l.hangs);
  v("deaf", l.deaf);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, tool_line>
void visit_fields(Visitor& v, Line& l) {
  v("tool", l.session);
  v("says", l.says);
  v("tokens", l.tokens);
  v("fails", l.fails);
  v("throws", l.throws);
  v("hangs", l.hangs);
  v("deaf", l.deaf);
  v("after_ms", l.after_ms);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, step_line>
void visit_fields(Visitor& v, Line& l) {
  v("do", l.what);
  v("session", l.session);
  v("id", l.id);
  v("text", l.text);
  v("tokens", l.tokens);
  v("model", l.model);
  v("number", l.number);
  v("run", l.run);
  v("wait_ms", l.wait_ms);
  v("settles", l.settles);
}

template <class Visitor, class Line>
requires std::is_same_v<std::remove_const_t<Line>, expect_line>
void visit_fields(Visitor& v, Line& l) {
  v("expect", l.session);
  v("at_once", l.at_once);
  v("last", l.last);
  v("samplings", l.samplings);
  v("summaries", l.summaries);
  v("boundaries", l.boundaries);
  v("turns", l.turns);
  v("resumes", l.resumes);
  v("tool_runs", l.tool_runs);
  v("compactions", l.compactions);
  v("undelivered", l.undelivered);
  v("answers", l.answers);
  v("events_have", l.events_have);
  v("events_lack", l.events_lack);
  v("view_has", l.view_has);
  v("view_lacks", l.view_lacks);
  v("request_has", l.request_has);
  v("request_lacks", l.request_lacks);
  v("summary_has", l.summary_has);
  v("summary_lacks", l.summary_lacks);
}

} // namespace rind::kit
