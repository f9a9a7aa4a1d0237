// Calls, deadlines, ends.
#include "actors/tool_runner.hpp"

#include <caf/send.hpp>

#include "runtime/tools/output_cap.hpp"

namespace rind::actors {

tool_runner::tool_runner(caf::actor_config& cfg, std::shared_ptr<const rind::tools::registry> tools,
                         std::int64_t deadline_ms)
    : tool_runner_actor::base(cfg), tools_(std::move(tools)), deadline_ms_(deadline_ms) {
  // nop
}

tool_runner::behavior_type tool_runner::make_behavior() {
  return {
      [this](const run_tool& r) { on_run(r); },
      [this](const cancel_tool& c) { on_cancel(c); },
      [this](const tool_progressed& p) { on_progress(p); },
      [this](const tool_ended& e) { on_ended(e); },
      [this](const tool_overdue& o) { on_overdue(o); },
  };
}

void tool_runner::on_exit() {
  calls_.clear();
}

void tool_runner::on_run(const run_tool& r) {
  const auto& id = r.call.invocation_id;
  auto& call = calls_[id];
  call.listener = r.listener;
  call.tool = tools_->find(r.call.call.name);
  if (!call.tool)
    return end(id, {tool_status::unavailable, "there is no tool called " + r.call.call.name,
                    "unknown_tool"});
  rind::tools::tool_sink sink;
  sink.on_progress = [self = tool_runner_actor{this}, id](std::string text) {
    caf::anon_send(self, tool_progressed{id, std::move(text)});
  };
  sink.on_end = [self = tool_runner_actor{this}, id](rind::tools::outcome o) {
    caf::anon_send(self, tool_ended{id, std::move(o)});
  };
  delayed_send(tool_runner_actor{this}, std::chrono::milliseconds(deadline_ms_), tool_overdue{id});
  try {
    call.tool->start(r.call, std::move(sink));
  } catch (const std::exception& e) {
    end(id, {tool_status::failed, std::string{"the tool failed: "} + e.what(), "exception"});
  } catch (...) {
    end(id,
        {tool_status::failed, "the tool failed with an exception of an unknown kind", "exception"});
  }
}

void tool_runner::stop(const std::string& invocation_id, running_call& call) {
  delayed_send(tool_runner_actor{this}, std::chrono::milliseconds(cancel_grace_ms),
               tool_overdue{invocation_id});
  try {
    call.tool->cancel(invocation_id);
  } catch (const std::exception& e) {
    end(invocation_id,
        {tool_status::failed, std::string{"the tool failed while it was stopped: "} + e.what(),
         "exception"});
  }
}

void tool_runner::on_cancel(const cancel_tool& c) {
  auto i = calls_.find(c.invocation_id);
  if (i == calls_.end() || i->second.cancelled)
    return;
  i->second.cancelled = true;
  if (!i->second.overdue)
    stop(c.invocation_id, i->second);
}

void tool_runner::on_progress(const tool_progressed& p) {
  auto i = calls_.find(p.invocation_id);
  if (i != calls_.end() && ++i->second.progress_notes <= rind::tools::progress_limit)
    send(i->second.listener, p);
}

void tool_runner::on_ended(const tool_ended& e) {
  auto i = calls_.find(e.invocation_id);
  if (i == calls_.end())
    return;
  auto outcome = e.outcome;
  if (i->second.overdue && outcome.status == tool_status::cancelled)
    outcome = {tool_status::timed_out,
               "the tool did not end within " + std::to_string(deadline_ms_) + " ms", "deadline"};
  end(e.invocation_id, std::move(outcome));
}

void tool_runner::on_overdue(const tool_overdue& o) {
  auto i = calls_.find(o.invocation_id);
  if (i == calls_.end())
    return;
  auto& call = i->second;
  if (call.cancelled)
    return end(o.invocation_id, {tool_status::cancelled, "the tool was cancelled", "cancelled"});
  if (call.overdue)
    return end(o.invocation_id,
               {tool_status::timed_out,
                "the tool did not end within " + std::to_string(deadline_ms_) + " ms", "deadline"});
  call.overdue = true;
  stop(o.invocation_id, call);
}

void tool_runner::end(const std::string& invocation_id, rind::tools::outcome outcome) {
  auto i = calls_.find(invocation_id);
  if (i == calls_.end())
    return;
  auto listener = std::move(i->second.listener);
  calls_.erase(i);
  outcome.text = rind::tools::cap_output(outcome.text);
  send(listener, tool_ended{invocation_id, std::move(outcome)});
}

} // namespace rind::actors
