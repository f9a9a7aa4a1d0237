// S8, S9: what reaches a model is a well-formed conversation, and no tool result in it is better
// than what the tool said.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

/// Bytes of a lead byte's character; 0: it leads none. Overlong forms and surrogates are told apart
/// by the second byte.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return 2;
  if (lead >= 0xE0 && lead <= 0xEF)
    return 3;
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

bool second_byte_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
  case 0xE0:
    return second >= 0xA0;
  case 0xED:
    return second < 0xA0;
  case 0xF0:
    return second >= 0x90;
  case 0xF4:
    return second < 0x90;
  default:
    return true;
  }
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const auto length = length_of(lead);
    if (length == 0 || i + length > text.size())
      return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80U)
        return false;
    if (length > 1 && !second_byte_fits(lead, static_cast<unsigned char>(text[i + 1])))
      return false;
    i += length;
  }
  return true;
}

bool is_text(const message& m) {
  return is_utf8(m.content) && is_utf8(m.tool_call_id) &&
         std::all_of(m.tool_calls.begin(), m.tool_calls.end(), [](const tool_call& c) {
           return is_utf8(c.id) && is_utf8(c.name) && is_utf8(c.arguments);
         });
}

class keep_the_boundary final : public invariant {
public:
  std::string_view name() const override { return "S8_messages_keep_the_boundary"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    for (const auto& e : batch)
      if (const auto* r = as<entries::tool_result>(*e))
        results_[id][r->msg->tool_call_id] = r->msg;
  }

  void on_request(const sampling_request& r) override {
    if (auto fault = fault_of(r); !fault.empty())
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id, ": ", fault));
  }

private:
  std::string fault_of(const sampling_request& r) {
    open_.clear();
    bool begun = false; // a message that is no system message
    auto last = message_role::system;
    for (const auto& m : r.messages) {
      if (auto fault = fault_of(*m, begun); !fault.empty())
        return fault;
      if (auto fault = fault_alone(r.session_id, m); !fault.empty())
        return fault;
      begun = begun || m->role != message_role::system;
      last = m->role;
    }
    if (!open_.empty())
      return words("call ", *open_.front(), " has no result");
    if (last != message_role::user && last != message_role::tool)
      return "the last message is neither the user's nor a result";
    return {};
  }

  /// Against what stands before it.
  std::string fault_of(const message& m, bool begun) {
    if (m.role == message_role::tool) {
      const auto call = std::find_if(open_.begin(), open_.end(),
                                     [&](const auto* id) { return *id == m.tool_call_id; });
      if (call == open_.end())
        return words("the result of call ", m.tool_call_id, " has no call before it");
      open_.erase(call);
      return {};
    }
    if (!open_.empty())
      return words("call ", *open_.front(), " has no result before the next message");
    if (m.role == message_role::system && begun)
      return "a system message stands after another one";
    if (m.role == message_role::assistant && !begun)
      return "the first message is the assistant's";
    for (const auto& c : m.tool_calls)
      open_.push_back(&c.id);
    return {};
  }

  /// By itself: looked at once a message.
  std::string fault_alone(const std::string& session, const message_ptr& m) {
    if (!seen_.insert(m).second)
      return {};
    if (!is_text(*m))
      return "a message is no UTF-8";
    if (m->role == message_role::assistant && m->content.empty() && m->tool_calls.empty())
      return "an assistant message is empty";
    if (m->role != message_role::tool || m->is_error)
      return {};
    const auto& results = results_[session];
    const auto said = results.find(m->tool_call_id);
    if (said == results.end())
      return words("call ", m->tool_call_id, " is shown as a success and has no result");
    if (said->second->is_error ||
        m->content.compare(0, kept_bytes, said->second->content, 0, kept_bytes) != 0)
      return words("the result of call ", m->tool_call_id, " is shown otherwise than it came");
    return {};
  }

  by_session<std::unordered_map<std::string, message_ptr>> results_; // by call
  std::unordered_set<message_ptr> seen_;
  std::vector<const std::string*> open_; // calls of the request that is looked at
};

} // namespace

invariant_ptr messages_keep_the_boundary() {
  return std::make_unique<keep_the_boundary>();
}

} // namespace rind::kit
