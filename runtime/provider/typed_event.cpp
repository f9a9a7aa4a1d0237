// Typed events.
#include "runtime/provider/typed_event.hpp"

#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/lenient_json.hpp"

namespace rind::provider {

namespace {

constexpr std::string_view done_mark = "[DONE]"; // some servers close with it, it says nothing

} // namespace

typed_event read_typed(const sse_event& event) {
  typed_event read{event.type, parse_outside_json(event.data)};
  if (read.data)
    if (auto type = text_member(*read.data, "type"); !type.empty())
      read.type = std::move(type);
  return read;
}

bool is_failure(const sse_event& event, const typed_event& read, bool is_known) {
  if (event.kind == sse_event_kind::error_field || event.type == "error" || read.type == "error")
    return true;
  if (event.data == done_mark)
    return false;
  if (!read.data)
    return is_known || event.type.empty();
  if (is_known || !event.type.empty())
    return !member(*read.data, "error").is_null();
  return is_error_body(*read.data);
}

} // namespace rind::provider
