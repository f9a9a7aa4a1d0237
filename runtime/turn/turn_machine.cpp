// The turn machine: first the table of what each state does with each input, then the steps of the
// loop.
#include "runtime/turn/turn_machine.hpp"

#include <algorithm>

#include "runtime/canary/canary.hpp"
#include "runtime/compaction/pipeline.hpp"

namespace rind::turn {

namespace {

using enum reaction;

// clang-format off
constexpr std::array<std::array<reaction, input_count>, state_count> table{{
    //                input_taken context_ready compaction_finished recorded refused  retry_due sampling_finished tool_finished cancel_requested closed
    /* taking     */ {go_on,      illegal,      ignore,             illegal, fail,    ignore,   ignore,           ignore,       stop,            finish},
    /* building   */ {illegal,    go_on,        ignore,             illegal, illegal, ignore,   ignore,           ignore,       stop,            finish},
    /* compacting */ {illegal,    illegal,      go_on,              illegal, illegal, ignore,   ignore,           ignore,       stop,            finish},
    /* recording  */ {illegal,    illegal,      ignore,             go_on,   fail,    ignore,   ignore,           ignore,       stop,            finish},
    /* waiting    */ {illegal,    illegal,      ignore,             illegal, illegal, go_on,    ignore,           ignore,       stop,            finish},
    /* sampling   */ {illegal,    illegal,      ignore,             illegal, illegal, ignore,   go_on,            ignore,       stop,            finish},
    /* committing */ {illegal,    illegal,      ignore,             go_on,   fail,    ignore,   ignore,           ignore,       stop,            finish},
    /* tools      */ {illegal,    illegal,      ignore,             go_on,   fail,    ignore,   ignore,           go_on,        stop,            finish},
    /* closing    */ {ignore,     ignore,       ignore,             ignore,  ignore,  ignore,   ignore,           ignore,       ignore,          finish},
    /* ended      */ {ignore,     ignore,       ignore,             ignore,  ignore,  ignore,   ignore,           ignore,       ignore,          ignore},
}};
// clang-format on

std::int64_t output_tokens_left(const context::budget& b, std::int64_t active,
                                std::int64_t override_tokens) {
  const auto limit = context::output_limit_for(b, active);
  return override_tokens > 0 ? std::min(limit, override_tokens) : limit;
}

/// The message under the name that the session has for its model; the provider may have another.
message_ptr written_by(const message_ptr& msg, const std::string& model) {
  if (msg->model == model)
    return msg;
  auto named = std::make_shared<message>(*msg);
  named->model = model;
  return named;
}

/// The calls of the newest message that is no result.
std::vector<tool_call> newest_calls(const view::message_view& v) {
  const auto last = std::find_if(v.items.rbegin(), v.items.rend(), [](const view::item& i) {
    return i.msg->role != message_role::tool;
  });
  return last == v.items.rend() ? std::vector<tool_call>{} : last->msg->tool_calls;
}

failure budget_exceeded(std::int64_t estimated, std::int64_t limit) {
  failure_details details;
  details.estimated_tokens = estimated;
  details.limit_tokens = limit;
  return make_failure(error_code::context_budget_exceeded,
                      "the context is estimated at " + std::to_string(estimated) +
                          " tokens, above the hard limit of " + std::to_string(limit) +
                          ", and nothing more may be compacted",
                      std::move(details));
}

} // namespace

const std::array<std::array<reaction, input_count>, state_count>& reaction_table() {
  return table;
}

const char* to_string(state value) {
  constexpr std::array<const char*, state_count> names{
      "taking",   "building",   "compacting", "recording", "waiting",
      "sampling", "committing", "tools",      "closing",   "ended"};
  return names[static_cast<std::size_t>(value)];
}

const char* name_of(const input& in) {
  constexpr std::array<const char*, input_count> names{
      "input_taken", "context_ready",     "compaction_finished", "recorded",         "refused",
      "retry_due",   "sampling_finished", "tool_finished",       "cancel_requested", "closed"};
  return names[in.index()];
}

turn_machine::turn_machine(options o)
    : options_(std::move(o)), recovery_(options_.resumed), samplings_(options_.samplings_before) {
  // nop
}

effect_list turn_machine::start() {
  if (options_.operation == operation_kind::compact) {
    build(purpose::manual_compaction);
  } else if (recovery_.at() == recovery::stage::compacting ||
             recovery_.at() == recovery::stage::rescuing) {
    // A refused request is outstanding: what is sent next has to be smaller, and no input comes
    // between (S10, S28).
    if (!count_sampling())
      return std::exchange(out_, {});
    resumed_refusal_ = true;
    output_override_ = options_.resumed.output_limit_tokens.value_or(0);
    compaction_reason_ = compaction_reason::context_length_error;
    compaction_detail_ = phase_detail::context_length_recovery;
    rescue_limit_tokens_ = recovery_.tightened_limit_tokens().value_or(0);
    build(recovery_.at() == recovery::stage::compacting ? purpose::error_compaction
                                                        : purpose::rescue);
  } else if (options_.resumed.output_limit_tokens) {
    // The same where less output was to be asked for.
    if (!count_sampling())
      return std::exchange(out_, {});
    output_override_ = *options_.resumed.output_limit_tokens;
    build(purpose::sampling);
  } else if (options_.goes_on) {
    build(purpose::resuming);
  } else {
    begin_sampling(true);
  }
  return std::exchange(out_, {});
}

effect_list turn_machine::on(const input& in) {
  switch (table[static_cast<std::size_t>(state_)][in.index()]) {
  case ignore:
    break;
  case go_on:
  case fail:
  case stop:
    std::visit([this](const auto& i) { on_input(i); }, in);
    break;
  case finish:
    state_ = state::ended;
    break;
  case illegal:
    fail_illegal(name_of(in));
    break;
  }
  return std::exchange(out_, {});
}

// -- the loop ----------------------------------------------------------------

bool turn_machine::count_sampling() {
  if (samplings_ >= options_.samplings_max) {
    close(entries::turn_outcome::failed,
          make_failure(error_code::sampling_limit_reached,
                       "the operation reached its limit of " +
                           std::to_string(options_.samplings_max) + " samplings"));
    return false;
  }
  ++samplings_;
  return true;
}

void turn_machine::begin_sampling(bool take_steering) {
  if (!count_sampling())
    return;
  recovery_.begin_sampling();
  output_override_ = 0;
  steering_taken_ = false;
  small_tried_ = false;
  last_committed_ = false;
  conflict_retried_ = false;
  if (take_steering) {
    taking_next_ = false;
    state_ = state::taking;
    out_.push_back(effects::take_input{true});
  } else {
    build(purpose::sampling);
  }
}

// The task before has ended: steering, else a follow-up, else the operation's end.
void turn_machine::take_next() {
  taking_next_ = true;
  state_ = state::taking;
  out_.push_back(effects::take_input{false});
}

void turn_machine::build(purpose p) {
  purpose_ = p;
  state_ = state::building;
  out_.push_back(effects::build_context{});
}

void turn_machine::on_input(const inputs::input_taken& in) {
  using kind = inputs::input_taken::kind;
  if (in.what == kind::ended) {
    state_ = state::ended;
    return;
  }
  if (cancelled_) {
    close(entries::turn_outcome::cancelled);
    return;
  }
  if (taking_next_) {
    // A new task of the same operation. Nothing to take would have ended it.
    if (in.what == kind::none)
      return fail_illegal("no input where one or the end had to come");
    taking_next_ = false;
    begin_sampling(false);
    steering_taken_ = in.what == kind::delivered;
    return;
  }
  steering_taken_ = steering_taken_ || in.what == kind::delivered;
  build(purpose::sampling);
}

void turn_machine::on_input(const inputs::context_ready& in) {
  if (cancelled_) {
    close(entries::turn_outcome::cancelled);
    return;
  }
  const auto& s = in.snapshot;
  if (!s.tightened_limit_tokens || (!model_.empty() && model_ != s.budget.model))
    recovery_.end_tightened_limit();
  model_ = s.budget.model;
  switch (purpose_) {
  case purpose::sampling:
    judge(s);
    break;
  case purpose::resuming:
    go_on_from(s);
    break;
  case purpose::manual_compaction:
    start_compaction(s, compaction_reason::manual, phase_detail::none,
                     compaction::suffix_size::normal);
    break;
  case purpose::error_compaction:
    compact_refused(s);
    break;
  case purpose::after_compaction:
    settle_compaction(s);
    break;
  case purpose::after_error_compaction:
    settle_error_compaction(s);
    break;
  case purpose::rescue:
    rescue(s);
    break;
  }
}

// Where the interruption fell between a task's last answer and the end of the operation, there is
// nothing to sample.
void turn_machine::go_on_from(const session::context_snapshot& s) {
  const bool answered =
      !s.view->items.empty() && s.view->items.back().msg->role == message_role::assistant;
  if (RIND_PLANTED(calls_run_again)) {
    calls_ = newest_calls(*s.view);
    if (!calls_.empty()) {
      state_ = state::tools;
      out_.push_back(effects::run_tools{calls_});
      return;
    }
  }
  if (answered)
    take_next();
  else
    begin_sampling(true);
}

void turn_machine::judge(const session::context_snapshot& s) {
  const auto stats = s.stats();
  if (s.fault) {
    close(entries::turn_outcome::failed, make_failure(error_code::invalid_message_boundary,
                                                      "the view must not be sent: " + *s.fault));
    return;
  }
  const auto active = stats.active_tokens;
  const auto verdict = context::judge(s.budget, s.fixed_tokens, active, s.tightened_limit_tokens);
  const bool same_view = s.view->view_position == compacted_position_;
  switch (verdict) {
  case context::verdict::fixed_too_large: {
    failure_details details;
    details.estimated_tokens = s.fixed_tokens;
    details.limit_tokens = s.budget.threshold_tokens;
    note("fail", "the fixed part reaches the threshold", stats);
    close(entries::turn_outcome::failed,
          make_failure(error_code::fixed_context_too_large,
                       "system messages and tool schemas take " + std::to_string(s.fixed_tokens) +
                           " tokens, the threshold is " + std::to_string(s.budget.threshold_tokens),
                       std::move(details)));
    return;
  }
  case context::verdict::over_hard_limit:
    if (!s.auto_compact)
      return overflow_without_call(s);
    if (same_view && !must_compact_small(s, active)) {
      note("fail", "above the hard limit after compaction", stats);
      close(entries::turn_outcome::failed, budget_exceeded(active, s.budget.hard_limit_tokens));
      return;
    }
    note("compact", "above the hard limit", stats);
    announce_context(s, stats, true, 0);
    return start_compaction(s, compaction_reason::automatic, phase_detail::hard_limit,
                            same_view ? compaction::suffix_size::small
                                      : compaction::suffix_size::normal);
  case context::verdict::over_threshold:
    if (!s.auto_compact) {
      note("sample", "above the threshold, automatic compaction is off", stats);
      return send(s, *s.view, 0);
    }
    if (same_view && !must_compact_small(s, active)) {
      note("sample", "above the threshold, but this view was compacted already", stats);
      return send(s, *s.view, 0);
    }
    note("compact", "at the threshold", stats);
    announce_context(s, stats, true, 0);
    return start_compaction(
        s, compaction_reason::automatic,
        samplings_ == 1 ? phase_detail::before_first_sampling : phase_detail::between_samplings,
        same_view ? compaction::suffix_size::small : compaction::suffix_size::normal);
  case context::verdict::fits:
    note("sample", same_view ? "fits after compaction" : "below the threshold", stats);
    return send(s, *s.view, 0);
  }
}

bool turn_machine::must_compact_small(const session::context_snapshot& s,
                                      std::int64_t active) const {
  return last_committed_ && !small_tried_ && active > s.threshold_tokens();
}

// -- compaction --------------------------------------------------------------

void turn_machine::start_compaction(const session::context_snapshot& s, compaction_reason reason,
                                    phase_detail detail, compaction::suffix_size suffix) {
  compaction_reason_ = reason;
  compaction_detail_ = detail;
  small_tried_ = suffix == compaction::suffix_size::small;
  compacted_position_ = s.view->view_position;
  state_ = state::compacting;
  auto context = s;
  context.budget.threshold_tokens = s.threshold_tokens();
  out_.push_back(effects::compact{reason, detail, suffix, std::move(context)});
}

void turn_machine::on_input(const inputs::compaction_finished& in) {
  const auto& o = in.outcome;
  if (o.usage)
    out_.push_back(
        effects::announce{events::token_stats_updated{*o.usage, sampling_kind::compact}});
  const bool stands = o.kind == compaction::outcome_kind::committed;
  if (stands)
    compacted_position_ = o.entries.empty() ? compacted_position_ : o.entries.back()->position;
  last_committed_ = stands;
  if (cancelled_ || o.kind == compaction::outcome_kind::cancelled) {
    close(entries::turn_outcome::cancelled);
    return;
  }
  const auto failed = [&] { close(entries::turn_outcome::failed, o.error); };
  const bool tried_small = small_tried_ && !stands;
  const bool on_error = compaction_reason_ == compaction_reason::context_length_error;
  // The second try of S25 changes nothing unless the journal fails: the first one's boundary
  // stands.
  if (tried_small && o.kind != compaction::outcome_kind::persistence_failed &&
      o.kind != compaction::outcome_kind::not_owner)
    return build(on_error ? purpose::after_error_compaction : purpose::after_compaction);
  switch (compaction::action_for(o.kind, compaction_reason_)) {
  case compaction::caller_action::respond_record:
    return RIND_PLANTED(manual_samples) ? begin_sampling(true) : take_next();
  case compaction::caller_action::sample:
    if (RIND_PLANTED(compaction_ends_the_turn))
      return take_next();
    return build(purpose::after_compaction);
  case compaction::caller_action::sample_if_fits_else_shorten:
    return build(purpose::sampling);
  case compaction::caller_action::sample_if_smaller_else_rescue:
    return build(purpose::after_error_compaction);
  case compaction::caller_action::first_rescue:
    if (RIND_PLANTED(retry_not_smaller))
      return build(purpose::after_error_compaction);
    return carry_out(recovery_.on_compaction(false, facts_), {});
  case compaction::caller_action::rebuild_once_more_then_fail:
    if (std::exchange(conflict_retried_, true))
      return failed();
    compacted_position_ = -1;
    return build(on_error ? purpose::error_compaction : purpose::sampling);
  case compaction::caller_action::fail:
  case compaction::caller_action::refuse:
  case compaction::caller_action::cancel:
  case compaction::caller_action::stop:
    return failed();
  }
}

void turn_machine::settle_compaction(const session::context_snapshot& s) {
  const auto active = s.stats().active_tokens;
  if (s.view->view_position == compacted_position_ && must_compact_small(s, active)) {
    note("compact", "still above the threshold because of the suffix", s.stats());
    return start_compaction(s, compaction_reason::automatic, compaction_detail_,
                            compaction::suffix_size::small);
  }
  // An input that was accepted meanwhile enters this sampling, unless one was already delivered for
  // it (S28).
  if (steering_taken_)
    return judge(s);
  taking_next_ = false;
  state_ = state::taking;
  out_.push_back(effects::take_input{true});
}

void turn_machine::overflow_without_call(const session::context_snapshot& s) {
  provider_error error;
  error.error_class = provider_error_class::context_length;
  error.code = "hard_limit";
  error.message = "the request is above the hard limit and was not sent";
  error.sent = false;
  const auto stats = s.stats();
  facts_ = facts_of(s, stats.active_tokens);
  not_sent_ = true;
  note("recover", "above the hard limit, automatic compaction is off", stats);
  handle_error(error);
}

// The compaction of S30. The refused view may be the work of a compaction already: it is not
// compacted a second time (S25).
void turn_machine::compact_refused(const session::context_snapshot& s) {
  const auto active = s.stats().active_tokens;
  if (std::exchange(resumed_refusal_, false) && active < recovery_.refused_estimate_tokens())
    return settle_error_compaction(s); // its boundary was committed before the interruption
  facts_ = facts_of(s, active);
  if (s.view->view_position == compacted_position_) {
    note("rescue", "the refused view was compacted already", s.stats());
    return carry_out(recovery_.on_compaction(false, facts_), {});
  }
  start_compaction(s, compaction_reason::context_length_error, compaction_detail_,
                   compaction::suffix_size::normal);
}

void turn_machine::settle_error_compaction(const session::context_snapshot& s) {
  const auto active = s.stats().active_tokens;
  if (must_compact_small(s, active)) {
    note("compact", "still above the threshold because of the suffix", s.stats());
    start_compaction(s, compaction_reason::context_length_error, compaction_detail_,
                     compaction::suffix_size::small);
    return;
  }
  facts_ = facts_of(s, active);
  const bool smaller =
      active < recovery_.refused_estimate_tokens() || RIND_PLANTED(retry_not_smaller);
  const bool helped = smaller && active <= s.budget.hard_limit_tokens;
  const auto d = recovery_.on_compaction(helped, facts_);
  if (!helped)
    return carry_out(d, {});
  announce_retry(d);
  note("sample", "smaller than what was refused", s.stats());
  send(s, *s.view, 0);
}

void turn_machine::rescue(const session::context_snapshot& s) {
  const auto before = s.stats();
  if (std::exchange(resumed_refusal_, false) && rescue_limit_tokens_ == 0)
    rescue_limit_tokens_ = recovery_.next_limit_tokens(facts_of(s, before.active_tokens));
  auto plan = context::plan_rescue(*s.view, s.fixed_tokens, rescue_limit_tokens_,
                                   [&](std::int64_t local) { return s.active(local).tokens; });
  const bool helped = plan.changed && plan.active_tokens < recovery_.refused_estimate_tokens() &&
                      plan.active_tokens <= s.budget.hard_limit_tokens;
  facts_ = facts_of(s, plan.active_tokens);
  const auto d = recovery_.on_rescue(helped);
  if (d.action == recovery::action::fail)
    return carry_out(d, {});
  rescue_tokens_before_ = before.active_tokens;
  rescue_base_ = s;
  rescue_ = std::move(plan);
  announce_retry(d);
  std::int64_t replaced = 0;
  for (const auto& r : rescue_->replaced)
    replaced += r.end_exclusive - r.start;
  note("rescue", "the provider refused the length again", s.stats(rescue_->after));
  send(s, rescue_->after, replaced);
}

// -- sampling ----------------------------------------------------------------

recovery::request_facts turn_machine::facts_of(const session::context_snapshot& s,
                                               std::int64_t estimated) const {
  recovery::request_facts f;
  f.estimated_tokens = estimated;
  f.output_limit_tokens = output_tokens_left(s.budget, estimated, output_override_);
  f.output_limit_lowered = f.output_limit_tokens < s.budget.output_limit_tokens;
  f.fixed_tokens = s.fixed_tokens;
  f.hard_limit_tokens = s.budget.hard_limit_tokens;
  f.window_tokens = s.budget.window_tokens;
  f.overflow_recovery = s.overflow_recovery;
  return f;
}

void turn_machine::send(const session::context_snapshot& s, const view::message_view& v,
                        std::int64_t rescued) {
  auto messages = session::messages_of(v);
  // A rescued view is the machine's own; of the session's view the answer is known.
  if (const auto fault = rescue_ ? view::boundary_fault(messages) : s.fault) {
    close(entries::turn_outcome::failed, make_failure(error_code::invalid_message_boundary,
                                                      "the view must not be sent: " + *fault));
    return;
  }
  const auto stats = s.stats(v);
  facts_ = facts_of(s, stats.active_tokens);
  request_local_tokens_ = stats.estimated_input_tokens;
  request_generation_ = v.generation + (rescue_ ? 1 : 0);
  request_ = {std::move(messages), s.tools,
              s.budget.model,      facts_.output_limit_tokens,
              stats.active_tokens, s.budget.window_tokens};
  announce_context(s, stats, false, rescued);
  resend();
}

void turn_machine::announce_context(const session::context_snapshot& s, context_stats stats,
                                    bool compact_required, std::int64_t rescued) {
  events::context_built built;
  built.stats = std::move(stats);
  if (!compact_required)
    built.stats.output_limit_tokens = facts_.output_limit_tokens;
  built.auto_compact_limit_reached = built.stats.active_tokens >= s.threshold_tokens();
  built.compact_required = compact_required;
  built.rescued_messages = rescued;
  out_.push_back(effects::announce{std::move(built)});
}

void turn_machine::resend() {
  state_ = state::sampling;
  out_.push_back(request_);
}

void turn_machine::on_input(const inputs::retry_due&) {
  if (RIND_PLANTED(steering_into_retry) && !rescue_) {
    state_ = state::taking;
    out_.push_back(effects::take_input{true});
    return;
  }
  resend();
}

void turn_machine::on_input(const inputs::sampling_finished& in) {
  not_sent_ = false;
  facts_.deltas_sent = in.deltas_sent;
  facts_.chance = in.chance;
  discard_partial_ = discard_partial_ || in.deltas_sent;
  if (const auto* answer = std::get_if<sampling_answer>(&in.outcome)) {
    if (auto error = recovery::judge_answer(*answer, facts_))
      return handle_error(*error);
    return accept(*answer);
  }
  if (const auto* error = std::get_if<provider_error>(&in.outcome))
    return handle_error(*error);
  // The provider gave the request up although nobody cancelled it here.
  provider_error lost;
  lost.error_class = provider_error_class::stream_interrupted;
  lost.message = "the request was given up by its provider";
  handle_error(lost);
}

entry_body turn_machine::attempt_entry(std::optional<std::int64_t> output_limit) const {
  entries::attempt_started a;
  a.sampling = samplings_;
  a.context_errors = recovery_.context_errors();
  a.rescues = recovery_.rescues();
  a.refused_estimate_tokens =
      output_limit ? facts_.estimated_tokens : recovery_.refused_estimate_tokens();
  a.limit_tokens = output_limit || recovery_.attempts().empty()
                       ? facts_.hard_limit_tokens
                       : recovery_.attempts().back().limit_tokens;
  a.tightened_limit_tokens = recovery_.tightened_limit_tokens();
  a.output_limit_tokens = output_limit;
  return a;
}

void turn_machine::handle_error(const provider_error& error) {
  const auto d = recovery_.on_error(error, facts_);
  std::vector<entry_body> entries;
  if (error.usage.input_tokens || error.usage.output_tokens)
    entries.push_back(
        entries::usage_recorded{sampling_kind::assistant, request_.model, error.usage});
  if (d.learned_window_tokens)
    entries.push_back(entries::window_learned{model_, *d.learned_window_tokens});
  if (RIND_PLANTED(error_left_in_view) && d.action == recovery::action::retry) {
    auto words = std::make_shared<message>();
    words->content = error.message.empty() ? to_string(error.error_class) : error.message;
    entries.push_back(entries::user_message{std::move(words)});
  }
  carry_out(d, std::move(entries));
}

void turn_machine::carry_out(const recovery::decision& d, std::vector<entry_body> to_record) {
  switch (d.action) {
  case recovery::action::fail:
    close(entries::turn_outcome::failed, d.error, std::move(to_record));
    return;
  case recovery::action::retry:
    if (to_record.empty()) {
      announce_retry(d);
      state_ = state::waiting;
      out_.push_back(effects::wait{d.delay_ms});
      return;
    }
    pending_ = d;
    after_record_ = after_record::wait;
    break;
  case recovery::action::lower_output:
    output_override_ = d.output_limit_tokens;
    request_.output_limit_tokens = d.output_limit_tokens;
    facts_.output_limit_tokens = d.output_limit_tokens;
    facts_.output_limit_lowered = true;
    pending_ = d;
    to_record.push_back(attempt_entry(d.output_limit_tokens));
    after_record_ = after_record::resend;
    break;
  case recovery::action::compact:
    compaction_reason_ = compaction_reason::context_length_error;
    compaction_detail_ =
        not_sent_ ? phase_detail::hard_limit : phase_detail::context_length_recovery;
    small_tried_ = false;
    last_committed_ = false;
    to_record.push_back(attempt_entry(std::nullopt));
    after_record_ = after_record::error_compaction;
    break;
  case recovery::action::rescue:
    compaction_detail_ =
        not_sent_ ? phase_detail::hard_limit : phase_detail::context_length_recovery;
    rescue_limit_tokens_ = d.limit_tokens;
    rescue_.reset();
    to_record.push_back(attempt_entry(std::nullopt));
    after_record_ = after_record::rescue;
    break;
  }
  state_ = state::recording;
  out_.push_back(effects::record{std::move(to_record)});
}

void turn_machine::announce_retry(const recovery::decision& d) {
  if (RIND_PLANTED(partial_not_discarded))
    discard_partial_ = false;
  out_.push_back(effects::announce{events::turn_step_retry{
      d.attempt, d.reason, d.delay_ms, std::exchange(discard_partial_, false), d.detail}});
}

void turn_machine::accept(const sampling_answer& answer) {
  recovery_.sampling_succeeded();
  discard_partial_ = false;
  std::vector<entry_body> entries;
  if (rescue_) {
    auto record = compaction::rescue_record(*rescue_base_.view, *rescue_,
                                            compaction_reason::context_length_error,
                                            compaction_detail_, rescue_tokens_before_);
    entries.push_back(
        entries::boundary{std::make_shared<const compaction_record>(std::move(record))});
  }
  entries::assistant_message m;
  m.msg = written_by(answer.msg, request_.model);
  m.usage = answer.usage;
  m.request_local_tokens = request_local_tokens_;
  m.request_estimated_tokens = request_.estimated_tokens;
  m.request_generation = request_generation_;
  m.sampling = samplings_;
  entries.push_back(std::move(m));
  for (const auto& call : answer.msg->tool_calls)
    entries.push_back(entries::tool_requested{call});
  calls_ = answer.msg->tool_calls;
  answer_usage_ = answer.usage;
  request_ = {};
  state_ = state::committing;
  if (RIND_PLANTED(tool_before_journal) && !calls_.empty())
    out_.push_back(effects::run_tools{calls_});
  out_.push_back(effects::record{std::move(entries)});
}

void turn_machine::on_input(const inputs::recorded&) {
  if (state_ == state::tools) {
    --results_committing_;
    return after_tool();
  }
  if (state_ == state::committing) {
    rescue_.reset();
    rescue_base_ = {};
    if (answer_usage_)
      out_.push_back(effects::announce{events::token_stats_updated{
          *std::exchange(answer_usage_, std::nullopt), sampling_kind::assistant}});
    if (cancelled_)
      return close(entries::turn_outcome::cancelled);
    if (calls_.empty())
      return take_next();
    results_committing_ = 0;
    state_ = state::tools;
    if (!RIND_PLANTED(tool_before_journal))
      out_.push_back(effects::run_tools{calls_});
    return;
  }
  if (cancelled_)
    return close(entries::turn_outcome::cancelled);
  switch (after_record_) {
  case after_record::error_compaction:
    return build(purpose::error_compaction);
  case after_record::rescue:
    return build(purpose::rescue);
  case after_record::resend:
    announce_retry(*std::exchange(pending_, std::nullopt));
    return resend();
  case after_record::wait:
    return carry_out(*std::exchange(pending_, std::nullopt), {});
  }
}

void turn_machine::on_input(const inputs::refused& in) {
  out_.push_back(effects::stop_work{});
  close(cancelled_ ? entries::turn_outcome::cancelled : entries::turn_outcome::failed,
        cancelled_ ? std::nullopt : std::optional{in.error});
}

// -- tools -------------------------------------------------------------------

void turn_machine::on_input(const inputs::tool_finished& in) {
  const auto call = std::find_if(calls_.begin(), calls_.end(),
                                 [&](const tool_call& c) { return c.id == in.tool_call_id; });
  if (call == calls_.end())
    return;
  calls_.erase(call);
  // What a cancel cut short has no result: the view shows a placeholder (S9). What ended by itself
  // is kept.
  if (cancelled_ && in.status == tool_status::cancelled)
    return after_tool();
  auto m = std::make_shared<message>();
  m->role = message_role::tool;
  m->content = in.text;
  m->tool_call_id = in.tool_call_id;
  m->name = in.tool_name;
  m->is_error = in.status != tool_status::completed;
  entries::tool_result r;
  r.msg = std::move(m);
  r.status = in.status;
  r.error_type = in.error_type;
  r.error_source = in.status == tool_status::completed ? "" : "tool";
  r.duration_ms = in.duration_ms;
  ++results_committing_;
  out_.push_back(effects::record{{std::move(r)}});
}

void turn_machine::after_tool() {
  if (!calls_.empty() || results_committing_ > 0)
    return;
  if (cancelled_)
    close(entries::turn_outcome::cancelled);
  else
    begin_sampling(true);
}

// -- the end -----------------------------------------------------------------

void turn_machine::on_input(const inputs::cancel_requested&) {
  if (std::exchange(cancelled_, true))
    return;
  out_.push_back(effects::stop_work{});
  switch (state_) {
  case state::waiting:
  case state::sampling:
    close(entries::turn_outcome::cancelled);
    break;
  default:
    break; // what was asked for is answered soon, and closes
  }
}

void turn_machine::on_input(const inputs::closed&) {
  state_ = state::ended;
}

void turn_machine::note(const char* decision, std::string reason, const context_stats& stats) {
  out_.push_back(effects::note_decision{decision, std::move(reason), stats});
}

void turn_machine::fail_illegal(const std::string& what) {
  out_.push_back(effects::stop_work{});
  close(entries::turn_outcome::failed,
        make_failure(error_code::internal_error,
                     "the turn machine got " + what + " in the state " + to_string(state_)));
}

void turn_machine::close(entries::turn_outcome outcome, std::optional<failure> error,
                         std::vector<entry_body> extra) {
  state_ = state::closing;
  if (outcome == entries::turn_outcome::failed && !error)
    error = make_failure(error_code::internal_error, "the operation failed without a reason");
  out_.push_back(effects::close{outcome, std::move(error), std::move(extra)});
}

} // namespace rind::turn
