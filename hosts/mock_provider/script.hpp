// The script of the mock provider: rules that say which request gets which answer. Pure: it knows
// neither sockets nor a wire format; the formats render an answer into the bytes of a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/result.hpp"

namespace rind::hosts::mock_provider {

/// How many conversations are counted one by one; the requests of further ones share a count.
inline constexpr std::size_t counted_conversations_max = 100'000;

/// What the rules can ask of a request, the same for every wire format.
struct mock_request {
  /// The header X-Rind-Session; empty without it.
  std::string conversation;
  std::string model;
  /// Text of the last message, whoever's it is, and of the last and first message of the user.
  std::string last_text;
  std::string last_user_text;
  std::string first_user_text;
  bool last_is_tool_result = false;
  std::size_t message_count = 0;
  bool has_tools = false;
  bool stream = false;
  /// A usage report ends the stream: the client asked for it, or the format always has one.
  bool include_usage = false;
  /// The client wants reasoning in a form that can come back.
  bool seal_reasoning = false;
  /// The client asked for thinking: every answer has some, be it empty.
  bool must_reason = false;
  /// The mock's count: a quarter of the bytes of messages, instructions and tools as compact JSON,
  /// rounded up.
  std::int64_t prompt_tokens = 0;
  /// The output limit that the client set, if any.
  std::optional<std::int64_t> output_limit_tokens;
};

enum class usage_mode {
  counted,  ///< the mock's own count, or what the script says in place of it
  scripted, ///< the object of the script, as it is
  null,     ///< a report whose usage is null
  none,     ///< no report
};

/// What a script says in place of the mock's count; absent parts are counted. `cached` is a part of
/// `input`, `reasoning` one of `output`. In tokens.
struct scripted_counts {
  std::optional<std::int64_t> input;
  std::optional<std::int64_t> cached;
  std::optional<std::int64_t> output;
  std::optional<std::int64_t> reasoning;
};

/// How a connection ends that is cut.
enum class cut_mode {
  close, ///< closed in the middle of the body
  reset, ///< reset by RST
  clean, ///< the body ends as if it were complete
};

enum class flood_mode {
  none,
  events, ///< chunks of text without end
  line,   ///< one line without end
};

struct scripted_call {
  std::string id; ///< empty: one is made
  std::string name;
  std::string arguments; ///< as text: it need not be JSON
};

/// Repeated comments before the answer; `count` 0 is none.
struct keep_alive {
  std::int64_t count = 0;
  bool endless = false;
  std::int64_t every_ms = 0;
};

/// One answer, as docs/mock-provider.md describes its fields.
struct scripted_answer {
  std::vector<std::string> deltas;
  std::string reasoning;
  bool reasoning_hidden = false; ///< it is not told, only its sealed form is sent
  std::vector<scripted_call> tool_calls;
  /// Absent: tool_calls where there are calls, else stop. Empty: none is sent.
  std::optional<std::string> finish;
  usage_mode usage = usage_mode::counted;
  scripted_counts usage_counts; ///< of usage_mode::counted
  nlohmann::json usage_object;  ///< of usage_mode::scripted
  bool done_marker = true;
  std::int64_t delay_ms = 0;
  std::int64_t delta_delay_ms = 0;
  std::string gate; ///< a stream waits there after its first chunk; empty: none

  int status = 200;
  std::optional<std::string> body; ///< replaces the whole body
  std::string content_type;        ///< of `body`; empty: JSON
  std::vector<std::pair<std::string, std::string>> headers;

  std::optional<std::size_t> cut_after_chunks;
  bool cut_mid_character = false;
  cut_mode cut = cut_mode::close;
  nlohmann::json stream_error; ///< null: none; a number: the format's own for this status
  nlohmann::json error_field;  ///< null: none
  bool hang = false;
  std::optional<std::size_t> hang_after_chunks;
  flood_mode flood = flood_mode::none;
  keep_alive comments;
  std::optional<std::int64_t> reject_above_tokens;
  std::optional<std::int64_t> window_tokens;
  bool reject_in_stream = false; ///< a stream begins and tells the refusal as its error
};

/// All that is set must hold.
struct rule_match {
  std::optional<std::string> model;
  std::optional<std::string> contains; ///< in the text of the last message
  std::optional<bool> has_tools;
  std::optional<bool> has_tool_result;   ///< the last message is a tool's result
  std::optional<std::int64_t> nth;       ///< the n-th request of its conversation, from 1
  std::optional<std::int64_t> min_chars; ///< code points of the last message
  std::optional<std::int64_t> min_tokens;
  std::optional<std::int64_t> max_tokens;
};

struct script_rule {
  std::size_t line = 0; ///< of the script, from 1
  std::optional<std::string> conversation;
  rule_match match;
  /// How often the rule may answer; 0: for ever.
  std::int64_t times = 1;
  scripted_answer answer;
};

using script = std::vector<script_rule>;

/// Reads a script: one JSON object a line; empty lines and lines that begin with `#` are skipped.
/// An unknown field, a wrong type or an impossible combination is an `invalid_request` that names
/// the line and the field.
result<script> parse_script(std::string_view text);

/// Splits text into pieces of `chars` code points, never inside one. Empty text has no pieces.
std::vector<std::string> split_text(std::string_view text, std::size_t chars);

/// Which rule answered, and what it says.
struct picked_answer {
  /// The line of the rule; 0: no rule matched and the default answers.
  std::size_t line = 0;
  scripted_answer answer;
  /// The place of the request in its conversation, from 1.
  std::int64_t nth = 0;
};

/// Plays a script: the first rule that matches and is not used up answers; without one, the
/// default of echo.hpp does. Not thread-safe: its owner serialises the calls.
class script_player {
public:
  explicit script_player(script rules);

  picked_answer pick(const mock_request& request);

private:
  std::int64_t count(const std::string& conversation);

  script rules_;
  std::vector<std::int64_t> uses_;                         // one a rule
  std::unordered_map<std::string, std::int64_t> requests_; // by conversation
};

} // namespace rind::hosts::mock_provider
