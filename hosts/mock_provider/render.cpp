// Frames of a format become a reply; the faults of a script befall it.
#include "hosts/mock_provider/render.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rind::hosts::mock_provider {

namespace {

using json = nlohmann::ordered_json;

/// Size of the repeated piece of a flood.
constexpr std::size_t flood_piece_bytes = 16u << 10;

constexpr const char* model_default = "mock-model";

/// What providers say with a status; the envelope around it is the format's.
struct status_words {
  int status;
  const char* message;
};

constexpr std::array<status_words, 7> words_of_status{{
    {401, "Incorrect API key provided."},
    {403, "Your API key does not have permission to use the specified resource."},
    {413, "Request exceeds the maximum size."},
    {429, "Rate limit reached. Please slow down."},
    {500, "Internal server error."},
    {503, "The engine is currently overloaded, please try again later."},
    {529, "Overloaded."},
}};

provider_fault fault_with(int status) {
  provider_fault fault;
  fault.status = status;
  const auto found = std::find_if(words_of_status.begin(), words_of_status.end(),
                                  [&](const auto& words) { return words.status == status; });
  fault.message =
      found != words_of_status.end()
          ? found->message
          : "The script of the mock provider answers with status " + std::to_string(status) + ".";
  return fault;
}

// -- faults of a stream --------------------------------------------------------------------------

/// Where the first character of several bytes can be cut in two; the middle without one.
std::size_t mid_character(const std::string& bytes) {
  const auto found = std::find_if(bytes.begin(), bytes.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) == 0xC0u;
  });
  return found == bytes.end() ? bytes.size() / 2
                              : static_cast<std::size_t>(found - bytes.begin()) + 1;
}

/// The first frame with a character of several bytes, else the middle one.
std::size_t frame_to_split(const std::vector<reply_chunk>& chunks) {
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (const auto at = mid_character(chunks[i].bytes); at != chunks[i].bytes.size() / 2)
      return i;
  return chunks.size() / 2;
}

reply_end end_of(cut_mode cut) {
  switch (cut) {
  case cut_mode::close:
    return reply_end::close;
  case cut_mode::reset:
    return reply_end::reset;
  case cut_mode::clean:
    break;
  }
  return reply_end::complete;
}

void cut(const scripted_answer& answer, mock_reply& reply) {
  auto& chunks = reply.chunks;
  const auto keep = [&chunks](std::size_t count) {
    if (count < chunks.size())
      chunks.resize(count);
  };
  if (answer.cut_mid_character) {
    const auto split =
        std::min(answer.cut_after_chunks.value_or(frame_to_split(chunks)), chunks.size() - 1);
    keep(split + 1);
    chunks.back().bytes.resize(mid_character(chunks.back().bytes));
    reply.end = end_of(answer.cut);
  } else if (answer.cut_after_chunks) {
    keep(*answer.cut_after_chunks);
    reply.end = end_of(answer.cut);
  } else if (answer.hang_after_chunks) {
    keep(*answer.hang_after_chunks);
    reply.end = reply_end::silence;
  }
}

// -- streams -------------------------------------------------------------------------------------

void add(mock_reply& reply, std::int64_t delay_ms, std::string bytes) {
  reply.chunks.push_back({delay_ms, std::move(bytes), {}});
}

/// The first frame comes with the head.
void add_frames(const scripted_answer& answer, std::vector<std::string> frames, mock_reply& reply) {
  for (auto& frame : frames)
    add(reply, reply.chunks.empty() ? 0 : answer.delta_delay_ms, std::move(frame));
}

mock_reply open_stream(const wire_format& format, const scripted_answer& answer) {
  mock_reply reply;
  reply.stream = true;
  reply.content_type = "text/event-stream";
  for (std::int64_t i = 0; i < answer.comments.count; ++i)
    add(reply, answer.comments.every_ms, format.keep_alive_frame());
  return reply;
}

/// Text or a line without end takes the place of what would follow the text.
mock_reply flood(const wire_format& format, const scripted_answer& answer, spoken_answer said) {
  auto reply = open_stream(format, answer);
  said.text.emplace_back(flood_piece_bytes, 'x');
  add_frames(answer, format.frames(said).start, reply);
  if (answer.flood == flood_mode::line) {
    reply.chunks.back() = {0, "data: ", {}};
    add(reply, 0, std::string(flood_piece_bytes, 'x'));
  }
  reply.end = reply_end::repeat;
  return reply;
}

