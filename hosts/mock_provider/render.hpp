// The reply to a request, as bytes and waits: what is the same for every wire format. Limits,
// errors that a script sets, cuts and streams without end are made here from the frames of a
// format. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "hosts/mock_provider/reply.hpp"
#include "hosts/mock_provider/script.hpp"
#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

/// Limits that hold for all answers that set none of their own.
struct limits {
  std::optional<std::int64_t> window_tokens;
  std::optional<std::int64_t> reject_above_tokens;
};

/// The reply to a request. Refuses it, whatever the answer says, if it is over a limit of the
/// answer or else of `defaults`; an answer that is an error by itself stays what it is.
mock_reply render(const wire_format& format, const picked_answer& picked,
                  const mock_request& request, const limits& defaults);

/// An error in the format's envelope.
mock_reply render_error(const wire_format& format, const provider_fault& fault);

/// The list of models.
mock_reply render_models(const limits& defaults);

/// A JSON body in one piece.
mock_reply json_reply(int status, const nlohmann::ordered_json& body);

} // namespace rind::hosts::mock_provider
