// The estimate as a walk through a small automaton over bytes: what a byte costs depends on what
// stands before it.
#include "runtime/context/token_estimator.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace rind::context {

namespace {

// Costs are in 1/1000 token. The numbers for ASCII were fitted to what a provider counted over a
// long coding session (prose, code, JSON, tool output) and lie near 4 bytes a token for prose; the
// ones for other scripts are what common vocabularies need on average.
enum byte_class : std::uint8_t {
  lower,
  upper,
  digit,
  space,
  line_break,
  mark,
  backslash,
  other_letter,
  byte_class_count
};

// A word is costed by position: its first letter opens a token, the next few mostly belong to it,
// later ones open more.
constexpr std::uint8_t word_positions = 8;
enum state : std::uint8_t {
  word_first = 0,
  after_digit = word_positions,
  after_space,
  after_line_break,
  after_mark,
  after_backslash,
  after_other,
  state_count
};

struct step {
  std::int16_t cost = 0;
  std::uint8_t next = 0;
};

constexpr byte_class class_of(unsigned byte) {
  if (byte >= 0x80)
    return other_letter;
  if (byte >= 'a' && byte <= 'z')
    return lower;
  if (byte >= 'A' && byte <= 'Z')
    return upper;
  if (byte >= '0' && byte <= '9')
    return digit;
  if (byte == ' ' || byte == '\t')
    return space;
  if (byte == '\n' || byte == '\r')
    return line_break;
  return byte == '\\' ? backslash : mark;
}

constexpr std::int16_t cost_first_letter = 910;
constexpr std::int16_t cost_letter = 87;
constexpr std::int16_t cost_late_letter = 295; // from position word_positions on
constexpr std::int16_t cost_upper_in_word = 370;
constexpr std::int16_t cost_digit = 570;
constexpr std::int16_t cost_first_space = 75;
constexpr std::int16_t cost_more_space = 70;
constexpr std::int16_t cost_first_break = 650;
constexpr std::int16_t cost_more_breaks = 105;
constexpr std::int16_t cost_first_mark = 770;
constexpr std::int16_t cost_more_marks = 410;
constexpr std::int16_t cost_escaped_letter = 190; // as in \n: one token with its backslash

constexpr std::int16_t cost_of_lead(unsigned byte) {
  if (byte < 0xC0)
    return 0; // continues a character
  if (byte <= 0xC5)
    return 500; // Latin with diacritics
  if (byte == 0xCC || byte == 0xCD)
    return 700; // combining marks
  if (byte <= 0xD4)
    return 450; // Greek, Cyrillic, Armenian
  if (byte < 0xE0)
    return 600; // Hebrew, Arabic and their neighbours
  if (byte == 0xE0)
    return 900; // South and South-East Asia
  if (byte == 0xE1)
    return 1800; // Hangul jamo, Georgian, Khmer, ...
  if (byte == 0xE2)
    return 1000; // punctuation, arrows, boxes
  if (byte == 0xE3)
    return 1000; // kana, CJK punctuation
  if (byte <= 0xE9)
    return 1200; // Han
  if (byte <= 0xED)
    return 1100; // Hangul
  if (byte < 0xF0)
    return 1200; // private use, forms
  return 2500;   // emoji and rare Han
}

constexpr bool in_word(unsigned s) {
  return s < word_positions;
}

constexpr bool is_after_mark(unsigned s) {
  return s == after_mark || s == after_backslash;
}

constexpr step step_of(unsigned s, unsigned byte) {
  switch (class_of(byte)) {
  case lower:
  case upper: {
    if (s == after_backslash)
      return {cost_escaped_letter, after_mark};
    const bool opens = !in_word(s);
    const auto position = opens ? 0U : (s + 1U < word_positions ? s + 1U : word_positions - 1U);
    const bool late = position + 1U == word_positions;
    const std::int16_t inside = class_of(byte) == upper ? cost_upper_in_word
                                : late                  ? cost_late_letter
                                                        : cost_letter;
    return {opens ? cost_first_letter : inside, static_cast<std::uint8_t>(position)};
  }
  case digit:
    return {cost_digit, after_digit};
  case space:
    return {s == after_space ? cost_more_space : cost_first_space, after_space};
  case line_break:
    return {s == after_line_break ? cost_more_breaks : cost_first_break, after_line_break};
  case other_letter:
    return {cost_of_lead(byte), after_other};
  case backslash:
    return {is_after_mark(s) ? cost_more_marks : cost_first_mark,
            static_cast<std::uint8_t>(s == after_backslash ? after_mark : after_backslash)};
  default:
    return {is_after_mark(s) ? cost_more_marks : cost_first_mark, after_mark};
  }
}

using step_table = std::array<std::array<step, 256>, state_count>;

constexpr step_table make_steps() {
  step_table table{};
  for (unsigned s = 0; s < state_count; ++s)
    for (unsigned byte = 0; byte < 256; ++byte)
      table[s][byte] = step_of(s, byte);
  return table;
}

constexpr step_table steps = make_steps();

// The envelope around a message, a call and a tool schema: role, delimiters, field names.
constexpr std::int64_t message_envelope_tokens = 4;
// A call with its result comes to about 60 tokens beside its words where ids have their usual 30
// letters.
constexpr std::int64_t call_envelope_tokens = 26;
constexpr std::int64_t tool_envelope_tokens = 12;

class walker {
public:
  void take(char c) {
    const auto& taken = steps[state_][static_cast<unsigned char>(c)];
    cost_ += taken.cost;
    state_ = taken.next;
  }
  std::int64_t cost() const { return cost_; }

private:
  std::int64_t cost_ = 0; // 1/1000 token
  std::uint8_t state_ = after_space;
};

constexpr std::int64_t tokens_of(std::int64_t cost) {
  return (cost + 999) / 1000;
}

// A step waits for the one before it, which is nearly all of its time. After a space the state is
// the same whatever stood before, so a long text is cut at spaces and its parts are walked side by
// side, to the same sum.
constexpr std::size_t lanes = 4;
constexpr std::size_t lane_min_bytes = 64;

using lane_texts = std::array<std::string_view, lanes>;

/// Parts of about the same size, each but the first behind a space; nothing where there is no space
/// to cut at.
std::optional<lane_texts> cut_at_spaces(std::string_view text) {
  lane_texts parts;
  std::size_t begin = 0;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    const auto space = text.find(' ', text.size() * lane / lanes);
    if (space == std::string_view::npos || space < begin)
      return std::nullopt;
    parts[lane - 1] = text.substr(begin, space + 1 - begin);
    begin = space + 1;
  }
  parts[lanes - 1] = text.substr(begin);
  return parts;
}

