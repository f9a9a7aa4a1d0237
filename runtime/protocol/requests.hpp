// What a client can ask: the methods of the session protocol with their parameters, checked, and
// the slash commands. Unknown parameters are ignored; null stands for a parameter left out. Answers
// stand in responses.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "messages/result.hpp"
#include "messages/session_info.hpp"

namespace rind::protocol {

inline constexpr std::size_t session_id_limit_characters = 64;
inline constexpr std::int64_t input_id_limit_characters = 128;
inline constexpr std::int64_t list_limit_default = 20;
inline constexpr std::int64_t list_limit_max = 100;
inline constexpr std::int64_t replay_limit_default = 200;
inline constexpr std::int64_t replay_limit_max = 1'000;

/// `[A-Za-z0-9_-]{1,64}`
bool is_session_id(std::string_view text);

/// One struct a method. In all of them an empty `session_id` means the connection's current
/// session, and an empty text a parameter that was left out.
namespace calls {

struct initialize {
  std::string session_id;
  std::string client; // the client's name, where it gave one
  std::string token;
};

struct shutdown {};

struct ping {};

struct session_new {
  std::string model;
  std::string system_prompt;
  std::string session_id;                  // for the new session
  std::optional<bool> auto_compact{};      // unset: as the host's settings say
  std::optional<bool> overflow_recovery{}; // the same
};

struct session_list {
  std::int64_t limit = list_limit_default;
  std::string after;
};

struct session_switch {
  std::string session_id;
};

struct session_subscribe {
  std::string session_id;
};

struct session_unsubscribe {
  std::string session_id;
};

struct session_replay {
  std::string session_id;
  std::int64_t after_cursor = 0;
  std::int64_t limit = replay_limit_default;
  replay_mode mode = replay_mode::messages;
};

/// Either an input or `resume`.
struct session_prompt {
  std::string session_id;
  std::string input;
  std::string input_id;
  bool resume = false;
};

/// At most one of turn_id and request_id (null: none).
struct session_cancel {
  std::string session_id;
  std::string turn_id;
  nlohmann::json request_id;
};

struct session_delete {
  std::string session_id;
};

struct model_list {
  std::string session_id;
};

struct model_set {
  std::string session_id;
  std::string model;
};

/// `rind/session/steer` and `rind/session/follow_up`.
struct queue_input {
  std::string session_id;
  input_mode mode = input_mode::steering;
  std::string input;
  std::string input_id;
  std::string turn_id;
};

/// `rind/session/unsteer` and `rind/session/dequeue_follow_up`.
struct take_back_input {
  std::string session_id;
  input_mode mode = input_mode::steering;
  std::string input_id; // empty: the newest
};

struct promote_follow_up {
  std::string session_id;
  std::string input_id;
};

struct session_compact {
  std::string session_id;
  std::string instructions;
};

struct command_execute {
  std::string session_id;
  std::string input;
};

struct context_inspect {
  std::string session_id;
};

struct background_list {};

struct goal_get {};

} // namespace calls

using method_call =
    std::variant<calls::initialize, calls::shutdown, calls::ping, calls::session_new,
                 calls::session_list, calls::session_switch, calls::session_subscribe,
                 calls::session_unsubscribe, calls::session_replay, calls::session_prompt,
                 calls::session_cancel, calls::session_delete, calls::model_list, calls::model_set,
                 calls::queue_input, calls::take_back_input, calls::promote_follow_up,
                 calls::session_compact, calls::command_execute, calls::context_inspect,
                 calls::background_list, calls::goal_get>;

/// MethodNotFound, or InvalidRequest naming the parameter and what it must be.
result<method_call> read_call(std::string_view method, const nlohmann::json& params);

/// Whether a call is answered before `initialize`.
bool allowed_before_initialize(const method_call& call);

/// Names of all methods, as `initialize` lists them.
std::span<const char* const> method_names();
std::span<const char* const> capability_names();

// ---- slash commands
// --------------------------------------------------------------------------------------------------------------

enum class command_name : std::uint8_t { compact, help, status, sessions, model, context, unknown };

struct command_row {
  command_name name;
  const char* word; // with its slash
  const char* usage;
  const char* description;
};

/// All commands but `unknown`.
std::span<const command_row> commands();

/// A command line as typed. The word's case and spaces around do not matter; `argument` keeps its
/// case and inner spaces.
struct slash_command {
  command_name name = command_name::unknown;
  std::string word; // as typed
  std::string argument;
};

slash_command read_command(std::string_view text);

/// What `/help` answers.
std::string help_text();
/// What an unknown command is answered with.
std::string unknown_command_text(const slash_command& command);

} // namespace rind::protocol
