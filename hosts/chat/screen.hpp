// Draws a transcript above a live region (an unfinished row, the status, the line that is being
// edited). Pure: what to draw in, bytes for the terminal out.
#pragma once

#include <string>
#include <vector>

#include "hosts/chat/transcript_renderer.hpp"

namespace rind::hosts::chat {

struct terminal_size {
  int columns = 80;
  int rows = 24;
};

/// What stands below the transcript.
struct live_region {
  std::string status;
  std::string prompt;
  std::string text;       // being edited
  std::size_t cursor = 0; // byte position in the text
};

class screen {
public:
  explicit screen(bool colours) : colours_(colours) {}

  /// Adds the pieces to the transcript and draws the live region anew.
  std::string draw(const std::vector<piece>& pieces, const live_region& live, terminal_size size);
  /// Takes the live region away; an unfinished row of the transcript stays. For leaving, and before
  /// a suspend.
  std::string leave();

private:
  std::string erase_live();
  std::string styled(text_style style, const std::string& text) const;
  void add(const piece& one, int columns, std::string& out);

  bool colours_;
  std::string open_row_;
  text_style open_style_ = text_style::answer;
  int rows_above_cursor_ = 0; // of the live region as it was drawn
};

} // namespace rind::hosts::chat
