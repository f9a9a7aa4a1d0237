// The tool runner's actor: starts tool calls, holds their deadlines, cuts their results to the
// output limit. A tool that throws, hangs or ignores its cancel ends its own call and nothing else
// (S43).
#pragma once

#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/actors.hpp"
#include "runtime/tools/port.hpp"

namespace rind::actors {

/// How long a cancelled or overdue call may take to end before it is given up.
inline constexpr std::int64_t cancel_grace_ms = 2'000;

class tool_runner final : public tool_runner_actor::base {
public:
  tool_runner(caf::actor_config& cfg, std::shared_ptr<const rind::tools::registry> tools,
              std::int64_t deadline_ms);

  const char* name() const override { return "tool_runner"; }
  behavior_type make_behavior() override;
  /// Lets go of those who wait for a result.
  void on_exit() override;

private:
  struct running_call {
    rind::tools::tool* tool = nullptr;
    tool_listener listener;
    bool cancelled = false; // by its caller
    bool overdue = false;   // past its deadline
    std::int64_t progress_notes = 0;
  };

  void on_run(const run_tool& r);
  void on_cancel(const cancel_tool& c);
  void on_progress(const tool_progressed& p);
  void on_ended(const tool_ended& e);
  void on_overdue(const tool_overdue& o);
  void stop(const std::string& invocation_id, running_call& call);
  void end(const std::string& invocation_id, rind::tools::outcome outcome);

  std::shared_ptr<const rind::tools::registry> tools_;
  std::int64_t deadline_ms_;
  std::map<std::string, running_call> calls_;
};

} // namespace rind::actors
