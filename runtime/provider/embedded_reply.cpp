// The embedded model's replies: tool calls on request, recall of earlier lines, text of a wanted
// length. Summaries stand in embedded_summary.cpp.
#include "runtime/provider/embedded_reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "runtime/provider/embedded_text.hpp"

namespace rind::provider {

namespace {

/// Words that say nothing about what a question is about.
constexpr std::array<std::string_view, 76> common_words{
    "the",   "and",      "for",     "are",   "was",     "were",    "what",      "when",   "where",
    "which", "who",      "whom",    "why",   "how",     "did",     "does",      "have",   "has",
    "had",   "you",      "your",    "our",   "his",     "her",     "its",       "their",  "this",
    "that",  "these",    "those",   "with",  "about",   "from",    "into",      "can",    "could",
    "would", "should",   "will",    "shall", "tell",    "told",    "say",       "said",   "know",
    "think", "remember", "recall",  "again", "earlier", "before",  "please",    "there",  "here",
    "then",  "them",     "they",    "but",   "not",     "any",     "some",      "all",    "just",
    "still", "ever",     "give",    "show",  "find",    "mention", "mentioned", "called", "name",
    "much",  "many",     "exactly", "let"};

bool is_common(const std::string& word) {
  return std::find(common_words.begin(), common_words.end(), word) != common_words.end();
}

/// What a question is about: its words but for the common ones, which stand in where nothing else
/// is left.
std::vector<std::string> topic_of(std::string_view question) {
  std::vector<std::string> topic;
  std::vector<std::string> rest;
  for (auto& word : words_of(question)) {
    if (word.size() < 3)
      continue;
    auto& list = is_common(word) ? rest : topic;
    if (std::find(list.begin(), list.end(), word) == list.end())
      list.push_back(std::move(word));
  }
  const auto named = std::find(rest.begin(), rest.end(), "name");
  if (topic.empty() && named != rest.end())
    topic.push_back("name");
  return topic;
}

/// Whether two words are the same but for an ending ("deadline", "deadlines").
bool same_stem(std::string_view a, std::string_view b) {
  const auto shorter = std::min(a.size(), b.size());
  const auto longer = std::max(a.size(), b.size());
  return shorter >= 3 && longer - shorter <= 2 && a.substr(0, shorter) == b.substr(0, shorter);
}

bool is_persons(const message& m) {
  return m.role == message_role::user && m.origin != user_origin::continuation &&
         m.origin != user_origin::rescue_note;
}

bool is_handoff(const std::vector<message_ptr>& messages, std::size_t i) {
  return messages[i]->role == message_role::assistant && i > 0 &&
         messages[i - 1]->role == message_role::user &&
         messages[i - 1]->origin == user_origin::continuation;
}

/// The index of the newest message that a person wrote, or the number of messages.
std::size_t newest_prompt(const std::vector<message_ptr>& messages) {
  for (auto i = messages.size(); i-- > 0;)
    if (is_persons(*messages[i]))
      return i;
  return messages.size();
}

// -- recall -----------------------------------------------------------------

struct memory {
  std::string line;
  std::string_view source; // how the line is introduced
  std::size_t score = 0;
};

std::size_t score_of(std::string_view line, const std::vector<std::string>& topic) {
  const auto words = words_of(line);
  std::size_t score = 0;
  for (const auto& wanted : topic)
    if (std::any_of(words.begin(), words.end(),
                    [&](const auto& w) { return same_stem(w, wanted); }))
      ++score;
  return score;
}

std::string_view source_of(const std::vector<message_ptr>& messages, std::size_t i) {
  if (is_persons(*messages[i]))
    return "You said";
  if (is_handoff(messages, i))
    return "From the summary of our earlier conversation";
  return messages[i]->role == message_role::tool ? "A tool reported" : "";
}

/// The earlier line that shares most with the topic; the newest of equals. Questions do not answer
/// questions.
std::optional<memory> recall(const std::vector<message_ptr>& messages, std::size_t before,
                             const std::vector<std::string>& topic) {
  std::optional<memory> best;
  for (std::size_t i = 0; i < before; ++i) {
    const auto source = source_of(messages, i);
    if (source.empty())
      continue;
    for (auto line : sentences_of(messages[i]->content)) {
      if (line.back() == '?' || line.front() == '#' || line.front() == '[')
        continue;
      if (const auto score = score_of(line, topic); score > 0 && (!best || score >= best->score))
        best = memory{excerpt(line, embedded_quote_bytes_max), source, score};
    }
  }
  if (best && best->line.rfind("- ", 0) == 0)
    best->line.erase(0, 2);
  return best;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : std::string{between}) + word;
  return text;
}

std::string answer_question(const std::vector<message_ptr>& messages, std::size_t prompt,
                            const std::vector<std::string>& topic) {
  if (const auto found = recall(messages, prompt, topic))
    return std::string{found->source} + ": “" + found->line + "”";
  return "I find nothing about " + joined(topic, ", ") + " in what I can see of our conversation.";
}

bool is_question(const std::string& low) {
  return low.find('?') != std::string::npos ||
         contains_any(low, {"what did i", "what is my", "what was my", "do you remember", "recall ",
                            "remind me"});
}

// -- calls ------------------------------------------------------------------

struct wanted_call {
  tool_call call;
  std::size_t step = 0;
};

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string_view skip_space(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

/// The JSON object at the start of `text`, or nothing.
std::string_view object_at(std::string_view text) {
  if (text.empty() || text.front() != '{')
    return {};
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && c == '{')
      ++depth;
    else if (!in_string && c == '}' && --depth == 0)
      return text.substr(0, i + 1);
  }
  return {};
}

