// A tool that is a program declared in the settings: the arguments as JSON on its standard input,
// the result from its standard output and its exit code. Running it is process_pool's matter.
#pragma once

#include <memory>

#include "runtime/config/settings.hpp"
#include "runtime/tools/port.hpp"
#include "runtime/tools/process_pool.hpp"

namespace rind::tools {

/// What the end of a program means to the model: exit code 0 is `completed`, any other and a signal
/// `failed`; the text is at most output_limit_chars long and valid UTF-8.
outcome outcome_of(const process_end& end, std::int64_t deadline_ms);

class command_tool final : public tool {
public:
  command_tool(config::command_tool_settings settings, std::shared_ptr<process_pool> pool);

  const tool_definition& definition() const override { return definition_; }

  /// Arguments that are no JSON object fail without a program being run; none at all count as `{}`.
  void start(const invocation& call, tool_sink sink) override;
  void cancel(const std::string& invocation_id) override;

private:
  config::command_tool_settings settings_;
  tool_definition definition_;
  std::shared_ptr<process_pool> pool_;
};

/// The demo tools, where the settings want them, and the command tools. Without command tools there
/// is no pool and no thread. Reads the environment: call it in `main`, before there are threads.
registry make_registry(const config::settings& values);

} // namespace rind::tools
