// The words of a conversation: messages, tool calls, usage. Values only; what is done with them
// stands in runtime/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rind {

enum class message_role : std::uint8_t { system, user, assistant, tool };

/// Who wrote a user message: the person (prompt, steering, follow-up) or the runtime (continuation
/// text, rescue note).
enum class user_origin : std::uint8_t { prompt, steering, follow_up, continuation, rescue_note };

/// How a tool call ended. The names are the wire's.
enum class tool_status : std::uint8_t {
  completed,
  cancelled,
  rejected,
  failed,
  timed_out,
  unavailable
};

/// Which of the two queues of a running operation an input waits in.
enum class input_mode : std::uint8_t { steering, follow_up };

/// One call that the model asks for. `arguments` is the JSON text as the model wrote it; it may be
/// no valid JSON.
struct tool_call {
  std::string id;
  std::string name;
  std::string arguments;
  friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// What the model thought before it spoke. `opaque` is the provider's own JSON (signatures,
/// encrypted items), kept byte for byte.
struct reasoning_block {
  std::string text;
  std::string opaque;
  friend bool operator==(const reasoning_block&, const reasoning_block&) = default;
};

/// One message. Immutable once it is shared (see message_ptr); which fields mean something depends
/// on the role.
struct message {
  message_role role = message_role::user;
  std::string content;
  user_origin origin = user_origin::prompt; // user
  std::string input_id;                     // user: the client's id of the input, or empty
  std::vector<tool_call> tool_calls;        // assistant
  std::optional<reasoning_block> reasoning; // assistant
  std::string model;                        // assistant: who wrote it
  std::string tool_call_id;                 // tool
  std::string name;                         // tool: the tool's name
  bool is_error = false;                    // tool
  friend bool operator==(const message&, const message&) = default;
};

using message_ptr = std::shared_ptr<const message>;

/// What the model may call. `parameters` is a JSON schema as text.
struct tool_definition {
  std::string name;
  std::string description;
  std::string parameters;
  friend bool operator==(const tool_definition&, const tool_definition&) = default;
};

using tool_definitions = std::shared_ptr<const std::vector<tool_definition>>;

/// What a provider counted, in its own tokens; an absent number is unknown, never zero.
/// `input_tokens` is the whole prompt of the request, cached parts included; `reasoning_tokens` are
/// part of `output_tokens`.
struct token_usage {
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> cached_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  friend bool operator==(const token_usage&, const token_usage&) = default;
};

} // namespace rind