std::int64_t cost_side_by_side(const lane_texts& parts) {
  std::array<walker, lanes> walkers;
  auto shortest = parts[0].size();
  for (const auto part : parts)
    shortest = std::min(shortest, part.size());
  for (std::size_t i = 0; i < shortest; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      walkers[lane].take(parts[lane][i]);
  std::int64_t cost = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (const char c : parts[lane].substr(shortest))
      walkers[lane].take(c);
    cost += walkers[lane].cost();
  }
  return cost;
}

/// What stands for the character that `\` and this letter mean in JSON.
constexpr char meaning_of_escape(char letter) {
  switch (letter) {
  case 'n':
  case 'r':
    return '\n';
  case 't':
    return '\t';
  case 'u':
    return '%'; // its four digits follow and are costed as such
  default:
    return letter;
  }
}

} // namespace

std::int64_t estimate_text(std::string_view text) {
  if (text.size() >= lanes * lane_min_bytes)
    if (const auto parts = cut_at_spaces(text))
      return tokens_of(cost_side_by_side(*parts));
  walker w;
  for (const char c : text)
    w.take(c);
  return tokens_of(w.cost());
}

std::int64_t estimate_json(std::string_view text) {
  walker w;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size();
    w.take(escapes ? meaning_of_escape(text[++i]) : text[i]);
  }
  return tokens_of(w.cost());
}

std::int64_t estimate_message(const message& m) {
  auto tokens = message_envelope_tokens + estimate_text(m.content);
  for (const auto& call : m.tool_calls)
    tokens += call_envelope_tokens + estimate_text(call.id) + estimate_text(call.name) +
              estimate_json(call.arguments);
  if (m.reasoning) // `opaque` is what goes out again; the text alone never does (F12)
    tokens += estimate_json(m.reasoning->opaque);
  if (m.role == message_role::tool)
    tokens += estimate_text(m.tool_call_id);
  return tokens;
}

std::int64_t estimate_tools(const std::vector<tool_definition>& tools) {
  std::int64_t tokens = 0;
  for (const auto& tool : tools)
    tokens += tool_envelope_tokens + estimate_text(tool.name) + estimate_text(tool.description) +
              estimate_text(tool.parameters);
  return tokens;
}

} // namespace rind::context
