// Units of a view and the check of what may be sent (S8).
#include "runtime/view/view.hpp"

#include <algorithm>

#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::view {

namespace {

bool belongs_to_unit_before(const item& i) {
  return i.msg->role == message_role::tool && !RIND_PLANTED(cut_inside_unit);
}

bool is_unread(const message_view& v, const item& i) {
  if (RIND_PLANTED(unread_results_summarised) && i.msg->role == message_role::tool)
    return false;
  const bool journaled = i.kind == item_kind::message || i.kind == item_kind::placeholder;
  return journaled && i.start >= v.first_unread;
}

bool well_formed(const message& m) {
  const auto call_is_fine = [](const tool_call& c) {
    return is_valid_utf8(c.id) && is_valid_utf8(c.name) && is_valid_utf8(c.arguments);
  };
  return is_valid_utf8(m.content) && is_valid_utf8(m.tool_call_id) && is_valid_utf8(m.name) &&
         std::all_of(m.tool_calls.begin(), m.tool_calls.end(), call_is_fine) &&
         (!m.reasoning || (is_valid_utf8(m.reasoning->text) && is_valid_utf8(m.reasoning->opaque)));
}

} // namespace

std::vector<unit> units_of(const message_view& v) {
  std::vector<unit> units;
  for (std::size_t i = v.system_items; i < v.items.size(); ++i) {
    const auto& current = v.items[i];
    const bool joins = belongs_to_unit_before(current) || current.kind == item_kind::handoff;
    if (!joins || units.empty())
      units.push_back({i, i, 0, false});
    auto& u = units.back();
    u.end = i + 1;
    u.tokens += current.tokens;
    u.unread = u.unread || is_unread(v, current);
  }
  return units;
}

bool is_handoff_unit(const message_view& v, const unit& u) {
  const auto kind = v.items[u.begin].kind;
  return kind == item_kind::continuation || kind == item_kind::handoff;
}

std::optional<std::string> boundary_fault(const std::vector<message_ptr>& messages) {
  boundary_checker checker;
  for (const auto& m : messages)
    checker.add(*m);
  return checker.fault();
}

void boundary_checker::add(const message& m) {
  if (fault_)
    return;
  if (!well_formed(m)) {
    fault_ = "a message is no well-formed UTF-8";
    return;
  }
  if (m.role == message_role::tool) {
    const auto call = std::find(open_calls_.begin(), open_calls_.end(), m.tool_call_id);
    if (call == open_calls_.end()) {
      fault_ = "the result of call " + m.tool_call_id + " has no call before it";
      return;
    }
    open_calls_.erase(call);
    last_ = m.role;
    return;
  }
  if (!open_calls_.empty())
    fault_ = "call " + open_calls_.front() + " has no result before the next message";
  else if (m.role == message_role::system && seen_other_)
    fault_ = "a system message stands after other messages";
  else if (m.role == message_role::assistant && !seen_other_)
    fault_ = "the first message is the assistant's";
  else if (m.role == message_role::assistant && m.content.empty() && m.tool_calls.empty())
    fault_ = "an assistant message is empty";
  if (fault_)
    return;
  for (const auto& call : m.tool_calls)
    open_calls_.push_back(call.id);
  seen_other_ = seen_other_ || m.role != message_role::system;
  last_ = m.role;
}

std::optional<std::string> boundary_checker::structure_fault() const {
  if (fault_)
    return fault_;
  if (!open_calls_.empty())
    return "call " + open_calls_.front() + " has no result";
  return std::nullopt;
}

std::optional<std::string> boundary_checker::fault() const {
  if (auto structure = structure_fault())
    return structure;
  if (!seen_other_)
    return "there is no message besides system messages";
  if (last_ == message_role::assistant)
    return "the last message is the assistant's";
  return std::nullopt;
}

} // namespace rind::view
