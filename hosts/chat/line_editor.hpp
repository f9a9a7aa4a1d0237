// A line under the user's hands: keys in, text and wishes out, with a history. Pure; the terminal's
// modes and drawing are left to terminal and screen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace rind::hosts::chat {

inline constexpr std::size_t line_limit_bytes = 1024 * 1024; // of one input, a paste included
inline constexpr std::size_t history_max = 1'000;

enum class wish_kind : std::uint8_t { submit, interrupt, end, redraw, suspend, refused };

struct wish {
  wish_kind kind;
  std::string text; // submit: the line
  friend bool operator==(const wish&, const wish&) = default;
};

class line_editor {
public:
  /// Bytes as the terminal sends them, in raw mode, with bracketed paste; cut anywhere. In order,
  /// what the user wants.
  std::vector<wish> take(std::string_view bytes);

  const std::string& text() const { return text_; }
  /// Byte position of the cursor in the text.
  std::size_t cursor() const { return cursor_; }
  void clear();
  /// Puts a text back under the user's hands.
  void set_text(std::string text);

  /// Oldest first.
  void remember(std::string line);
  const std::deque<std::string>& history() const { return history_; }

private:
  void take_byte(char byte, std::vector<wish>& wishes);
  void control_key(char byte, std::vector<wish>& wishes);
  bool escape_is_complete() const;
  void escape_key(std::vector<wish>& wishes);
  void insert(std::string_view bytes, std::vector<wish>& wishes);
  void erase(std::size_t first, std::size_t end);
  void submit(std::vector<wish>& wishes);
  void recall(int direction);
  std::size_t word_left() const;
  std::size_t word_right() const;
  std::size_t line_start() const;
  std::size_t line_end() const;
  void left();
  void right();

  std::string text_;
  std::size_t cursor_ = 0;
  std::string cut_;
  std::string escape_;  // an unfinished escape sequence
  std::string partial_; // an unfinished UTF-8 character
  bool pasting_ = false;
  std::deque<std::string> history_;
  std::size_t recalled_ = 0; // counted from the newest; 0: the line itself
  std::string unsent_;       // the line itself while history is shown
};

} // namespace rind::hosts::chat
