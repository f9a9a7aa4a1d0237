// Frames as JSON.
#include "tests/kit/protocol_peer.hpp"

#include <chrono>

namespace rind::kit {

using nlohmann::json;

namespace {

json parse(const std::string& line) {
  auto frame = json::parse(line, nullptr, false);
  return frame.is_object() ? frame : json(line);
}

bool is_answer_to(const json& frame, std::int64_t request_id) {
  return frame.is_object() && frame.value("kind", "") == "response" &&
         frame.contains("request_id") && frame["request_id"] == request_id;
}

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

protocol_peer::protocol_peer(const std::string& socket_path)
    : owned_(line_channel::connect(socket_path)), channel_(owned_.get()) {}

std::int64_t protocol_peer::send(const std::string& method, const json& params) {
  const json request{
      {"kind", "request"}, {"request_id", ++last_id_}, {"method", method}, {"params", params}};
  channel_->send_line(request.dump());
  return last_id_;
}

std::optional<json> protocol_peer::take_frame() {
  if (!kept_.empty()) {
    auto frame = std::move(kept_.front());
    kept_.pop_front();
    return frame;
  }
  const auto line = channel_->take_line();
  return line ? std::optional(parse(*line)) : std::nullopt;
}

std::optional<json> protocol_peer::next_frame(std::int64_t deadline_ms) {
  if (!kept_.empty())
    return take_frame();
  const auto line = channel_->next_line(deadline_ms);
  return line ? std::optional(parse(*line)) : std::nullopt;
}

json protocol_peer::answer_to(std::int64_t request_id, std::int64_t deadline_ms) {
  for (auto i = kept_.begin(); i != kept_.end(); ++i) {
    if (!is_answer_to(*i, request_id))
      continue;
    auto found = std::move(*i);
    kept_.erase(i);
    return found;
  }
  const auto end_ms = now_ms() + deadline_ms;
  while (now_ms() < end_ms) {
    const auto line = channel_->next_line(end_ms - now_ms());
    if (!line)
      return nullptr;
    auto frame = parse(*line);
    if (is_answer_to(frame, request_id))
      return frame;
    kept_.push_back(std::move(frame));
  }
  return nullptr;
}

json protocol_peer::wait_for_event(const std::string& type, const std::string& session_id,
                                   std::int64_t deadline_ms) {
  const auto end_ms = now_ms() + deadline_ms;
  while (now_ms() < end_ms) {
    auto frame = next_frame(end_ms - now_ms());
    if (!frame)
      return nullptr;
    if (frame->is_object() && frame->value("kind", "") == "event" &&
        (*frame)["event"].value("type", "") == type &&
        (session_id.empty() || frame->value("session_id", "") == session_id))
      return *frame;
  }
  return nullptr;
}

json result_of(const json& answer) {
  return answer.is_object() && answer.contains("result") ? answer["result"] : json();
}

std::string error_type_of(const json& answer) {
  return answer.is_object() && answer.contains("error") ? answer["error"].value("type", "")
                                                        : std::string();
}

} // namespace rind::kit
