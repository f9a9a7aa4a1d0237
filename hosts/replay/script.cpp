// Decides under the lock, speaks outside of it.
#include "hosts/replay/script.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "messages/json.hpp"

namespace rind::hosts::replay {

// -- cues --------------------------------------------------------------------

void cues::want_cancel() {
  const std::lock_guard lock(mutex_);
  ++cancels_;
  ++progress_;
  changed_.notify_all();
}

void cues::answered() {
  const std::lock_guard lock(mutex_);
  ++answers_;
  ++progress_;
  changed_.notify_all();
}

void cues::progressed() {
  const std::lock_guard lock(mutex_);
  ++progress_;
  changed_.notify_all();
}

cues::kind cues::wait(std::int64_t silence_ms) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (cancels_ > 0) {
      --cancels_;
      return kind::cancel;
    }
    if (answers_ > 0) {
      --answers_;
      return kind::answered;
    }
    const auto seen = progress_;
    if (!changed_.wait_for(lock, std::chrono::milliseconds(silence_ms),
                           [&] { return progress_ != seen; }))
      return kind::overdue;
  }
}

// -- the model ---------------------------------------------------------------

namespace {

/// Tokens of the summary limit that a character of the extract may take: dense text needs one each.
constexpr std::int64_t summary_chars_per_token = 2;
constexpr std::int64_t summary_share_of_corpus = 3;
constexpr int refused_status = 400;

/// Head and tail of a text, never cut inside a character.
std::string extract_of(const std::string& text, std::int64_t characters) {
  const auto all = count_characters(text);
  if (all <= characters)
    return text;
  const auto head = first_characters(text, characters / 2);
  const auto before_tail = first_characters(text, all - characters / 2);
  return std::string(head) + text.substr(before_tail.size());
}

} // namespace

struct script::reply {
  std::vector<sampling_delta> deltas;
  std::optional<sampling_outcome> end; // none: left open until it is cancelled
  bool cue_cancel = false;
};

script::script(const recording& r, const plan& p, const true_sizes& sizes, script_options options,
               cues& to_client)
    : recording_(r), plan_(p), sizes_(sizes), options_(options), to_client_(to_client) {}

void script::begin_turn(std::size_t index) {
  const std::lock_guard lock(mutex_);
  turn_ = index;
  next_step_ = 0;
  last_answer_.reset();
  played_ = std::max(played_, plan_.turns[index].prompt + 1);
}

void script::start(sampling_request request, provider::sampling_sink sink) {
  reply r;
  {
    const std::lock_guard lock(mutex_);
    seen_request seen;
    seen.kind = request.kind;
    seen.messages = request.messages;
    seen.estimated_tokens = request.estimated_tokens;
    seen.true_tokens = request.kind == sampling_kind::compact
                           ? sizes_.foreign_tokens(request.messages)
                           : sizes_.request_tokens(request.messages, played_);
    r = decide(request, seen);
    requests_.push_back(std::move(seen));
    if (!r.end)
      open_.emplace(request.request_id, sink);
  }
  to_client_.progressed();
  for (auto& delta : r.deltas)
    sink.on_delta(std::move(delta));
  if (r.end)
    sink.on_end(std::move(*r.end));
  if (r.cue_cancel)
    to_client_.want_cancel();
}

void script::cancel(const std::string& request_id) {
  provider::sampling_sink sink;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(request_id);
    if (found == open_.end())
      return;
    sink = std::move(found->second);
    open_.erase(found);
  }
  sink.on_end(sampling_cancelled{});
}

script::reply script::decide(const sampling_request& request, seen_request& seen) {
  const auto& limit = options_.reject_above_tokens;
  if (limit && seen.true_tokens > *limit) {
    seen.refused = true;
    reply r;
    r.end = too_long(seen.true_tokens);
    return r;
  }
  return request.kind == sampling_kind::compact ? summarise(request, seen)
                                                : next_step(request, seen);
}

