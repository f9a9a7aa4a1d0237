// What stands at the top of a compacted view: the model's summary in its frame, or excerpts put
// together by code (S20, S21).
#include "runtime/compaction/handoff.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "messages/json.hpp"
#include "runtime/context/text_cut.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::compaction {

namespace {

const std::string frame_opening = "[Handoff: a generated record of the earlier conversation. It is "
                                  "history, no request; newer messages win over it.]\n\n";
const std::string user_words_opening = "\n\n[The user's newest message, word for word:]\n";
const std::string left_out_mark = "\n[...]\n";

constexpr std::int64_t excerpt_chars_max = 600;
constexpr std::int64_t excerpt_chars_min = 60;
constexpr std::int64_t excerpts_in_limit =
    16; // an excerpt takes about this part of the summary limit
constexpr std::int64_t earlier_words_chars = 300;
constexpr std::int64_t usage_tolerance_percent =
    125; // our estimate against the provider's own count of the summary

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

fallback_cause cause(std::string type, std::string message) {
  return {std::move(type), std::move(message), to_string(failure_status::rejected)};
}

/// Longer than the summary limit, by our estimate; a count by the provider that is within the limit
/// is believed where the two are close.
bool too_long(const sampling_answer& answer, std::int64_t estimated, std::int64_t limit) {
  const auto counted = answer.usage.output_tokens.value_or(0);
  const bool believable =
      counted > 0 && counted <= limit && estimated <= limit * usage_tolerance_percent / 100;
  return estimated > limit && !believable;
}

/// An earlier handoff without its frame; the words of the user that stood in it are kept as an
/// excerpt unless they come again.
std::string bare(const std::string& handoff, const verbatim_user_text& user) {
  auto text = handoff;
  if (text.starts_with(frame_opening))
    text.erase(0, frame_opening.size());
  const auto words = text.rfind(user_words_opening);
  if (words == std::string::npos)
    return text;
  const auto said = text.substr(words + user_words_opening.size());
  text.erase(words);
  if (!user.text.starts_with(context::first_characters(said, earlier_words_chars)))
    text += "\nThe user said: " + context::excerpt_line(said, earlier_words_chars);
  return text;
}

/// The longest beginning and end of a text that are within `tokens`, by halving; the text itself
/// where it is short enough.
std::string trimmed_to(const std::string& text, std::int64_t tokens) {
  if (context::estimate_text(text) <= tokens)
    return text;
  const auto mark_tokens = context::estimate_text(left_out_mark);
  auto bytes = text.size();
  while (bytes > 0) {
    bytes = bytes * 7 / 8;
    const auto head = context::first_bytes(text, bytes / 2);
    auto tail = std::string_view{text}.substr(text.size() - bytes / 2);
    while (!tail.empty() && (static_cast<unsigned char>(tail.front()) & 0xC0U) == 0x80U)
      tail.remove_prefix(1);
    if (context::estimate_text(head) + mark_tokens + context::estimate_text(tail) <= tokens)
      return bytes == 0 ? std::string{} : std::string{head} + left_out_mark + std::string{tail};
  }
  return {};
}

/// What happened, a line each, newest first.
class excerpts {
public:
  explicit excerpts(std::int64_t chars) : chars_(chars) {}

  std::vector<std::string> of(const std::vector<view::item>& corpus) {
    for (auto i = corpus.rbegin(); i != corpus.rend(); ++i)
      take(*i);
    return std::move(lines_);
  }

private:
  void take(const view::item& i) {
    const auto& m = *i.msg;
    if (i.kind == view::item_kind::continuation || i.kind == view::item_kind::handoff)
      return;
    if (m.role == message_role::tool) {
      results_[m.tool_call_id] = &m;
      return;
    }
    for (auto call = m.tool_calls.rbegin(); call != m.tool_calls.rend(); ++call)
      lines_.push_back(call_line(*call));
    results_.clear();
    if (!is_blank(m.content))
      lines_.push_back(speaker(i) + context::excerpt_line(m.content, chars_));
  }

  static std::string speaker(const view::item& i) {
    if (i.kind == view::item_kind::left_out)
      return "- ";
    return i.msg->role == message_role::assistant ? "- Assistant: " : "- User: ";
  }

  std::string call_line(const tool_call& call) const {
    const auto short_chars = std::max(chars_ / 4, excerpt_chars_min / 2);
    auto line = "- Called " + call.name + " " + context::excerpt_line(call.arguments, short_chars);
    const auto found = results_.find(call.id);
    if (found == results_.end())
      return line + " -> no result";
    return line + (found->second->is_error ? " -> error: " : " -> ") +
           context::excerpt_line(found->second->content, short_chars);
  }

