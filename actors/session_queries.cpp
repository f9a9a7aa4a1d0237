// What a session answers about itself, and replay (S15, S36, S37).
#include <algorithm>

#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

std::vector<message_ptr> host_system_messages(const config::settings& s) {
  if (s.session.system_prompt.empty())
    return {};
  auto m = std::make_shared<message>();
  m->role = message_role::system;
  m->content = s.session.system_prompt;
  return {std::move(m)};
}

const std::string& session::model() const {
  if (projection_.exists())
    return projection_.model();
  return options_.created.model.empty() ? node_->settings.default_model : options_.created.model;
}

entries::session_created session::first_entry() const {
  auto created = options_.created;
  created.model = model();
  return created;
}

view::projection& session::known() {
  if (projection_.exists())
    return projection_;
  if (!draft_) {
    draft_.emplace(view::projection_settings{host_system_messages(node_->settings), node_->tools});
    entry first;
    first.position = 1;
    first.body = first_entry();
    // A first entry contradicts nothing.
    (void)draft_->apply(first);
  }
  return *draft_;
}

context::budget session::budget_of(const view::projection& p) const {
  const auto& name = p.model();
  const auto& summary =
      node_->settings.compaction.model.empty() ? name : node_->settings.compaction.model;
  const auto limits_of = [&](const std::string& m) {
    const auto* route = node_->find_model(m);
    return route ? route->limits : context::model_limits{};
  };
  if (auto* route = const_cast<model_route*>(node_->find_model(name));
      RIND_PLANTED(share_learned_window) && route && p.learned_window(name))
    route->limits.window_tokens = p.learned_window(name);
  auto b = context::resolve_budget(name, limits_of(name), p.learned_window(name), summary,
                                   limits_of(summary), p.learned_window(summary));
  if (const auto* route = node_->find_model(name); route && !p.learned_window(name))
    b.window_origin = route->window_origin; // which of the settings
  return b;
}

rind::session::context_snapshot session::snapshot() const {
  auto& p = const_cast<session*>(this)->known();
  rind::session::context_snapshot s;
  s.view = p.shared_view();
  if (!RIND_PLANTED(no_placeholder)) // as good as not checked
    s.fault = p.fault();
  s.fixed_tokens = p.fixed_tokens();
  s.tools = p.tools();
  s.budget = budget_of(p);
  s.anchor = p.anchor();
  if (p.operation())
    s.tightened_limit_tokens = p.operation()->tightened_limit_tokens;
  s.auto_compact = p.auto_compact().value_or(node_->settings.compaction.auto_compact);
  s.overflow_recovery =
      p.overflow_recovery().value_or(node_->settings.compaction.overflow_recovery);
  s.corpus_messages = p.messages(p.view().corpus_start, p.view().message_count);
  s.epoch = epoch_;
  return s;
}

std::optional<turn_state> session::state_of_turn() const {
  const auto& open = projection_.operation();
  if (!open)
    return std::nullopt;
  turn_state t;
  t.turn_id = open->turn_id;
  t.operation = open->operation;
  t.progress = running_ ? turn_progress::running : turn_progress::interrupted;
  t.waiting_prompts = static_cast<std::int64_t>(waiting_.size());
  t.steering = pending_inputs(input_mode::steering);
  t.follow_up = pending_inputs(input_mode::follow_up);
  return t;
}

// Of an interrupted operation the journal knows; its queues are filled again when it goes on.
std::int64_t session::pending_inputs(input_mode mode) const {
  if (running_)
    return queues_.count(mode);
  const auto& inputs = projection_.pending();
  return std::count_if(inputs.begin(), inputs.end(),
                       [&](const auto& in) { return in.mode == mode; });
}

void session::info(const session_info_query&, promise<session_info_reply> reply) {
  session_info i;
  i.session_id = options_.session_id;
  i.model = model();
  i.usage = projection_.last_usage();
  i.resume_preview = projection_.last_text();
  i.turn = state_of_turn();
  reply.deliver(session_info_reply{std::move(i)});
}

void session::context_report_of(const context_query&, promise<context_reply> reply) {
  context_report r;
  r.session_id = options_.session_id;
  r.stats = snapshot().stats();
  r.decisions.assign(decisions_.begin(), decisions_.end());
  r.boundaries = projection_.boundaries();
  reply.deliver(context_reply{std::move(r)});
}

void session::subscribe(const subscribe_command& c, promise<done_reply> reply) {
  std::erase_if(listeners_, [&](const listener& l) { return l.from == c.from; });
  listeners_.push_back({c.from, c.listener});
  reply.deliver(done_reply{rind::done{}});
}

void session::on_unsubscribe(const unsubscribe_command& c) {
  std::erase_if(listeners_, [&](const listener& l) { return l.from == c.from; });
  schedule_idle_tick();
}

void session::replay(const replay_command& c, promise<replay_reply> reply) {
  auto call = c.call;
  call.session_id = options_.session_id;
  if (RIND_PLANTED(replay_skips_one))
    ++call.after_cursor;
  replay_more(std::make_shared<protocol::replay_page>(std::move(call)), std::move(reply));
}

// Reads until the page is full or has caught up with what was published: only then do the live
// events join it without a gap.
void session::replay_more(std::shared_ptr<protocol::replay_page> page,
                          promise<replay_reply> reply) {
  const bool at_end = page->cursor() >= projection_.last_position();
  if (at_end || page->is_full())
    return reply.deliver(replay_reply{replay_answer{page, at_end, state_of_turn(), live_}});
  request(node_->journal, caf::infinite,
          read_command{options_.session_id, page->cursor(), journal::read_limit_max})
      .then(
          [this, page, reply](const read_reply& r) {
            if (!r.value)
              return reply.deliver(replay_reply{journal_refusal(r.value.error())});
            // What is committed and not yet heard of here is told live: in the page it would be
            // told twice.
            for (const auto& e : *r.value)
              if (e->position > projection_.last_position() || !page->take(*e))
                break;
            if (r.value->empty())
              return reply.deliver(replay_reply{make_failure(
                  error_code::unavailable,
                  "persistence_failed: the journal lacks entries that this session has seen")});
            replay_more(page, reply);
          },
          [reply](const caf::error&) {
            reply.deliver(replay_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
          });
}

} // namespace rind::actors
