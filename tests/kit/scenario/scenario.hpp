// A simulated run as data: the world, what model and tools answer, and what happens step by step.
// It is drawn from a seed, made smaller, or written by hand; as JSON lines it needs no C++. A line
// is an object with one of the keys "world", "model", "tool", "do" or "expect"; docs/simulation.md
// gives every field. Any part may be left out: what has no answer of the script is answered
// politely.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/result.hpp"
#include "messages/sampling.hpp"

namespace rind::kit {

inline constexpr std::size_t scenario_line_limit_bytes = std::size_t{1} << 20;
inline constexpr std::size_t scenario_lines_max = 100'000;
/// Any single wait of a scenario, and all that its steps let pass together.
inline constexpr std::int64_t scenario_wait_max_ms = 30ll * 24 * 3'600'000;
inline constexpr std::int64_t scenario_waits_max_ms = 365ll * 24 * 3'600'000;
/// Length of one text.
inline constexpr std::int64_t scenario_text_tokens_max = 250'000;
/// Tool calls of one answer, and deltas of one.
inline constexpr std::int64_t scenario_calls_max = 128;
inline constexpr std::int64_t scenario_pieces_max = 10'000;
/// Messages that one step delivers.
inline constexpr std::int64_t scenario_run_max = 1'000'000;
inline constexpr std::size_t scenario_nodes_max = 16;
/// What a commit may take.
inline constexpr std::int64_t scenario_commit_max_ms = 60'000;
/// The id of the prompt by which a run ends: every session still answers.
inline constexpr const char* last_prompt_id = "last";

/// The world of a run; the first line, `{"world":{…}}`.
struct scenario_world {
  std::string name;       // what the run is about; may be empty
  std::uint64_t seed = 1; // of the order of deliveries, of ids and jitter
  bool shuffled = true;   // the next actor is drawn; else the order of arrival counts
  std::size_t nodes = 1;
  std::string journal = "memory";      // or "sqlite", on a disk that loses what was not synced
  std::int64_t window_tokens = 12'000; // of "model-a", as the settings declare it; 10 x of
                                       // "model-big", 0.6 x of "model-tiny"
  std::int64_t true_window_tokens = 0; // what the model takes, in its own count; 0: as declared
  double token_ratio = 1.0;            // the model's tokens for one of four bytes
  std::int64_t summaries_at_once = 8;
  std::optional<std::int64_t> threshold_percent;
  bool auto_compact = true;
  bool overflow_recovery = true;
  bool auto_resume = false;
  std::int64_t system_prompt_tokens = 0;         // of every session
  std::optional<std::int64_t> max_output_tokens; // of every model, which refuses to write more
  std::string compaction_model;                  // makes the summaries; empty: the session's own
  std::vector<std::string> no_auto_compact;      // sessions that switch it off for themselves
  std::vector<std::string> no_overflow_recovery; // the same
  bool operator==(const scenario_world&) const = default;
};

/// How reported usage relates to what was sent.
enum class usage_style : std::uint8_t { exact, none, zero, cached, huge };

/// The next answer to a request of this session: `{"model":"s0",…}`.
struct model_line {
  std::string session;
  sampling_kind kind = sampling_kind::assistant;
  std::string says;                      // the answer's text; empty: one of `tokens`
  std::int64_t tokens = 0;               // length of the text
  std::int64_t thinks_tokens = 0;        // length of the reasoning before it; 0: none
  std::int64_t calls = 0;                // tool calls of the answer
  std::string error;                     // a provider_error_class instead of an answer; empty: none
  std::string message;                   // of the error
  std::int64_t states_window_tokens = 0; // of the error; 0: none
  std::int64_t retry_after_s = 0;        // of the error; 0: none
  std::string finish;                    // a finish_reason other than the natural one
  usage_style usage = usage_style::exact;
  std::int64_t input_tokens = 0; // as reported; 0: as counted
  std::int64_t after_ms = 0;     // until the answer's end
  std::int64_t pieces = 0;       // deltas before it
  bool hangs = false;            // no end but by a cancel
  bool deaf = false;             // not even then
  bool operator==(const model_line&) const = default;
};

/// The next answer to a tool call of this session: `{"tool":"s0",…}`.
struct tool_line {
  std::string session;
  std::string says;
  std::int64_t tokens = 0;
  bool fails = false;
  bool throws = false;
  bool hangs = false;
  bool deaf = false;
  std::int64_t after_ms = 0;
  bool operator==(const tool_line&) const = default;
};

enum class action : std::uint8_t {
  // of a client
  prompt,
  again, // the prompt of `id` once more, as who lost a connection does
  resume,
  compact,
  cancel,
  steer,
  follow_up,
  take_back_steering,
  take_back_follow_up,
  promote,
  set_model,
  disconnect,
  reconnect,
  // of the world
  wait,
  crash,         // a node dies and starts again; of several, the next one takes its sessions
  refuse_append, // the `number`th append from now
  conflict_append,
  lose_append_answer,
  slow_commits, // from now on a commit takes `number` ms; 0: none
  lose_runner,  // the actors that run operations die
};

/// Something happens: `{"do":"prompt",…}`. Afterwards `run` messages are delivered, then `wait_ms`
/// pass.
struct step_line {
  action what = action::wait;
  std::string session;
  std::string id;                     // of an input
  std::string text;                   // of an input; empty: one of `tokens`
  std::int64_t tokens = 0;            // length of the text
  std::string model;                  // set_model
  std::optional<std::int64_t> number; // of an append from now, 1 without it; of a node, 0 without
                                      // it; of milliseconds, 0 without it
  std::int64_t run = 0;
  std::int64_t wait_ms = 0;
  bool settles = false; // everything that runs comes to its end first
  bool operator==(const step_line&) const = default;
};

/// What has to hold at this point, once everything came to rest: `{"expect":"s0",…}`. What is left
/// out is not looked at.
struct expect_line {
  std::string session;
  bool at_once = false; // while things are under way
  std::string last; // the newest terminal event, with its code or reason: "turn_failed:too_large"
  std::optional<std::int64_t> samplings; // requests of this session that reached the model
  std::optional<std::int64_t> summaries; // the same, for summaries
  std::optional<std::int64_t> boundaries;
  std::optional<std::int64_t> turns;     // operations that were started
  std::optional<std::int64_t> resumes;   // and those that went on after an interruption
  std::optional<std::int64_t> tool_runs; // calls that reached the tool
  std::vector<std::string> compactions;  // "reason:strategy" of every boundary, oldest first
  std::optional<std::vector<std::string>> undelivered; // ids that the newest terminal event hands
                                                       // back
  std::map<std::string, std::string> answers; // by input id: "ok", the error's name, "nothing"
  std::vector<std::string> events_have;       // types of events, in this order, others between
  std::vector<std::string> events_lack;
  std::vector<std::string> view_has;    // texts
  std::vector<std::string> view_lacks;  // texts
  std::vector<std::string> request_has; // texts of the newest conversation request, in this order
  std::vector<std::string> request_lacks;
  std::vector<std::string> summary_has; // the same of the newest summary request
  std::vector<std::string> summary_lacks;
  bool operator==(const expect_line&) const = default;
};

using script_line = std::variant<step_line, expect_line>;

struct scenario {
  scenario_world world;
  std::vector<model_line> model;
  std::vector<tool_line> tools;
  std::vector<script_line> script;
  bool operator==(const scenario&) const = default;
};

/// The window that the settings of a run declare for a model.
std::int64_t declared_window_tokens(const std::string& model, const scenario_world& w);

/// What is wrong with a scenario that was not read but made; empty: nothing.
std::string fault_of(const scenario& s);

/// Sessions that any line names, sorted.
std::vector<std::string> sessions_of(const scenario& s);

/// JSON lines; reading them back gives the same scenario.
std::string to_json_lines(const scenario& s);
/// Fails with invalid_request, line and field for what is no scenario: an unknown key or word, a
/// key that stands twice, a number out of range, what has no effect, what cannot fail, a line that
/// is too long. Empty lines and lines that begin with # are skipped.
result<scenario> read_scenario(std::istream& in);

const char* to_string(action what);
const char* to_string(usage_style usage);

} // namespace rind::kit