/// Takes `word` from the front of `text` if it stands there (ASCII case folded).
bool take_word(std::string_view& text, std::string_view word) {
  if (lowered(text.substr(0, word.size())) != word)
    return false;
  text = skip_space(text.substr(word.size()));
  return true;
}

/// Reads NAME [with|using|:] [{json}] at the front of `text`; true where NAME was read.
bool take_call(std::string_view& text, tool_call& call) {
  take_word(text, "the ");
  take_word(text, "tool ");
  const auto quoted =
      !text.empty() && (text.front() == '`' || text.front() == '"' || text.front() == '\'');
  if (quoted)
    text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && is_name_byte(text[length]))
    ++length;
  call.name = std::string{text.substr(0, length)};
  while (!call.name.empty() && call.name.back() == '.')
    call.name.pop_back();
  text.remove_prefix(length);
  if (quoted && !text.empty())
    text.remove_prefix(1);
  text = skip_space(text);
  for (const auto word : {"tool ", "with ", "using ", "on ", ":", "arguments "})
    take_word(text, word);
  const auto object = object_at(text);
  call.arguments = object.empty() ? "{}" : std::string{object};
  text.remove_prefix(object.size());
  return !call.name.empty();
}

bool is_offered(const sampling_request& request, const std::string& name) {
  return request.tools && std::any_of(request.tools->begin(), request.tools->end(),
                                      [&](const auto& t) { return t.name == name; });
}

/// Calls that a prompt asks for. A verb alone asks for nothing: the name after it must be an
/// offered tool, or be called a tool.
struct call_plan {
  std::vector<wanted_call> calls;
  std::string unknown; // a tool asked for by name that is not offered
};

call_plan plan_calls(const sampling_request& request, std::string_view prompt) {
  call_plan plan;
  const auto low = lowered(prompt);
  std::size_t at = 0;
  std::size_t step = 0;
  while (plan.calls.size() < embedded_calls_max) {
    const auto verb = std::min({low.find("use ", at), low.find("call ", at), low.find("run ", at)});
    if (verb == std::string::npos)
      break;
    const auto gap = low.substr(at, verb - at);
    auto rest = skip_space(prompt.substr(low.find(' ', verb)));
    const auto said_tool =
        lowered(rest.substr(0, 9)) == "the tool " || lowered(rest.substr(0, 5)) == "tool ";
    tool_call call;
    const auto read = take_call(rest, call);
    const auto end = prompt.size() - rest.size();
    if (read && is_offered(request, call.name)) {
      if (!plan.calls.empty() && gap.find("then") != std::string::npos)
        ++step;
      plan.calls.push_back({std::move(call), step});
    } else if (read && said_tool) {
      plan.unknown = call.name;
    }
    at = std::max(end, verb + 1);
  }
  return plan;
}

std::string unknown_tool_text(const sampling_request& request, const std::string& name) {
  std::vector<std::string> names;
  if (request.tools)
    for (const auto& tool : *request.tools)
      names.push_back(tool.name);
  if (names.empty())
    return "There is no tool called " + name + " here; I have no tools.";
  return "There is no tool called " + name + " here. I have: " + joined(names, ", ") + ".";
}

std::size_t samplings_with_calls(const std::vector<message_ptr>& messages, std::size_t after) {
  std::size_t count = 0;
  for (auto i = after; i < messages.size(); ++i)
    if (messages[i]->role == message_role::assistant && !messages[i]->tool_calls.empty())
      ++count;
  return count;
}

/// What the newest batch of results says.
std::string report_results(const std::vector<message_ptr>& messages) {
  auto first = messages.size();
  while (first > 0 && messages[first - 1]->role == message_role::tool)
    --first;
  std::string text;
  for (auto i = first; i < messages.size(); ++i) {
    const auto& m = *messages[i];
    const auto name = m.name.empty() ? std::string{"The tool"} : m.name;
    text += (text.empty() ? "" : "\n") + name + (m.is_error ? " failed: " : " answered: ") +
            excerpt(m.content, embedded_quote_bytes_max);
  }
  return text;
}

