// From the bytes of a request back to messages.
#include "hosts/demo/provider_watch.hpp"

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "messages/words.hpp"
#include "runtime/view/view.hpp"

namespace rind::hosts::demo {

namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Null: it is no message.
message_ptr message_of(const json& sent) {
  const auto role = from_word<message_role>(text_at(sent, "role"));
  if (!sent.is_object() || !role)
    return nullptr;
  auto read = std::make_shared<message>();
  read->role = *role;
  read->content = text_at(sent, "content");
  read->tool_call_id = text_at(sent, "tool_call_id");
  if (const auto calls = sent.find("tool_calls"); calls != sent.end() && calls->is_array())
    for (const auto& call : *calls)
      read->tool_calls.push_back({text_at(call, "id"), "", ""});
  return read;
}

} // namespace

std::string request_fault(const std::string& body) {
  const auto request = json::parse(body, nullptr, false);
  if (!request.is_object() || !request.contains("messages") || !request["messages"].is_array())
    return "the body holds no messages";
  std::vector<message_ptr> messages;
  for (const auto& sent : request["messages"]) {
    messages.push_back(message_of(sent));
    if (!messages.back())
      return "the body holds something that is no message";
  }
  return view::boundary_fault(messages).value_or("");
}

void provider_watch::take(const mock_provider::recorded_request& request) {
  const auto fault = request_fault(request.body);
  const bool summary = request.body.find("\"tools\":[") == std::string::npos;
  const std::lock_guard lock(mutex_);
  ++requests_;
  auto& mine = sessions_[request.conversation];
  if (summary)
    ++mine.summaries;
  if (!fault.empty()) {
    ++mine.faults.count;
    if (mine.faults.first.size() < told_request_faults_max)
      mine.faults.first.push_back(fault);
  }
  changed_.notify_all();
}

std::int64_t provider_watch::summaries(const std::string& session) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.summaries;
}

bool provider_watch::wait_for_summary_after(const std::string& session, std::int64_t count) const {
  const auto deadline = run_.deadline();
  std::unique_lock lock(mutex_);
  while (sessions_.count(session) == 0 || sessions_.at(session).summaries <= count) {
    if (run_.is_given_up() || steady::now() >= deadline)
      return false;
    changed_.wait_for(lock, wait_slice);
  }
  return true;
}

request_faults provider_watch::faults(const std::string& session) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? request_faults{} : found->second.faults;
}

std::int64_t provider_watch::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

} // namespace rind::hosts::demo
