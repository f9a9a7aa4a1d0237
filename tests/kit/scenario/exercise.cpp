// Phases and counts.
#include "tests/kit/scenario/exercise.hpp"

#include "messages/json.hpp"

namespace rind::kit {

namespace {

using rind::to_string; // beside those of the kit

constexpr const char* phases[]{"idle",       "building",     "sampling", "tools",
                               "retry_wait", "summary_wait", "summary",  "commit"};
constexpr const char* retried[]{"stream_interrupted", "server_error", "timeout",
                                "rate_limit",         "overloaded",   "context_length"};

} // namespace

const std::vector<std::string>& exercise::names() {
  static const auto all = [] {
    std::vector<std::string> n{"operations", "steps", "rescues", "resumes"};
    for (const char* reason : {"manual", "auto", "context_length_error"})
      n.push_back(std::string{"compactions."} + reason);
    n.emplace_back("compactions.deterministic_fallback");
    for (const char* c : retried)
      n.push_back(std::string{"retries."} + c);
    for (const char* phase : phases) {
      n.push_back(std::string{"crashes."} + phase);
      n.push_back(std::string{"cancels."} + phase);
    }
    for (const char* fate : {"accepted", "delivered", "taken_back", "handed_back"})
      n.push_back(std::string{"inputs."} + fate);
    for (const char* end : {"completed", "failed", "cancelled"})
      n.push_back(std::string{"ends."} + end);
    return n;
  }();
  return all;
}

exercise::exercise() {
  for (const auto& n : names())
    counts_[n] = 0;
}

std::string exercise::phase_of(const activity& a) {
  if (a.turn_id.empty())
    return "idle";
  if (a.summaries > 0)
    return "summary";
  if (a.waits_for_place)
    return "summary_wait";
  if (a.compacts)
    return "commit";
  if (a.samplings > 0)
    return "sampling";
  if (a.tools > 0)
    return "tools";
  return a.waits_for_retry ? "retry_wait" : "building";
}

void exercise::on_delivery(std::string_view) {
  ++deliveries_;
}

void exercise::on_committed(const std::string& session_id, const std::vector<entry_ptr>& entries) {
  auto& a = sessions_[session_id];
  for (const auto& e : entries) {
    if (const auto* start = std::get_if<entries::turn_started>(&e->body)) {
      count(start->resumed ? "resumes" : "operations");
      a = {};
      a.turn_id = e->turn_id;
    } else if (const auto* end = std::get_if<entries::turn_ended>(&e->body)) {
      count(std::string{"ends."} + to_string(end->outcome));
      counts_["inputs.handed_back"] += static_cast<std::int64_t>(end->undelivered.size());
      a = {};
    } else if (const auto* b = std::get_if<entries::boundary>(&e->body)) {
      const auto& r = *b->record;
      count(r.strategy == compaction_strategy::context_rescue
                ? "rescues"
                : std::string{"compactions."} + to_string(r.reason));
      if (r.strategy == compaction_strategy::deterministic_fallback)
        count("compactions.deterministic_fallback");
      a.compacts = false;
    } else if (std::holds_alternative<entries::tool_result>(e->body)) {
      a.tools -= a.tools > 0;
    } else if (std::holds_alternative<entries::input_accepted>(e->body)) {
      count("inputs.accepted");
    } else if (std::holds_alternative<entries::input_delivered>(e->body)) {
      count("inputs.delivered");
    } else if (std::holds_alternative<entries::input_taken_back>(e->body)) {
      count("inputs.taken_back");
    }
  }
}

void exercise::on_request(const sampling_request& request) {
  auto& a = sessions_[request.session_id];
  (request.kind == sampling_kind::compact ? a.summaries : a.samplings) += 1;
  a.waits_for_retry = a.waits_for_place = a.compacts = false;
  count("steps");
}

void exercise::on_sampling_end(const sampling_request& request, const sampling_outcome&) {
  auto& a = sessions_[request.session_id];
  auto& open = request.kind == sampling_kind::compact ? a.summaries : a.samplings;
  open -= open > 0;
  a.compacts = request.kind == sampling_kind::compact;
}

void exercise::on_tool_call(const tools::invocation& call) {
  ++sessions_[call.session_id].tools;
}

void exercise::on_asked(const client_request& request) {
  if (request.kind == request_kind::cancel)
    cancel_phases_[request.number] = phase_of(sessions_[request.session_id]);
}

void exercise::on_answered(const client_request& request, const client_answer& answer) {
  if (request.kind == request_kind::cancel && answer.ok())
    count("cancels." + cancel_phases_[request.number]);
}

void exercise::on_event(std::size_t, const session_event& event) {
  const auto* live = std::get_if<live_event_body>(&event.body);
  if (!live)
    return;
  auto& a = sessions_[event.session_id];
  if (const auto* retry = std::get_if<events::turn_step_retry>(live)) {
    a.waits_for_retry = retry->delay_ms > 0;
    if (a.newest_retry != event.event_id) // each client hears it
      count("retries." + retry->reason);
    a.newest_retry = event.event_id;
  } else if (const auto* c = std::get_if<events::compaction_started>(live)) {
    a.waits_for_place = c->waiting;
  } else if (std::holds_alternative<events::compaction_ended>(*live)) {
    a.compacts = a.waits_for_place = false;
  }
}

void exercise::on_crash(const std::vector<std::string>& sessions) {
  for (const auto& id : sessions) {
    auto& a = sessions_[id];
    count("crashes." + phase_of(a));
    const auto open = a.turn_id; // interrupted, till it is resumed or settled
    a = {};
    a.turn_id = open;
  }
}

} // namespace rind::kit
