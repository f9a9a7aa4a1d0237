// The methods of the session protocol: each asks a session, the directory or the journal, and
// answers.
#include "actors/connection.hpp"
#include "messages/json.hpp"
#include "messages/version.hpp"
#include "runtime/protocol/command_texts.hpp"

namespace rind::actors {

namespace {

failure gone(const std::string& session_id) {
  return make_failure(error_code::unavailable, "session " + session_id + " does not answer");
}

std::string key_of(const nlohmann::json& request_id) {
  return request_id.dump();
}

} // namespace

// -- finding a session -----------------------------------------------------------------

void connection::open_session(serial s, const std::string& session_id, with_handle then) {
  if (auto i = open_.find(s); i != open_.end())
    i->second.session_id = session_id;
  if (session_id.empty())
    return refuse(s, make_failure(error_code::invalid_request,
                                  "no session is current and params.session_id names none"));
  if (auto i = handles_.find(session_id); i != handles_.end())
    return then(i->second);
  open_session_command open;
  open.session_id = session_id;
  request(directory_, caf::infinite, open)
      .then(
          [this, s, session_id, then](const open_session_reply& r) {
            if (!r.value)
              return refuse(s, r.value.error());
            const auto& handle = *r.value;
            if (auto [i, is_new] = handles_.insert_or_assign(session_id, handle);
                by_address_.emplace(handle.address(), session_id).second)
              monitor(i->second);
            then(handle);
          },
          [this, s, session_id](const caf::error&) { refuse(s, gone(session_id)); });
}

template <class Reply, class Command>
void connection::ask(serial s, const std::string& session_id, Command command,
                     std::function<void(const Reply&)> then, int tries) {
  open_session(s, session_id,
               [this, s, session_id, command, then, tries](const session_actor& handle) {
                 request(handle, caf::infinite, command)
                     .then([then](const Reply& r) { then(r); },
                           [this, s, session_id, command, then, tries](const caf::error& e) {
                             handles_.erase(session_id);
                             // It was let go while this was on its way and has not seen it: open it
                             // again.
                             if (e == caf::sec::request_receiver_down && tries > 1)
                               return ask<Reply>(s, session_id, command, then, tries - 1);
                             refuse(s, gone(session_id));
                           });
               });
}

// -- subscriptions -----------------------------------------------------------------------

std::vector<std::string> connection::subscribed() const {
  auto all = explicit_;
  if (!current_.empty())
    all.insert(current_);
  return {all.begin(), all.end()};
}

void connection::subscribe(const std::string& session_id, std::function<void()> then) {
  // Serial 0 answers nobody: a failure here is the session's end, and the next request tells it.
  ask<done_reply>(0, session_id, subscribe_command{options_.id, subscriber{connection_actor{this}}},
                  [then](const done_reply&) { then(); });
}

void connection::unsubscribe(const std::string& session_id) {
  if (session_id == current_ || explicit_.count(session_id))
    return;
  if (auto i = handles_.find(session_id); i != handles_.end())
    send(i->second, unsubscribe_command{options_.id});
}

void connection::make_current(const std::string& session_id) {
  const auto before = std::exchange(current_, session_id);
  if (!before.empty())
    unsubscribe(before);
  count_followed();
}

void connection::answer_session(serial s, const std::string& session_id, bool initialize) {
  if (!may_follow(s, session_id, true))
    return;
  ask<session_info_reply>(s, session_id, session_info_query{},
                          [this, s, session_id, initialize](const session_info_reply& r) {
                            if (!r.value)
                              return refuse(s, r.value.error());
                            const auto info = *r.value;
                            ask<done_reply>(
                                s, session_id,
                                subscribe_command{options_.id, subscriber{connection_actor{this}}},
                                [this, s, session_id, initialize, info](const done_reply& r2) {
                                  if (!r2.value)
                                    return refuse(s, r2.value.error());
                                  make_current(session_id);
                                  if (!initialize)
                                    return answer(s, protocol::session_result(info));
                                  initialized_ = true;
                                  answer(s, protocol::initialize_result(info, RIND_VERSION));
                                });
                          });
}

// -- the connection ------------------------------------------------------------------------

void connection::call(serial s, const protocol::calls::ping&) {
  answer(s, protocol::ok_result());
}

void connection::call(serial s, const protocol::calls::initialize& c) {
  if (!enter(s, c.token))
    return;
  const auto& id = c.session_id.empty() ? options_.default_session : c.session_id;
  if (!id.empty())
    return answer_session(s, id, true);
  if (!options_.resume_latest)
    return create_session(s, {}, true);
  request(node_->journal, caf::infinite, list_sessions_command{1, {}})
      .then(
          [this, s](const list_sessions_reply& r) {
            if (!r.value)
              return refuse(s, protocol::as_response_error(r.value.error()));
            if (r.value->sessions.empty())
              return create_session(s, {}, true);
            answer_session(s, r.value->sessions.front().session_id, true);
          },
          [this, s](const caf::error&) {
            refuse(s, make_failure(error_code::unavailable,
                                   "persistence_failed: the journal is gone"));
          });
}

void connection::call(serial s, const protocol::calls::shutdown&) {
  if (!options_.stop_host_on_shutdown) {
    answer(s, protocol::ok_result());
    return leave();
  }
  // Over stdio the host goes with its client: operations are cancelled and committed before the
  // answer.
  request(directory_, caf::infinite, stop_command{0, cancel_reason::shutdown})
      .then(
          [this, s](const done_reply&) {
            answer(s, protocol::ok_result());
            leave();
          },
          [this, s](const caf::error&) {
            refuse(s, make_failure(error_code::unavailable, "the host is gone"));
            leave();
          });
}

void connection::call(serial s, const protocol::calls::background_list&) {
  answer(s, protocol::background_result());
}

void connection::call(serial s, const protocol::calls::goal_get&) {
  answer(s, protocol::goal_result());
}

// -- sessions --------------------------------------------------------------------------------

void connection::create_session(serial s, const protocol::calls::session_new& c, bool initialize) {
  open_session_command open;
  open.session_id = c.session_id.empty() ? node_->env->new_id("session") : c.session_id;
  open.mode = open_mode::create;
  open.model = c.model;
  open.system_prompt = c.system_prompt;
  open.auto_compact = c.auto_compact;
  open.overflow_recovery = c.overflow_recovery;
  if (!may_follow(s, open.session_id, true))
    return;
  request(directory_, caf::infinite, open)
      .then(
          [this, s, id = open.session_id, initialize](const open_session_reply& r) {
            if (!r.value)
              return refuse(s, r.value.error());
            answer_session(s, id, initialize);
          },
          [this, s, id = open.session_id](const caf::error&) { refuse(s, gone(id)); });
}

void connection::call(serial s, const protocol::calls::session_new& c) {
  create_session(s, c, false);
}

void connection::call(serial s, const protocol::calls::session_list& c) {
  request(node_->journal, caf::infinite, list_sessions_command{c.limit, c.after})
      .then(
          [this, s](const list_sessions_reply& r) {
            if (!r.value)
              return refuse(s, protocol::as_response_error(r.value.error()));
            std::vector<protocol::listed_session> rows;
            for (const auto& summary : r.value->sessions)
              rows.push_back({summary, protocol::state_in_journal(summary)});
            fill_states(s, std::make_shared<std::vector<protocol::listed_session>>(std::move(rows)),
                        r.value->next, 0);
          },
          [this, s](const caf::error&) {
            refuse(s, make_failure(error_code::unavailable,
                                   "persistence_failed: the journal is gone"));
          });
}

// Sessions with an open operation are asked whether it runs or was interrupted; those that are not
// live are interrupted.
void connection::fill_states(serial s, std::shared_ptr<std::vector<protocol::listed_session>> rows,
                             std::string next, std::size_t from) {
  while (from < rows->size() && !(*rows)[from].turn)
    ++from;
  if (from == rows->size())
    return answer(s, protocol::list_result(*rows, current_, next));
  request(directory_, caf::infinite, find_live_command{(*rows)[from].summary.session_id})
      .then(
          [this, s, rows, next, from](const find_live_reply& r) {
            if (!r.handle)
              return fill_states(s, rows, next, from + 1);
            request(*r.handle, caf::infinite, session_info_query{})
                .then(
                    [this, s, rows, next, from](const session_info_reply& info) {
                      if (info.value)
                        (*rows)[from].turn = info.value->turn;
                      fill_states(s, rows, next, from + 1);
                    },
                    [this, s, rows, next, from](const caf::error&) {
                      fill_states(s, rows, next, from + 1);
                    });
          },
          [this, s](const caf::error&) {
            refuse(s, make_failure(error_code::unavailable, "the host is gone"));
          });
}

void connection::call(serial s, const protocol::calls::session_switch& c) {
  answer_session(s, c.session_id, false);
}

void connection::call(serial s, const protocol::calls::session_subscribe& c) {
  const auto id = session_of(c.session_id);
  if (!may_follow(s, id, false))
    return;
  // Wanted from here on: another session that becomes current before the answer must not end it.
  explicit_.insert(id);
  open_[s].subscribes = id;
  ask<done_reply>(s, id, subscribe_command{options_.id, subscriber{connection_actor{this}}},
                  [this, s](const done_reply& r) {
                    if (!r.value)
                      return refuse(s, r.value.error());
                    answer(s, protocol::subscribed_result(subscribed()));
                  });
}

void connection::call(serial s, const protocol::calls::session_unsubscribe& c) {
  const auto id = session_of(c.session_id);
  explicit_.erase(id);
  unsubscribe(id);
  count_followed();
  answer(s, protocol::subscribed_result(subscribed()));
}

void connection::call(serial s, const protocol::calls::session_replay& c) {
  const auto id = session_of(c.session_id);
  ask<replay_reply>(s, id, replay_command{c}, [this, s](const replay_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    if (auto i = open_.find(s); i != open_.end())
      answer(s, r.value->page->answer(i->second.id, r.value->at_end, r.value->turn, r.value->live));
  });
}

void connection::call(serial s, const protocol::calls::session_delete& c) {
  const auto id = session_of(c.session_id);
  ask<done_reply>(s, id, delete_command{}, [this, s, id](const done_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    handles_.erase(id);
    explicit_.erase(id);
    if (current_ == id)
      current_.clear();
    count_followed();
    answer(s, protocol::deleted_result(id));
  });
}

// -- operations --------------------------------------------------------------------------------

void connection::call(serial s, const protocol::calls::session_prompt& c) {
  const auto id = session_of(c.session_id);
  prompt_command p;
  p.from = options_.id;
  p.request_key = key_of(open_.at(s).id);
  p.input = c.input;
  p.input_id = c.input_id;
  p.resume = c.resume;
  ask<prompt_reply>(s, id, std::move(p), [this, s, id](const prompt_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    answer(s, protocol::prompt_result({id, r.value->turn_id, r.value->outcome}));
  });
}

void connection::call(serial s, const protocol::calls::session_cancel& c) {
  const auto answered = [this, s](const done_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    answer(s, protocol::ok_result());
  };
  if (c.request_id.is_null())
    return ask<done_reply>(s, session_of(c.session_id), cancel_command{c.turn_id}, answered);
  // A waiting prompt is found by its request, whichever session it waits for.
  for (const auto& [other, request] : open_)
    if (other != s && request.id == c.request_id && !request.session_id.empty())
      return ask<done_reply>(s, request.session_id,
                             withdraw_prompt_command{options_.id, key_of(c.request_id)}, answered);
  refuse(s, make_failure(error_code::turn_not_active, "no prompt of that request_id waits"));
}

void connection::call(serial s, const protocol::calls::session_compact& c) {
  ask<compact_reply>(s, session_of(c.session_id), compact_command{c.instructions},
                     [this, s](const compact_reply& r) {
                       if (!r.value)
                         return refuse(s, r.value.error());
                       answer(s, to_json(**r.value));
                     });
}

void connection::call(serial s, const protocol::calls::queue_input& c) {
  ask<queued_reply>(
      s, session_of(c.session_id), queue_input_command{c.mode, c.input, c.input_id, c.turn_id},
      [this, s](const queued_reply& r) {
        if (!r.value)
          return refuse(s, r.value.error());
        answer(s, protocol::accepted_result({r.value->input_id, r.value->mode, r.value->pending}));
      });
}

void connection::call(serial s, const protocol::calls::take_back_input& c) {
  ask<queued_reply>(s, session_of(c.session_id), take_back_command{c.mode, c.input_id},
                    [this, s](const queued_reply& r) {
                      if (!r.value)
                        return refuse(s, r.value.error());
                      answer(s, protocol::returned_result({r.value->input_id, r.value->input,
                                                           r.value->mode, r.value->pending}));
                    });
}

void connection::call(serial s, const protocol::calls::promote_follow_up& c) {
  ask<queued_reply>(
      s, session_of(c.session_id), promote_command{c.input_id}, [this, s](const queued_reply& r) {
        if (!r.value)
          return refuse(s, r.value.error());
        answer(s, protocol::accepted_result({r.value->input_id, r.value->mode, r.value->pending}));
      });
}

// -- models and questions ------------------------------------------------------------------------

void connection::call(serial s, const protocol::calls::model_list& c) {
  const auto id = session_of(c.session_id);
  ask<session_info_reply>(s, id, session_info_query{}, [this, s](const session_info_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    answer(s, protocol::models_result(node_->listed_models, r.value->model,
                                      node_->settings.default_model));
  });
}

void connection::set_model(serial s, const std::string& session_id, const std::string& model,
                           std::function<void()> then) {
  ask<done_reply>(s, session_id, set_model_command{model}, [this, s, then](const done_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    then();
  });
}

void connection::call(serial s, const protocol::calls::model_set& c) {
  set_model(s, session_of(c.session_id), c.model,
            [this, s, model = c.model] { answer(s, protocol::model_set_result(model)); });
}

void connection::call(serial s, const protocol::calls::context_inspect& c) {
  ask<context_reply>(s, session_of(c.session_id), context_query{},
                     [this, s](const context_reply& r) {
                       if (!r.value)
                         return refuse(s, r.value.error());
                       answer(s, protocol::inspect_result(*r.value));
                     });
}

// -- slash commands ------------------------------------------------------------------------------

void connection::call(serial s, const protocol::calls::command_execute& c) {
  const auto id = session_of(c.session_id);
  const auto command = protocol::read_command(c.input);
  switch (command.name) {
  case protocol::command_name::compact:
    return command_compact(s, id, command.argument);
  case protocol::command_name::help:
    return answer(s, protocol::text_result(protocol::help_text()));
  case protocol::command_name::status:
    return command_status(s, id);
  case protocol::command_name::sessions:
    return command_sessions(s);
  case protocol::command_name::model:
    return command_model(s, id, command.argument);
  case protocol::command_name::context:
    return command_context(s, id, command.argument);
  case protocol::command_name::unknown:
    return answer(s, protocol::text_result(protocol::unknown_command_text(command)));
  }
}

void connection::command_compact(serial s, const std::string& session_id,
                                 const std::string& focus) {
  ask<compact_reply>(s, session_id, compact_command{focus}, [this, s](const compact_reply& r) {
    if (r.value)
      return answer(s, protocol::text_result(protocol::compacted_text(**r.value)));
    if (r.value.error().code == error_code::nothing_to_compact)
      return answer(
          s, protocol::text_result("Nothing to compact: there is nothing to summarise yet."));
    refuse(s, r.value.error());
  });
}

void connection::command_status(serial s, const std::string& session_id) {
  ask<session_info_reply>(
      s, session_id, session_info_query{}, [this, s, session_id](const session_info_reply& r) {
        if (!r.value)
          return refuse(s, r.value.error());
        ask<context_reply>(
            s, session_id, context_query{},
            [this, s, info = *r.value](const context_reply& context) {
              if (!context.value)
                return refuse(s, context.value.error());
              answer(s, protocol::text_result(protocol::status_text(info, context.value->stats)));
            });
      });
}

void connection::command_sessions(serial s) {
  request(node_->journal, caf::infinite, list_sessions_command{protocol::list_limit_default, {}})
      .then(
          [this, s](const list_sessions_reply& r) {
            if (!r.value)
              return refuse(s, protocol::as_response_error(r.value.error()));
            answer(s, protocol::text_result(protocol::sessions_text(r.value->sessions, current_)));
          },
          [this, s](const caf::error&) {
            refuse(s, make_failure(error_code::unavailable,
                                   "persistence_failed: the journal is gone"));
          });
}

void connection::command_model(serial s, const std::string& session_id, const std::string& model) {
  if (!model.empty())
    return set_model(s, session_id, model, [this, s, model] {
      answer(s, protocol::text_result("The next sampling uses " + model + "."));
    });
  ask<session_info_reply>(s, session_id, session_info_query{},
                          [this, s](const session_info_reply& r) {
                            if (!r.value)
                              return refuse(s, r.value.error());
                            std::string text = "Model: " + r.value->model + "\nModels:";
                            for (const auto& name : node_->listed_models)
                              text += " " + name;
                            answer(s, protocol::text_result(text));
                          });
}

void connection::command_context(serial s, const std::string& session_id,
                                 const std::string& detail) {
  ask<context_reply>(s, session_id, context_query{}, [this, s, detail](const context_reply& r) {
    if (!r.value)
      return refuse(s, r.value.error());
    answer(s, protocol::text_result(detail == "all" ? protocol::whole_context_text(*r.value)
                                                    : protocol::context_text(*r.value)));
  });
}

} // namespace rind::actors
