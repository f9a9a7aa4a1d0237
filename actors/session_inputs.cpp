// Steering and follow-up (S3): accepted once journaled, delivered once, taken back or handed back.
#include "actors/session.hpp"
#include "actors/session_handlers.hpp"
#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::actors {

using rind::session::slot_action;
using rind::session::slot_input;

std::optional<failure> session::queue_refusal(const std::string& turn_id) {
  if (!running_ || slot_.at() != rind::session::slot_state::running || running_->close)
    return make_failure(error_code::turn_not_active, "no operation runs");
  if (!turn_id.empty() && turn_id != running_->turn_id)
    return make_failure(error_code::turn_not_active, "turn " + turn_id + " does not run");
  return std::nullopt;
}

void session::queue_input(const queue_input_command& c, promise<queued_reply> reply) {
  switch (slot_.on(slot_input::queue_input)) {
  case slot_action::accept:
    break;
  case slot_action::stash:
    settled_.push_back([this, c, reply]() mutable { queue_input(c, std::move(reply)); });
    return;
  default:
    break; // an input that was journaled before is answered as the first time, also now
  }
  if (auto why = too_large(c.input))
    return reply.deliver(queued_reply{std::move(*why)});
  if (!must_look_up(c.input_id))
    return accept_input(c, std::move(reply));
  if (const auto* known = queues_.find(c.input_id); known && running_) {
    if (known->text != c.input)
      return reply.deliver(queued_reply{make_failure(
          error_code::invalid_request, "input_id " + c.input_id + " was used for another input")});
  }
  ++lookups_;
  request(node_->journal, caf::infinite, find_input_command{options_.session_id, c.input_id})
      .then(
          [this, c, reply](find_input_reply& r) mutable {
            --lookups_;
            if (c.input_id.empty())
              return accept_input(c, std::move(reply));
            if (!r.value)
              return reply.deliver(queued_reply{journal_refusal(r.value.error())});
            if (!*r.value)
              return accept_input(c, std::move(reply));
            const auto& trace = **r.value;
            if (trace.mode != c.mode || trace.text != c.input)
              return reply.deliver(queued_reply{
                  make_failure(error_code::invalid_request,
                               "input_id " + c.input_id + " was used for another input")});
            reply.deliver(
                queued_reply{queued_answer{c.input_id, c.input, c.mode, pending_inputs(c.mode)}});
          },
          [this, reply](caf::error&) mutable {
            --lookups_;
            reply.deliver(queued_reply{
                make_failure(error_code::unavailable, "persistence_failed: the journal is gone")});
          });
}

void session::accept_input(const queue_input_command& c, promise<queued_reply> reply) {
  if (auto why = queue_refusal(c.turn_id))
    return reply.deliver(queued_reply{std::move(*why)});
  const auto id = c.input_id.empty() ? node_->env->new_id("input") : c.input_id;
  if (queues_.find(id))
    // The same input is on its way already; asked again once that is settled, it is answered from
    // the journal.
    return queue_retry_.push_back([this, c, reply]() mutable { queue_input(c, std::move(reply)); });
  if (auto room = queues_.begin_accept({id, c.mode, c.input}); !room)
    return reply.deliver(queued_reply{std::move(room.error())});
  if (RIND_PLANTED(answer_before_journal))
    reply.deliver(queued_reply{queued_answer{id, c.input, c.mode, queues_.count(c.mode) + 1}});
  append(running_->turn_id, {entries::input_accepted{id, c.mode, c.input}},
         [this, id, c, reply](auto r) mutable {
           if (r) {
             queues_.accepted(id, r->back()->position);
             reply.deliver(queued_reply{queued_answer{id, c.input, c.mode, queues_.count(c.mode)}});
           } else {
             queues_.accept_refused(id);
             reply.deliver(queued_reply{journal_refusal(r.error())});
           }
           queues_settled();
         });
}

void session::take_back(const take_back_command& c, promise<queued_reply> reply) {
  if (auto why = queue_refusal({}))
    return reply.deliver(queued_reply{make_failure(error_code::input_not_pending, why->message)});
  auto in = queues_.begin_take_back(c.mode, c.input_id);
  if (!in)
    return reply.deliver(queued_reply{std::move(in.error())});
  append(running_->turn_id, {entries::input_taken_back{in->input_id}},
         [this, in = *in, reply](auto r) mutable {
           if (r) {
             queues_.left(in.input_id);
             reply.deliver(queued_reply{
                 queued_answer{in.input_id, in.text, in.mode, queues_.count(in.mode)}});
           } else {
             queues_.leave_refused(in.input_id);
             reply.deliver(queued_reply{journal_refusal(r.error())});
           }
           queues_settled();
         });
}

void session::promote(const promote_command& c, promise<queued_reply> reply) {
  if (auto why = queue_refusal({}))
    return reply.deliver(queued_reply{make_failure(error_code::input_not_pending, why->message)});
  if (auto ok = queues_.begin_promote(c.input_id); !ok)
    return reply.deliver(queued_reply{std::move(ok.error())});
  append(running_->turn_id, {entries::input_promoted{c.input_id}},
         [this, c, reply](auto r) mutable {
           if (r) {
             queues_.promoted(c.input_id, r->back()->position);
             reply.deliver(queued_reply{queued_answer{
                 c.input_id, {}, input_mode::steering, queues_.count(input_mode::steering)}});
           } else {
             queues_.promote_refused(c.input_id);
             reply.deliver(queued_reply{journal_refusal(r.error())});
           }
           queues_settled();
         });
}

void session::queues_settled() {
  if (queues_.unsettled())
    return;
  for (auto& work : std::exchange(queue_retry_, {}))
    work();
  if (!running_ || queues_.unsettled())
    return;
  if (running_->take) {
    auto reply = *std::exchange(running_->take, std::nullopt);
    take_input({running_->take_before_sampling}, std::move(reply));
  } else {
    write_end_when_settled();
  }
}

} // namespace rind::actors
