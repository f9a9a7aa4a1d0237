// Pages of a replay as text: the items are written once, straight into the answer.
#include "runtime/protocol/replay.hpp"

#include "messages/json.hpp"
#include "runtime/protocol/session_updates.hpp"

namespace rind::protocol {

using nlohmann::json;

namespace {

/// Room for all that stands around the items, the live turn left aside.
constexpr std::size_t envelope_bytes = 2 * 1024;

/// The item that an entry gives in a mode, or an empty text.
std::string item_text(const calls::session_replay& call, const entry& e) {
  if (call.mode == replay_mode::messages) {
    const auto item = message_item(e);
    return item ? dump_json(*item) : std::string();
  }
  const json body = durable_event_body(call.session_id, e);
  return body.is_null() ? std::string() : dump_json(body);
}

} // namespace

replay_page::replay_page(calls::session_replay call, std::size_t limit_bytes)
    : call_(std::move(call)), limit_bytes_(limit_bytes), cursor_(call_.after_cursor) {}

bool replay_page::take(const entry& e) {
  if (full_)
    return false;
  const std::string item = item_text(call_, e);
  if (!item.empty()) {
    const bool too_large =
        count_ > 0 && items_.size() + item.size() + envelope_bytes > limit_bytes_;
    full_ = count_ == call_.limit || too_large;
    if (full_)
      return false;
    items_ += (count_ == 0 ? "" : ",") + item;
    ++count_;
  }
  cursor_ = e.position;
  return true;
}

response_text replay_page::answer(const json& request_id, bool at_end,
                                  const std::optional<turn_state>& turn,
                                  const std::optional<live_turn>& live) const {
  const std::string live_text = dump_json(to_json(live));
  const bool live_fits =
      !live || count_ == 0 || items_.size() + live_text.size() + envelope_bytes <= limit_bytes_;
  const bool last = at_end && !full_ && live_fits;
  response_text out;
  out.head = R"({"kind":"response","request_id":)" + dump_json(request_id) +
             R"(,"result":{"session_id":)" + dump_json(call_.session_id) + ",\"" +
             to_string(call_.mode) + "\":[" + items_ + R"(],"cursor":)" + std::to_string(cursor_) +
             R"(,"has_more":)" + (last ? "false" : "true") + R"(,"turn_state":)" +
             dump_json(to_json(turn)) + R"(,"live_turn":)" + (last ? live_text : "null") +
             R"(,"as_of_sequence":)";
  out.tail = last ? "}}\n" : "null}}\n";
  out.numbered = last;
  if (last)
    out.covers_session = call_.session_id;
  return out;
}

} // namespace rind::protocol
