// Messages to the writer and back. The promise is delivered on the writer's thread; that only
// enqueues the answer.
#include "actors/journal.hpp"

#include <caf/typed_response_promise.hpp>

namespace rind::actors {

journal::journal(caf::actor_config& cfg, std::shared_ptr<rind::journal::writer> writer)
    : journal_actor::base(cfg), writer_(std::move(writer)) {
  // nop
}

template <class Reply, class Read>
caf::result<Reply> journal::post(Read read) {
  auto reply = make_response_promise<Reply>();
  if (!writer_->post([reply, read = std::move(read)](rind::journal::store& s) mutable {
        reply.deliver(Reply{read(s)});
      }))
    reply.deliver(
        Reply{make_failure(error_code::persistence_failed, "too much waits for the journal")});
  return reply;
}

caf::result<append_reply> journal::append(append_command& c) {
  auto reply = make_response_promise<append_reply>();
  writer_->append(std::move(c.request),
                  [reply](rind::result<rind::journal::append_receipt> r) mutable {
                    reply.deliver(append_reply{std::move(r)});
                  });
  return reply;
}

journal::behavior_type journal::make_behavior() {
  return {
      [this](append_command& c) { return append(c); },
      [this](claim_command& c) {
        return post<claim_reply>([c](auto& s) { return s.claim(c.session_id); });
      },
      [this](read_command& c) {
        return post<read_reply>(
            [c](auto& s) { return s.read(c.session_id, c.after_position, c.limit); });
      },
      [this](find_session_command& c) {
        return post<find_session_reply>([c](auto& s) { return s.find(c.session_id); });
      },
      [this](list_sessions_command& c) {
        return post<list_sessions_reply>([c](auto& s) { return s.list(c.limit, c.after); });
      },
      [this](find_input_command& c) {
        return post<find_input_reply>(
            [c](auto& s) { return s.find_input(c.session_id, c.input_id); });
      },
      [this](remove_session_command& c) {
        return post<remove_session_reply>([c](auto& s) { return s.remove(c.session_id, c.epoch); });
      },
  };
}

} // namespace rind::actors
