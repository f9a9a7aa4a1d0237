// A session's prompts: from their arrival to the slot (S2, S3a), resuming (S10), taking back.
#include <algorithm>

#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

using rind::session::slot_action;
using rind::session::slot_input;
using rind::session::slot_state;

namespace {

failure used_otherwise(const std::string& input_id) {
  return make_failure(error_code::invalid_request,
                      "input_id " + input_id + " was used for another input");
}

failure too_many_repeats(const std::string& input_id) {
  return make_failure(error_code::session_busy, std::to_string(requests_of_prompt_max) +
                                                    " requests wait for the prompt " + input_id +
                                                    " already, as many as may");
}

} // namespace

/// One without an id asks the journal for nothing, but it must not overtake those that do: first
/// come, first served.
bool session::must_look_up(const std::string& input_id) const {
  return projection_.exists() && (!input_id.empty() || lookups_ > 0);
}

void session::prompt(const prompt_command& c, promise<prompt_reply> reply) {
  if (stopping_)
    return reply.deliver(prompt_reply{host_stopping()});
  if (c.resume)
    return resume_turn(std::move(reply));
  if (auto why = too_large(c.input))
    return reply.deliver(prompt_reply{std::move(*why)});
  waiting_prompt p{c.input, c.input_id, {{c.from, c.request_key, std::move(reply)}}};
  if (!must_look_up(c.input_id))
    return admit(std::move(p));
  ++lookups_;
  request(node_->journal, caf::infinite, find_input_command{options_.session_id, c.input_id})
      .then(
          [this, p](find_input_reply& r) mutable {
            --lookups_;
            if (p.input_id.empty())
              return admit(std::move(p));
            if (!r.value)
              return refuse_prompt(p, journal_refusal(r.value.error()));
            if (*r.value && !(RIND_PLANTED(same_input_twice) && (*r.value)->ended))
              return answer_known_input(std::move(p), **r.value);
            admit(std::move(p));
          },
          [this, p](caf::error&) mutable {
            --lookups_;
            refuse_prompt(p, make_failure(error_code::unavailable,
                                          "persistence_failed: the journal is gone"));
          });
}

void session::refuse_prompt(waiting_prompt& p, const failure& why) {
  for (auto& r : std::exchange(p.requests, {}))
    r.reply.deliver(prompt_reply{why});
}

void session::ask_again(const waiting_prompt& p) {
  for (const auto& r : p.requests)
    prompt({r.from, r.request_key, p.input, p.input_id, false}, r.reply);
}

void session::admit(waiting_prompt p) {
  if (stopping_)
    return refuse_prompt(p, host_stopping());
  if (auto* first = find_waiting(p.input_id))
    return join(*first, std::move(p));
  if (running_ && !p.input_id.empty() && projection_.operation() &&
      projection_.operation()->input_id == p.input_id)
    return ask_again(p); // its start was journaled since the journal was asked
  // First come, first served: a free slot belongs to those who wait before it belongs to a
  // newcomer.
  if (!waiting_.empty() && slot_.at() == slot_state::idle) {
    waiting_.push_back(std::move(p));
    return start_next();
  }
  switch (slot_.on(slot_input::prompt)) {
  case slot_action::start:
    return open_turn(std::move(p));
  case slot_action::settle:
    waiting_.push_back(std::move(p));
    return settle(interrupted_end(), {});
  default:
    break;
  }
  if (RIND_PLANTED(two_operations) && running_ && !opening_)
    return open_turn(std::move(p));
  if (static_cast<std::int64_t>(waiting_.size()) >= node_->settings.session.waiting_prompts_max)
    return refuse_prompt(
        p, make_failure(error_code::session_busy,
                        std::to_string(waiting_.size()) + " prompts wait already, as many as may"));
  waiting_.push_back(std::move(p));
}

/// The prompt of that id that waits or is being started; null: none, or no id.
session::waiting_prompt* session::find_waiting(const std::string& input_id) {
  if (input_id.empty())
    return nullptr;
  if (opening_ && opening_->input_id == input_id)
    return &*opening_;
  const auto i = std::find_if(waiting_.begin(), waiting_.end(),
                              [&](const waiting_prompt& p) { return p.input_id == input_id; });
  return i == waiting_.end() ? nullptr : &*i;
}

