// Lines and what they ask for.
#include <gtest/gtest.h>

#include "hosts/chat/chat_input.hpp"

namespace rind::hosts::chat {
namespace {

TEST(chat_input, each_line_has_its_meaning) {
  struct row {
    const char* line;
    bool running;
    input_kind kind;
    const char* text;
  };
  const row rows[] = {
      {"", false, input_kind::nothing, ""},
      {" \t ", true, input_kind::nothing, ""},
      {"  hello there ", false, input_kind::prompt, "hello there"},
      {"hello", true, input_kind::steer, "hello"},
      {"//etc/passwd", false, input_kind::prompt, "/etc/passwd"},
      {"//x", true, input_kind::steer, "/x"},
      {"/steer  go left", false, input_kind::steer, "go left"},
      {"/STEER x", true, input_kind::steer, "x"},
      {"/follow then this", true, input_kind::follow_up, "then this"},
      {"/follow", true, input_kind::wrong_use, "usage: /follow TEXT"},
      {"/new", false, input_kind::new_session, ""},
      {"/new x", false, input_kind::wrong_use, "usage: /new"},
      {"/switch abc", false, input_kind::switch_session, "abc"},
      {"/switch", false, input_kind::wrong_use, "usage: /switch ID"},
      {"/resume", false, input_kind::resume, ""},
      {"/cancel", true, input_kind::cancel, ""},
      {" /Quit ", false, input_kind::quit, ""},
      {"/exit", false, input_kind::quit, ""},
      {"/help", false, input_kind::help, ""},
      {"/compact the tests", true, input_kind::server_command, "/compact the tests"},
      {"/nonsense", false, input_kind::server_command, "/nonsense"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(classify(row.line, row.running), (chat_input{row.kind, row.text})) << row.line;
}

TEST(chat_input, the_help_names_every_command_of_its_own) {
  for (const char* name :
       {"/steer", "/follow", "/cancel", "/resume", "/new", "/switch", "/help", "/quit"})
    EXPECT_NE(help_text().find(name), std::string::npos) << name;
}

} // namespace
} // namespace rind::hosts::chat
