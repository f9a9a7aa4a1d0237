// Lines into answers.
#include "tests/kit/scenario/script_book.hpp"

#include <algorithm>
#include <limits>

#include "messages/words.hpp"

namespace rind::kit {

namespace {

constexpr std::int64_t token_bytes = 4;    // of the filler, by the local estimate
constexpr std::int64_t message_tokens = 4; // around each message
constexpr std::int64_t polite_tokens = 6;
constexpr std::int64_t polite_summary_tokens = 40;
constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();

/// Plain words, as long as the longest text needs.
const std::string& filler() {
  static const std::string text = [] {
    constexpr std::string_view words = "the build of the parser went on and the tests were read ";
    std::string t;
    while (static_cast<std::int64_t>(t.size()) < scenario_text_tokens_max * token_bytes)
      t += words;
    return t;
  }();
  return text;
}

std::int64_t bytes_of(const message& m) {
  auto bytes = m.content.size();
  for (const auto& c : m.tool_calls)
    bytes += c.arguments.size() + c.name.size();
  if (m.reasoning)
    bytes += m.reasoning->opaque.size();
  return static_cast<std::int64_t>(bytes);
}

token_usage usage_in(usage_style style, std::int64_t input, std::int64_t output) {
  token_usage u;
  switch (style) {
  case usage_style::none:
    break;
  case usage_style::zero:
    u.input_tokens = 0;
    u.output_tokens = 0;
    break;
  case usage_style::cached:
    u.cached_tokens = input * 3 / 5;
    [[fallthrough]];
  case usage_style::exact:
    u.input_tokens = input;
    u.output_tokens = output;
    break;
  case usage_style::huge:
    u.input_tokens = input * 3;
    u.output_tokens = output;
    break;
  }
  return u;
}

/// The same message; what it thought has to come back as it is.
message_ptr with_reasoning(const message& m, const std::string& thought) {
  auto copy = std::make_shared<message>(m);
  copy->reasoning = reasoning_block{thought, R"({"thought":")" + thought + R"("})"};
  return copy;
}

/// The text of an answer as that many deltas, spread over the time until its end. ASCII alone.
scripted_reply in_pieces(scripted_reply reply, std::int64_t pieces, std::int64_t after_ms) {
  std::string text;
  for (const auto& d : reply.deltas)
    text += d.text;
  reply.deltas.clear();
  const auto count = static_cast<std::size_t>(pieces);
  const auto size = text.size() / count + 1;
  for (std::size_t from = 0; from < text.size(); from += size)
    reply.deltas.push_back({text.substr(from, size), {}});
  reply.piece_ms = after_ms / (pieces + 1);
  return reply;
}

} // namespace

std::string marked_text(const std::string& session, char kind, const std::string& id,
                        std::int64_t tokens) {
  auto text = session + ":" + kind + id + " ";
  const auto bytes = tokens * token_bytes - static_cast<std::int64_t>(text.size());
  if (bytes > 0)
    text.append(filler(), 0, static_cast<std::size_t>(bytes));
  return text;
}

script_book::script_book(const scenario& s) : world_(s.world) {
  for (const auto& l : s.model) {
    auto& own = shelves_[l.session];
    (l.kind == sampling_kind::compact ? own.summaries : own.conversation).push_back(l);
  }
  for (const auto& l : s.tools)
    shelves_[l.session].tools.push_back(l);
}

void script_book::be_polite() {
  for (auto& [session, own] : shelves_) {
    own.conversation.clear();
    own.summaries.clear();
    own.tools.clear();
  }
}

std::int64_t script_book::counted(const sampling_request& request) const {
  std::int64_t bytes = 0;
  if (request.tools)
    for (const auto& t : *request.tools)
      bytes +=
          static_cast<std::int64_t>(t.name.size() + t.description.size() + t.parameters.size()) +
          message_tokens * token_bytes;
  for (const auto& m : request.messages)
    bytes += bytes_of(*m) + message_tokens * token_bytes;
  return static_cast<std::int64_t>(static_cast<double>(bytes) / token_bytes * world_.token_ratio);
}

bool script_book::fits(const sampling_request& request, std::int64_t count) const {
  return count <=
         (world_.true_window_tokens > 0 ? world_.true_window_tokens : request.window_tokens);
}

bool script_book::has_answer(const sampling_request& request) const {
  const auto own = shelves_.find(request.session_id);
  if (own != shelves_.end()) {
    const auto& lines =
        request.kind == sampling_kind::compact ? own->second.summaries : own->second.conversation;
    if (!lines.empty())
      return true;
  }
  return !fits(request, counted(request));
}

scripted_reply script_book::refusal(const model_line& line, std::int64_t count) const {
  provider_error e;
  e.error_class = *from_word<provider_error_class>(line.error);
  e.message = line.message.empty() ? "refused by script: " + line.error : line.message;
  if (e.error_class == provider_error_class::context_length)
    e.requested_tokens = count;
  if (line.states_window_tokens > 0)
    e.limit_tokens = line.states_window_tokens;
  if (line.retry_after_s > 0)
    e.retry_after_s = static_cast<double>(line.retry_after_s);
  return refuses(std::move(e));
}

scripted_reply script_book::answer(const model_line& line, const sampling_request& request,
                                   std::int64_t count) {
  auto& own = shelves_[request.session_id];
  const auto number = std::to_string(++own.answers);
  auto text = line.says.empty() && line.tokens == 0
                  ? std::string{}
                  : marked_text(request.session_id, 'r', number, line.tokens) + line.says;
  std::vector<tool_call> calls;
  for (std::int64_t i = 0; i < line.calls; ++i)
    calls.push_back({request.session_id + "-c" + number + "-" + std::to_string(i + 1), "look",
                     R"({"at":")" + request.session_id + R"("})"});
  auto reply = asks_for(std::move(calls), text);
  const auto output = static_cast<std::int64_t>(text.size()) / token_bytes + 1;
  auto& outcome = std::get<sampling_answer>(reply.outcome);
  if (line.thinks_tokens > 0)
    outcome.msg = with_reasoning(*outcome.msg,
                                 marked_text(request.session_id, 'k', number, line.thinks_tokens));
  outcome.usage = usage_in(line.usage, line.input_tokens > 0 ? line.input_tokens : count, output);
  if (!line.finish.empty())
    outcome.finish = *from_word<finish_reason>(line.finish);
  return reply;
}

scripted_reply script_book::reply_to(const sampling_request& request) {
  const auto count = counted(request);
  const bool is_summary = request.kind == sampling_kind::compact;
  model_line line;
  line.tokens = is_summary ? polite_summary_tokens : polite_tokens;
  auto& own = shelves_[request.session_id];
  auto& lines = is_summary ? own.summaries : own.conversation;
  if (!fits(request, count)) {
    line = {};
    line.error = to_string(provider_error_class::context_length);
    line.states_window_tokens = world_.true_window_tokens;
  } else if (request.output_limit_tokens > world_.max_output_tokens.value_or(no_limit)) {
    line = {};
    line.error = to_string(provider_error_class::output_limit);
  } else if (!lines.empty()) {
    line = std::move(lines.front());
    lines.pop_front();
  }
  auto reply = line.error.empty() ? answer(line, request, count) : refusal(line, count);
  if (!line.error.empty() && line.pieces > 0) // what a stream said before it broke
    reply = reply.streaming(marked_text(request.session_id, 'r', std::to_string(++own.answers), 8));
  else if (line.pieces > 0)
    reply = in_pieces(std::move(reply), line.pieces, line.after_ms);
  reply.delay_ms = line.after_ms;
  reply.endless = line.hangs || line.deaf;
  reply.deaf = line.deaf;
  return reply;
}

tool_script script_book::reply_to(const tools::invocation& call) {
  auto& own = shelves_[call.session_id];
  tool_line line;
  line.tokens = polite_tokens;
  if (!own.tools.empty()) {
    line = std::move(own.tools.front());
    own.tools.pop_front();
  }
  auto script = answers(
      marked_text(call.session_id, 't', std::to_string(++own.results), line.tokens) + line.says);
  if (line.fails) {
    script.outcome.status = tool_status::failed;
    script.outcome.error_type = "scripted";
  }
  script.throws = line.throws;
  script.endless = line.hangs;
  script.deaf = line.deaf;
  script.delay_ms = line.after_ms;
  return script;
}

} // namespace rind::kit
