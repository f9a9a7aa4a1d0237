// Open, let go, stop.
#include "actors/directory.hpp"

#include <spdlog/spdlog.h>

#include "actors/session.hpp"

namespace rind::actors {

directory::directory(caf::actor_config& cfg, node_ptr n)
    : directory_actor::base(cfg), node_(std::move(n)) {
  // nop
}

directory::behavior_type directory::make_behavior() {
  set_down_handler([this](const caf::down_msg& m) { on_down(m); });
  if (node_->settings.session.auto_resume)
    resume_interrupted({});
  return {
      [this](const open_session_command& c) { return on_open(c); },
      [this](const find_live_command& c) { return on_find_live(c); },
      [this](const forget_session_command& c) { on_forget(c); },
      [this](const passivate_command& c) { return on_passivate(c); },
      [this](const stop_command& c) { return on_stop(c); },
      [this](const abandon_sessions_command& c) { return on_abandon(c); },
  };
}

void directory::on_exit() {
  live_.clear();
  stop_replies_.clear();
  node_.reset();
}

caf::result<open_session_reply> directory::on_open(const open_session_command& c) {
  if (stopping_)
    return open_session_reply{make_failure(error_code::server_stopping, "the host is stopping")};
  if (auto i = live_.find(c.session_id); i != live_.end()) {
    if (c.mode == open_mode::create)
      return open_session_reply{
          make_failure(error_code::session_exists, "session " + c.session_id + " exists")};
    return open_session_reply{i->second.handle};
  }
  if (c.mode == open_mode::create && !c.model.empty() && !node_->find_model(c.model))
    return open_session_reply{
        make_failure(error_code::unknown_model, "no model is called " + c.model)};
  const open_promise reply{make_response_promise<open_session_reply>()};
  request(node_->journal, caf::infinite, find_session_command{c.session_id})
      .then(
          [this, c, reply](find_session_reply& r) mutable {
            if (!r.value)
              return reply.deliver(open_session_reply{make_failure(
                  error_code::unavailable, "persistence_failed: " + r.value.error().message)});
            found(c, r.value->has_value(), std::move(reply));
          },
          [reply](caf::error&) mutable {
            reply.deliver(open_session_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
          });
  return reply.promise();
}

find_live_reply directory::on_find_live(const find_live_command& c) const {
  auto i = live_.find(c.session_id);
  return {i == live_.end() ? std::nullopt : std::optional{i->second.handle}};
}

void directory::found(const open_session_command& c, bool in_journal, open_promise reply) {
  if (stopping_)
    return reply.deliver(
        open_session_reply{make_failure(error_code::server_stopping, "the host is stopping")});
  // Somebody else may have opened it while the journal was asked.
  auto i = live_.find(c.session_id);
  const bool is_draft = drafts_.count(c.session_id) > 0;
  const bool exists = in_journal || is_draft || i != live_.end();
  if (c.mode == open_mode::create) {
    if (exists)
      return reply.deliver(open_session_reply{
          make_failure(error_code::session_exists, "session " + c.session_id + " exists")});
    return reply.deliver(open_session_reply{spawn_session(c, false)});
  }
  if (i != live_.end())
    return reply.deliver(open_session_reply{i->second.handle});
  if (!exists)
    return reply.deliver(open_session_reply{
        make_failure(error_code::session_not_found, "there is no session " + c.session_id)});
  reply.deliver(open_session_reply{spawn_session(c, in_journal)});
}

session_actor directory::spawn_session(const open_session_command& c, bool in_journal) {
  session_options o;
  o.session_id = c.session_id;
  o.mode = in_journal ? open_mode::existing : open_mode::create;
  o.created = {c.model, c.system_prompt, c.auto_compact, c.overflow_recovery};
  if (auto d = drafts_.find(c.session_id); d != drafts_.end()) {
    if (!in_journal)
      o.created = d->second;
    drafts_.erase(d);
    std::erase(draft_order_, c.session_id);
  }
  auto handle = spawn<session>(node_, directory_actor{this}, o);
  monitor(handle);
  by_address_[handle.address()] = c.session_id;
  live_[c.session_id] = {handle, !in_journal};
  if (!in_journal)
    drafts_[c.session_id] = o.created;
  return handle;
}

void directory::on_forget(const forget_session_command& c) {
  live_.erase(c.session_id);
  drafts_.erase(c.session_id);
  std::erase(draft_order_, c.session_id);
}

done_reply directory::on_passivate(const passivate_command& c) {
  live_.erase(c.session_id);
  if (drafts_.count(c.session_id)) {
    // It may have been prompted since; the journal is asked first when it is opened again.
    draft_order_.push_back(c.session_id);
    if (draft_order_.size() > drafts_max) {
      drafts_.erase(draft_order_.front());
      draft_order_.pop_front();
    }
  }
  return done_reply{rind::done{}};
}

void directory::on_down(const caf::down_msg& m) {
  auto i = by_address_.find(m.source);
  if (i == by_address_.end())
    return;
  const auto id = std::move(i->second);
  by_address_.erase(i);
  if (auto l = live_.find(id); l != live_.end() && l->second.handle.address() == m.source) {
    if (m.reason)
      spdlog::error("event=session_lost session={} reason=\"{}\"", id, system().render(m.reason));
    live_.erase(l);
  }
}

// With auto_resume an interrupted turn goes on without being asked: its session is activated when
// the host starts (S10).
void directory::resume_interrupted(std::string after) {
  request(node_->journal, caf::infinite,
          list_sessions_command{rind::journal::list_limit_max, std::move(after)})
      .then(
          [this](list_sessions_reply& r) {
            if (!r.value) {
              spdlog::error("event=auto_resume_failed reason=\"{}\"", r.value.error().message);
              return;
            }
            for (const auto& s : r.value->sessions) {
              if (s.open_turn_id.empty() || live_.count(s.session_id) || stopping_)
                continue;
              open_session_command open;
              open.session_id = s.session_id;
              spawn_session(open, true);
            }
            if (!r.value->next.empty() && !stopping_)
              resume_interrupted(r.value->next);
          },
          [](caf::error&) {
            spdlog::error("event=auto_resume_failed reason=\"the journal is gone\"");
          });
}

caf::result<done_reply> directory::on_stop(const stop_command& c) {
  const answer<done_reply> reply{make_response_promise<done_reply>()};
  stop_replies_.push_back(reply);
  if (stopping_) {
    if (stop_open_ == 0)
      answer_stops(); // all came to rest before
    return reply.promise();
  }
  stopping_ = c;
  stop_open_ = live_.size() + 1;
  for (const auto& [id, s] : live_)
    request(s.handle, caf::infinite, c)
        .then([this](done_reply&) { stopped_one(); }, [this](caf::error&) { stopped_one(); });
  stopped_one();
  return reply.promise();
}

abandoned_sessions_reply directory::on_abandon(const abandon_sessions_command&) {
  abandoned_sessions_reply reply;
  for (const auto& [id, s] : live_) {
    spdlog::error("event=session_abandoned session={} reason=\"it did not come to rest\"", id);
    send_exit(s.handle, caf::exit_reason::kill);
    reply.session_ids.push_back(id);
  }
  return reply;
}

void directory::stopped_one() {
  if (--stop_open_ == 0)
    answer_stops();
}

void directory::answer_stops() {
  for (auto& reply : std::exchange(stop_replies_, {}))
    reply.deliver(done_reply{rind::done{}});
}

} // namespace rind::actors
