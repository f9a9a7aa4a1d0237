// Events whose JSON names its own type, as two of the wire formats have them: what is a failure,
// and what may be skipped. Pure.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/provider/sse_parser.hpp"

namespace rind::provider {

struct typed_event {
  std::string type;                   // as the data says, else as the event's name says
  std::optional<nlohmann::json> data; // nothing: it is no JSON
};

typed_event read_typed(const sse_event& event);

/// Whether an event is a failure and no part of an answer. `is_known`: its type is one that the
/// format has and that is read. A named event of an unknown type is skipped unless it holds an
/// error.
bool is_failure(const sse_event& event, const typed_event& read, bool is_known);

} // namespace rind::provider
