// Chat Completions as a pure codec: a request's body out, events in (chat_decoder). Nothing here
// sends, waits or judges.
#pragma once

#include <string>

#include "runtime/provider/reasoning_effort.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

struct chat_options {
  std::string max_tokens_field = "max_completion_tokens"; // or "max_tokens"
  reasoning_effort effort = reasoning_effort::unset;
};

/// Marks reasoning that this format wrote (resent_reasoning.hpp).
inline constexpr std::string_view chat_format = "chat";

/// One message as a JSON object. Content is null only beside calls. Reasoning is resent only where
/// this format kept members for it: they are merged into the message.
std::string render_message(const message& m);

/// The `tools` array, or "" without tools.
std::string render_tools(const tool_definitions& tools);

/// The body around rendered messages.
std::string join_body(const sampling_request& request, const chat_options& options,
                      const std::vector<std::string>& rendered_messages);

class chat_codec final : public wire_codec {
public:
  explicit chat_codec(chat_options options = {});

  std::string path() const override;
  std::string request_body(const sampling_request& request) const override;
  std::unique_ptr<wire_decoder> make_decoder(const sampling_request& request, response_head head,
                                             sent_facts sent) const override;

private:
  chat_options options_;
};

} // namespace rind::provider