/// A repeat takes no place of its own: all of the requests are answered when the operation of the
/// one prompt ends (S3a).
void session::join(waiting_prompt& first, waiting_prompt repeat) {
  if (first.input != repeat.input)
    return refuse_prompt(repeat, used_otherwise(repeat.input_id));
  if (first.requests.size() + repeat.requests.size() > requests_of_prompt_max)
    return refuse_prompt(repeat, too_many_repeats(repeat.input_id));
  std::move(repeat.requests.begin(), repeat.requests.end(), std::back_inserter(first.requests));
}

void session::answer_known_input(waiting_prompt p, const journal::input_trace& trace) {
  if (trace.mode || trace.text != p.input)
    return refuse_prompt(p, used_otherwise(p.input_id));
  if (trace.ended) {
    for (auto& r : p.requests)
      r.reply.deliver(prompt_reply{prompt_outcome{trace.turn_id, *trace.ended}});
    return;
  }
  if (running_ && running_->turn_id == trace.turn_id) {
    auto& open = running_->prompts;
    if (open.size() + p.requests.size() > requests_of_prompt_max)
      return refuse_prompt(p, too_many_repeats(p.input_id));
    std::move(p.requests.begin(), p.requests.end(), std::back_inserter(open));
    return;
  }
  switch (slot_.at()) {
  case slot_state::interrupted: {
    auto first = std::move(p.requests.front());
    p.requests.erase(p.requests.begin());
    resume_turn(std::move(first.reply));
    return ask_again(p); // they find the turn that goes on
  }
  case slot_state::idle:
  case slot_state::running:
    return ask_again(p); // it has ended since the journal was read
  case slot_state::opening:
  case slot_state::closing:
  case slot_state::settling:
    break; // it is being started again or ended at this moment: look again when that is done
  }
  settled_.push_back([this, p] { ask_again(p); });
}

void session::resume_turn(promise<prompt_reply> reply) {
  const auto& open = projection_.operation();
  if (slot_.at() == slot_state::interrupted && open) {
    if (open->operation == operation_kind::compact) {
      slot_.on(slot_input::cancel);
      return settle(interrupted_end(),
                    [reply](auto) mutable { reply.deliver(prompt_reply{no_operation()}); });
    }
    if (open->resumes >= node_->settings.session.resumes_max) {
      slot_.on(slot_input::cancel);
      entries::turn_ended end;
      end.outcome = entries::turn_outcome::failed;
      end.error = make_failure(error_code::resume_limit,
                               "the turn was resumed " + std::to_string(open->resumes) + " times");
      const auto turn_id = open->turn_id;
      return settle(std::move(end), [reply, turn_id](std::optional<failure> why) mutable {
        if (why)
          reply.deliver(prompt_reply{journal_refusal(*why)});
        else
          reply.deliver(prompt_reply{prompt_outcome{turn_id, entries::turn_outcome::failed}});
      });
    }
  }
  switch (slot_.on(slot_input::resume)) {
  case slot_action::refuse_not_active:
    return reply.deliver(prompt_reply{make_failure(
        error_code::turn_not_active, "nothing is interrupted, there is nothing to resume")});
  case slot_action::resume:
    break;
  default:
    settled_.push_back([this, reply]() mutable { resume_turn(std::move(reply)); });
    return;
  }
  const auto turn_id = projection_.operation()->turn_id;
  append(turn_id,
         {entries::turn_started{operation_kind::turn, 0, true, false,
                                projection_.operation()->input_id}},
         [this, turn_id, reply](auto r) mutable {
           if (!r) {
             reply.deliver(prompt_reply{journal_refusal(r.error())});
             return start_refused();
           }
           slot_.on(slot_input::opened);
           const auto& op = *projection_.operation();
           std::vector<rind::session::queued_input> inputs;
           for (const auto& in : projection_.pending())
             inputs.push_back({in.input_id, in.mode, in.text});
           queues_.restore(std::move(inputs));
           turn::options o;
           o.samplings_max = node_->settings.session.samplings_max;
           o.samplings_before = op.samplings;
           o.goes_on = true;
           o.resumed = {op.context_errors,         op.rescues,  op.refused_estimate_tokens,
                        op.tightened_limit_tokens, op.attempts, op.output_limit_tokens};
           run_operation(turn_id, operation_kind::turn, std::move(o));
           running_->prompts.push_back({0, {}, std::move(reply)});
         });
}

