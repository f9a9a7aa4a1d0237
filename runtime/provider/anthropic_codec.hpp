// Anthropic Messages as a pure codec: a request's body out, events in (anthropic_decoder). Nothing
// here sends, waits or judges.
#pragma once

#include <string>
#include <string_view>

#include "runtime/provider/reasoning_effort.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// Marks reasoning that this format wrote (resent_reasoning.hpp).
inline constexpr std::string_view anthropic_format = "anthropic";

inline constexpr std::string_view anthropic_version = "2023-06-01";

/// Marks for the cache in one request; more are refused.
inline constexpr std::size_t cache_marks_max = 4;

/// The format needs an output limit; asked for where a request has none.
inline constexpr std::int64_t anthropic_default_output_tokens = 4'096;

/// The least that thinking may be given.
inline constexpr std::int64_t thinking_budget_min_tokens = 1'024;

/// The conversation goes out in the order in which it stands, in the form that the format demands:
/// roles alternate (messages of one role in a row become one), all results of a turn are in the
/// user's message right after the calls and before any text, no text is blank, an answer does not
/// end in thinking, and the last text does not end in white space where the assistant has the last
/// word. Thinking is sent as it came, between text and calls as it came.
class anthropic_codec final : public wire_codec {
public:
  explicit anthropic_codec(reasoning_effort effort = reasoning_effort::unset);

  std::string path() const override;
  key_header auth() const override;
  std::vector<http_header> fixed_headers() const override;
  std::string request_body(const sampling_request& request) const override;
  std::unique_ptr<wire_decoder> make_decoder(const sampling_request& request, response_head head,
                                             sent_facts sent) const override;

private:
  reasoning_effort effort_;
};

} // namespace rind::provider
