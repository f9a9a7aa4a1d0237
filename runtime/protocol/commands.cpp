// The slash commands.
#include <algorithm>
#include <array>

#include "messages/json.hpp"
#include "runtime/protocol/requests.hpp"

namespace rind::protocol {

namespace {

constexpr std::array command_table{
    command_row{
        command_name::compact, "/compact", "/compact [focus]",
        "Summarise the older part of the conversation; the focus says what to keep in mind."},
    command_row{command_name::help, "/help", "/help", "List the commands."},
    command_row{command_name::status, "/status", "/status",
                "Show the session, its model and what it is doing."},
    command_row{command_name::sessions, "/sessions", "/sessions",
                "List the sessions, newest first."},
    command_row{command_name::model, "/model", "/model [name]",
                "Show the model, or choose another one."},
    command_row{command_name::context, "/context", "/context [all]",
                "Show how full the context window is and what was compacted; all: every number."},
};

constexpr std::string_view white_space = " \t\r\n\f\v";
/// Characters of an unknown command that its answer repeats.
constexpr std::int64_t quoted_command_characters = 80;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

std::span<const command_row> commands() {
  return command_table;
}

slash_command read_command(std::string_view text) {
  text = trimmed(text);
  slash_command out;
  out.word = text.substr(0, text.find_first_of(white_space));
  out.argument = trimmed(text.substr(out.word.size()));
  std::string word = out.word;
  std::transform(word.begin(), word.end(), word.begin(), lower);
  const auto row = std::find_if(command_table.begin(), command_table.end(),
                                [&word](const command_row& r) { return word == r.word; });
  if (row != command_table.end())
    out.name = row->name;
  return out;
}

std::string help_text() {
  std::size_t widest = 0;
  for (const auto& row : command_table)
    widest = std::max(widest, std::string_view(row.usage).size());
  std::string out;
  for (const auto& row : command_table) {
    std::string usage = row.usage;
    usage.resize(widest, ' ');
    out += (out.empty() ? "" : "\n") + usage + "  " + row.description;
  }
  return out;
}

std::string unknown_command_text(const slash_command& command) {
  return "There is no command '" +
         std::string(first_characters(command.word, quoted_command_characters)) +
         "'. /help lists the commands.";
}

} // namespace rind::protocol