void session::open_turn(waiting_prompt p) {
  opening_ = std::move(p);
  if (opening_->input_id.empty() || !projection_.exists())
    return journal_turn();
  // Its turn has come: by now the input may stand in the journal by another way (S3a).
  request(node_->journal, caf::infinite,
          find_input_command{options_.session_id, opening_->input_id})
      .then(
          [this](find_input_reply& r) {
            if (!r.value)
              return refuse_start(journal_refusal(r.value.error()));
            if (!*r.value || RIND_PLANTED(same_input_twice))
              return journal_turn();
            slot_.on(slot_input::open_refused);
            answer_known_input(*std::exchange(opening_, std::nullopt), **r.value);
            slot_free();
          },
          [this](caf::error&) {
            refuse_start(
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone"));
          });
}

void session::journal_turn() {
  if (stopping_)
    return refuse_start(host_stopping());
  if (auto why = too_large(opening_->input))
    return refuse_start(std::move(*why));
  const auto turn_id = node_->env->new_id("turn");
  auto m = std::make_shared<message>();
  m->role = message_role::user;
  m->content = opening_->input;
  m->origin = user_origin::prompt;
  m->input_id = opening_->input_id;
  entries::turn_started started;
  started.user_message_chars = count_characters(m->content);
  started.input_id = opening_->input_id;
  append(turn_id, {std::move(started), entries::user_message{std::move(m)}},
         [this, turn_id](auto r) {
           if (!r)
             return refuse_start(journal_refusal(r.error()));
           slot_.on(slot_input::opened);
           queues_.clear();
           turn::options o;
           o.samplings_max = node_->settings.session.samplings_max;
           auto requests = std::exchange(opening_, std::nullopt)->requests;
           run_operation(turn_id, operation_kind::turn, std::move(o));
           running_->prompts = std::move(requests);
         });
}

void session::refuse_start(failure why) {
  auto p = *std::exchange(opening_, std::nullopt);
  refuse_prompt(p, why);
  start_refused();
}

void session::start_refused() {
  slot_.on(slot_input::open_refused);
  if (projection_.operation())
    slot_.found_interrupted();
  slot_free();
}

// A request is taken back; its prompt with it, unless others asked for the same.
void session::withdraw_prompt(const withdraw_prompt_command& c, promise<done_reply> reply) {
  const auto asked = [&](const prompt_request& r) {
    return r.from == c.from && r.request_key == c.request_key;
  };
  for (auto p = waiting_.begin(); p != waiting_.end(); ++p) {
    const auto r = std::find_if(p->requests.begin(), p->requests.end(), asked);
    if (r == p->requests.end())
      continue;
    r->reply.deliver(prompt_reply{
        make_failure(error_code::cancelled, "the prompt was taken back before it started")});
    p->requests.erase(r);
    if (p->requests.empty())
      waiting_.erase(p);
    return reply.deliver(done_reply{rind::done{}});
  }
  reply.deliver(
      done_reply{make_failure(error_code::turn_not_active, "no prompt of that request_id waits")});
}

void session::on_connection_gone(const connection_gone& c) {
  std::erase_if(listeners_, [&](const listener& l) { return l.from == c.from; });
  for (auto& p : waiting_)
    std::erase_if(p.requests, [&](const prompt_request& r) {
      if (r.from != c.from)
        return false;
      r.reply.deliver(prompt_reply{
          make_failure(error_code::cancelled, "the connection ended before the prompt started")});
      return true;
    });
  std::erase_if(waiting_, [](const waiting_prompt& p) { return p.requests.empty(); });
  schedule_idle_tick();
}

} // namespace rind::actors
