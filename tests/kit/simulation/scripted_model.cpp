// The answers and their order.
#include "tests/kit/simulation/scripted_model.hpp"

#include <algorithm>

namespace rind::kit {

scripted_reply scripted_reply::after(std::int64_t ms) const {
  auto r = *this;
  r.delay_ms = ms;
  return r;
}

scripted_reply scripted_reply::counted(std::int64_t input_tokens,
                                       std::int64_t output_tokens) const {
  auto r = *this;
  token_usage usage;
  usage.input_tokens = input_tokens;
  usage.output_tokens = output_tokens;
  if (auto* a = std::get_if<sampling_answer>(&r.outcome))
    a->usage = usage;
  else if (auto* e = std::get_if<provider_error>(&r.outcome))
    e->usage = usage;
  return r;
}

scripted_reply scripted_reply::finished(finish_reason finish) const {
  auto r = *this;
  std::get<sampling_answer>(r.outcome).finish = finish;
  return r;
}

scripted_reply scripted_reply::streaming(std::string text) const {
  auto r = *this;
  r.deltas.push_back({std::move(text), {}});
  return r;
}

scripted_reply scripted_reply::dripping(std::string text, std::size_t pieces,
                                        std::int64_t ms) const {
  auto r = *this;
  r.piece_ms = ms;
  r.deltas.insert(r.deltas.end(), pieces, sampling_delta{std::move(text), {}});
  return r;
}

scripted_reply scripted_reply::on_arrival(std::function<void()> then) const {
  auto r = *this;
  r.arrived = std::move(then);
  return r;
}

scripted_reply asks_for(std::vector<tool_call> calls, std::string text) {
  scripted_reply r;
  auto m = std::make_shared<message>();
  m->role = message_role::assistant;
  m->content = text;
  m->tool_calls = std::move(calls);
  sampling_answer a;
  a.finish = m->tool_calls.empty() ? finish_reason::stop : finish_reason::tool_calls;
  a.msg = std::move(m);
  r.outcome = std::move(a);
  if (!text.empty())
    r.deltas.push_back({std::move(text), {}});
  return r;
}

scripted_reply says(std::string text) {
  return asks_for({}, std::move(text));
}

scripted_reply refuses(provider_error error) {
  scripted_reply r;
  r.outcome = std::move(error);
  return r;
}

scripted_reply refuses(provider_error_class error_class, std::string message) {
  provider_error e;
  e.error_class = error_class;
  e.message = std::move(message);
  return refuses(std::move(e));
}

scripted_reply refuses_length() {
  return refuses(provider_error_class::context_length, "the prompt is too long");
}

scripted_reply hangs() {
  scripted_reply r;
  r.endless = true;
  return r;
}

scripted_reply hangs_deaf() {
  auto r = hangs();
  r.deaf = true;
  return r;
}

scripted_model& scripted_model::expect(scripted_reply reply, std::size_t times) {
  conversation_.insert(conversation_.end(), times, reply);
  return *this;
}

scripted_model& scripted_model::expect_summary(scripted_reply reply, std::size_t times) {
  summaries_.insert(summaries_.end(), times, reply);
  return *this;
}

void scripted_model::serve(std::function<scripted_reply(const sampling_request&)> otherwise) {
  otherwise_ = std::move(otherwise);
}

std::vector<const sampling_request*> scripted_model::requests_of(sampling_kind kind) const {
  std::vector<const sampling_request*> out;
  for (const auto& r : requests_)
    if (r.request.kind == kind)
      out.push_back(&r.request);
  return out;
}

std::int64_t scripted_model::calls(sampling_kind kind) const {
  return static_cast<std::int64_t>(requests_of(kind).size());
}

void scripted_model::forget() {
  conversation_.clear();
  summaries_.clear();
  open_.clear();
}

void scripted_model::drop_requests_of(const std::vector<std::string>& sessions) {
  std::erase_if(open_, [&](const auto& open) {
    return std::find(sessions.begin(), sessions.end(), open.second.request.session_id) !=
           sessions.end();
  });
}

scripted_reply scripted_model::reply_to(const sampling_request& request) {
  auto& script = request.kind == sampling_kind::compact ? summaries_ : conversation_;
  if (!script.empty()) {
    auto reply = std::move(script.front());
    script.pop_front();
    return reply;
  }
  if (otherwise_)
    return otherwise_(request);
  ++unexpected_;
  return refuses(provider_error_class::invalid_request,
                 "the script has no answer for this request");
}

void scripted_model::start(sampling_request request, provider::sampling_sink sink) {
  const auto id = request.request_id;
  auto reply = reply_to(request);
  if (auto* answer = std::get_if<sampling_answer>(&reply.outcome)) {
    auto m = std::make_shared<message>(*answer->msg);
    m->model = request.model;
    answer->msg = std::move(m);
  }
  if (watch_)
    watch_->on_request(request);
  open_[id] = {requests_.size(), request, std::move(sink), reply.deaf};
  if (keeps_)
    requests_.push_back({std::move(request), now_(), false, false});
  if (reply.arrived)
    reply.arrived();
  std::int64_t piece_due_ms = 0;
  for (auto& d : reply.deltas) {
    piece_due_ms += reply.piece_ms;
    if (piece_due_ms == 0)
      send_piece(id, std::move(d));
    else
      at_(piece_due_ms, [this, id, d] { send_piece(id, d); });
  }
  if (reply.endless)
    return;
  if (reply.delay_ms == 0)
    return end(id, std::move(reply.outcome));
  at_(reply.delay_ms,
      [this, id, outcome = std::move(reply.outcome)]() mutable { end(id, std::move(outcome)); });
}

void scripted_model::send_piece(const std::string& request_id, sampling_delta piece) {
  if (auto i = open_.find(request_id); i != open_.end())
    i->second.sink.on_delta(std::move(piece));
}

void scripted_model::end(const std::string& request_id, sampling_outcome outcome) {
  auto i = open_.find(request_id);
  if (i == open_.end())
    return;
  auto request = std::move(i->second);
  open_.erase(i);
  if (keeps_) {
    requests_[request.index].ended = true;
    requests_[request.index].cancelled = std::holds_alternative<sampling_cancelled>(outcome);
  }
  if (watch_)
    watch_->on_sampling_end(request.request, outcome);
  request.sink.on_end(std::move(outcome));
}

void scripted_model::cancel(const std::string& request_id) {
  const auto i = open_.find(request_id);
  if (i == open_.end())
    return;
  if (!i->second.deaf)
    return end(request_id, sampling_cancelled{});
  if (keeps_)
    requests_[i->second.index].cancelled = true;
  if (watch_)
    watch_->on_sampling_end(i->second.request, sampling_cancelled{});
  open_.erase(i); // who asked has given it up
}

} // namespace rind::kit
