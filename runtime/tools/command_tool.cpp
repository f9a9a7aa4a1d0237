// Command tools, and the registry that the settings describe.
#include "runtime/tools/command_tool.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/config/load.hpp"
#include "runtime/tools/demo_tools.hpp"
#include "runtime/tools/output_cap.hpp"

namespace rind::tools {

namespace {

/// What a program said, its standard error marked as such. Empty if it said nothing.
std::string said(const process_end& end) {
  auto out = end.output;
  if (end.error_output.empty())
    return out;
  if (!out.empty() && out.back() != '\n')
    out += '\n';
  return out + "[standard error]\n" + end.error_output;
}

/// A first line that says what happened, then what the program said.
outcome ended_badly(tool_status status, const char* error_type, std::string what,
                    const process_end& end) {
  if (const auto text = said(end); !text.empty())
    what += "\n" + text;
  return {status, cap_output(what), error_type};
}

} // namespace

outcome outcome_of(const process_end& end, std::int64_t deadline_ms) {
  const auto code = std::to_string(end.code);
  switch (end.fate) {
  case process_fate::exited:
    if (end.code == 0)
      return {tool_status::completed, cap_output(end.output), ""};
    return ended_badly(tool_status::failed, "exit_code", "the program ended with exit code " + code,
                       end);
  case process_fate::signalled:
    return ended_badly(tool_status::failed, "signal", "the program was ended by signal " + code,
                       end);
  case process_fate::timed_out:
    return ended_badly(
        tool_status::timed_out, "deadline",
        "the program was ended after " + std::to_string(deadline_ms) + " ms, its deadline", end);
  case process_fate::cancelled:
    return ended_badly(tool_status::cancelled, "cancelled",
                       "the call was cancelled; it may have had effects", end);
  case process_fate::not_started:
    break;
  }
  return {tool_status::unavailable, cap_output(end.reason), "cannot_start"};
}

command_tool::command_tool(config::command_tool_settings settings,
                           std::shared_ptr<process_pool> pool)
    : settings_(std::move(settings)),
      definition_{settings_.name, settings_.description, settings_.parameters},
      pool_(std::move(pool)) {}

void command_tool::start(const invocation& call, tool_sink sink) {
  const std::string arguments = call.call.arguments.empty() ? "{}" : call.call.arguments;
  if (!nlohmann::json::parse(arguments, nullptr, false).is_object())
    return sink.on_end(
        {tool_status::failed, "the arguments are no JSON object", "invalid_arguments"});
  process_request request{call.invocation_id, settings_.command, arguments + "\n",
                          settings_.deadline_ms, output_limit_chars};
  pool_->start(std::move(request),
               [on_end = std::move(sink.on_end), deadline_ms = settings_.deadline_ms](
                   const process_end& end) { on_end(outcome_of(end, deadline_ms)); });
}

void command_tool::cancel(const std::string& invocation_id) {
  pool_->cancel(invocation_id);
}

registry make_registry(const config::settings& values) {
  registry tools;
  if (values.session.demo_tools)
    add_demo_tools(tools);
  if (values.tools.empty())
    return tools;
  process_pool_options options;
  options.environment = environment_without(config::secret_variables(values));
  const auto pool = std::make_shared<process_pool>(std::move(options));
  for (const auto& declared : values.tools)
    tools.add(std::make_shared<command_tool>(declared, pool));
  return tools;
}

} // namespace rind::tools
