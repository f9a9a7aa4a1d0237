// How a session's handlers are hung into its behavior: one call each, after the session is ready.
// Internal to session_*.cpp.
#pragma once

#include "actors/session.hpp"

namespace rind::actors {

/// The host's own system messages, in front of a session's.
std::vector<message_ptr> host_system_messages(const config::settings& s);

/// What the wire shows of a journal that refuses (S5, S39): NotOwner, else Unavailable naming
/// persistence_failed.
failure journal_refusal(const failure& why);

inline failure host_stopping() {
  return make_failure(error_code::server_stopping, "the host is stopping");
}

inline failure no_operation() {
  return make_failure(error_code::turn_not_active, "no operation runs");
}

/// How an operation ends that a crash or the loss of the journal cut short (S10).
inline entries::turn_ended interrupted_end() {
  entries::turn_ended end;
  end.outcome = entries::turn_outcome::cancelled;
  end.reason = cancel_reason::interrupted;
  return end;
}

template <class R>
R refused_reply(failure why) {
  return R{std::move(why)};
}
template <>
inline take_input_reply refused_reply(failure why) {
  return {turn::inputs::input_taken::kind::none, std::move(why)};
}
template <>
inline record_reply refused_reply(failure why) {
  return {std::move(why)};
}
template <>
inline context_snapshot_reply refused_reply(failure) {
  return {};
}

template <class C, class R>
auto session::ask(void (session::*handler)(const C&, promise<R>)) {
  return [this, handler](const C& c) -> caf::result<R> {
    const promise<R> reply{make_response_promise<R>()};
    if (ready_ && !broken_) {
      ++activity_;
      (this->*handler)(c, reply);
      return reply.promise();
    }
    when_ready([this, handler, c, reply] { (this->*handler)(c, reply); },
               [reply](const failure& why) { reply.deliver(refused_reply<R>(why)); });
    return reply.promise();
  };
}

template <class C>
auto session::tell(void (session::*handler)(const C&)) {
  return [this, handler](const C& c) {
    when_ready([this, handler, c] { (this->*handler)(c); }, [](const failure&) {});
  };
}

} // namespace rind::actors
