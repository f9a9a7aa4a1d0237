// Keys and what they do: the usual ones of a shell.
#include "hosts/chat/line_editor.hpp"

#include <algorithm>

#include "hosts/chat/text_width.hpp"
#include "messages/json.hpp"

namespace rind::hosts::chat {

namespace {

constexpr char key_escape = '\x1B';
constexpr std::size_t escape_limit_bytes = 32;

constexpr char ctrl(char letter) {
  return static_cast<char>(letter & 0x1F);
}

std::size_t expected_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xF0)
    return 4;
  if (byte >= 0xE0)
    return 3;
  return byte >= 0xC0 ? 2 : 1;
}

} // namespace

std::vector<wish> line_editor::take(std::string_view bytes) {
  std::vector<wish> wishes;
  for (const char byte : bytes)
    take_byte(byte, wishes);
  return wishes;
}

void line_editor::take_byte(char byte, std::vector<wish>& wishes) {
  if (!escape_.empty()) {
    escape_ += byte;
    if (escape_is_complete() || escape_.size() > escape_limit_bytes) {
      escape_key(wishes);
      escape_.clear();
    }
    return;
  }
  if (byte == key_escape) {
    escape_ = byte;
    return;
  }
  const auto value = static_cast<unsigned char>(byte);
  if (pasting_ && (byte == '\r' || byte == '\n' || byte == '\t'))
    return insert(byte == '\r' ? "\n" : std::string_view(&byte, 1), wishes);
  if (value < 0x20 || value == 0x7F) {
    if (!pasting_)
      control_key(byte, wishes);
    return;
  }
  partial_ += byte;
  if (partial_.size() < expected_bytes(partial_.front()))
    return;
  insert(repair_utf8(partial_), wishes);
  partial_.clear();
}

void line_editor::control_key(char byte, std::vector<wish>& wishes) {
  switch (byte) {
  case '\r':
  case '\n':
    return submit(wishes);
  case ctrl('A'):
    cursor_ = line_start();
    return;
  case ctrl('B'):
    return left();
  case ctrl('C'):
    wishes.push_back({wish_kind::interrupt, ""});
    return;
  case ctrl('D'):
    if (text_.empty())
      wishes.push_back({wish_kind::end, ""});
    else if (cursor_ < text_.size())
      erase(cursor_, cursor_ + character_bytes(text_, cursor_));
    return;
  case ctrl('E'):
    cursor_ = line_end();
    return;
  case ctrl('F'):
    return right();
  case ctrl('H'):
  case '\x7F':
    if (cursor_ > 0)
      erase(previous_character(text_, cursor_), cursor_);
    return;
  case ctrl('K'):
    cut_ = text_.substr(cursor_, line_end() - cursor_);
    return erase(cursor_, line_end());
  case ctrl('L'):
    wishes.push_back({wish_kind::redraw, ""});
    return;
  case ctrl('N'):
    return recall(-1);
  case ctrl('P'):
    return recall(1);
  case ctrl('U'):
    cut_ = text_.substr(line_start(), cursor_ - line_start());
    return erase(line_start(), cursor_);
  case ctrl('W'):
    cut_ = text_.substr(word_left(), cursor_ - word_left());
    return erase(word_left(), cursor_);
  case ctrl('Y'):
    return insert(cut_, wishes);
  case ctrl('Z'):
    wishes.push_back({wish_kind::suspend, ""});
    return;
  default:
    return; // a key without a meaning here
  }
}

bool line_editor::escape_is_complete() const {
  if (escape_.size() == 2)
    return escape_[1] != '[' && escape_[1] != 'O';
  const char last = escape_.back();
  return last >= '@' && last <= '~';
}

void line_editor::escape_key(std::vector<wish>& wishes) {
  const auto key = std::string_view(escape_).substr(1);
  if (key == "[200~")
    pasting_ = true;
  else if (key == "[201~")
    pasting_ = false;
  else if (key == "[A" || key == "OA")
    recall(1);
  else if (key == "[B" || key == "OB")
    recall(-1);
  else if (key == "[C" || key == "OC")
    right();
  else if (key == "[D" || key == "OD")
    left();
  else if (key == "[H" || key == "OH" || key == "[1~" || key == "[7~")
    cursor_ = line_start();
  else if (key == "[F" || key == "OF" || key == "[4~" || key == "[8~")
    cursor_ = line_end();
  else if (key == "[3~" && cursor_ < text_.size())
    erase(cursor_, cursor_ + character_bytes(text_, cursor_));
  else if (key == "b" || key == "[1;5D" || key == "[1;3D")
    cursor_ = word_left();
  else if (key == "f" || key == "[1;5C" || key == "[1;3C")
    cursor_ = word_right();
  else if (key == "d")
    erase(cursor_, word_right());
  else if (key == "\x7F")
    erase(word_left(), cursor_);
  else if (key == "\r" || key == "\n")
    insert("\n", wishes); // Alt-Enter
}

void line_editor::insert(std::string_view bytes, std::vector<wish>& wishes) {
  if (text_.size() + bytes.size() > line_limit_bytes) {
    wishes.push_back({wish_kind::refused, ""});
    return;
  }
  text_.insert(cursor_, bytes);
  cursor_ += bytes.size();
}

void line_editor::erase(std::size_t first, std::size_t end) {
  text_.erase(first, end - first);
  cursor_ = first;
}

void line_editor::submit(std::vector<wish>& wishes) {
  auto line = text_;
  clear();
  remember(line);
  wishes.push_back({wish_kind::submit, std::move(line)});
}

void line_editor::clear() {
  text_.clear();
  cursor_ = 0;
  recalled_ = 0;
  unsent_.clear();
}

void line_editor::set_text(std::string text) {
  clear();
  text_ = std::move(text);
  cursor_ = text_.size();
}

void line_editor::remember(std::string line) {
  if (line.find_first_not_of(" \t\n") == std::string::npos ||
      (!history_.empty() && history_.back() == line))
    return;
  history_.push_back(std::move(line));
  if (history_.size() > history_max)
    history_.pop_front();
}

void line_editor::recall(int direction) {
  if ((direction > 0 && recalled_ == history_.size()) || (direction < 0 && recalled_ == 0))
    return;
  if (recalled_ == 0)
    unsent_ = text_;
  recalled_ = direction > 0 ? recalled_ + 1 : recalled_ - 1;
  text_ = recalled_ == 0 ? unsent_ : history_[history_.size() - recalled_];
  cursor_ = text_.size();
}

std::size_t line_editor::word_left() const {
  auto at = cursor_;
  while (at > 0 && text_[at - 1] == ' ')
    --at;
  while (at > 0 && text_[at - 1] != ' ')
    --at;
  return at;
}

std::size_t line_editor::word_right() const {
  auto at = cursor_;
  while (at < text_.size() && text_[at] == ' ')
    ++at;
  while (at < text_.size() && text_[at] != ' ')
    ++at;
  return at;
}

std::size_t line_editor::line_start() const {
  const auto before = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return before == std::string::npos ? 0 : before + 1;
}

std::size_t line_editor::line_end() const {
  return std::min(text_.find('\n', cursor_), text_.size());
}

void line_editor::left() {
  if (cursor_ > 0)
    cursor_ = previous_character(text_, cursor_);
}

void line_editor::right() {
  if (cursor_ < text_.size())
    cursor_ += character_bytes(text_, cursor_);
}

} // namespace rind::hosts::chat
