// A tool that does what a script tells it, in virtual time. It keeps every call. Used from one
// thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/tools/port.hpp"

namespace rind::kit {

/// How one call goes.
struct tool_script {
  tools::outcome outcome{tool_status::completed, "done", {}};
  std::int64_t delay_ms = 0;
  bool endless = false;          // ends only when it is cancelled
  bool deaf = false;             // not even then
  bool throws = false;           // out of start()
  std::function<void()> started; // called as the call begins
  std::vector<std::string> progress;
};

/// A call that answers `text`.
tool_script answers(std::string text);

class scripted_tool final : public tools::tool {
public:
  using timer = std::function<void(std::int64_t delay_ms, std::function<void()>)>;
  scripted_tool(std::string name, timer at);

  /// The next calls, in the order of their arrival; without a script a call answers "done".
  scripted_tool& expect(tool_script script);
  /// Answers what no script does.
  void serve(std::function<tool_script(const tools::invocation&)> otherwise) {
    otherwise_ = std::move(otherwise);
  }
  const std::vector<tools::invocation>& calls() const { return calls_; }
  std::size_t in_flight() const { return open_.size(); }
  /// Open calls and scripts are gone; nobody is told.
  void forget();
  /// The open calls of these sessions are gone; nobody is told.
  void drop_calls_of(const std::vector<std::string>& sessions);

  const tool_definition& definition() const override { return definition_; }
  void start(const tools::invocation& call, tools::tool_sink sink) override;
  void cancel(const std::string& invocation_id) override;

private:
  tool_script next_script(const tools::invocation& call);
  void end(const std::string& invocation_id, tools::outcome outcome);

  tool_definition definition_;
  timer at_;
  std::deque<tool_script> scripts_;
  std::function<tool_script(const tools::invocation&)> otherwise_;
  std::vector<tools::invocation> calls_;
  struct open_call {
    std::string session_id;
    tools::tool_sink sink;
    bool deaf = false;
  };
  std::map<std::string, open_call> open_;
};

} // namespace rind::kit
