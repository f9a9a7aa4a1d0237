// Calls and their ends.
#include "tests/kit/simulation/scripted_tool.hpp"

#include <algorithm>
#include <stdexcept>

namespace rind::kit {

tool_script answers(std::string text) {
  tool_script s;
  s.outcome.text = std::move(text);
  return s;
}

scripted_tool::scripted_tool(std::string name, timer at)
    : definition_{std::move(name), "A tool of the script.", R"({"type":"object","properties":{}})"},
      at_(std::move(at)) {
  // nop
}

scripted_tool& scripted_tool::expect(tool_script script) {
  scripts_.push_back(std::move(script));
  return *this;
}

void scripted_tool::forget() {
  scripts_.clear();
  open_.clear();
}

void scripted_tool::drop_calls_of(const std::vector<std::string>& sessions) {
  std::erase_if(open_, [&](const auto& open) {
    return std::find(sessions.begin(), sessions.end(), open.second.session_id) != sessions.end();
  });
}

tool_script scripted_tool::next_script(const tools::invocation& call) {
  if (scripts_.empty())
    return otherwise_ ? otherwise_(call) : tool_script{};
  auto script = std::move(scripts_.front());
  scripts_.pop_front();
  return script;
}

void scripted_tool::start(const tools::invocation& call, tools::tool_sink sink) {
  auto script = next_script(call);
  calls_.push_back(call);
  if (script.started)
    script.started();
  if (script.throws)
    throw std::runtime_error("the tool throws by script");
  for (auto& note : script.progress)
    sink.on_progress(note);
  open_[call.invocation_id] = {call.session_id, std::move(sink), script.deaf};
  if (script.endless || script.deaf)
    return;
  if (script.delay_ms == 0)
    return end(call.invocation_id, std::move(script.outcome));
  at_(script.delay_ms,
      [this, id = call.invocation_id, outcome = std::move(script.outcome)] { end(id, outcome); });
}

void scripted_tool::end(const std::string& invocation_id, tools::outcome outcome) {
  auto i = open_.find(invocation_id);
  if (i == open_.end())
    return;
  auto call = std::move(i->second);
  open_.erase(i);
  call.sink.on_end(std::move(outcome));
}

void scripted_tool::cancel(const std::string& invocation_id) {
  auto i = open_.find(invocation_id);
  if (i != open_.end() && !i->second.deaf)
    end(invocation_id, {tool_status::cancelled, "cancelled", "cancelled"});
}

} // namespace rind::kit