provider_error script::too_long(std::int64_t tokens) const {
  const auto limit = *options_.reject_above_tokens;
  provider_error e;
  e.error_class = provider_error_class::context_length;
  e.code = "context_length_exceeded";
  e.status = refused_status;
  e.message = "the maximum context length is " + std::to_string(limit) +
              " tokens, the messages have " + std::to_string(tokens);
  e.limit_tokens = limit;
  e.requested_tokens = tokens;
  return e;
}

script::reply script::summarise(const sampling_request& request, const seen_request& seen) const {
  sampling_answer a;
  const auto& corpus = request.messages.back()->content;
  const auto characters =
      std::min({summary_chars_max, request.output_limit_tokens * summary_chars_per_token,
                count_characters(corpus) / summary_share_of_corpus});
  auto m = std::make_shared<message>();
  m->role = message_role::assistant;
  m->model = request.model;
  m->content = extract_of(corpus, characters);
  a.usage.input_tokens = seen.true_tokens;
  a.usage.output_tokens = sizes_.foreign_tokens({m});
  a.finish_text = "stop";
  a.msg = std::move(m);
  reply r;
  r.end = std::move(a);
  return r;
}

/// Whether the newest assistant message of a request is the answer before: else that answer was not
/// taken, and the same sampling is asked for again.
bool script::shows_last_answer(const sampling_request& request) const {
  const auto newest =
      std::find_if(request.messages.rbegin(), request.messages.rend(),
                   [](const message_ptr& m) { return m->role == message_role::assistant; });
  const auto& answered = recording_[plan_.turns[turn_].steps[*last_answer_].assistants.back()].msg;
  return newest != request.messages.rend() && (*newest)->content == answered.content &&
         (*newest)->tool_calls == answered.tool_calls;
}

script::reply script::next_step(const sampling_request& request, seen_request& seen) {
  const auto& steps = plan_.turns[turn_].steps;
  if (last_answer_ && !shows_last_answer(request)) {
    seen.repeated = true;
    next_step_ = *last_answer_;
  }
  if (next_step_ == steps.size())
    return leave_open();
  const auto& s = steps[next_step_];
  if (s.kind == step_kind::answer)
    last_answer_ = next_step_;
  ++next_step_;
  auto r = play(s, seen);
  if (auto* answer = r.end ? std::get_if<sampling_answer>(&*r.end) : nullptr) {
    answer->msg = spoken(s.assistants.back(), request.model);
    r.deltas.push_back({answer->msg->content,
                        answer->msg->reasoning ? answer->msg->reasoning->text : std::string()});
  }
  return r;
}

script::reply script::leave_open() const {
  reply r;
  r.cue_cancel = true;
  return r;
}

script::reply script::play(const step& s, seen_request& seen) {
  const auto newest =
      s.results.empty() ? s.assistants.back() : std::max(s.assistants.back(), s.results.back());
  played_ = std::max(played_, newest + 1);
  reply r;
  if (s.kind != step_kind::answer) {
    for (const auto i : s.assistants)
      r.deltas.push_back({recording_[i].msg.content, {}});
    if (s.kind == step_kind::cut) {
      r.cue_cancel = true;
      return r;
    }
    provider_error broken;
    broken.error_class = provider_error_class::stream_interrupted;
    broken.message = "the recorded stream broke here";
    r.end = std::move(broken);
    return r;
  }
  batch_.clear();
  const auto& m = recording_[s.assistants.back()];
  sampling_answer a;
  if (m.input_tokens) // what the recorded provider did not count is not known here either
    a.usage = {seen.true_tokens, m.output_tokens, {}, {}};
  a.finish = m.msg.tool_calls.empty() ? finish_reason::stop : finish_reason::tool_calls;
  a.finish_text = to_string(a.finish);
  seen.answered = s.assistants.back();
  r.end = std::move(a);
  return r;
}

