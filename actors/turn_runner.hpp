// Carries one operation: the turn machine's effects out to the session, the provider, the tools and
// the compaction service, and what they answer back in. Owns the turn machine and nothing else; it
// ends with its operation.
#pragma once

#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/node.hpp"
#include "runtime/turn/turn_machine.hpp"

namespace rind::actors {

struct runner_options {
  std::string session_id;
  std::string turn_id;
  turn::options turn;
};

class turn_runner final : public turn_runner_actor::base {
public:
  turn_runner(caf::actor_config& cfg, node_ptr n, session_actor owner, runner_options options);

  const char* name() const override { return "turn_runner"; }
  behavior_type make_behavior() override;
  /// Ends what is still out, and lets go of its session, which holds it.
  void on_exit() override;

private:
  struct running_tool {
    std::string tool_call_id;
    std::string tool_name;
    std::int64_t started_at_ms = 0;
  };

  // -- what comes in --
  void on_progress(const sampling_progressed& p);
  void on_sampling_ended(sampling_ended& e);
  void on_tool_progress(const tool_progressed& p);
  void on_tool_ended(const tool_ended& e);
  void on_compaction_begun(const compaction_begun& b);
  void on_cancel(const cancel_operation&);
  void on_retry(const retry_tick& t);
  void feed(turn::input in);
  void perform(turn::effect_list effects);

  // -- what goes out: an overload an effect --
  void carry_out(turn::effects::take_input& e);
  void carry_out(turn::effects::build_context& e);
  void carry_out(turn::effects::compact& e);
  void carry_out(turn::effects::record& e);
  void carry_out(turn::effects::wait& e);
  void carry_out(turn::effects::sample& e);
  void carry_out(turn::effects::run_tools& e);
  void carry_out(turn::effects::announce& e);
  void carry_out(turn::effects::note_decision& e);
  void carry_out(turn::effects::stop_work& e);
  void carry_out(turn::effects::close& e);
  void compacted(const compaction::outcome& outcome);
  failure session_gone() const;

  node_ptr node_;
  session_actor owner_;
  runner_options options_;
  turn::turn_machine machine_;
  std::string request_id_; // of the sampling that is out; empty: none
  provider_actor provider_;
  bool deltas_sent_ = false;
  std::string compaction_id_; // of the compaction that is out; empty: none
  compaction_reason compaction_reason_ = compaction_reason::automatic;
  phase_detail compaction_detail_ = phase_detail::none;
  std::int64_t compaction_started_ms_ = 0;
  bool compaction_announced_ = false;
  std::map<std::string, running_tool> tools_; // by invocation id
  std::int64_t retry_serial_ = 0;
};

} // namespace rind::actors
