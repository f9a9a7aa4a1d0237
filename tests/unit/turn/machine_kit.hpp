// An operation in a small world: a turn machine over a real projection and the real compaction
// pipeline, with a scripted model, scripted tools and a journal in memory. What happened reads like
// a sequence diagram (see script_world::diagram). No actors, no clock.
#pragma once

#include <deque>
#include <functional>

#include "runtime/compaction/pipeline.hpp"
#include "runtime/session/input_queues.hpp"
#include "runtime/turn/turn_machine.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::turn {

/// What a scripted model does with a request.
using model_step = std::function<inputs::sampling_finished(const effects::sample&)>;

inline model_step says(std::string text, std::optional<std::int64_t> reported_input = {},
                       finish_reason finish = finish_reason::stop) {
  return [=](const effects::sample& request) {
    auto m = std::make_shared<message>(*kit::make_message(message_role::assistant, text));
    m->model = request.model;
    sampling_answer a;
    a.msg = std::move(m);
    a.usage.input_tokens = reported_input;
    a.finish = finish;
    return inputs::sampling_finished{std::move(a), true, 0.5};
  };
}

inline model_step calls(std::vector<std::string> ids,
                        std::optional<std::int64_t> reported_input = {}) {
  return [=](const effects::sample& request) {
    auto m = std::make_shared<message>(*kit::make_message(message_role::assistant, ""));
    m->model = request.model;
    for (const auto& id : ids)
      m->tool_calls.push_back(kit::make_call(id));
    sampling_answer a;
    a.msg = std::move(m);
    a.usage.input_tokens = reported_input;
    a.finish = finish_reason::tool_calls;
    return inputs::sampling_finished{std::move(a), false, 0.5};
  };
}

inline model_step fails(provider_error error, bool deltas_sent = false) {
  return [=](const effects::sample&) { return inputs::sampling_finished{error, deltas_sent, 0.5}; };
}

inline provider_error error_of(provider_error_class c, std::string words = "words") {
  provider_error e;
  e.error_class = c;
  e.message = std::move(words);
  e.status = 400;
  return e;
}

inline model_step overflows() {
  return fails(error_of(provider_error_class::context_length, "prompt is too long"));
}

/// A model that refuses every request above its true window and answers the others with `then`.
inline model_step holds_up_to(std::int64_t tokens, model_step then = says("fine")) {
  return [=](const effects::sample& request) {
    return request.estimated_tokens > tokens ? overflows()(request) : then(request);
  };
}

class script_world {
public:
  // -- the script: set before run() -----------------------------------------
  context::model_limits limits;
  bool auto_compact = true;
  bool overflow_recovery = true;
  std::deque<model_step> model; // one a request; then `model_after`
  model_step model_after = says("done");
  std::function<sampling_outcome()> summary;
  std::deque<std::optional<compaction::outcome_kind>>
      forced; // outcome of the next compactions; empty or none: the pipeline's
  std::function<std::string(const std::string& call_id)> tool_text = [](const std::string&) {
    return std::string{"result"};
  };
  std::function<void(const std::string& which)> on_effect = [](const std::string&) {
  }; // before it is carried out
  std::int64_t samplings_max = 500;
  std::string refuse_entry; // the journal refuses the append whose diagram text contains this

  explicit script_world(std::int64_t window = 20'000) : projection_({}) {
    limits.window_tokens = window;
    summary = [] {
      sampling_answer a;
      a.msg = kit::make_message(message_role::assistant, "Goal: as asked. Done: a lot.");
      a.usage.input_tokens = 100;
      return sampling_outcome{a};
    };
    add(entries::session_created{"model-a", "Be brief."});
  }