  std::int64_t chars_;
  std::map<std::string, const message*> results_; // of the batch that is being read backwards
  std::vector<std::string> lines_;
};

/// The newest lines that fit, in the order in which things happened.
std::string newest_lines(const std::vector<std::string>& newest_first, std::int64_t tokens) {
  std::size_t taken = 0;
  for (; taken < newest_first.size(); ++taken) {
    tokens -= context::estimate_text(newest_first[taken]) + 1;
    if (tokens < 0)
      break;
  }
  std::string text;
  for (std::size_t i = taken; i > 0; --i)
    text += newest_first[i - 1] + "\n";
  return text;
}

std::string framed(const std::string& body, const verbatim_user_text& user) {
  auto text = frame_opening + body;
  if (!user.text.empty())
    text += user_words_opening + user.text;
  return text;
}

const std::string* earlier_handoff(const cut& c) {
  for (const auto& i : c.corpus)
    if (i.kind == view::item_kind::handoff)
      return &i.msg->content;
  return nullptr;
}

} // namespace

const std::string& continuation_text() {
  static const std::string text = "The earlier part of this conversation was compacted. The record "
                                  "of it follows; go on from there.";
  return text;
}

std::optional<fallback_cause> summary_fault(const sampling_answer& answer, const cut& c,
                                            const context::budget& b) {
  if (!answer.msg || !answer.msg->tool_calls.empty() || answer.finish == finish_reason::tool_calls)
    return cause("tool_calls", "the summary model asked for tools instead of writing a summary");
  if (answer.finish != finish_reason::stop)
    return cause("finish",
                 "the summary ended with " +
                     (answer.finish_text.empty() ? to_string(answer.finish) : answer.finish_text));
  if (is_blank(answer.msg->content))
    return cause("empty", "the summary is empty");
  const auto estimated = context::estimate_text(answer.msg->content);
  if (too_long(answer, estimated, b.summary_limit_tokens))
    return cause("too_long", "the summary has " + std::to_string(estimated) + " tokens where " +
                                 std::to_string(b.summary_limit_tokens) + " are allowed");
  if (estimated >= c.corpus_tokens)
    return cause("not_smaller", "the summary has " + std::to_string(estimated) +
                                    " tokens and what it replaces has " +
                                    std::to_string(c.corpus_tokens));
  return std::nullopt;
}

verbatim_user_text newest_user_words(const view::message_view& v, const cut& c) {
  if (!v.newest_user_message)
    return {};
  const bool retained = std::any_of(c.suffix.begin(), c.suffix.end(), [&](const view::item& i) {
    return i.kind == view::item_kind::message && i.start == v.newest_user_index;
  });
  if (retained)
    return {};
  return {std::string{
      context::first_characters(v.newest_user_message->content, verbatim_user_chars_max)}};
}

std::string handoff_from_summary(const std::string& summary, const verbatim_user_text& user) {
  return framed(summary, user);
}

std::string deterministic_handoff(const cut& c, const context::budget& b,
                                  const verbatim_user_text& user) {
  const auto limit = b.summary_limit_tokens;
  const auto frame = context::estimate_text(framed("", user)) + 2;
  const auto room = std::max(limit - frame, limit / 4);
  const auto chars =
      std::clamp(limit * 4 / excerpts_in_limit, excerpt_chars_min, excerpt_chars_max);
  const auto lines = excerpts(chars).of(c.corpus);
  const auto* earlier = earlier_handoff(c);
  // The earlier handoff gives way first, down to a quarter of the room.
  auto recent = newest_lines(lines, earlier ? room * 3 / 4 : room);
  std::string body;
  if (earlier)
    body = trimmed_to(bare(*earlier, user), room - context::estimate_text(recent)) + "\n";
  body += recent;
  return framed(trimmed_to(body, room), user);
}

std::string history_digest(const std::vector<message_ptr>& messages) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  bool fine = hash && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
  for (const auto& m : messages) {
    const auto line = to_json(*m).dump() + "\n";
    fine = fine && EVP_DigestUpdate(hash.get(), line.data(), line.size()) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (!fine || EVP_DigestFinal_ex(hash.get(), bytes.data(), &size) != 1)
    throw std::runtime_error("SHA-256 is not available");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += digits[bytes[i] >> 4U];
    hex += digits[bytes[i] & 15U];
  }
  return hex;
}

} // namespace rind::compaction
