// What clients, files, ports and providers can do wrong: each gets a clear, typed answer, the host
// lives, and others go on.
#include <csignal>
#include <cstring>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/e2e/lone_host.hpp"

namespace rind::e2e {
namespace {

using kit::error_type_of;
using kit::result_of;
using nlohmann::json;

constexpr std::size_t line_limit_bytes = 8 * 1024 * 1024;
constexpr const char* secret = "sk-secret-that-nobody-may-see-4711";

std::string request_line(const std::string& method, const json& params, int id = 900) {
  return json{{"kind", "request"}, {"request_id", id}, {"method", method}, {"params", params}}
      .dump();
}

bool can_talk(kit::protocol_peer& peer) {
  const auto answer = peer.call("session/prompt", {{"input", "Are you there?"}});
  return result_of(answer).value("outcome", "") == "completed";
}

json next_answer(kit::protocol_peer& peer) {
  while (auto frame = peer.next_frame())
    if (!frame->is_object() || frame->value("kind", "") == "response")
      return *frame;
  return nullptr;
}

// -- lines
// -----------------------------------------------------------------------------------------

struct bad_line {
  const char* name;
  std::string bytes; // without newline
  const char* error_type;
};

std::vector<bad_line> bad_lines() {
  const auto with_input = [](const std::string& raw) {
    return R"({"kind":"request","request_id":900,"method":"session/prompt","params":{"input":")" +
           raw + "\"}}";
  };
  return {
      {"no_json", "hello", "ParseError"},
      {"half_json", R"({"kind":"request")", "ParseError"},
      {"number_without_end", "123456e", "ParseError"},
      {"array", "[1,2,3]", "InvalidRequest"},
      {"bad_utf8", with_input("\xff\xfe"), "ParseError"},
      {"overlong_utf8", with_input("\xc0\xaf"), "ParseError"},
      {"surrogate_utf8", with_input("\xed\xa0\x80"), "ParseError"},
      {"cut_utf8", with_input("\xe2\x82"), "ParseError"},
      {"lone_surrogate_escape", with_input("\\ud800"), "ParseError"},
      {"zero_byte", std::string("\0\0\0", 3), "ParseError"},
      {"deep_arrays", std::string(100'000, '['), "InvalidRequest"},
      {"deep_objects",
       R"({"kind":"request","request_id":900,"method":"ping","params":)" +
           [] {
             std::string deep;
             for (int i = 0; i < 65; ++i)
               deep += R"({"a":)";
             return deep + "1" + std::string(65, '}') + "}";
           }(),
       "InvalidRequest"},
      {"too_long", with_input(std::string(line_limit_bytes, 'a')), "InvalidRequest"},
      {"wrong_kind", R"({"kind":"question","request_id":900,"method":"ping"})", "InvalidRequest"},
      {"wrong_method_type", R"({"kind":"request","request_id":900,"method":{}})", "InvalidRequest"},
      {"unknown_method", request_line("session/explode", json::object()), "MethodNotFound"},
      {"wrong_param_type", request_line("session/prompt", {{"input", 12}}), "InvalidRequest"},
      {"session_id_with_slash", request_line("session/switch", {{"session_id", "../../etc"}}),
       "InvalidRequest"},
      {"session_id_too_long",
       request_line("session/switch", {{"session_id", std::string(65, 'a')}}), "InvalidRequest"},
      {"session_id_unknown", request_line("session/switch", {{"session_id", "nobody"}}),
       "SessionNotFound"},
      {"input_over_the_budget",
       request_line("session/prompt", {{"input", std::string(400'000, 'a')}}), "InvalidRequest"}};
}

TEST(bad_input, S40_each_bad_line_is_answered_and_the_connection_goes_on) {
  const lone_host world;
  auto host = world.serve();
  auto peer = client_of(host.socket_path(), "one");
  auto other = client_of(host.socket_path(), "two");
  for (const auto& line : bad_lines()) {
    SCOPED_TRACE(line.name);
    peer->channel().send_line(line.bytes);
    const auto answer = next_answer(*peer);
    EXPECT_EQ(error_type_of(answer), line.error_type) << answer.dump().substr(0, 300);
    EXPECT_FALSE(answer.is_object() && answer["error"]["message"].get<std::string>().empty());
    EXPECT_EQ(result_of(peer->call("ping")), json({{"ok", true}}));
  }
  EXPECT_TRUE(can_talk(*peer));
  EXPECT_TRUE(can_talk(*other));
}

TEST(bad_input, S40_a_line_of_the_limit_is_taken) {
  const lone_host world;
  auto host = world.serve({"--set", "embedded_window_tokens=4000000"});
  auto peer = client_of(host.socket_path(), "one");
  const auto head =
      std::string(R"({"kind":"request","request_id":901,"method":"ping","params":{"padding":")");
  peer->channel().send_line(head + std::string(line_limit_bytes - head.size() - 3, 'x') + "\"}}");
  EXPECT_EQ(result_of(next_answer(*peer)), json({{"ok", true}}));
}

TEST(bad_input, S38_a_client_that_does_not_read_is_let_go_and_others_go_on) {
  const lone_host world(std::vector<json>{
      {{"times", 0}, {"answer", {{"text", std::string(400'000, 'w')}, {"chunk_chars", 100'000}}}}});
  kit::write_file(world.file("rind.toml"),
                  "[[providers]]\nname = \"p\"\nbase_url = \"" + world.provider_url() +
                      "\"\n[[providers.models]]\nname = \"wide\"\ncontext_window = 4000000\n");
  auto host = world.serve({"--config", world.file("rind.toml")}, false);
  auto reader = client_of(host.socket_path(), "one");
  kit::protocol_peer sleeper(host.socket_path());
  sleeper.call("initialize");
  sleeper.call("session/subscribe", {{"session_id", "one"}});
  // It is told that it was too slow if it reads soon after; the host waits for it only so long.
  const auto is_let_go = [&] { return world.errors().find("slow_consumer") != std::string::npos; };
  for (int i = 0; i < 12 && !is_let_go(); ++i)
    ASSERT_TRUE(can_talk(*reader)) << i;
  ASSERT_TRUE(is_let_go());
  sleeper.channel().read_to_end();
  ASSERT_TRUE(sleeper.channel().is_ended());
  json last;
  while (auto frame = sleeper.take_frame())
    last = *frame;
  EXPECT_EQ(error_type_of(last), "SlowConsumer") << last.dump().substr(0, 300);
  EXPECT_TRUE(can_talk(*reader));
}

// -- sockets, ports, files
// ---------------------------------------------------------------------------

TEST(bad_input, a_live_socket_is_refused_and_a_stale_one_is_replaced) {
  const lone_host world;
  auto host = world.serve();
  const auto second = world.run({"serve", "--socket", world.file("s"), "--journal", "memory"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_NE(second.errors.find("in use"), std::string::npos) << second.errors;
  auto peer = client_of(host.socket_path(), "one");
  EXPECT_TRUE(can_talk(*peer));
  host.child().kill(); // leaves its socket behind
  struct stat found {};
  ASSERT_EQ(::stat(world.file("s").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  auto again = world.serve();
  kit::protocol_peer back(again.socket_path());
  EXPECT_EQ(result_of(back.call("initialize", {{"session_id", "one"}})).value("session_id", ""),
            "one");
}

TEST(bad_input, a_socket_path_that_cannot_be_is_refused) {
  const lone_host world;
  kit::write_file(world.file("plain"), "not a socket");
  for (const auto& path :
       {world.file("plain"), world.file("no/such/folder/s"), std::string(200, 'p')}) {
    const auto refused = world.run({"serve", "--socket", path, "--journal", "memory"});
    EXPECT_EQ(refused.exit_code, 1) << path;
    EXPECT_NE(refused.errors.find("error"), std::string::npos) << refused.errors;
  }
  EXPECT_EQ(kit::read_file(world.file("plain")), "not a socket");
}

TEST(bad_input, a_port_in_use_is_refused) {
  const lone_host world(std::vector<json>{});
  const auto url = world.provider_url();
  const auto port = url.substr(url.rfind(':') + 1, url.rfind('/') - url.rfind(':') - 1);
  const auto refused = world.run({"mock-provider", "--port", port});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find(port), std::string::npos) << refused.errors;
  EXPECT_EQ(refused.output, "");
}

TEST(bad_input, settings_with_a_fault_start_nothing) {
  const lone_host world;
  const auto provider =
      std::string("[[providers]]\nname = \"p\"\nbase_url = \"http://127.0.0.1:9/v1\"\n");
  const auto model = std::string("[[providers.models]]\nname = \"m\"\n");
  const std::vector<std::pair<std::string, std::string>> faults{
      {provider + "api_key_file = \"missing.key\"\n" + model, "missing.key"},
      {provider + "api_key_env = \"NOT_SET_ANYWHERE\"\n" + model, "NOT_SET_ANYWHERE"},
      {provider + "api_key = \"" + secret + "\"\n" + model, "api_key"},
      {"no toml at all = = =", "rind.toml"},
      {"unknown_key = 1\n", "unknown_key"},
      {"[server]\ndrain_ms = \"long\"\n", "drain_ms"}};
  for (const auto& [text, named] : faults) {
    kit::write_file(world.file("rind.toml"), text);
    const auto refused =
        world.run({"serve", "--socket", world.file("s"), "--config", world.file("rind.toml")});
    EXPECT_EQ(refused.exit_code, 1) << text;
    EXPECT_NE(refused.errors.find(named), std::string::npos) << refused.errors;
    EXPECT_EQ(refused.errors.find(secret), std::string::npos) << refused.errors;
  }
  EXPECT_EQ(
      world.run({"serve", "--socket", world.file("s"), "--config", world.file("not-there.toml")})
          .exit_code,
      1);
}

void make_newer(const std::string& path) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE meta SET schema_version = 999", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
}

TEST(bad_input, S39_a_journal_that_cannot_be_read_is_an_error_and_never_an_empty_one) {
  const lone_host world;
  {
    auto host = world.serve();
    auto peer = client_of(host.socket_path(), "one");
    ASSERT_TRUE(can_talk(*peer));
    host.child().signal(SIGTERM);
    ASSERT_EQ(host.child().wait().exit_code, 0);
  }
  make_newer(world.file("rind.db"));
  const auto newer =
      world.run({"serve", "--socket", world.file("s"), "--journal", world.journal()});
  EXPECT_EQ(newer.exit_code, 1);
  EXPECT_NE(newer.errors.find("newer"), std::string::npos) << newer.errors;
  kit::write_file(world.file("noise.db"), std::string(50'000, '#'));
  const auto noise = world.run(
      {"serve", "--socket", world.file("s"), "--journal", "sqlite:" + world.file("noise.db")});
  EXPECT_EQ(noise.exit_code, 1);
  EXPECT_NE(noise.errors.find("noise.db"), std::string::npos) << noise.errors;
  EXPECT_EQ(world
                .run({"serve", "--socket", world.file("s"), "--journal",
                      "sqlite:" + world.file("no/folder/x.db")})
                .exit_code,
            1);
}

/// Damages every entry of a session, in a file that stays sound.
void damage_session(const std::string& path, const std::string& session_id) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const auto sql = "UPDATE entries SET body = '{' WHERE session_id = '" + session_id + "'";
  char* error = nullptr;
  ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << (error == nullptr ? "" : error);
  ASSERT_GT(sqlite3_changes(db), 0);
  sqlite3_close(db);
}

TEST(bad_input, S43_a_damaged_session_is_unavailable_and_the_others_go_on) {
  const lone_host world;
  {
    auto host = world.serve();
    auto one = client_of(host.socket_path(), "one");
    auto two = client_of(host.socket_path(), "two");
    ASSERT_TRUE(can_talk(*one));
    ASSERT_TRUE(can_talk(*two));
    host.child().kill();
  }
  damage_session(world.file("rind.db"), "one");
  auto host = world.serve();
  kit::protocol_peer peer(host.socket_path());
  const auto refused = peer.call("initialize", {{"session_id", "one"}});
  EXPECT_EQ(error_type_of(refused), "Unavailable") << refused.dump();
  EXPECT_NE(refused.dump().find("persistence_failed"), std::string::npos) << refused.dump();
  EXPECT_EQ(result_of(peer.call("initialize", {{"session_id", "two"}})).value("session_id", ""),
            "two");
  EXPECT_TRUE(can_talk(peer));
  EXPECT_EQ(error_type_of(peer.call("session/prompt", {{"session_id", "one"}, {"input", "x"}})),
            "Unavailable");
  EXPECT_EQ(error_type_of(peer.call("session/replay", {{"session_id", "one"}})), "Unavailable");
}

/// A file system of its own in a folder, where this process may mount one.
class small_disk {
public:
  small_disk(const std::string& folder, const char* size) : folder_(folder) {
    ::mkdir(folder.c_str(), 0700);
    is_there_ =
        ::mount("tmpfs", folder.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  }
  ~small_disk() {
    if (is_there_)
      ::umount2(folder_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  bool is_there() const { return is_there_; }
  void make_read_only() {
    is_there_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0;
  }

private:
  std::string folder_;
  bool is_there_ = false;
};

TEST(bad_input, S39_a_full_disk_refuses_what_it_cannot_keep_and_the_host_lives) {
  const lone_host world(std::vector<json>{{{"times", 0}, {"answer", {{"text", "Fine."}}}}});
  const small_disk disk(world.file("disk"), "1m");
  if (!disk.is_there())
    GTEST_SKIP() << "no tmpfs can be mounted here: " << std::strerror(errno);
  auto host = world.serve({"--journal", "sqlite:" + world.file("disk/rind.db")});
  auto peer = client_of(host.socket_path(), "one");
  ASSERT_TRUE(can_talk(*peer));
  json refused;
  for (int i = 0; i < 200 && error_type_of(refused).empty(); ++i)
    refused = peer->call("session/prompt", {{"input", std::string(20'000, 'a')},
                                            {"input_id", "big-" + std::to_string(i)}});
  EXPECT_EQ(error_type_of(refused), "Unavailable") << refused.dump();
  EXPECT_NE(refused.dump().find("persistence_failed"), std::string::npos) << refused.dump();
  EXPECT_EQ(result_of(peer->call("ping")), json({{"ok", true}}));
  const auto replay = result_of(peer->call("session/replay", {{"limit", 1}}));
  EXPECT_EQ(replay["messages"].size(), 1u) << replay.dump();
}

TEST(bad_input, S39_a_read_only_journal_is_read_or_refused_clearly) {
  const lone_host world;
  small_disk disk(world.file("disk"), "8m");
  if (!disk.is_there())
    GTEST_SKIP() << "no tmpfs can be mounted here: " << std::strerror(errno);
  const auto journal = "sqlite:" + world.file("disk/rind.db");
  {
    auto host = world.serve({"--journal", journal});
    auto peer = client_of(host.socket_path(), "one");
    ASSERT_TRUE(can_talk(*peer));
    host.child().signal(SIGTERM);
    ASSERT_EQ(host.child().wait().exit_code, 0);
  }
  disk.make_read_only();
  ASSERT_TRUE(disk.is_there());
  const auto refused = world.run({"serve", "--socket", world.file("s"), "--journal", journal});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find("rind.db"), std::string::npos) << refused.errors;
}

// -- providers
// ---------------------------------------------------------------------------------------

struct bad_provider {
  const char* name;
  json answer;
  const char* code; // of turn_failed
};

std::vector<bad_provider> bad_providers() {
  return {
      {"hangs", {{"hang", true}}, "provider_timeout"},
      {"hangs_in_the_middle", {{"deltas", {"half"}}, {"hang_after_chunks", 2}}, "provider_timeout"},
      {"only_comments",
       {{"keepalive_comments", true}, {"keepalive_every_ms", 5}},
       "provider_timeout"},
      {"floods_events", {{"flood", "events"}}, nullptr},
      {"floods_a_line", {{"flood", "line"}}, nullptr},
      {"answers_html", {{"html", true}}, nullptr},
      {"closes_in_mid_character",
       {{"text", "né"}, {"chunk_chars", 1}, {"cut_mid_character", true}},
       "stream_interrupted"},
      {"is_reset",
       {{"text", "some words"}, {"cut_after_chunks", 1}, {"cut", "reset"}},
       "stream_interrupted"},
      {"sends_no_json", {{"status", 200}, {"body", "data: {{{\n\n"}}, nullptr},
      {"fails_without_words", {{"status", 500}, {"body", ""}}, "server_error"}};
}

TEST(bad_input, S43_a_bad_provider_fails_its_turn_and_no_other) {
  std::vector<json> script;
  for (const auto& p : bad_providers())
    script.push_back({{"match", {{"contains", "please " + std::string(p.name) + "."}}},
                      {"times", 0},
                      {"answer", p.answer}});
  const lone_host world(script);
  kit::write_file(world.file("rind.toml"),
                  "[[providers]]\nname = \"default\"\nbase_url = \"http://127.0.0.1:9/v1\"\n"
                  "first_byte_timeout_ms = 300\nidle_timeout_ms = 300\ntotal_timeout_ms = 1500\n"
                  "[[providers.models]]\nname = \"mock-model\"\n");
  auto host = world.serve({"--config", world.file("rind.toml")});
  std::vector<std::unique_ptr<kit::protocol_peer>> peers;
  std::vector<std::int64_t> requests;
  for (const auto& p : bad_providers()) {
    peers.push_back(client_of(host.socket_path(), p.name));
    requests.push_back(
        peers.back()->send("session/prompt", {{"input", "please " + std::string(p.name) + "."}}));
  }
  auto other = client_of(host.socket_path(), "other");
  EXPECT_TRUE(can_talk(*other));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    SCOPED_TRACE(bad_providers()[i].name);
    const auto failed = peers[i]->wait_for_event("turn_failed", {}, 120'000);
    ASSERT_TRUE(failed.is_object());
    const auto& event = failed["event"];
    if (bad_providers()[i].code != nullptr) {
      EXPECT_EQ(event["code"], bad_providers()[i].code) << event.dump().substr(0, 400);
    }
    EXPECT_EQ(event["error_source"], "provider") << event.dump().substr(0, 400);
    EXPECT_NE(event["error"], "");
    EXPECT_EQ(result_of(peers[i]->answer_to(requests[i])).value("outcome", ""), "failed");
  }
  EXPECT_TRUE(can_talk(*other));
}

// -- keys
// --------------------------------------------------------------------------------------------

TEST(bad_input, S41_a_key_is_never_printed_logged_journaled_or_told) {
  const lone_host world(
      std::vector<json>{{{"match", {{"contains", "refuse"}}},
                         {"answer",
                          {{"status", 401},
                           {"body",
                            {{"error",
                              {{"message", std::string("Incorrect API key provided: ") + secret},
                               {"code", "invalid_api_key"}}}}}}}}});
  auto options = world.options({"config", "check"});
  options.variables["RIND_API_KEY"] = secret;
  int code = -1;
  EXPECT_EQ(kit::output_of(RIND_PROGRAM, options, &code).find(secret), std::string::npos);
  EXPECT_EQ(code, 0) << world.errors();
  options = world.options(
      {"--journal", world.journal(), "--log-level", "trace", "--log-file", world.file("log.txt")});
  options.variables["RIND_API_KEY"] = secret;
  kit::serving_host host(RIND_PROGRAM, world.file("s"), options);
  auto peer = client_of(host.socket_path(), "one");
  EXPECT_TRUE(can_talk(*peer));
  EXPECT_EQ(result_of(peer->call("session/prompt", {{"input", "refuse me"}})).value("outcome", ""),
            "failed");
  std::string told = peer->call("session/replay", {{"mode", "events"}}).dump() +
                     peer->call("rind/context/inspect").dump() +
                     peer->call("rind/command/execute", {{"input", "/status"}}).dump();
  while (auto frame = peer->take_frame())
    told += frame->dump();
  host.child().signal(SIGTERM);
  EXPECT_EQ(host.child().wait().exit_code, 0);
  EXPECT_EQ(told.find(secret), std::string::npos) << told.substr(told.find(secret) - 200, 300);
  for (const auto* name : {"errors.txt", "log.txt", "rind.db", "rind.db-wal"})
    EXPECT_EQ(kit::read_file(world.file(name)).find(secret), std::string::npos) << name;
}

// -- stopping
// ----------------------------------------------------------------------------------------

TEST(bad_input, a_second_SIGTERM_ends_at_once) {
  const lone_host world(std::vector<json>{{{"times", 0}, {"answer", {{"hang", true}}}}});
  auto host = world.serve({"--set", "server.drain_ms=600000"});
  auto peer = client_of(host.socket_path(), "one");
  peer->send("session/prompt", {{"input", "never answered"}});
  ASSERT_TRUE(peer->wait_for_event("context_built").is_object());
  host.child().signal(SIGTERM);
  ASSERT_TRUE(host.child().pipes().next_line().has_value()); // it says that it stops
  EXPECT_EQ(
      error_type_of(peer->call("session/prompt", {{"session_id", "one"}, {"input", "too late"}})),
      "ServerStopping");
  host.child().signal(SIGTERM);
  const auto end = host.child().wait();
  EXPECT_TRUE(end.is_in_time);
  EXPECT_EQ(end.signal, 0);
}

TEST(bad_input, SIGTERM_cancels_and_commits_what_does_not_end_in_time) {
  const lone_host world(std::vector<json>{{{"times", 0}, {"answer", {{"hang", true}}}}});
  auto host = world.serve({"--set", "server.drain_ms=50"});
  auto peer = client_of(host.socket_path(), "one");
  const auto request = peer->send("session/prompt", {{"input", "never answered"}});
  ASSERT_TRUE(peer->wait_for_event("context_built").is_object());
  host.child().signal(SIGTERM);
  const auto ended = peer->wait_for_event("turn_cancelled");
  ASSERT_TRUE(ended.is_object());
  EXPECT_EQ(ended["event"]["reason"], "shutdown");
  EXPECT_EQ(result_of(peer->answer_to(request)).value("outcome", ""), "cancelled");
  EXPECT_EQ(host.child().wait().exit_code, 0);
  EXPECT_NE(world.run({"sessions", "--journal", world.journal(), "export", "one"})
                .output.find("shutdown"),
            std::string::npos);
}

} // namespace
} // namespace rind::e2e
