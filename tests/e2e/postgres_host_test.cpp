// A host on PostgreSQL, and `rind journal`: what is served there survives a kill, and moves between
// the stores and back unchanged.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/lone_host.hpp"
#include "tests/kit/private_postgres.hpp"

namespace rind::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// The database that an address names.
std::string name_of(const std::string& address) {
  const auto begin = address.find("///") + 3;
  return address.substr(begin, address.find('?') - begin);
}

class postgres_host : public testing::Test {
protected:
  /// A session with a few turns on a journal; its export.
  std::string fill(const std::string& journal) {
    auto host = at_.serve({"--journal", journal});
    const auto client = client_of(host.socket_path(), "s-1");
    std::string long_one;
    for (int i = 0; i < 2'000; ++i)
      long_one += "word " + std::to_string(i) + " ";
    for (const std::string& said :
         {long_one, long_one, std::string("Remember 7."), std::string("And \\ \"quotes\" \u4e16."),
          std::string("What was it?")})
      EXPECT_EQ(kit::error_type_of(client->call("session/prompt", {{"input", said}})), "");
    EXPECT_EQ(kit::error_type_of(client->call("rind/session/compact")), "");
    host.child().kill(); // what was answered is there
    return export_of(journal);
  }
  std::string export_of(const std::string& journal) {
    const auto got = at_.run({"sessions", "export", "s-1", "--journal", journal});
    EXPECT_EQ(got.exit_code, 0) << got.errors;
    return got.output;
  }

  lone_host at_;
  std::string database_ = kit::fresh_database();
};

TEST_F(postgres_host, S35_what_was_answered_is_there_after_a_kill_and_is_gone_on_with) {
  const auto before = fill(database_);
  EXPECT_THAT(before, HasSubstr("\"boundary\""));
  auto host = at_.serve({"--journal", database_});
  const auto client = std::make_unique<kit::protocol_peer>(host.socket_path());
  client->call("initialize", {{"session_id", "s-1"}});
  EXPECT_EQ(kit::error_type_of(client->call("session/prompt", {{"input", "Go on."}})), "");
  const auto after = export_of(database_);
  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_GT(after.size(), before.size());
  const auto check = at_.run({"journal", "check", "--journal", database_});
  EXPECT_EQ(check.exit_code, 0) << check.errors;
  EXPECT_THAT(check.output, HasSubstr("0 sessions that make no sense"));
}

TEST_F(postgres_host, a_restart_of_the_database_under_load_is_a_pause) {
  auto& server = kit::shared_postgres();
  auto host = at_.serve({"--journal", database_});
  std::vector<std::unique_ptr<kit::protocol_peer>> clients;
  std::vector<std::int64_t> asked;
  constexpr int sessions = 8;
  for (int i = 0; i < sessions; ++i) {
    clients.push_back(client_of(host.socket_path(), "s-" + std::to_string(i)));
    asked.push_back(clients.back()->send("session/prompt", {{"input", "One."}}));
  }
  server.stop();
  for (int i = 0; i < sessions; ++i)
    clients[static_cast<std::size_t>(i)]->send("session/prompt", {{"input", "Two."}});
  server.start();
  for (int i = 0; i < sessions; ++i) {
    auto& client = *clients[static_cast<std::size_t>(i)];
    EXPECT_EQ(kit::error_type_of(client.answer_to(asked[static_cast<std::size_t>(i)])), "");
    EXPECT_EQ(kit::error_type_of(client.call("session/prompt", {{"input", "Three."}})), "");
    EXPECT_EQ(
        kit::shared_postgres().value_of(
            name_of(database_),
            "SELECT count(*) FROM rind.entries WHERE kind = 'turn_ended' AND session_id = 's-" +
                std::to_string(i) + "'"),
        "3");
  }
}

TEST_F(postgres_host, a_journal_is_copied_there_and_back_unchanged) {
  const auto file = "sqlite:" + at_.file("from.db");
  const auto before = fill(file);
  const auto copied = at_.run({"journal", "copy", file, database_});
  EXPECT_EQ(copied.exit_code, 0) << copied.errors;
  EXPECT_THAT(copied.output, HasSubstr("are the same on both sides, 0 are not"));
  EXPECT_EQ(export_of(database_), before);
  const auto back = "sqlite:" + at_.file("back.db");
  EXPECT_EQ(at_.run({"journal", "copy", database_, back}).exit_code, 0);
  EXPECT_EQ(export_of(back), before);
  EXPECT_EQ(at_.run({"journal", "copy", database_, back}).exit_code, 0); // again: nothing to do
  EXPECT_EQ(export_of(back), before);
  const auto other = "sqlite:" + at_.file("other.db");
  fill(other);
  const auto refused = at_.run({"journal", "copy", other, back});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("session s-1 stands there already, and is another one"));
  EXPECT_EQ(export_of(back), before);
}

TEST_F(postgres_host, a_copy_that_was_broken_off_goes_on) {
  const auto file = "sqlite:" + at_.file("from.db");
  const auto before = fill(file);
  EXPECT_EQ(at_.run({"journal", "copy", file, database_}).exit_code, 0);
  auto& server = kit::shared_postgres();
  const auto name = name_of(database_);
  // As a copy leaves it that came to the end of its second append only.
  server.execute(name, "DELETE FROM rind.entries WHERE position > 4;"
                       "UPDATE rind.sessions SET last_position = 4");
  const auto again = at_.run({"journal", "copy", file, database_});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(export_of(database_), before);
}

TEST_F(postgres_host, check_names_the_sessions_that_make_no_sense) {
  fill(database_);
  const auto name = name_of(database_);
  kit::shared_postgres().execute(name, "UPDATE rind.sessions SET message_count = 99");
  const auto told = at_.run({"journal", "check", "--journal", database_});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_THAT(told.errors, HasSubstr("session s-1 does not fit what is told of it: the number of"));
  EXPECT_THAT(told.output, HasSubstr("1 sessions that make no sense"));
}

TEST_F(postgres_host, S41_an_address_with_a_password_is_refused_and_not_repeated) {
  const std::string address = "postgresql://me:hunter22@localhost/db";
  for (const auto& words :
       {std::vector<std::string>{"serve", "--socket", at_.file("s"), "--journal", address},
        {"journal", "check", "--journal", address},
        {"journal", "copy", address, "sqlite:x"},
        {"sessions", "list", "--journal", address},
        {"config", "check", "--journal", address}}) {
    const auto refused = at_.run(words);
    EXPECT_EQ(refused.exit_code, 1) << words[0];
    EXPECT_EQ((refused.output + refused.errors).find("hunter22"), std::string::npos)
        << refused.output << refused.errors;
    EXPECT_THAT(refused.errors, HasSubstr("must not hold a password")) << words[0];
  }
}

TEST_F(postgres_host, migrate_makes_the_tables_and_says_so) {
  EXPECT_EQ(at_.run({"journal", "check", "--journal", database_}).exit_code, 1);
  const auto made = at_.run({"journal", "migrate", "--journal", database_});
  EXPECT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_EQ(made.output, "the journal is up to date\n");
  EXPECT_EQ(at_.run({"journal", "check", "--journal", database_}).exit_code, 0);
}

} // namespace
} // namespace rind::e2e
