// Line by line; the first one that cannot be understood ends the reading.
#include "hosts/replay/recording.hpp"

#include <fstream>
#include <istream>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"

namespace rind::hosts::replay {

using nlohmann::json;

namespace {

/// Reads the fields of one line; the first fault sticks.
class line_reader {
public:
  explicit line_reader(const json& line) : line_(line) {}

  const std::string& fault() const { return fault_; }

  std::string text(const json& object, const char* name, bool needed) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string())
      return found->get<std::string>();
    if (needed || (found != object.end() && !found->is_null()))
      refuse("`" + std::string(name) + "` must be a text");
    return {};
  }

  std::optional<recorded_message> read() {
    if (!line_.is_object()) {
      refuse("a line must be a JSON object");
      return std::nullopt;
    }
    if (line_.contains("kind") && !line_.contains("role")) {
      if (text(line_, "kind", true) != "compaction" && fault_.empty())
        refuse("`kind` can only be \"compaction\"");
      return std::nullopt;
    }
    const auto role = text(line_, "role", true);
    recorded_message m;
    if (role == "user")
      read_user(m);
    else if (role == "assistant")
      read_assistant(m);
    else if (role == "tool")
      read_tool(m);
    else if (fault_.empty())
      refuse("`role` must be \"user\", \"assistant\" or \"tool\"");
    return fault_.empty() ? std::optional(std::move(m)) : std::nullopt;
  }

private:
  void refuse(std::string why) {
    if (fault_.empty())
      fault_ = std::move(why);
  }

  void read_user(recorded_message& m) {
    m.msg.role = message_role::user;
    m.msg.content = text(line_, "content", true);
  }

  void read_tool(recorded_message& m) {
    m.msg.role = message_role::tool;
    m.msg.content = text(line_, "content", false);
    m.msg.tool_call_id = text(line_, "tool_call_id", true);
    m.msg.name = text(line_, "name", false);
    const auto flag = line_.find("is_error");
    if (flag != line_.end() && flag->is_boolean())
      m.msg.is_error = flag->get<bool>();
    else if (flag != line_.end() && !flag->is_null())
      refuse("`is_error` must be true or false");
  }

  void read_assistant(recorded_message& m) {
    m.msg.role = message_role::assistant;
    m.msg.content = text(line_, "content", false);
    if (auto thought = text(line_, "reasoning", false); !thought.empty())
      m.msg.reasoning = reasoning_block{std::move(thought), {}};
    read_calls(m.msg);
    const auto finish = text(line_, "finish", false);
    m.ended_well = finish != "aborted" && finish != "error";
    const auto usage = line_.find("usage");
    if (usage == line_.end() || usage->is_null())
      return;
    if (!usage->is_object())
      return refuse("`usage` must be an object");
    m.input_tokens = count(*usage, "input_tokens");
    m.output_tokens = count(*usage, "output_tokens");
  }

  void read_calls(message& m) {
    const auto calls = line_.find("tool_calls");
    if (calls == line_.end() || calls->is_null())
      return;
    if (!calls->is_array())
      return refuse("`tool_calls` must be a list");
    for (const auto& call : *calls) {
      if (!call.is_object())
        return refuse("a tool call must be an object");
      m.tool_calls.push_back(
          {text(call, "id", true), text(call, "name", true), text(call, "arguments", false)});
    }
  }

  /// A positive number; 0 and null stand for what is not known.
  std::optional<std::int64_t> count(const json& usage, const char* name) {
    const auto found = usage.find(name);
    if (found == usage.end() || found->is_null())
      return std::nullopt;
    if (!found->is_number_integer() || found->get<std::int64_t>() < 0) {
      refuse("`usage." + std::string(name) + "` must be a number of tokens");
      return std::nullopt;
    }
    const auto tokens = found->get<std::int64_t>();
    return tokens > 0 ? std::optional(tokens) : std::nullopt;
  }

  const json& line_;
  std::string fault_;
};

failure bad_line(std::size_t line, const std::string& why) {
  return make_failure(error_code::invalid_request, "line " + std::to_string(line) + ": " + why);
}

} // namespace

result<recording> read_recording(std::istream& in) {
  recording all;
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    if (text.size() > line_limit_bytes)
      return bad_line(line, "longer than " + std::to_string(line_limit_bytes) + " bytes");
    if (nests_deeper_than(text, json_depth_limit))
      return bad_line(line, "nested too deep");
    const auto parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded())
      return bad_line(line, "no JSON");
    line_reader reader(parsed);
    auto m = reader.read();
    if (!reader.fault().empty())
      return bad_line(line, reader.fault());
    if (!m)
      continue;
    m->line = line;
    all.push_back(std::move(*m));
  }
  if (in.bad())
    return make_failure(error_code::unavailable, "the recording could not be read to its end");
  return all;
}

result<recording> read_recording_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return make_failure(error_code::not_found, "cannot be opened");
  in.peek(); // a folder opens, and only its reading fails
  if (in.bad())
    return make_failure(error_code::unavailable, "cannot be read");
  in.clear();
  return read_recording(in);
}

std::int64_t bytes_of(const message& m) {
  auto bytes = m.content.size();
  if (m.reasoning)
    bytes += m.reasoning->text.size();
  for (const auto& call : m.tool_calls)
    bytes += call.name.size() + call.arguments.size();
  return static_cast<std::int64_t>(bytes);
}

} // namespace rind::hosts::replay
