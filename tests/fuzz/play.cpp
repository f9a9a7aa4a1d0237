// Playing of fuzzed responses.
#include "tests/fuzz/play.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "runtime/provider/response_reader.hpp"

namespace rind::fuzz {

namespace {

using namespace rind::provider;

constexpr std::array statuses{200, 200, 200, 400, 401, 402, 403, 404,
                              413, 422, 429, 500, 502, 503, 529, 301};

/// A request with numbers that make silent overflows possible.
const sampling_request& request() {
  static const sampling_request value = [] {
    sampling_request r;
    r.request_id = "r1";
    r.session_id = "s1";
    r.model = "m";
    message m;
    m.content = "Hello";
    r.messages.push_back(std::make_shared<const message>(std::move(m)));
    r.output_limit_tokens = 1'000;
    r.estimated_tokens = 7'000;
    r.window_tokens = 8'000;
    return r;
  }();
  return value;
}

std::string number(const std::optional<std::int64_t>& n) {
  return n ? std::to_string(*n) : "-";
}

std::string described(const token_usage& u) {
  return " usage " + number(u.input_tokens) + "/" + number(u.output_tokens) + "/" +
         number(u.cached_tokens) + "/" + number(u.reasoning_tokens);
}

std::string described(const sampling_answer& a) {
  if (!a.msg)
    broken("an answer has a message");
  if (a.msg->tool_calls.size() > answer_calls_max)
    broken("answer_calls_max");
  auto text = "answer " + a.finish_text + "\n" + a.msg->content + described(a.usage);
  if (a.msg->reasoning)
    text += "\nreasoning " + a.msg->reasoning->text + "\nopaque " + a.msg->reasoning->opaque;
  for (const auto& call : a.msg->tool_calls)
    text += "\ncall " + call.id + " " + call.name + " " + call.arguments;
  return text;
}

std::string described(const provider_error& e) {
  return std::string{"error "} + to_string(e.error_class) + " " + e.code + " " + e.message + " " +
         number(e.limit_tokens) + "/" + number(e.requested_tokens) + described(e.usage);
}

std::string described(const sampling_outcome& outcome) {
  if (const auto* answer = std::get_if<sampling_answer>(&outcome))
    return described(*answer);
  if (const auto* error = std::get_if<provider_error>(&outcome))
    return described(*error);
  return "cancelled";
}

} // namespace

void broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

played_input read_input(const std::uint8_t* data, std::size_t size) {
  played_input input;
  if (size < 3)
    return input;
  input.status = statuses[data[0] % statuses.size()];
  input.body = {reinterpret_cast<const char*>(data) + 3, size - 3};
  input.cut = input.body.empty() ? 0 : (data[1] * 256u + data[2]) % input.body.size();
  return input;
}

std::string play(const wire_codec& codec, const played_input& input, std::size_t cut) {
  const sent_facts sent{"fuzz", request().estimated_tokens, request().window_tokens,
                        request().output_limit_tokens};
  response_reader reader{codec, request(), sent};
  reader.on_head(input.status, {{"content-type", "text/event-stream"}});
  std::string text;
  std::string reasoning;
  const auto keep = [&](const sampling_delta& delta) {
    text += delta.text;
    reasoning += delta.reasoning;
  };
  for (const auto piece : {input.body.substr(0, cut), input.body.substr(cut)}) {
    if (piece.empty())
      continue;
    const auto progress = reader.on_body(piece);
    keep(progress.delta);
    if (progress.is_over)
      break;
  }
  sampling_delta last;
  const auto outcome = reader.finish({}, last);
  keep(last);
  return text + "\n--\n" + reasoning + "\n--\n" + described(outcome);
}

void check_codec(const wire_codec& codec, const std::uint8_t* data, std::size_t size) {
  const auto input = read_input(data, size);
  if (play(codec, input, 0) != play(codec, input, input.cut))
    broken("the split of a response into pieces changes nothing");
}

} // namespace rind::fuzz
