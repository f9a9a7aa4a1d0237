// Messages as JSON. A field stands in the JSON where its role gives it a meaning, or where it has a
// value all the same.
#include "messages/json_reader.hpp"

namespace rind {

namespace {

template <class Visitor>
void optional_fields(Visitor& v, auto& m) {
  v.unless_default("input_id", m.input_id);
  v.unless_default("reasoning", m.reasoning);
  v.unless_default("model", m.model);
}

/// A field that one role always shows and the others only with a value.
template <class T>
void write_for(codec::field_writer& v, bool always, const char* name, const T& value) {
  if (always)
    v(name, value);
  else
    v.unless_default(name, value);
}

bool read_message(const nlohmann::json& in, message& out, std::string& wrong) {
  codec::field_reader v(in);
  v("role", out.role);
  v("content", out.content);
  v.unless_default("origin", out.origin);
  v.unless_default("tool_calls", out.tool_calls);
  v.unless_default("tool_call_id", out.tool_call_id);
  v.unless_default("name", out.name);
  v.unless_default("is_error", out.is_error);
  optional_fields(v, out);
  wrong = v.wrong();
  return v.ok();
}

} // namespace

nlohmann::json to_json(const message& value) {
  codec::field_writer v;
  v("role", value.role);
  v("content", value.content);
  write_for(v, value.role == message_role::user, "origin", value.origin);
  write_for(v, value.role == message_role::assistant, "tool_calls", value.tool_calls);
  write_for(v, value.role == message_role::tool, "tool_call_id", value.tool_call_id);
  write_for(v, value.role == message_role::tool, "name", value.name);
  write_for(v, value.role == message_role::tool, "is_error", value.is_error);
  optional_fields(v, value);
  return v.take();
}

result<message> message_from_json(const nlohmann::json& value) {
  message out;
  std::string wrong;
  if (!read_message(value, out, wrong))
    return codec::unreadable("message: " + wrong + " is missing or has the wrong type");
  return out;
}

namespace codec {

bool read_value(const nlohmann::json& in, message_ptr& out) {
  auto read = std::make_shared<message>();
  std::string wrong;
  if (!read_message(in, *read, wrong))
    return false;
  out = std::move(read);
  return true;
}

nlohmann::json write_value(const message_ptr& in) {
  return to_json(*in);
}

} // namespace codec

} // namespace rind
