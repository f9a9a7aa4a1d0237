// The Chat Completions format as a provider sees it: requests in, replies out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hosts/mock_provider/reply.hpp"
#include "hosts/mock_provider/script.hpp"

namespace rind::hosts::mock_provider::chat_completions {

/// Limits that hold for all answers that set none of their own.
struct limits {
  std::optional<std::int64_t> window_tokens;
  std::optional<std::int64_t> reject_above_tokens;
};

/// Reads the body of a request. The failure's message is what a provider would answer with 400.
result<mock_request> parse_request(std::string_view body, std::string conversation);

/// The reply to a request. Refuses it, whatever the answer says, if it is over a limit of the
/// answer or else of `defaults`; an answer that is an error by itself stays what it is.
mock_reply render(const picked_answer& picked, const mock_request& request, const limits& defaults);

/// An error in the format's envelope.
mock_reply render_error(int status, const std::string& type, const std::string& message);

/// The list of models.
mock_reply render_models(const limits& defaults);

} // namespace rind::hosts::mock_provider::chat_completions
