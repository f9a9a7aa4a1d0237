// What a line that the user typed asks for. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rind::hosts::chat {

enum class input_kind : std::uint8_t {
  nothing,   // an empty line
  prompt,    // a new turn
  steer,     // for the running turn
  follow_up, // after the running task
  resume,    // go on with an interrupted turn
  cancel,
  new_session,
  switch_session, // text: its id
  server_command, // text: the whole line
  help,           // the server's help, then ours
  quit,
  wrong_use, // text: how it is used
};

struct chat_input {
  input_kind kind = input_kind::nothing;
  std::string text;
  friend bool operator==(const chat_input&, const chat_input&) = default;
};

/// Plain text is a prompt, or steering while a turn runs; `//text` is the text `/text`. Case of
/// commands and spaces around do not matter. A command that is not ours is the server's.
chat_input classify(std::string_view line, bool is_turn_running);

/// The commands that this program knows itself, a line each.
std::string help_text();

} // namespace rind::hosts::chat