// -- text -------------------------------------------------------------------

std::optional<std::int64_t> wanted_words(const std::string& low) {
  const auto verb = low.find("write ");
  if (verb == std::string::npos)
    return std::nullopt;
  const auto digit = low.find_first_of("0123456789", verb);
  if (digit == std::string::npos || low.find("word", digit) == std::string::npos)
    return std::nullopt;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(low.data() + digit, low.data() + low.size(), count);
  if (error != std::errc{})
    return embedded_words_max;
  return std::clamp<std::int64_t>(count, 1, embedded_words_max);
}

/// Text of `count` words about a topic, in sentences that differ.
std::string essay(const std::vector<std::string>& topic, std::int64_t count) {
  constexpr std::array<std::string_view, 6> frames{
      "One can look at % from many sides and learn something from each.",
      "What matters about % becomes clear when it is missing.",
      "People who work with % every day speak of patience first.",
      "The history of % is longer than most books about it.",
      "There is a quiet order in %, easy to overlook.",
      "Seen from far away, % seems simple; from nearby it never is."};
  const auto subject = topic.empty() ? std::string{"the matter"} : joined(topic, " ");
  std::string text;
  std::int64_t words = 0;
  for (std::size_t round = 0; words < count; ++round) {
    std::string sentence{frames[round % frames.size()]};
    sentence.replace(sentence.find('%'), 1, subject);
    for (std::size_t begin = 0; begin < sentence.size() && words < count; ++words) {
      const auto end = std::min(sentence.find(' ', begin), sentence.size());
      text += (text.empty() ? "" : " ") + sentence.substr(begin, end - begin);
      begin = end + 1;
    }
  }
  return text;
}

std::string help_text(const sampling_request& request) {
  std::string text =
      "I am rind's embedded model: small, offline and predictable. Tell me facts and ask for them "
      "later, ask me to "
      "write N words about something, or to use a tool (use the tool NAME with {json}).";
  if (request.tools && !request.tools->empty()) {
    std::vector<std::string> names;
    for (const auto& tool : *request.tools)
      names.push_back(tool.name);
    text += " My tools: " + joined(names, ", ") + ".";
  }
  return text;
}

bool starts_with_word(const std::string& low, std::string_view word) {
  return low.rfind(word, 0) == 0 && (low.size() == word.size() || !is_name_byte(low[word.size()]));
}

std::string chat(const sampling_request& request, std::size_t prompt) {
  const auto& text = request.messages[prompt]->content;
  const auto low = lowered(trimmed(text));
  const auto topic = topic_of(text);
  if (starts_with_word(low, "help"))
    return help_text(request);
  if (const auto words = wanted_words(low)) {
    const auto about = low.find("about ");
    return essay(about == std::string::npos ? std::vector<std::string>{}
                                            : topic_of(std::string_view{low}.substr(about)),
                 *words);
  }
  if (is_question(low) && !topic.empty())
    return answer_question(request.messages, prompt, topic);
  if (starts_with_word(low, "hello") || starts_with_word(low, "hi") || starts_with_word(low, "hey"))
    return "Hello! Tell me something to remember, ask me about it later, or say “help”.";
  std::string answer = "Noted: “" + excerpt(text, embedded_quote_bytes_max / 2) + "”";
  if (const auto related = recall(request.messages, prompt, topic); related && related->score > 1)
    answer += "\nThat goes with something from before. " + std::string{related->source} + ": “" +
              related->line + "”";
  return answer;
}

} // namespace

embedded_reply reply_to(const sampling_request& request) {
  const auto& messages = request.messages;
  const auto prompt = newest_prompt(messages);
  const auto after_tools = !messages.empty() && messages.back()->role == message_role::tool;
  if (prompt == messages.size())
    return {after_tools ? report_results(messages) : "I see no message from you.", {}};
  const auto plan = plan_calls(request, messages[prompt]->content);
  const auto step = samplings_with_calls(messages, prompt);
  embedded_reply reply;
  for (const auto& wanted : plan.calls)
    if (wanted.step == step)
      reply.calls.push_back(wanted.call);
  if (!reply.calls.empty()) {
    reply.text = after_tools ? report_results(messages) : "Let me see.";
    return reply;
  }
  if (after_tools)
    return {report_results(messages), {}};
  if (!plan.unknown.empty())
    return {unknown_tool_text(request, plan.unknown), {}};
  return {chat(request, prompt), {}};
}

} // namespace rind::provider
