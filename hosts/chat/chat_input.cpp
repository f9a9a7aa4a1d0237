// The table of the client's own slash commands.
#include "hosts/chat/chat_input.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace rind::hosts::chat {

namespace {

enum class argument : std::uint8_t { none, required };

struct command {
  std::string_view name;
  input_kind kind;
  argument takes;
  std::string_view usage;
  std::string_view description;
};

constexpr std::array commands = {
    command{"steer", input_kind::steer, argument::required, "/steer TEXT",
            "tell the running turn something (so does plain text)"},
    command{"follow", input_kind::follow_up, argument::required, "/follow TEXT",
            "what to do after the running task"},
    command{"cancel", input_kind::cancel, argument::none, "/cancel",
            "cancel the running turn (so does Ctrl-C)"},
    command{"resume", input_kind::resume, argument::none, "/resume",
            "go on with an interrupted turn"},
    command{"new", input_kind::new_session, argument::none, "/new", "start a new session"},
    command{"switch", input_kind::switch_session, argument::required, "/switch ID",
            "go to another session"},
    command{"help", input_kind::help, argument::none, "/help", "this text"},
    command{"quit", input_kind::quit, argument::none, "/quit", "leave (so does Ctrl-D)"},
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const auto first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& letter : out)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

} // namespace

chat_input classify(std::string_view line, bool is_turn_running) {
  const auto text = trim(line);
  if (text.empty())
    return {};
  const auto plain = is_turn_running ? input_kind::steer : input_kind::prompt;
  if (text.front() != '/')
    return {plain, std::string(text)};
  if (text.starts_with("//"))
    return {plain, std::string(text.substr(1))};
  const auto space = text.find_first_of(" \t");
  const auto name = lower(text.substr(1, space == std::string_view::npos ? space : space - 1));
  const auto rest = space == std::string_view::npos ? std::string_view() : trim(text.substr(space));
  if (name == "exit")
    return {input_kind::quit, ""};
  for (const auto& one : commands) {
    if (one.name != name)
      continue;
    if ((one.takes == argument::required) == rest.empty())
      return {input_kind::wrong_use, "usage: " + std::string(one.usage)};
    return {one.kind, std::string(rest)};
  }
  return {input_kind::server_command, std::string(text)};
}

std::string help_text() {
  std::string text;
  for (const auto& one : commands) {
    std::string usage(one.usage);
    usage.resize(std::max<std::size_t>(usage.size(), 14), ' ');
    text += "  " + usage + " " + std::string(one.description) + "\n";
  }
  return text + "  //text         a text that starts with a slash";
}

} // namespace rind::hosts::chat
