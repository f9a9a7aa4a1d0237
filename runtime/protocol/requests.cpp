// The methods as one table: name, and how its parameters are read.
#include "runtime/protocol/requests.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "messages/json.hpp"
#include "runtime/protocol/params.hpp"

namespace rind::protocol {

using nlohmann::json;

bool is_session_id(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= session_id_limit_characters &&
         std::all_of(text.begin(), text.end(), fits);
}

namespace {

/// The client's name: a text, or the `name` of an object. Whatever else stands there is of no use
/// here.
std::string client_name(const json& client) {
  const json& name = client.is_object() && client.contains("name") ? client.at("name") : client;
  const auto* text = name.get_ptr<const std::string*>();
  return text == nullptr ? std::string() : *text;
}

method_call read_initialize(params_reader& p) {
  return calls::initialize{p.session_id(), client_name(p.any("client")), p.text("token")};
}

method_call read_new(params_reader& p) {
  calls::session_new out{p.name("model"), p.text("system_prompt"), p.session_id()};
  if (p.has("auto_compact"))
    out.auto_compact = p.flag("auto_compact");
  if (p.has("overflow_recovery"))
    out.overflow_recovery = p.flag("overflow_recovery");
  return out;
}

method_call read_list(params_reader& p) {
  return calls::session_list{p.number("limit", 1, list_limit_max, list_limit_default),
                             p.text("after")};
}

method_call read_replay(params_reader& p) {
  calls::session_replay out;
  out.session_id = p.session_id();
  out.after_cursor = p.number("after_cursor", 0, std::numeric_limits<std::int64_t>::max(), 0);
  out.limit = p.number("limit", 1, replay_limit_max, replay_limit_default);
  const std::string mode = p.text("mode");
  if (mode == to_string(replay_mode::events))
    out.mode = replay_mode::events;
  else if (p.has("mode") && mode != to_string(replay_mode::messages))
    p.refuse("mode", "must be \"messages\" or \"events\"");
  return out;
}

method_call read_prompt(params_reader& p) {
  calls::session_prompt out;
  out.session_id = p.session_id();
  out.input_id = p.input_id();
  out.resume = p.flag("resume");
  const char* name = p.has("input") || !p.has("query") ? "input" : "query";
  if (!out.resume)
    out.input = p.input(name);
  else if (p.has(name))
    p.refuse(name, "must be left out where resume is true");
  return out;
}

method_call read_cancel(params_reader& p) {
  calls::session_cancel out;
  out.session_id = p.session_id();
  out.turn_id = p.name("turn_id");
  out.request_id = p.any("request_id");
  const bool is_text =
      out.request_id.is_string() && !out.request_id.get_ref<const std::string&>().empty();
  if (p.has("request_id") && !is_text && !out.request_id.is_number())
    p.refuse("request_id", "must be a non-empty string or a number");
  if (p.has("request_id") && p.has("turn_id"))
    p.refuse("request_id", "must be left out where turn_id is given");
  return out;
}

template <input_mode Mode>
method_call read_queue_input(params_reader& p) {
  return calls::queue_input{p.session_id(), Mode, p.input("input"), p.input_id(),
                            p.name("turn_id")};
}

template <input_mode Mode>
method_call read_take_back(params_reader& p) {
  return calls::take_back_input{p.session_id(), Mode, p.input_id()};
}

/// A method without parameters.
template <class Call>
method_call read_nothing(params_reader&) {
  return Call{};
}

/// A method that takes a session and nothing else.
template <class Call, need Need>
method_call read_session(params_reader& p) {
  return Call{p.session_id(Need)};
}

struct method_row {
  const char* name;
  method_call (*read)(params_reader&);
};

constexpr std::array method_table{
    method_row{"initialize", read_initialize},
    method_row{"shutdown", read_nothing<calls::shutdown>},
    method_row{"ping", read_nothing<calls::ping>},
    method_row{"session/new", read_new},
    method_row{"session/list", read_list},
    method_row{"session/switch", read_session<calls::session_switch, need::required>},
    method_row{"session/subscribe", read_session<calls::session_subscribe, need::required>},
    method_row{"session/unsubscribe", read_session<calls::session_unsubscribe, need::required>},
    method_row{"session/replay", read_replay},
    method_row{"session/prompt", read_prompt},
    method_row{"session/cancel", read_cancel},
    method_row{"session/delete", read_session<calls::session_delete, need::required>},
    method_row{"model/list", read_session<calls::model_list, need::optional>},
    method_row{"model/set",
               [](params_reader& p) -> method_call {
                 return calls::model_set{p.session_id(), p.name("model", need::required)};
               }},
    method_row{"rind/session/steer", read_queue_input<input_mode::steering>},
    method_row{"rind/session/follow_up", read_queue_input<input_mode::follow_up>},
    method_row{"rind/session/unsteer", read_take_back<input_mode::steering>},
    method_row{"rind/session/dequeue_follow_up", read_take_back<input_mode::follow_up>},
    method_row{"rind/session/promote_follow_up",
               [](params_reader& p) -> method_call {
                 return calls::promote_follow_up{p.session_id(), p.input_id(need::required)};
               }},
    method_row{"rind/session/compact",
               [](params_reader& p) -> method_call {
                 return calls::session_compact{p.session_id(), p.text("instructions")};
               }},
    method_row{"rind/command/execute",
               [](params_reader& p) -> method_call {
                 return calls::command_execute{p.session_id(), p.text("input", need::required)};
               }},
    method_row{"rind/context/inspect", read_session<calls::context_inspect, need::optional>},
    method_row{"rind/background/list", read_nothing<calls::background_list>},
    method_row{"rind/goal/get", read_nothing<calls::goal_get>},
};

constexpr auto names_of(const decltype(method_table)& table) {
  std::array<const char*, method_table.size()> names{};
  for (std::size_t i = 0; i < table.size(); ++i)
    names[i] = table[i].name;
  return names;
}
constexpr auto method_name_table = names_of(method_table);

constexpr std::array capability_table{
    "sessions",      "models",         "rind/commands",       "rind/compaction",
    "rind/steering", "rind/follow-up", "rind/input-retrieval"};

/// Characters of an unknown name that its error repeats.
constexpr std::int64_t quoted_name_characters = 80;

} // namespace

result<method_call> read_call(std::string_view method, const json& params) {
  const auto row = std::find_if(method_table.begin(), method_table.end(),
                                [method](const method_row& r) { return method == r.name; });
  if (row == method_table.end())
    return make_failure(error_code::method_not_found,
                        "there is no method '" +
                            std::string(first_characters(method, quoted_name_characters)) + "'");
  params_reader reader(params);
  method_call call = row->read(reader);
  if (reader.error())
    return *reader.error();
  return call;
}

bool allowed_before_initialize(const method_call& call) {
  return std::holds_alternative<calls::initialize>(call) ||
         std::holds_alternative<calls::ping>(call);
}

std::span<const char* const> method_names() {
  return method_name_table;
}

std::span<const char* const> capability_names() {
  return capability_table;
}

} // namespace rind::protocol
