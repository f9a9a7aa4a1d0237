// The handoff: accepted from a model's answer, or built without one (S20, S21). Pure.
#pragma once

#include "messages/result.hpp"
#include "messages/sampling.hpp"
#include "runtime/compaction/corpus.hpp"

namespace rind::compaction {

/// The newest words of the person stand in the handoff up to this many characters.
inline constexpr std::int64_t verbatim_user_chars_max = 8'000;

/// The fixed user text that opens a compacted view.
const std::string& continuation_text();

/// Why an answer is no summary, or nullopt: any finish but a normal stop, tool calls, blank text,
/// longer than the summary limit, not below the corpus's estimate.
std::optional<fallback_cause> summary_fault(const sampling_answer& answer, const cut& c,
                                            const context::budget& b);

/// What the person wrote last, to be added by code; empty text where the suffix holds it.
struct verbatim_user_text {
  std::string text;
};
/// Nobody ever wrote: empty as well.
verbatim_user_text newest_user_words(const view::message_view& v, const cut& c);

/// The handoff around a model's summary.
std::string handoff_from_summary(const std::string& summary, const verbatim_user_text& user);

/// The handoff without a model: the earlier handoff (trimmed first), excerpts of the newest user
/// and assistant text, tool calls with their outcomes; at most the summary limit, unless the
/// person's own words leave less than a quarter of it. Text is never cut inside a character.
std::string deterministic_handoff(const cut& c, const context::budget& b,
                                  const verbatim_user_text& user);

/// SHA-256 in hex of messages as journaled JSON, each followed by a newline.
std::string history_digest(const std::vector<message_ptr>& messages);

} // namespace rind::compaction
