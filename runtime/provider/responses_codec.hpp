// OpenAI Responses as a pure codec: a request's body out, events in (responses_decoder). Nothing
// here sends, waits or judges.
#pragma once

#include <string>
#include <string_view>

#include "runtime/provider/reasoning_effort.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// Marks reasoning that this format wrote (resent_reasoning.hpp).
inline constexpr std::string_view responses_format = "responses";

/// Nothing is kept at the provider: each request carries the whole conversation and asks for the
/// reasoning in encrypted form, to send it back at its place. Items go out without ids: the server
/// then does not look for them among those it keeps, and does not check which belong together. It
/// must not cut the input by itself either: what does not fit has to be an error.
class responses_codec final : public wire_codec {
public:
  explicit responses_codec(reasoning_effort effort = reasoning_effort::unset);

  std::string path() const override;
  std::string request_body(const sampling_request& request) const override;
  std::unique_ptr<wire_decoder> make_decoder(const sampling_request& request, response_head head,
                                             sent_facts sent) const override;

private:
  reasoning_effort effort_;
};

} // namespace rind::provider
