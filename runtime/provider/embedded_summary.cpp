// The embedded model's summaries: a conversation condensed to its goal, constraints, facts, results
// and pending work.
#include <algorithm>
#include <array>
#include <optional>

#include "runtime/provider/embedded_reply.hpp"
#include "runtime/provider/embedded_text.hpp"

namespace rind::provider {

namespace {

enum class section : std::uint8_t { goal, constraints, facts, done, pending };

constexpr std::array<std::string_view, 5> headings{"## Goal", "## Constraints", "## Facts",
                                                   "## Done", "## Pending"};
/// Which section gets room first.
constexpr std::array<section, 5> priority{section::goal, section::constraints, section::pending,
                                          section::facts, section::done};

constexpr std::size_t note_bytes_max = 600; // of a constraint or a fact
constexpr std::size_t short_note_bytes_max = 160;
constexpr std::size_t summary_bytes_min = 120;
constexpr std::int64_t summary_bytes_per_token =
    3;                                  // below any tokenizer's density, so that the limit holds
constexpr std::size_t corpus_share = 2; // a summary takes at most this part of the conversation

struct note {
  section where = section::facts;
  std::string text;
  bool kept = false;
};

using notes = std::vector<note>;

constexpr std::string_view transcript_label = "[transcript]\n";

/// A word that looks like a key: letters or digits in capitals, with a digit, '-' or '_' in it.
bool holds_key(std::string_view line) {
  std::size_t length = 0;
  bool capitals_only = true;
  bool marked = false;
  bool lettered = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const auto c = i < line.size() ? line[i] : ' ';
    const auto in_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                         (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    if (in_word) {
      ++length;
      capitals_only = capitals_only && !(c >= 'a' && c <= 'z');
      marked = marked || c == '-' || c == '_' || (c >= '0' && c <= '9');
      lettered = lettered || (c >= 'A' && c <= 'Z');
      continue;
    }
    if (length >= 4 && capitals_only && marked && lettered)
      return true;
    length = 0;
    capitals_only = true;
    marked = lettered = false;
  }
  return false;
}

void add(notes& all, section where, std::string text) {
  const auto same =
      std::find_if(all.begin(), all.end(), [&](const note& n) { return n.text == text; });
  if (same != all.end())
    all.erase(same); // said again: it counts as new
  all.push_back({where, std::move(text)});
}

void take_persons_text(notes& all, std::string_view text) {
  for (const auto sentence : sentences_of(text)) {
    const auto low = lowered(sentence);
    if (sentence.front() == '#' || sentence.front() == '[' || sentence.back() == '?')
      continue;
    if (contains_any(low, {"must", "never", "always", "do not", "don't", "only ", "remember",
                           "important", "instead", "prefer", "correction"}))
      add(all, section::constraints, excerpt(sentence, note_bytes_max));
    else if (holds_key(sentence) || contains_any(low, {" is ", " are ", "my ", "=", ": ", " was "}))
      add(all, section::facts, excerpt(sentence, note_bytes_max));
    else
      add(all, section::done, "asked: " + excerpt(sentence, short_note_bytes_max));
  }
}

std::optional<section> heading_of(std::string_view line) {
  for (std::size_t i = 0; i < headings.size(); ++i)
    if (line == headings[i])
      return static_cast<section>(i);
  return std::nullopt;
}

/// An earlier summary keeps its sections; what code added around it is read as the person's words.
void take_handoff(notes& all, std::string_view text) {
  std::optional<section> current;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (const auto heading = heading_of(line)) {
      current = heading;
    } else if (current && line.substr(0, 2) == "- ") {
      if (*current != section::pending)
        add(all, *current, std::string{line.substr(2)});
    } else if (!line.empty() && line.front() != '#') {
      current.reset();
      take_persons_text(all, line);
    }
  }
}

void take_result(notes& all, const message& m) {
  add(all, section::done,
      (m.name.empty() ? "tool" : m.name) + (m.is_error ? " failed: " : " -> ") +
          excerpt(m.content, short_note_bytes_max));
  for (const auto sentence : sentences_of(m.content))
    if (sentence.size() <= short_note_bytes_max && holds_key(sentence))
      add(all, section::facts, std::string{sentence});
}

bool is_earlier_handoff(const message& m) {
  return m.content.find(headings[static_cast<std::size_t>(section::constraints)]) !=
             std::string::npos ||
         m.content.find(headings[static_cast<std::size_t>(section::facts)]) != std::string::npos;
}

/// A label line of a transcript: whose words follow.
std::optional<message> labelled(std::string_view line) {
  constexpr std::string_view result_label = "[result of ";
  constexpr std::string_view error_mark = ", an error";
  message m;
  if (line == "[user]")
    return m;
  m.role = message_role::assistant;
  if (line == "[assistant]" || line == "[earlier handoff]")
    return m;
  if (line == "[note]") {
    m.role = message_role::user;
    m.origin = user_origin::rescue_note;
    return m;
  }
  if (line.substr(0, result_label.size()) != result_label || line.back() != ']')
    return std::nullopt;
  m.role = message_role::tool;
  auto name = line.substr(result_label.size(), line.size() - result_label.size() - 1);
  m.is_error = name.ends_with(error_mark);
  if (m.is_error)
    name.remove_suffix(error_mark.size());
  m.name = std::string{name};
  return m;
}

/// The messages of a transcript that arrives as one labelled text.
std::vector<message> read_transcript(std::string_view text) {
  std::vector<message> result;
  text = text.substr(0, text.rfind("\n[end of the transcript]"));
  for (std::size_t begin = transcript_label.size(); begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (auto next = labelled(line))
      result.push_back(std::move(*next));
    else if (!result.empty())
      result.back().content += std::string{line} + "\n";
  }
  return result;
}

/// The conversation of the request: a labelled transcript, or the messages themselves without the
/// system messages and the closing instruction.
std::vector<message> conversation_of(const sampling_request& request) {
  std::vector<message> result;
  for (const auto& m : request.messages)
    if (m->role != message_role::system)
      result.push_back(*m);
  if (result.size() == 1 && result.front().content.starts_with(transcript_label))
    return read_transcript(result.front().content);
  if (result.size() > 1 && result.back().role == message_role::user)
    result.pop_back();
  return result;
}

notes read_notes(const std::vector<message>& conversation) {
  notes all;
  std::string goal;
  std::string newest;
  for (const auto& m : conversation) {
    switch (m.role) {
    case message_role::user:
      if (m.origin == user_origin::continuation || m.origin == user_origin::rescue_note)
        break;
      newest = excerpt(m.content, short_note_bytes_max);
      if (goal.empty())
        goal = newest;
      if (is_earlier_handoff(m))
        take_handoff(all, m.content);
      else
        take_persons_text(all, m.content);
      break;
    case message_role::assistant:
      if (is_earlier_handoff(m))
        take_handoff(all, m.content);
      break;
    case message_role::tool:
      take_result(all, m);
      break;
    case message_role::system:
      break;
    }
  }
  const auto has_goal =
      std::any_of(all.begin(), all.end(), [](const note& n) { return n.where == section::goal; });
  if (!has_goal && !goal.empty())
    all.insert(all.begin(), {section::goal, goal});
  if (!newest.empty())
    all.push_back({section::pending, "the newest request: " + newest});
  return all;
}

std::size_t room_for(const sampling_request& request, const std::vector<message>& conversation) {
  std::size_t bytes = 0;
  for (const auto& m : conversation) {
    bytes += m.content.size();
    for (const auto& call : m.tool_calls)
      bytes += call.name.size() + call.arguments.size();
  }
  auto room =
      std::min(embedded_summary_bytes_max, std::max(bytes / corpus_share, summary_bytes_min));
  if (request.output_limit_tokens > 0)
    room = std::min(
        room, static_cast<std::size_t>(request.output_limit_tokens * summary_bytes_per_token));
  return room;
}

void choose(notes& all, std::size_t room) {
  for (const auto where : priority) {
    bool heading_counted = false;
    for (auto n = all.rbegin(); n != all.rend(); ++n) { // newest first
      if (n->where != where)
        continue;
      const auto cost =
          n->text.size() + 3 +
          (heading_counted ? 0 : headings[static_cast<std::size_t>(where)].size() + 2);
      if (cost > room)
        continue;
      room -= cost;
      n->kept = heading_counted = true;
    }
  }
}

} // namespace

std::string summarise(const sampling_request& request) {
  const auto conversation = conversation_of(request);
  auto all = read_notes(conversation);
  choose(all, room_for(request, conversation));
  std::string text;
  for (std::size_t i = 0; i < headings.size(); ++i) {
    bool opened = false;
    for (const auto& n : all) {
      if (!n.kept || n.where != static_cast<section>(i))
        continue;
      if (!opened)
        text += (text.empty() ? "" : "\n") + std::string{headings[i]} + "\n";
      opened = true;
      text += "- " + n.text + "\n";
    }
  }
  return text.empty() ? "Nothing of note so far." : text;
}

} // namespace rind::provider