mock_reply stream(const wire_format& format, const scripted_answer& answer, spoken_answer said) {
  if (answer.flood != flood_mode::none && !answer.comments.endless)
    return flood(format, answer, std::move(said));
  auto reply = open_stream(format, answer);
  auto frames = format.frames(said);
  add_frames(answer, std::move(frames.start), reply);
  add_frames(answer, std::move(frames.rest), reply);
  if (reply.chunks.size() > 1)
    reply.chunks[1].gate = answer.gate;
  if (!answer.comments.endless) {
    cut(answer, reply);
    return reply;
  }
  reply.chunks.resize(std::min(reply.chunks.size(), answer.hang_after_chunks.value_or(0)));
  add(reply, answer.comments.every_ms, format.keep_alive_frame());
  reply.end = reply_end::repeat;
  return reply;
}

// -- replies in one piece ------------------------------------------------------------------------

mock_reply plain_reply(int status, std::string body) {
  mock_reply reply;
  reply.status = status;
  reply.length_bytes = body.size();
  reply.chunks.push_back({0, std::move(body), {}});
  return reply;
}

/// A cut or hanging reply announces its whole length and sends half.
void break_plain(const scripted_answer& answer, mock_reply& reply) {
  const bool cuts = answer.cut_after_chunks || answer.cut_mid_character;
  if (!cuts && !answer.hang_after_chunks)
    return;
  auto& bytes = reply.chunks.front().bytes;
  bytes.resize(bytes.size() / 2);
  if (!cuts)
    reply.end = reply_end::silence;
  else
    reply.end = answer.cut == cut_mode::reset ? reply_end::reset : reply_end::close;
}

/// An answer whose status or body the script sets.
mock_reply scripted_reply(const wire_format& format, const scripted_answer& answer) {
  if (!answer.body)
    return render_error(format, fault_with(answer.status));
  auto reply = plain_reply(answer.status, *answer.body);
  reply.content_type = answer.content_type;
  return reply;
}

// -- refusals ------------------------------------------------------------------------------------

std::optional<oversize> refusal(const scripted_answer& answer, const mock_request& request,
                                const limits& defaults) {
  const auto prompt = request.prompt_tokens;
  const auto limit =
      answer.reject_above_tokens ? answer.reject_above_tokens : defaults.reject_above_tokens;
  if (limit && prompt > *limit)
    return oversize{prompt, 0, *limit, false};
  const auto window = answer.window_tokens ? answer.window_tokens : defaults.window_tokens;
  const auto output = request.output_limit_tokens.value_or(0);
  if (window && prompt + output > *window)
    return oversize{prompt, output, *window, true};
  return std::nullopt;
}

/// Nothing is said but the error.
void refuse_in_stream(const wire_format& format, const provider_fault& fault, spoken_answer& said) {
  said.reasons = false;
  said.reasoning.clear();
  said.hidden_reasoning.clear();
  said.text.clear();
  said.calls.clear();
  said.error_field = nullptr;
  said.stream_error = format.error_value(fault);
}

mock_reply spoken_reply(const wire_format& format, const picked_answer& picked,
                        const mock_request& request, const limits& defaults) {
  const auto& answer = picked.answer;
  auto said = speak(picked, request);
  if (said.stream_error.is_number_integer())
    said.stream_error = format.error_value(fault_with(said.stream_error.get<int>()));
  if (const auto size = refusal(answer, request, defaults)) {
    const auto fault = format.overflow(*size);
    if (!request.stream || !answer.reject_in_stream)
      return render_error(format, fault);
    refuse_in_stream(format, fault, said);
  }
  if (request.stream)
    return stream(format, answer, std::move(said));
  auto reply = json_reply(200, format.whole(said));
  break_plain(answer, reply);
  return reply;
}

} // namespace

mock_reply render(const wire_format& format, const picked_answer& picked,
                  const mock_request& request, const limits& defaults) {
  const auto& answer = picked.answer;
  mock_reply reply;
  if (answer.body || answer.status != 200) {
    reply = scripted_reply(format, answer);
    break_plain(answer, reply);
  } else {
    reply = spoken_reply(format, picked, request, defaults);
  }
  reply.headers.insert(reply.headers.end(), answer.headers.begin(), answer.headers.end());
  reply.delay_ms = answer.delay_ms;
  reply.silent = answer.hang;
  return reply;
}

mock_reply render_error(const wire_format& format, const provider_fault& fault) {
  return json_reply(fault.status, format.error_body(format.error_value(fault)));
}

mock_reply render_models(const limits& defaults) {
  json model{{"id", model_default}, {"object", "model"}, {"created", 0}, {"owned_by", "rind"}};
  if (defaults.window_tokens)
    model["context_window"] = *defaults.window_tokens;
  return json_reply(200, {{"object", "list"}, {"data", json::array({model})}});
}

mock_reply json_reply(int status, const json& body) {
  return plain_reply(status, dumped(body));
}

} // namespace rind::hosts::mock_provider
