// The journal's actor: a thin adapter that puts journal::writer behind messages. Owns the writer
// (and by it the store and its thread).
#pragma once

#include <caf/typed_event_based_actor.hpp>

#include "actors/actors.hpp"
#include "runtime/journal/writer.hpp"

namespace rind::actors {

class journal final : public journal_actor::base {
public:
  journal(caf::actor_config& cfg, std::shared_ptr<rind::journal::writer> writer);

  const char* name() const override { return "journal"; }
  behavior_type make_behavior() override;

private:
  caf::result<append_reply> append(append_command& c);
  /// A read on the writer's thread, in order with the appends before it.
  template <class Reply, class Read>
  caf::result<Reply> post(Read read);

  std::shared_ptr<rind::journal::writer> writer_;
};

} // namespace rind::actors