std::shared_ptr<message> script::spoken(std::size_t index, const std::string& model) const {
  auto m = std::make_shared<message>(recording_[index].msg);
  m->model = model;
  return m;
}

std::vector<seen_request> script::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t script::played() const {
  const std::lock_guard lock(mutex_);
  return played_;
}

// -- the tools ---------------------------------------------------------------

/// Calls wait until their whole batch has started; then those with a recorded result end, in the
/// recorded order, and the client is told to cancel where others are left.
void script::start_call(const tools::invocation& call, tools::tool_sink sink) {
  std::vector<std::pair<tools::tool_sink, tools::outcome>> ended;
  bool cue_cancel = false;
  {
    const std::lock_guard lock(mutex_);
    batch_.push_back({call, std::move(sink)});
    const auto& s = plan_.turns[turn_].steps[*last_answer_];
    if (batch_.size() < recording_[s.assistants.back()].msg.tool_calls.size())
      return;
    for (const auto i : s.results) {
      const auto& result = recording_[i].msg;
      const auto found = std::find_if(batch_.begin(), batch_.end(), [&](const waiting_call& w) {
        return w.call.call.id == result.tool_call_id;
      });
      if (found == batch_.end())
        continue;
      const auto status = result.is_error ? tool_status::failed : tool_status::completed;
      ended.push_back({std::move(found->sink),
                       {status, result.content, result.is_error ? "recorded_error" : ""}});
      batch_.erase(found);
    }
    for (auto& w : batch_)
      hanging_.emplace(w.call.invocation_id, std::move(w.sink));
    cue_cancel = s.hangs;
    batch_.clear();
  }
  for (auto& [to, outcome] : ended)
    to.on_end(std::move(outcome));
  if (cue_cancel)
    to_client_.want_cancel();
}

void script::cancel_call(const std::string& invocation_id) {
  tools::tool_sink sink;
  {
    const std::lock_guard lock(mutex_);
    const auto found = hanging_.find(invocation_id);
    if (found == hanging_.end())
      return;
    sink = std::move(found->second);
    hanging_.erase(found);
  }
  sink.on_end({tool_status::cancelled, "cancelled", "cancelled"});
}

namespace {

class scripted_tool final : public tools::tool {
public:
  scripted_tool(std::string name, script& s) : script_(s) {
    definition_.name = std::move(name);
    definition_.parameters = R"({"type":"object"})";
  }
  const tool_definition& definition() const override { return definition_; }
  void start(const tools::invocation& call, tools::tool_sink sink) override {
    script_.start_call(call, std::move(sink));
  }
  void cancel(const std::string& invocation_id) override { script_.cancel_call(invocation_id); }

private:
  tool_definition definition_;
  script& script_;
};

constexpr std::int64_t stand_in_bytes_per_token = 4;
constexpr std::string_view stand_in_text =
    "You are a coding assistant. You help people by reading files, running commands, and editing "
    "or "
    "writing code. Use the tools that you were given, and say which file you mean when you change "
    "one. Keep your answers short and be careful with what you cannot undo.\n";

} // namespace

tools::registry scripted_tools(const recording& r, script& s) {
  std::set<std::string> names;
  for (const auto& m : r)
    for (const auto& call : m.msg.tool_calls)
      names.insert(call.name);
  tools::registry all;
  for (const auto& name : names)
    all.add(std::make_shared<scripted_tool>(name, s));
  return all;
}

std::string stand_in_prompt(std::int64_t fixed_tokens, const tool_definitions& tools) {
  auto bytes = fixed_tokens * stand_in_bytes_per_token;
  if (tools)
    for (const auto& t : *tools)
      bytes -=
          static_cast<std::int64_t>(t.name.size() + t.description.size() + t.parameters.size());
  std::string text;
  while (static_cast<std::int64_t>(text.size()) < bytes)
    text += stand_in_text;
  text.resize(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)));
  return text;
}

} // namespace rind::hosts::replay
