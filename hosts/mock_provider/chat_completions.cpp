// Rendering of answers as Chat Completions, streaming and not, with the faults that a script asks
// for.
#include "hosts/mock_provider/chat_completions.hpp"

#include <algorithm>
#include <utility>

namespace rind::hosts::mock_provider::chat_completions {

namespace {

using json = nlohmann::ordered_json;

/// Bytes that count as one token.
constexpr std::int64_t token_bytes = 4;

/// Size of the repeated piece of a flood.
constexpr std::size_t flood_piece_bytes = 16u << 10;

/// Code points of one piece of tool arguments and of reasoning.
constexpr std::size_t piece_chars = 16;

constexpr const char* model_default = "mock-model";

std::int64_t tokens_in(std::size_t bytes) {
  return (static_cast<std::int64_t>(bytes) + token_bytes - 1) / token_bytes;
}

template <class Json>
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// -- requests ------------------------------------------------------------------------------------

/// Content is a string, or an array of parts of which some have text.
std::string text_of(const nlohmann::json& message) {
  const auto content = message.find("content");
  if (content == message.end())
    return {};
  if (content->is_string())
    return content->get<std::string>();
  std::string text;
  if (content->is_array())
    for (const auto& part : *content)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        text += part["text"].get<std::string>();
  return text;
}

std::string text_field(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

bool flag_field(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

void read_messages(const nlohmann::json& messages, mock_request& request) {
  request.message_count = messages.size();
  bool user_seen = false;
  for (const auto& message : messages) {
    if (text_field(message, "role") != "user")
      continue;
    request.last_user_text = text_of(message);
    if (!std::exchange(user_seen, true))
      request.first_user_text = request.last_user_text;
  }
  request.last_text = text_of(messages.back());
  request.last_is_tool_result = text_field(messages.back(), "role") == "tool";
}

failure bad_request(std::string message) {
  return make_failure(error_code::invalid_request, std::move(message));
}

// -- pieces of a stream --------------------------------------------------------------------------

std::string completion_id(const mock_request& request, const picked_answer& picked) {
  const auto& conversation = request.conversation;
  return "chatcmpl-" + (conversation.empty() ? "mock" : conversation) + "-" +
         std::to_string(picked.nth);
}

std::string call_id(const picked_answer& picked, std::size_t index) {
  const auto& call = picked.answer.tool_calls[index];
  return call.id.empty() ? "call_" + std::to_string(picked.nth) + "_" + std::to_string(index)
                         : call.id;
}

std::string finish_of(const scripted_answer& answer) {
  return answer.finish.value_or(answer.tool_calls.empty() ? "stop" : "tool_calls");
}

json usage_of(const scripted_answer& answer, const mock_request& request) {
  if (answer.usage == usage_mode::scripted)
    return answer.usage_object;
  if (answer.usage != usage_mode::counted)
    return nullptr;
  std::size_t reasoning = answer.reasoning.size();
  std::size_t bytes = reasoning;
  for (const auto& delta : answer.deltas)
    bytes += delta.size();
  for (const auto& call : answer.tool_calls)
    bytes += call.name.size() + call.arguments.size();
  const auto completion = tokens_in(bytes);
  json usage{{"prompt_tokens", request.prompt_tokens},
             {"completion_tokens", completion},
             {"total_tokens", request.prompt_tokens + completion}};
  if (reasoning > 0)
    usage["completion_tokens_details"] = {{"reasoning_tokens", tokens_in(reasoning)}};
  return usage;
}

/// Builds the frames of one stream, in order.
class stream_builder {
public:
  stream_builder(const picked_answer& picked, const mock_request& request)
      : picked_(picked), answer_(picked.answer), request_(request) {}

  std::vector<reply_chunk> build() {
    add_comments();
    add_delta({{"role", "assistant"}, {"content", ""}});
    for (const auto& piece : split_text(answer_.reasoning, piece_chars))
      add_delta({{"reasoning_content", piece}});
    for (const auto& delta : answer_.deltas)
      add_delta({{"content", delta}});
    for (std::size_t i = 0; i < answer_.tool_calls.size(); ++i)
      add_call(i);
    add_end();
    return std::move(chunks_);
  }

  /// A frame with `bytes` of text, for floods.
  std::string text_frame(std::size_t bytes) const {
    return frame(chunk({{"content", std::string(bytes, 'x')}}, nullptr));
  }

private:
  json envelope() const {
    return {{"id", completion_id(request_, picked_)},
            {"object", "chat.completion.chunk"},
            {"created", 0},
            {"model", request_.model}};
  }

  json chunk(json delta, json finish) const {
    auto out = envelope();
    out["choices"] = json::array(
        {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}});
    if (request_.include_usage)
      out["usage"] = nullptr;
    return out;
  }

  static std::string frame(const json& data) { return "data: " + dumped(data) + "\n\n"; }

  void add(std::string bytes) {
    // The first frame comes with the head.
    const auto delay_ms = chunks_.empty() ? 0 : answer_.delta_delay_ms;
    chunks_.push_back({delay_ms, std::move(bytes)});
  }

  void add_delta(json delta) { add(frame(chunk(std::move(delta), nullptr))); }

  void add_comments() {
    for (std::int64_t i = 0; i < answer_.comments.count; ++i)
      chunks_.push_back({answer_.comments.every_ms, ": keep-alive\n\n"});
  }

  void add_call(std::size_t index) {
    const auto& call = answer_.tool_calls[index];
    add_delta(
        {{"tool_calls", json::array({{{"index", index},
                                      {"id", call_id(picked_, index)},
                                      {"type", "function"},
                                      {"function", {{"name", call.name}, {"arguments", ""}}}}})}});
    for (const auto& piece : split_text(call.arguments, piece_chars))
      add_delta({{"tool_calls",
                  json::array({{{"index", index}, {"function", {{"arguments", piece}}}}})}});
  }

  void add_end() {
    if (!answer_.error_field.is_null())
      add("error: " + dumped(answer_.error_field) + "\n\n");
    if (!answer_.stream_error.is_null())
      add(frame({{"error", answer_.stream_error}}));
    const bool failed = !answer_.error_field.is_null() || !answer_.stream_error.is_null();
    const auto finish = finish_of(answer_);
    if (!failed && !finish.empty())
      add(frame(chunk(json::object(), finish)));
    if (!failed && request_.include_usage && answer_.usage != usage_mode::none) {
      auto report = envelope();
      report["choices"] = json::array();
      report["usage"] = usage_of(answer_, request_);
      add(frame(report));
    }
    if (answer_.done_marker)
      add("data: [DONE]\n\n");
  }

  const picked_answer& picked_;
  const scripted_answer& answer_;
  const mock_request& request_;
  std::vector<reply_chunk> chunks_;
};

// -- faults of a stream --------------------------------------------------------------------------

/// Where the first character of several bytes can be cut in two; the middle without one.
std::size_t mid_character(const std::string& bytes) {
  const auto found = std::find_if(bytes.begin(), bytes.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) == 0xC0u;
  });
  return found == bytes.end() ? bytes.size() / 2
                              : static_cast<std::size_t>(found - bytes.begin()) + 1;
}

/// The first frame with a character of several bytes, else the last frame but for the end.
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

/// What never ends replaces the end of the stream.
void repeat(const scripted_answer& answer, const stream_builder& builder, mock_reply& reply) {
  auto& chunks = reply.chunks;
  if (answer.comments.endless) {
    chunks.resize(std::min<std::size_t>(chunks.size(), answer.hang_after_chunks.value_or(0)));
    chunks.push_back({answer.comments.every_ms, ": keep-alive\n\n"});
    reply.end = reply_end::repeat;
  } else if (answer.flood == flood_mode::events) {
    chunks.push_back({answer.delta_delay_ms, builder.text_frame(flood_piece_bytes)});
    reply.end = reply_end::repeat;
  } else if (answer.flood == flood_mode::line) {
    chunks.push_back({0, "data: "});
    chunks.push_back({0, std::string(flood_piece_bytes, 'x')});
    reply.end = reply_end::repeat;
  }
}

mock_reply stream_reply(const picked_answer& picked, const mock_request& request) {
  mock_reply reply;
  reply.stream = true;
  reply.content_type = "text/event-stream";
  stream_builder builder{picked, request};
  reply.chunks = builder.build();
  if (picked.answer.flood != flood_mode::none) // it begins where the end would stand
    reply.chunks.resize(1 + picked.answer.deltas.size());
  cut(picked.answer, reply);
  repeat(picked.answer, builder, reply);
  return reply;
}

// -- replies in one piece ------------------------------------------------------------------------

mock_reply plain_reply(int status, std::string body) {
  mock_reply reply;
  reply.status = status;
  reply.length_bytes = body.size();
  reply.chunks.push_back({0, std::move(body)});
  return reply;
}

json message_of(const picked_answer& picked) {
  const auto& answer = picked.answer;
  std::string text;
  for (const auto& delta : answer.deltas)
    text += delta;
  json message{{"role", "assistant"}, {"content", text}};
  if (!answer.reasoning.empty())
    message["reasoning_content"] = answer.reasoning;
  if (answer.tool_calls.empty())
    return message;
  if (text.empty())
    message["content"] = nullptr;
  auto& calls = message["tool_calls"] = json::array();
  for (std::size_t i = 0; i < answer.tool_calls.size(); ++i) {
    const auto& call = answer.tool_calls[i];
    calls.push_back({{"id", call_id(picked, i)},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
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

mock_reply whole_reply(const picked_answer& picked, const mock_request& request) {
  const auto& answer = picked.answer;
  if (!answer.stream_error.is_null())
    return plain_reply(200, dumped(json{{"error", answer.stream_error}}));
  const auto finish = finish_of(answer);
  json out{{"id", completion_id(request, picked)},
           {"object", "chat.completion"},
           {"created", 0},
           {"model", request.model},
           {"choices", json::array({{{"index", 0},
                                     {"message", message_of(picked)},
                                     {"finish_reason", finish.empty() ? json{} : json(finish)}}})}};
  if (answer.usage != usage_mode::none)
    out["usage"] = usage_of(answer, request);
  return plain_reply(200, dumped(out));
}

/// An answer whose status or body the script sets.
mock_reply scripted_reply(const scripted_answer& answer) {
  if (!answer.body)
    return render_error(answer.status, answer.status == 429 ? "rate_limit_error" : "mock_error",
                        "The script of the mock provider answers with status " +
                            std::to_string(answer.status) + ".");
  auto reply = plain_reply(answer.status, *answer.body);
  reply.content_type = answer.content_type;
  return reply;
}

// -- refusals ------------------------------------------------------------------------------------

mock_reply refuse_length(const std::string& message) {
  const json error{{"message", message},
                   {"type", "invalid_request_error"},
                   {"param", "messages"},
                   {"code", "context_length_exceeded"}};
  return plain_reply(400, dumped(json{{"error", error}}));
}

std::optional<mock_reply> refusal(const scripted_answer& answer, const mock_request& request,
                                  const limits& defaults) {
  const auto prompt = request.prompt_tokens;
  const auto limit =
      answer.reject_above_tokens ? answer.reject_above_tokens : defaults.reject_above_tokens;
  if (limit && prompt > *limit)
    return refuse_length("This model's maximum context length is " + std::to_string(*limit) +
                         " tokens. However, your messages resulted in " + std::to_string(prompt) +
                         " tokens. Please reduce the length of the messages.");
  const auto window = answer.window_tokens ? answer.window_tokens : defaults.window_tokens;
  const auto output = request.output_limit_tokens.value_or(0);
  if (window && prompt + output > *window)
    return refuse_length("This model's maximum context length is " + std::to_string(*window) +
                         " tokens. However, you requested " + std::to_string(prompt + output) +
                         " tokens (" + std::to_string(prompt) + " in the messages, " +
                         std::to_string(output) +
                         " in the completion). Please reduce the length of the messages or"
                         " completion.");
  return std::nullopt;
}

} // namespace

result<mock_request> parse_request(std::string_view body, std::string conversation) {
  const auto object = nlohmann::json::parse(body, nullptr, false);
  if (!object.is_object())
    return bad_request("The body is not a JSON object.");
  const auto messages = object.find("messages");
  if (messages == object.end() || !messages->is_array() || messages->empty())
    return bad_request("'messages' must be an array that is not empty.");
  if (!std::all_of(messages->begin(), messages->end(),
                   [](const auto& message) { return message.is_object(); }))
    return bad_request("'messages' must hold objects.");
  mock_request request;
  request.conversation = std::move(conversation);
  request.model = text_field(object, "model");
  if (request.model.empty())
    return bad_request("'model' must be a string that is not empty.");
  read_messages(*messages, request);
  auto bytes = dumped(*messages).size();
  if (const auto tools = object.find("tools");
      tools != object.end() && tools->is_array() && !tools->empty()) {
    request.has_tools = true;
    bytes += dumped(*tools).size();
  }
  request.prompt_tokens = tokens_in(bytes);
  request.stream = flag_field(object, "stream");
  if (const auto options = object.find("stream_options");
      options != object.end() && options->is_object())
    request.include_usage = flag_field(*options, "include_usage");
  for (const auto* name : {"max_completion_tokens", "max_tokens"})
    if (const auto limit = object.find(name); limit != object.end() && limit->is_number_integer())
      request.output_limit_tokens = limit->get<std::int64_t>();
  return request;
}

mock_reply render(const picked_answer& picked, const mock_request& request,
                  const limits& defaults) {
  const auto& answer = picked.answer;
  const bool own_body = answer.body || answer.status != 200;
  mock_reply reply;
  if (own_body) {
    reply = scripted_reply(answer);
    break_plain(answer, reply);
  } else if (auto refused = refusal(answer, request, defaults)) {
    reply = std::move(*refused);
  } else if (request.stream) {
    reply = stream_reply(picked, request);
  } else {
    reply = whole_reply(picked, request);
    break_plain(answer, reply);
  }
  reply.headers.insert(reply.headers.end(), answer.headers.begin(), answer.headers.end());
  reply.delay_ms = answer.delay_ms;
  reply.silent = answer.hang;
  return reply;
}

mock_reply render_error(int status, const std::string& type, const std::string& message) {
  const json error{{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}};
  return plain_reply(status, dumped(json{{"error", error}}));
}

mock_reply render_models(const limits& defaults) {
  json model{{"id", model_default}, {"object", "model"}, {"created", 0}, {"owned_by", "rind"}};
  if (defaults.window_tokens)
    model["context_window"] = *defaults.window_tokens;
  return plain_reply(200, dumped(json{{"object", "list"}, {"data", json::array({model})}}));
}

} // namespace rind::hosts::mock_provider::chat_completions