  // -- history ---------------------------------------------------------------
  void add(entry_body body) {
    entry e;
    e.position = static_cast<std::int64_t>(journal_.size()) + 1;
    e.id = "e" + std::to_string(e.position);
    e.turn_id = turn_id_;
    e.body = std::move(body);
    const auto applied = projection_.apply(e);
    if (!applied)
      throw std::logic_error(applied.error().message);
    journal_.push_back(std::make_shared<const entry>(std::move(e)));
  }
  void begin(operation_kind kind = operation_kind::turn) {
    turn_id_ = "t" + std::to_string(++turns_);
    entries::turn_started started;
    started.operation = kind;
    add(started);
  }
  void user(std::string text) {
    add(entries::user_message{kit::make_message(message_role::user, std::move(text))});
  }
  void assistant(std::string text, std::vector<tool_call> asked = {}) {
    auto m = std::make_shared<message>(
        *kit::make_message(message_role::assistant, std::move(text), std::move(asked)));
    m->model = "model-a";
    entries::assistant_message body;
    body.msg = std::move(m);
    add(std::move(body));
  }
  void result(std::string call_id, std::string text) {
    entries::tool_result body;
    body.msg = kit::make_message(message_role::tool, std::move(text), {}, std::move(call_id));
    add(std::move(body));
  }
  void end(entries::turn_outcome outcome = entries::turn_outcome::completed) {
    entries::turn_ended body;
    body.outcome = outcome;
    add(body);
  }
  /// `turns` answered turns of about `tokens` each, half of it a tool's result.
  void history(int turns, std::int64_t tokens) {
    for (int i = 0; i < turns; ++i) {
      const auto id = "h" + std::to_string(i);
      begin();
      user("Question " + std::to_string(i));
      assistant("", {kit::make_call(id)});
      result(id, kit::text_of_tokens(tokens / 2));
      assistant(kit::text_of_tokens(tokens - tokens / 2));
      end();
    }
  }
  void prompt(std::string text = "And now?") {
    begin();
    user(std::move(text));
  }
  void accept(std::string input_id, input_mode mode, std::string text = "more") {
    if (auto room = queues_.begin_accept({input_id, mode, text}); !room)
      throw std::logic_error(room.error().message);
    add(entries::input_accepted{input_id, mode, std::move(text)});
    queues_.accepted(input_id, ++accepted_);
  }

  // -- running ---------------------------------------------------------------
  /// Runs the operation that is open in the journal, as a new runner would; `resumed` after a
  /// crash.
  void run(bool resumed = false) {
    start(resumed);
    while (!work_.empty()) {
      auto next = std::move(work_.front());
      work_.pop_front();
      if (auto in = next())
        take(machine_->on(*in));
    }
  }
  void start(bool resumed = false) {
    stopped_ = false;
    work_.clear();
    options o;
    const auto& op = *projection_.operation();
    o.operation = op.operation;
    o.samplings_max = samplings_max;
    if (resumed) {
      entries::turn_started again;
      again.resumed = true;
      add(again);
      o.samplings_before = op.samplings;
      o.goes_on = true;
      o.resumed = {op.context_errors,         op.rescues,  op.refused_estimate_tokens,
                   op.tightened_limit_tokens, op.attempts, op.output_limit_tokens};
    }
    machine_.emplace(std::move(o));
    take(machine_->start());
  }
  /// The process dies when this effect is carried out for the nth time: it is never answered.
  void crash_at(std::string which, int nth = 1) {
    on_effect = [this, which, nth, seen = 0](const std::string& e) mutable {
      if (e.find(which) != std::string::npos && ++seen == nth)
        crashed_ = true;
    };
  }
  /// The client cancels just after this effect was started for the nth time.
  void cancel_at(std::string which, int nth = 1) {
    on_effect = [this, which, nth, seen = 0](const std::string& e) mutable {
      if (e.find(which) != std::string::npos && ++seen == nth)
        cancel_now_ = true;
    };
  }
  void recover_from_crash() {
    crashed_ = false;
    work_.clear();
    on_effect = [](const std::string&) {};
  }

  // -- what came of it ---------------------------------------------------------
  /// The effects in order, without notes and announcements of contexts and usage, separated by " |
  /// ".
  std::string diagram() const {
    std::string all;
    for (const auto& line : log_)
      all += (all.empty() ? "" : " | ") + line;
    return all;
  }
  void forget() {
    log_.clear();
    requests.clear();
    retries.clear();
    ends.clear();
    contexts.clear();
  }
  std::int64_t count(const std::string& which) const {
    return std::count_if(log_.begin(), log_.end(),
                         [&](const auto& l) { return l.rfind(which, 0) == 0; });
  }
  const turn_machine& machine() const { return *machine_; }
  const view::projection& projection() const { return projection_; }
  const std::vector<entry_ptr>& journal() const { return journal_; }
  template <class Body>
  std::vector<Body> all() const {
    std::vector<Body> found;
    for (const auto& e : journal_)
      if (const auto* body = std::get_if<Body>(&e->body))
        found.push_back(*body);
    return found;
  }
  session::context_snapshot snapshot() const {
    session::context_snapshot s;
    s.view = projection_.shared_view();
    s.fixed_tokens = projection_.fixed_tokens();
    s.tools = projection_.tools();
    const auto& name = projection_.model();
    s.budget = context::resolve_budget(name, limits, projection_.learned_window(name), name, limits,
                                       projection_.learned_window(name));
    s.anchor = projection_.anchor();
    s.fault = projection_.fault();
    if (projection_.operation())
      s.tightened_limit_tokens = projection_.operation()->tightened_limit_tokens;
    s.auto_compact = auto_compact;
    s.overflow_recovery = overflow_recovery;
    s.corpus_messages =
        projection_.messages(projection_.view().corpus_start, projection_.view().message_count);
    return s;
  }

