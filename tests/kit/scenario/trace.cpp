// The hash (FNV-1a over words of eight bytes) and the lines.
#include "tests/kit/scenario/trace.hpp"

#include <cstdio>
#include <cstring>

#include "messages/json.hpp"

namespace rind::kit {

namespace {

using rind::to_string; // beside those of the kit

constexpr std::uint64_t fnv_prime = 1'099'511'628'211ull;
constexpr std::size_t shown_text_chars = 40;

std::string shown(const std::string& text) {
  return "\"" + std::string{first_characters(text, shown_text_chars)} +
         (text.size() > shown_text_chars ? "…\"" : "\"");
}

struct outcome_words {
  std::string operator()(const sampling_answer& a) const {
    auto words = "answers " + shown(a.msg->content);
    if (!a.msg->tool_calls.empty())
      words += " and " + std::to_string(a.msg->tool_calls.size()) + " calls";
    return words;
  }
  std::string operator()(const provider_error& e) const {
    return std::string{"refuses: "} + to_string(e.error_class);
  }
  std::string operator()(const sampling_cancelled&) const { return "is cancelled"; }
};

std::string answer_words(const client_answer& a) {
  if (a.lost)
    return "lost";
  if (a.error)
    return std::string{to_string(a.error->code)} + " (" + a.error->message + ")";
  return a.outcome ? to_string(*a.outcome) : "ok";
}

std::string entry_words(const entry& e) {
  std::string words = kind_of(e.body);
  if (const auto* end = std::get_if<entries::turn_ended>(&e.body)) {
    words += std::string{" "} + to_string(end->outcome);
    if (end->error)
      words += std::string{" "} + to_string(end->error->code);
  }
  if (const auto* b = std::get_if<entries::boundary>(&e.body))
    words += std::string{" "} + to_string(b->record->reason) + " " + to_string(b->record->strategy);
  return words;
}

} // namespace

trace::trace(std::function<std::int64_t()> now_ms, bool lines)
    : now_ms_(std::move(now_ms)), keeps_lines_(lines), start_ms_(now_ms_()) {}

void trace::mix(std::string_view text) {
  std::uint64_t eight = 0;
  for (; text.size() >= sizeof eight; text.remove_prefix(sizeof eight)) {
    std::memcpy(&eight, text.data(), sizeof eight);
    mix(eight);
  }
  for (const unsigned char c : text)
    hash_ = (hash_ ^ c) * fnv_prime;
  hash_ = (hash_ ^ 0xff) * fnv_prime;
}

void trace::mix(std::uint64_t number) {
  hash_ = (hash_ ^ number) * fnv_prime;
  hash_ = (hash_ ^ (number >> 32)) * fnv_prime;
}

void trace::say(const std::string& what) {
  if (!keeps_lines_ || lines_.size() >= timeline_lines_max)
    return;
  char time[32];
  std::snprintf(time, sizeof time, "%9.3f  ", static_cast<double>(now_ms_() - start_ms_) / 1'000.0);
  lines_.push_back(time + what);
}

void trace::on_delivery(std::string_view actor) {
  mix(actor);
}

void trace::on_committed(const std::string& session_id, const std::vector<entry_ptr>& entries) {
  mix(session_id);
  std::string words;
  for (const auto& e : entries) {
    mix(static_cast<std::uint64_t>(e->position));
    mix(static_cast<std::uint64_t>(e->time_ms));
    mix(e->id);
    mix(e->turn_id);
    mix(static_cast<std::uint64_t>(e->body.index()));
    if (const auto* m = message_of(e->body))
      mix((*m)->content);
    if (keeps_lines_)
      words += (words.empty() ? "" : ", ") + entry_words(*e);
  }
  if (keeps_lines_)
    say(session_id + "  journal: " + words);
}

void trace::on_request(const sampling_request& request) {
  mix(request.request_id);
  mix(static_cast<std::uint64_t>(request.estimated_tokens));
  mix(static_cast<std::uint64_t>(request.output_limit_tokens));
  mix(static_cast<std::uint64_t>(request.messages.size()));
  if (keeps_lines_)
    say(request.session_id + "  model <- " + to_string(request.kind) + " request, " +
        std::to_string(request.messages.size()) + " messages, " +
        std::to_string(request.estimated_tokens) + " tokens");
}

void trace::on_sampling_end(const sampling_request& request, const sampling_outcome& outcome) {
  mix(request.request_id);
  mix(static_cast<std::uint64_t>(outcome.index()));
  if (keeps_lines_)
    say(request.session_id + "  model " + std::visit(outcome_words{}, outcome));
}

void trace::on_tool_call(const tools::invocation& call) {
  mix(call.call.id);
  if (keeps_lines_)
    say(call.session_id + "  tool call " + call.call.id);
}

void trace::on_asked(const client_request& request) {
  mix(static_cast<std::uint64_t>(request.kind));
  mix(request.text);
  if (keeps_lines_)
    say(request.session_id + "  client " + std::to_string(request.client) + " asks " +
        to_string(request.kind) + (request.input_id.empty() ? "" : " " + request.input_id));
}

void trace::on_answered(const client_request& request, const client_answer& answer) {
  mix(static_cast<std::uint64_t>(request.number));
  mix(answer_words(answer));
  if (keeps_lines_)
    say(request.session_id + "  client " + std::to_string(request.client) + " hears of its " +
        to_string(request.kind) + (request.input_id.empty() ? "" : " " + request.input_id) + ": " +
        answer_words(answer));
}

/// What a client hears while it lasts; the durable events stand in the journal's lines.
void trace::tell_live(std::size_t client, const session_event& event) {
  const auto* live = std::get_if<live_event_body>(&event.body);
  if (!live)
    return;
  const auto hears = event.session_id + "  client " + std::to_string(client) + " hears ";
  if (const auto* d = std::get_if<events::assistant_delta>(live))
    say(hears + "a delta: " + shown(d->text));
  else if (const auto* r = std::get_if<events::turn_step_retry>(live))
    say(hears + "of retry " + std::to_string(r->attempt) + " in " + std::to_string(r->delay_ms) +
        " ms" + (r->discard_partial ? ", the partial answer is dropped" : ""));
}

void trace::on_event(std::size_t client, const session_event& event) {
  if (keeps_lines_)
    tell_live(client, event);
  mix(static_cast<std::uint64_t>(client));
  mix(event.event_id);
  mix(static_cast<std::uint64_t>(event.body.index()));
}

void trace::on_history(std::size_t client, const std::string&, std::int64_t cursor,
                       const std::string&) {
  mix(static_cast<std::uint64_t>(client));
  mix(static_cast<std::uint64_t>(cursor));
}

void trace::on_crash(const std::vector<std::string>& sessions) {
  std::string words = "crash of the node with";
  for (const auto& s : sessions) {
    mix(s);
    words += " " + s;
  }
  say(words);
}

} // namespace rind::kit
