// Methods, parameters and slash commands.
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/protocol/requests.hpp"

namespace rind::protocol {

namespace {

using nlohmann::json;

struct refused_row {
  const char* method;
  json params;
  const char* field;
};

template <class Call>
Call read_as(const char* method, const json& params) {
  const auto call = read_call(method, params);
  if (!call) {
    ADD_FAILURE() << method << ": " << call.error().message;
    return {};
  }
  if (!std::holds_alternative<Call>(*call)) {
    ADD_FAILURE() << method << " gave another call";
    return {};
  }
  return std::get<Call>(*call);
}

} // namespace

TEST(read_call, S40_what_is_wrong_names_its_parameter) {
  const std::string long_id(65, 'a');
  const std::vector<refused_row> rows{
      {"initialize", {{"session_id", "a b"}}, "session_id"},
      {"initialize", {{"token", 7}}, "token"},
      {"session/new", {{"model", ""}}, "model"},
      {"session/new", {{"model", 1}}, "model"},
      {"session/new", {{"session_id", long_id}}, "session_id"},
      {"session/new", {{"session_id", ""}}, "session_id"},
      {"session/new", {{"system_prompt", json::array()}}, "system_prompt"},
      {"session/list", {{"limit", 0}}, "limit"},
      {"session/list", {{"limit", 101}}, "limit"},
      {"session/list", {{"limit", "5"}}, "limit"},
      {"session/list", {{"limit", 1.5}}, "limit"},
      {"session/list", {{"limit", 18446744073709551615U}}, "limit"},
      {"session/list", {{"after", 3}}, "after"},
      {"session/switch", json::object(), "session_id"},
      {"session/switch", {{"session_id", "é"}}, "session_id"},
      {"session/subscribe", json::object(), "session_id"},
      {"session/unsubscribe", {{"session_id", nullptr}}, "session_id"},
      {"session/replay", {{"limit", 1001}}, "limit"},
      {"session/replay", {{"after_cursor", -1}}, "after_cursor"},
      {"session/replay", {{"after_cursor", "1"}}, "after_cursor"},
      {"session/replay", {{"mode", "both"}}, "mode"},
      {"session/replay", {{"mode", 1}}, "mode"},
      {"session/prompt", json::object(), "input"},
      {"session/prompt", {{"input", " \n\t"}}, "input"},
      {"session/prompt", {{"input", {"a"}}}, "input"},
      {"session/prompt", {{"query", 7}}, "query"},
      {"session/prompt", {{"input", "x"}, {"input_id", ""}}, "input_id"},
      {"session/prompt", {{"input", "x"}, {"input_id", std::string(129, 'x')}}, "input_id"},
      {"session/prompt", {{"input", "x"}, {"resume", true}}, "input"},
      {"session/prompt", {{"query", "x"}, {"resume", true}}, "query"},
      {"session/prompt", {{"input", "x"}, {"resume", "yes"}}, "resume"},
      {"session/prompt", {{"input", "x"}, {"session_id", 1}}, "session_id"},
      {"session/cancel", {{"turn_id", 1}}, "turn_id"},
      {"session/cancel", {{"request_id", ""}}, "request_id"},
      {"session/cancel", {{"request_id", true}}, "request_id"},
      {"session/cancel", {{"request_id", 1}, {"turn_id", "t"}}, "request_id"},
      {"session/delete", json::object(), "session_id"},
      {"model/set", json::object(), "model"},
      {"model/set", {{"model", ""}}, "model"},
      {"rind/session/steer", json::object(), "input"},
      {"rind/session/follow_up", {{"input", "x"}, {"turn_id", ""}}, "turn_id"},
      {"rind/session/unsteer", {{"input_id", 5}}, "input_id"},
      {"rind/session/promote_follow_up", json::object(), "input_id"},
      {"rind/session/compact", {{"instructions", 5}}, "instructions"},
      {"rind/command/execute", json::object(), "input"},
      {"rind/context/inspect", {{"session_id", "../x"}}, "session_id"},
  };
  for (const auto& row : rows) {
    const auto call = read_call(row.method, row.params);
    ASSERT_FALSE(call) << row.method << ' ' << row.params;
    EXPECT_EQ(call.error().code, error_code::invalid_request);
    EXPECT_EQ(call.error().message.find(std::string(row.field) + ": "), 0U)
        << row.method << ": " << call.error().message;
  }
}

TEST(read_call, fills_every_parameter) {
  const auto opened = read_as<calls::initialize>(
      "initialize", {{"session_id", "s-1"}, {"client", {{"name", "cli"}}}, {"token", "t"}});
  EXPECT_EQ(opened.session_id + "|" + opened.client + "|" + opened.token, "s-1|cli|t");
  EXPECT_EQ(read_as<calls::initialize>("initialize", {{"client", "cli"}}).client, "cli");
  EXPECT_EQ(read_as<calls::initialize>("initialize", {{"client", {{"name", 7}}}}).client, "");

  const auto made = read_as<calls::session_new>(
      "session/new", {{"model", "m"}, {"system_prompt", "p"}, {"session_id", "A_z-9"}});
  EXPECT_EQ(made.model + "|" + made.system_prompt + "|" + made.session_id, "m|p|A_z-9");

  const auto listed =
      read_as<calls::session_list>("session/list", {{"limit", 100}, {"after", "k"}});
  EXPECT_EQ(listed.limit, 100);
  EXPECT_EQ(listed.after, "k");

  const auto replayed = read_as<calls::session_replay>(
      "session/replay",
      {{"session_id", "s"}, {"after_cursor", 7}, {"limit", 1000}, {"mode", "events"}});
  EXPECT_EQ(replayed.session_id, "s");
  EXPECT_EQ(replayed.after_cursor, 7);
  EXPECT_EQ(replayed.limit, 1000);
  EXPECT_EQ(replayed.mode, replay_mode::events);

  const auto prompted = read_as<calls::session_prompt>(
      "session/prompt", {{"query", "hi"}, {"input_id", std::string(128, 'x')}});
  EXPECT_EQ(prompted.input, "hi");
  EXPECT_EQ(prompted.input_id.size(), 128U);
  EXPECT_TRUE(read_as<calls::session_prompt>("session/prompt", {{"resume", true}}).resume);
  EXPECT_EQ(
      read_as<calls::session_prompt>("session/prompt", {{"input", " a "}, {"resume", false}}).input,
      " a ");

  EXPECT_EQ(read_as<calls::session_cancel>("session/cancel", {{"request_id", 4}}).request_id, 4);
  EXPECT_TRUE(
      read_as<calls::session_cancel>("session/cancel", json::object()).request_id.is_null());

  const auto steered = read_as<calls::queue_input>(
      "rind/session/steer", {{"input", "x"}, {"input_id", "i"}, {"turn_id", "t"}});
  EXPECT_EQ(steered.mode, input_mode::steering);
  EXPECT_EQ(steered.input + steered.input_id + steered.turn_id, "xit");
  EXPECT_EQ(read_as<calls::queue_input>("rind/session/follow_up", {{"input", "x"}}).mode,
            input_mode::follow_up);
  EXPECT_EQ(read_as<calls::take_back_input>("rind/session/unsteer", json::object()).mode,
            input_mode::steering);
  EXPECT_EQ(
      read_as<calls::take_back_input>("rind/session/dequeue_follow_up", {{"input_id", "i"}}).mode,
      input_mode::follow_up);
  EXPECT_EQ(read_as<calls::session_compact>("rind/session/compact", {{"instructions", "keep"}})
                .instructions,
            "keep");
}

TEST(read_call, leaves_defaults_where_a_parameter_is_missing_or_null) {
  for (const json& params :
       {json::object(),
        json{{"limit", nullptr}, {"mode", nullptr}, {"after_cursor", nullptr}, {"unknown", 1}}}) {
    const auto replayed = read_as<calls::session_replay>("session/replay", params);
    EXPECT_EQ(replayed.limit, 200);
    EXPECT_EQ(replayed.after_cursor, 0);
    EXPECT_EQ(replayed.mode, replay_mode::messages);
    EXPECT_EQ(read_as<calls::session_list>("session/list", params).limit, 20);
  }
}

TEST(read_call, knows_every_method_by_a_call_of_its_own) {
  const json all{{"session_id", "s"}, {"input", "x"}, {"input_id", "i"}, {"model", "m"}};
  std::set<std::pair<std::size_t, std::string>> seen;
  for (const auto* name : method_names()) {
    const auto call = read_call(name, all);
    ASSERT_TRUE(call) << name << ": " << call.error().message;
    std::string mode;
    if (const auto* queued = std::get_if<calls::queue_input>(&*call))
      mode = to_string(queued->mode);
    if (const auto* taken = std::get_if<calls::take_back_input>(&*call))
      mode = to_string(taken->mode);
    EXPECT_TRUE(seen.emplace(call->index(), mode).second) << name;
    const bool early = std::string(name) == "initialize" || std::string(name) == "ping";
    EXPECT_EQ(allowed_before_initialize(*call), early) << name;
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<method_call> + 2); // two methods share a call each
}

TEST(read_call, an_unknown_method_is_named) {
  for (const auto* name : {"", "session", "session/Prompt", "ping "}) {
    const auto call = read_call(name, json::object());
    ASSERT_FALSE(call) << name;
    EXPECT_EQ(call.error().code, error_code::method_not_found);
  }
  EXPECT_LT(read_call(std::string(100'000, 'x'), json::object()).error().message.size(), 200U);
}

TEST(read_command, case_and_spaces_around_do_not_matter) {
  struct row {
    const char* text;
    command_name name;
    const char* argument;
  };
  for (const auto& [text, name, argument] : std::vector<row>{
           {"/compact", command_name::compact, ""},
           {"  /COMPACT \t the  API of Foo \n", command_name::compact, "the  API of Foo"},
           {"/Help", command_name::help, ""},
           {"/status now", command_name::status, "now"},
           {"/sessions", command_name::sessions, ""},
           {"/MODEL GPT-x", command_name::model, "GPT-x"},
           {"/context", command_name::context, ""},
           {"compact", command_name::unknown, ""},
           {"/compactfoo", command_name::unknown, ""},
           {"/", command_name::unknown, ""},
           {"", command_name::unknown, ""},
           {" \n", command_name::unknown, ""},
           {"/wat x", command_name::unknown, "x"},
       }) {
    const auto read = read_command(text);
    EXPECT_EQ(read.name, name) << text;
    EXPECT_EQ(read.argument, argument) << text;
  }
}

TEST(read_command, help_shows_every_command_and_an_unknown_one_is_told) {
  for (const auto& row : commands()) {
    EXPECT_NE(help_text().find(row.usage), std::string::npos);
    EXPECT_EQ(read_command(row.word).name, row.name);
  }
  EXPECT_NE(unknown_command_text(read_command("/Wat is")).find("'/Wat'"), std::string::npos);
}

} // namespace rind::protocol