  std::vector<effects::sample> requests;
  std::vector<events::turn_step_retry> retries;
  std::vector<effects::close> ends;
  std::vector<events::context_built> contexts;
  std::vector<effects::note_decision> notes;
  bool completed = false; // the session ended the operation with nothing left to deliver

private:
  using work = std::function<std::optional<input>()>;

  void take(effect_list effects) {
    for (auto& e : effects)
      std::visit([this](auto& which) { carry_out(which); }, e);
  }
  /// Tells the script; false: the world has ended.
  bool started(std::string text) {
    if (crashed_)
      return false;
    log_.push_back(text);
    on_effect(text);
    if (crashed_)
      work_.clear();
    if (std::exchange(cancel_now_, false))
      work_.push_back([] { return input{inputs::cancel_requested{}}; });
    return !crashed_;
  }
  void answer(work w) { work_.push_back(std::move(w)); }

  void carry_out(effects::take_input& e) {
    if (!started(e.before_sampling ? "take" : "next"))
      return;
    answer([this, e]() -> std::optional<input> {
      using kind = inputs::input_taken::kind;
      if (machine_->cancelled())
        return inputs::input_taken{kind::none};
      auto in = queues_.begin_deliver(e.before_sampling);
      if (!in) {
        completed = !e.before_sampling;
        if (completed)
          end();
        return inputs::input_taken{completed ? kind::ended : kind::none};
      }
      auto m = std::make_shared<message>(*kit::make_message(message_role::user, in->text));
      m->origin = in->mode == input_mode::steering ? user_origin::steering : user_origin::follow_up;
      m->input_id = in->input_id;
      add(entries::input_delivered{std::move(m)});
      queues_.left(in->input_id);
      log_.push_back("deliver " + in->input_id);
      return inputs::input_taken{in->mode == input_mode::steering ? kind::delivered
                                                                  : kind::follow_up_delivered};
    });
  }
  void carry_out(effects::build_context&) {
    if (started("build"))
      answer([this]() -> std::optional<input> { return inputs::context_ready{snapshot()}; });
  }
  void carry_out(effects::compact& e) {
    const std::string small = e.suffix == compaction::suffix_size::small ? " small" : "";
    const auto detail =
        e.detail == phase_detail::none ? std::string{} : std::string{" "} + to_string(e.detail);
    if (!started(std::string{"compact "} + to_string(e.reason) + detail + small))
      return;
    answer(
        [this, e]() -> std::optional<input> { return inputs::compaction_finished{compacted(e)}; });
  }
  compaction::outcome compacted(const effects::compact& e) {
    using compaction::outcome_kind;
    if (stopped_)
      return compaction::rejected(outcome_kind::cancelled, 0);
    std::optional<outcome_kind> wanted;
    if (!forced.empty()) {
      wanted = forced.front();
      forced.pop_front();
    }
    if (wanted && *wanted != outcome_kind::committed)
      return compaction::rejected(*wanted, 0);
    const auto& c = e.snapshot;
    compaction::request r{e.reason,          e.detail,       e.suffix, c.focus, c.view,
                          c.corpus_messages, c.fixed_tokens, c.budget, {},      {}};
    r.active_of = [c](std::int64_t local) { return c.active(local).tokens; };
    r.summary_active_of = [c](std::int64_t local) {
      return c.anchor.estimate(c.budget.summary_model, -1, local).tokens;
    };
    auto planned = compaction::plan(r);
    if (auto* outcome = std::get_if<compaction::outcome>(&planned))
      return *outcome;
    if (auto* draft = std::get_if<compaction::boundary_draft>(&planned))
      return committed(draft->record);
    ++summaries;
    auto concluded =
        compaction::conclude(r, std::get<compaction::summary_plan>(planned), summary());
    if (auto* outcome = std::get_if<compaction::outcome>(&concluded))
      return *outcome;
    return committed(std::get<compaction::boundary_draft>(concluded).record);
  }
  compaction::outcome committed(const compaction_record& record) {
    add(entries::boundary{std::make_shared<const compaction_record>(record)});
    compaction::outcome o;
    o.record = std::get<entries::boundary>(journal_.back()->body).record;
    o.entries = {journal_.back()};
    o.usage = record.usage;
    o.tokens_before = record.tokens_before;
    o.tokens_after = record.tokens_after;
    return o;
  }
  static std::string text_of(const entry_body& body) {
    if (const auto* a = std::get_if<entries::attempt_started>(&body))
      return a->output_limit_tokens ? "attempt(output)"
                                    : "attempt(" + std::to_string(a->context_errors) + "," +
                                          std::to_string(a->rescues) + ")";
    if (std::holds_alternative<entries::assistant_message>(body))
      return "assistant";
    if (std::holds_alternative<entries::tool_requested>(body))
      return "call";
    if (std::holds_alternative<entries::tool_result>(body))
      return "result";
    if (std::holds_alternative<entries::boundary>(body))
      return "boundary";
    if (std::holds_alternative<entries::usage_recorded>(body))
      return "usage";
    return std::holds_alternative<entries::window_learned>(body) ? "window" : "other";
  }
  void carry_out(effects::record& e) {
    std::string text = "record";
    for (const auto& body : e.entries)
      text += " " + text_of(body);
    if (!started(text))
      return;
    answer([this, e, text]() -> std::optional<input> {
      if (!refuse_entry.empty() && text.find(refuse_entry) != std::string::npos)
        return inputs::refused{make_failure(error_code::persistence_failed, "disk full")};
      for (const auto& body : e.entries)
        add(body);
      return inputs::recorded{};
    });
  }
  void carry_out(effects::wait& e) {
    if (started("wait " + std::to_string(e.delay_ms)))
      answer([this]() -> std::optional<input> {
        return stopped_ ? std::nullopt : std::optional<input>{inputs::retry_due{}};
      });
  }
  void carry_out(effects::sample& e) {
    requests.push_back(e);
    if (!started("sample"))
      return;
    auto step = model_after;
    if (!model.empty()) {
      step = model.front();
      model.pop_front();
    }
    answer([this, e, step]() -> std::optional<input> {
      return stopped_ ? std::nullopt : std::optional<input>{step(e)};
    });
  }
  void carry_out(effects::run_tools& e) {
    if (!started("tools " + std::to_string(e.calls.size())))
      return;
    for (const auto& call : e.calls)
      answer([this, call]() -> std::optional<input> {
        inputs::tool_finished f;
        f.tool_call_id = call.id;
        f.tool_name = call.name;
        f.status = stopped_ ? tool_status::cancelled : tool_status::completed;
        f.text = tool_text(call.id);
        return f;
      });
  }
  void carry_out(effects::announce& e) {
    if (crashed_)
      return;
    if (const auto* retry = std::get_if<events::turn_step_retry>(&e.event)) {
      retries.push_back(*retry);
      log_.push_back("retry " + retry->reason);
    } else if (const auto* built = std::get_if<events::context_built>(&e.event)) {
      contexts.push_back(*built);
    }
  }
  void carry_out(effects::note_decision& e) { notes.push_back(e); }
  void carry_out(effects::stop_work&) {
    stopped_ = true;
    log_.push_back("stop");
  }
  void carry_out(effects::close& e) {
    ends.push_back(e);
    std::string text =
        "close " +
        std::string{e.outcome == entries::turn_outcome::cancelled ? "cancelled" : "failed"};
    if (e.error)
      text += " " + std::string{to_string(e.error->code)};
    if (!started(text))
      return;
    answer([this, e]() -> std::optional<input> {
      for (const auto& body : e.extra)
        add(body);
      end(e.outcome);
      return inputs::closed{};
    });
  }

public:
  std::int64_t summaries = 0; // summary requests

private:
  view::projection projection_;
  std::vector<entry_ptr> journal_;
  session::input_queues queues_{session::queue_limits{}};
  std::int64_t accepted_ = 0; // position of the newest in the queues
  std::optional<turn_machine> machine_;
  std::deque<work> work_;
  std::vector<std::string> log_;
  std::string turn_id_;
  int turns_ = 0;
  bool stopped_ = false;
  bool crashed_ = false;
  bool cancel_now_ = false;
};

} // namespace rind::turn
