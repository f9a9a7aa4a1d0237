// What the embedded model says, as a pure function of a request. It is no language model: it
// recalls lines of the conversation that it is shown, asks for the tools that the prompt names, and
// condenses a conversation into a structured summary. How the reply is streamed, counted and cut
// stands in embedded_model.hpp.
#pragma once

#include <string>
#include <vector>

#include "messages/sampling.hpp"

namespace rind::provider {

/// Longest text that a prompt may ask for ("write 500 words about rivers"), in words.
inline constexpr std::int64_t embedded_words_max = 4'000;
/// Most calls in one reply; further ones of the prompt are ignored.
inline constexpr std::size_t embedded_calls_max = 16;
/// Longest excerpt of the conversation that a reply quotes, in bytes.
inline constexpr std::size_t embedded_quote_bytes_max = 600;
/// Longest summary, in bytes; a small corpus or a small output limit makes it shorter.
inline constexpr std::size_t embedded_summary_bytes_max = 12'000;

/// Text, or calls with a line of text before them. `calls` have no ids yet.
struct embedded_reply {
  std::string text;
  std::vector<tool_call> calls;
};

/// The reply to the newest message. Calls are made only where the prompt asks for them ("use the
/// tool NAME with {json}", "call NAME {json}"; with "then" between two of them, one sampling after
/// the other) and the request offers the tool.
embedded_reply reply_to(const sampling_request& request);

/// The answer to a summary request: a structured summary that keeps constraints, facts and keys
/// word for word, newest first where room is short. Smaller than the conversation that it
/// condenses, and than the request's output limit.
std::string summarise(const sampling_request& request);

} // namespace rind::provider
