// What goes wrong with a database that others share, and what the journal makes of it: restarts,
// broken connections at the worst moment, rivals, rows that make no sense, addresses that lead
// nowhere.
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/journal/postgres_store.hpp"
#include "tests/contract/cutting_proxy.hpp"
#include "tests/kit/journal_samples.hpp"
#include "tests/kit/journal_text.hpp"
#include "tests/kit/private_postgres.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;
using test::cut_at;
using test::cutting_proxy;
using testing::HasSubstr;
using testing::Not;

std::string database_of(const std::string& address) {
  const auto begin = address.find("///") + 3;
  return address.substr(begin, address.find('?') - begin);
}

std::unique_ptr<store> opened(postgres_options options) {
  auto made = open_postgres(options);
  if (!made)
    throw std::runtime_error(made.error().message);
  return std::move(*made);
}

template <class T>
std::string words_of(const result<T>& answer) {
  return answer ? "it worked" : answer.error().message;
}

/// A session in a database of its own.
class postgres_faults : public testing::Test {
protected:
  void SetUp() override {
    address_ = fresh_database();
    store_ = opened({.address = address_});
    epoch_ = append(*store_, sample_create("a"))->epoch;
  }

  static result<append_receipt> append(store& into, const append_request& request) {
    return std::move(into.append({&request, 1}).front());
  }
  append_request prompt(const std::string& id) const {
    return sample_append("a", epoch_, {sample_entry(id, sample_prompt("of " + id))});
  }
  std::int64_t last_position() { return store_->find("a")->value().last_position; }
  void execute(const std::string& sql) { shared_postgres().execute(database_of(address_), sql); }
  std::string value_of(const std::string& sql) {
    return shared_postgres().value_of(database_of(address_), sql);
  }

  std::string address_;
  std::unique_ptr<store> store_;
  std::uint64_t epoch_ = 0;
};

// -- a server that goes and comes back ---------------------------------------------------------

TEST_F(postgres_faults, S35_a_restart_loses_nothing_and_the_store_goes_on) {
  auto& server = shared_postgres();
  ASSERT_TRUE(append(*store_, prompt("2")));
  server.stop();
  server.start();
  ASSERT_TRUE(append(*store_, prompt("3")));
  server.crash();
  server.start();
  ASSERT_TRUE(append(*store_, prompt("4")));
  EXPECT_EQ(last_position(), 4);
}

TEST_F(postgres_faults, a_call_waits_for_a_server_that_is_away) {
  auto& server = shared_postgres();
  server.stop();
  std::thread caller([&] {
    const auto receipt = append(*store_, prompt("2"));
    EXPECT_TRUE(receipt) << words_of(receipt);
  });
  server.start();
  caller.join();
}

TEST_F(postgres_faults, S39_past_its_patience_a_call_fails_and_the_next_one_tries_again) {
  auto& server = shared_postgres();
  store_ = opened({.address = address_, .patience_ms = 50});
  server.stop();
  for (int i = 0; i < 2; ++i) {
    const auto refused = append(*store_, prompt("2"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::persistence_failed);
  }
  server.start();
  EXPECT_TRUE(append(*store_, prompt("2")));
}

TEST_F(postgres_faults, a_backend_that_is_ended_is_replaced) {
  execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
          " WHERE datname = current_database() AND pid <> pg_backend_pid()");
  EXPECT_TRUE(append(*store_, prompt("2")));
  EXPECT_EQ(last_position(), 2);
}

// -- a connection that breaks in the middle ------------------------------------------------------

struct cut_row {
  cut_at where;
  int flight;
  const char* what;
};

class postgres_cuts : public postgres_faults, public testing::WithParamInterface<cut_row> {};

TEST_P(postgres_cuts, S35_an_append_is_looked_up_and_written_once) {
  cutting_proxy proxy(shared_postgres().socket_path());
  const auto through = opened({.address = proxy.address(address_)});
  ASSERT_TRUE(append(*through, prompt("2"))); // what has to be prepared is prepared
  proxy.cut(GetParam().where, GetParam().flight);
  auto request = prompt("3");
  request.expected_view_position = 2; // a second writing of it would be refused
  const auto receipt = append(*through, request);
  ASSERT_TRUE(receipt) << words_of(receipt);
  EXPECT_TRUE(proxy.has_cut());
  EXPECT_EQ(proxy.accepted(), 2);
  EXPECT_EQ(receipt->first_position, 3);
  EXPECT_EQ(last_position(), 3);
  EXPECT_EQ(value_of("SELECT count(*) FROM rind.entries WHERE entry_id = '3'"), "1");
}

INSTANTIATE_TEST_SUITE_P(flights, postgres_cuts,
                         testing::Values(cut_row{cut_at::request, 1, "before_the_questions"},
                                         cut_row{cut_at::answer, 1, "after_the_questions"},
                                         cut_row{cut_at::request, 2, "before_the_commit"},
                                         cut_row{cut_at::answer, 2, "after_the_commit"}),
                         [](const auto& row) { return std::string(row.param.what); });

TEST_F(postgres_faults, S35_a_removal_whose_answer_was_lost_is_done) {
  cutting_proxy proxy(shared_postgres().socket_path());
  const auto through = opened({.address = proxy.address(address_)});
  ASSERT_TRUE(append(*through, prompt("2")));
  proxy.cut(cut_at::answer, 2);
  EXPECT_TRUE(through->remove("a", epoch_));
  EXPECT_TRUE(proxy.has_cut());
  EXPECT_FALSE(store_->find("a")->has_value());
}

TEST_F(postgres_faults, S24_a_claim_whose_answer_was_lost_still_makes_an_owner) {
  cutting_proxy proxy(shared_postgres().socket_path());
  const auto through = opened({.address = proxy.address(address_)});
  ASSERT_TRUE(through->claim("a"));
  proxy.cut(cut_at::answer, 2);
  const auto claimed = through->claim("a");
  ASSERT_TRUE(claimed) << words_of(claimed);
  auto request = prompt("2");
  EXPECT_EQ(append(*through, request).error().code, error_code::not_owner);
  request.epoch = claimed->epoch;
  EXPECT_TRUE(append(*through, request));
}

// -- rivals --------------------------------------------------------------------------------------

TEST_F(postgres_faults, S24_two_nodes_on_one_database_get_conflict_and_not_owner) {
  const auto other = opened({.address = address_});
  auto stale = prompt("2");
  stale.expected_view_position = 0;
  ASSERT_TRUE(append(*other, prompt("3")));
  EXPECT_EQ(append(*store_, stale).error().code, error_code::persistence_conflict);
  const auto claimed = other->claim("a");
  ASSERT_TRUE(claimed);
  EXPECT_EQ(append(*store_, prompt("4")).error().code, error_code::not_owner);
}

TEST_F(postgres_faults, of_nodes_that_create_one_session_at_once_one_does) {
  constexpr int nodes = 4;
  constexpr int rounds = 20;
  std::vector<std::unique_ptr<store>> stores;
  for (int n = 0; n < nodes; ++n)
    stores.push_back(opened({.address = address_}));
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> created = 0;
    std::atomic<int> exists = 0;
    std::vector<std::thread> threads;
    for (int n = 0; n < nodes; ++n)
      threads.emplace_back([&, n] {
        auto request = sample_create("s" + std::to_string(round));
        request.entries.front().id += "-" + std::to_string(n);
        const auto receipt = append(*stores[static_cast<std::size_t>(n)], request);
        created += bool(receipt);
        exists += !receipt && receipt.error().code == error_code::session_exists;
        EXPECT_TRUE(receipt || receipt.error().code == error_code::session_exists)
            << words_of(receipt);
      });
    for (auto& t : threads)
      t.join();
    EXPECT_EQ(created, 1);
    EXPECT_EQ(exists, nodes - 1);
  }
}

TEST_F(postgres_faults, groups_over_the_same_sessions_in_any_order_do_not_block_each_other) {
  const auto other = opened({.address = address_});
  const auto b = append(*store_, sample_create("b"))->epoch;
  const auto work = [&](store& with, const std::string& name, bool a_first) {
    for (int i = 0; i < 30; ++i) {
      const auto id = name + std::to_string(i);
      std::vector<append_request> group{
          sample_append("a", epoch_, {sample_entry("a" + id, sample_prompt("x"))}),
          sample_append("b", b, {sample_entry("b" + id, sample_prompt("x"))})};
      if (!a_first)
        std::swap(group[0], group[1]);
      for (const auto& answer : with.append(group))
        EXPECT_TRUE(answer) << words_of(answer);
    }
  };
  std::thread rival([&] { work(*other, "x", false); });
  work(*store_, "y", true);
  rival.join();
  EXPECT_EQ(last_position(), 61);
}

TEST_F(postgres_faults, S39_a_lock_that_is_held_for_ever_fails_the_call_in_time) {
  store_ = opened({.address = address_, .statement_ms = 200});
  std::thread holder([&] {
    execute("BEGIN; SELECT * FROM rind.sessions FOR UPDATE; SELECT pg_sleep(1.5); COMMIT");
  });
  while (value_of("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'BEGIN; SELECT%'"
                  " AND wait_event = 'PgSleep'") == "0")
    std::this_thread::yield();
  const auto refused = append(*store_, prompt("2"));
  EXPECT_EQ(refused ? error_code::cancelled : refused.error().code, error_code::persistence_failed);
  EXPECT_THAT(words_of(refused), HasSubstr("statement timeout"));
  holder.join();
  EXPECT_TRUE(append(*store_, prompt("2")));
}

TEST(postgres_schema, nodes_that_start_at_once_on_an_empty_database_all_start) {
  const auto address = fresh_database();
  std::atomic<int> started = 0;
  std::vector<std::thread> nodes;
  for (int n = 0; n < 6; ++n)
    nodes.emplace_back([&] {
      const auto made = open_postgres({.address = address});
      EXPECT_TRUE(made) << words_of(made);
      started += bool(made);
    });
  for (auto& one : nodes)
    one.join();
  EXPECT_EQ(started, 6);
}

// -- what stands there
// -----------------------------------------------------------------------------

TEST_F(postgres_faults,
       S39_databases_that_are_no_journal_of_this_version_are_named_and_left_alone) {
  const auto look = [&] {
    return words_of(open_postgres({.address = address_, .access = postgres_access::look}));
  };
  const auto serve = [&] { return words_of(open_postgres({.address = address_})); };
  EXPECT_EQ(look(), "it worked");
  execute("UPDATE rind.meta SET schema_version = 99");
  EXPECT_THAT(serve(), HasSubstr("was written by a newer version of this program"));
  execute("DELETE FROM rind.meta");
  EXPECT_THAT(serve(), HasSubstr("is damaged: it does not say its version"));
  execute("DROP SCHEMA rind CASCADE; CREATE SCHEMA rind");
  EXPECT_THAT(serve(), HasSubstr("has a schema `rind` that is no journal"));
  execute("DROP SCHEMA rind");
  EXPECT_THAT(look(), HasSubstr("holds no journal"));
  EXPECT_EQ(value_of("SELECT count(*) FROM pg_namespace WHERE nspname = 'rind'"), "0");
  shared_postgres().execute("postgres",
                            "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  EXPECT_THAT(words_of(open_postgres({.address = shared_postgres().address("latin")})),
              HasSubstr("stores LATIN1, and a journal needs UTF8"));
}

TEST_F(postgres_faults, S39_rows_that_make_no_sense_fail_their_session_and_no_other) {
  const auto b = append(*store_, sample_create("b"))->epoch;
  ASSERT_TRUE(append(*store_, prompt("2")));
  const char* damages[]{"UPDATE rind.entries SET body = 'x' WHERE entry_id = '2'",
                        "UPDATE rind.sessions SET last_position = 7 WHERE session_id = 'a'",
                        "UPDATE rind.sessions SET open_operation = 'x' WHERE session_id = 'a'"};
  int n = 0;
  for (const char* damage : damages) {
    execute(damage);
    const auto claimed = store_->claim("a");
    ASSERT_FALSE(claimed) << damage;
    EXPECT_EQ(claimed.error().code, error_code::persistence_failed);
    EXPECT_THAT(claimed.error().message, HasSubstr("session a cannot be read")) << damage;
    const std::vector<append_request> group{
        prompt("x" + std::to_string(++n)),
        sample_append("b", b, {sample_entry("b" + std::to_string(n), sample_prompt("x"))})};
    EXPECT_TRUE(store_->append(group)[1]) << damage;
  }
  EXPECT_TRUE(store_->remove("a", 0));
}

TEST_F(postgres_faults, S39_a_read_only_database_is_named_and_still_read) {
  execute("ALTER DATABASE " + database_of(address_) + " SET default_transaction_read_only = on");
  store_ = opened({.address = address_});
  EXPECT_THAT(words_of(append(*store_, prompt("2"))), HasSubstr("read-only"));
  EXPECT_TRUE(store_->read("a", 0, 10));
}

TEST_F(postgres_faults, what_no_text_column_holds_comes_back_as_it_was) {
  const std::string odd("with \0 and \\0 and \\ in \"it\"", 25);
  auto request = sample_append("a", epoch_, {sample_entry("id\\" + odd, sample_prompt(odd, odd))});
  request.entries.front().turn_id = odd;
  const auto receipt = append(*store_, request);
  ASSERT_TRUE(receipt) << words_of(receipt);
  EXPECT_EQ(text_of(store_->read("a", 1, 10)), text_of(receipt->entries));
  EXPECT_TRUE(store_->find_input("a", odd)->has_value());
  EXPECT_TRUE(append(*store_, request)); // known by its ids
  EXPECT_EQ(last_position(), 2);
  auto broken = prompt("\xff\xfe");
  EXPECT_EQ(append(*store_, broken).error().code, error_code::persistence_failed);
}

// -- addresses
// ---------------------------------------------------------------------------------------

TEST(postgres_address, S41_a_password_has_no_place_in_it_and_is_never_repeated) {
  const std::string secret = "very-secret";
  for (const auto& address :
       {"postgresql://me:" + secret + "@localhost/db", "postgresql:///db?password=" + secret,
        "postgresql:///db?sslpassword=" + secret, "postgresql://me:" + secret + "@[broken/db",
        "postgresql:///db?" + secret + "=1"}) {
    const auto refused = open_postgres({.address = address});
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.error().code, error_code::invalid_request);
    EXPECT_THAT(refused.error().message, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(postgres_address_problem("postgresql:///db?passfile=/etc/pass"), std::nullopt);
}

TEST(postgres_address, S41_a_wrong_password_is_refused_without_repeating_it) {
  const auto locked = shared_postgres().address("postgres", "locked");
  for (const std::string password : {"wrong-one", ""}) {
    ::setenv("PGPASSWORD", password.c_str(), 1);
    const auto refused = open_postgres({.address = locked, .access = postgres_access::look});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::persistence_failed);
    EXPECT_THAT(refused.error().message, HasSubstr("assword"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("wrong-one")));
  }
  ::setenv("PGPASSWORD", private_postgres::password, 1);
  EXPECT_THAT(words_of(open_postgres({.address = locked, .access = postgres_access::look})),
              HasSubstr("holds no journal"));
  ::unsetenv("PGPASSWORD");
}

TEST(postgres_address, a_server_that_accepts_and_stays_silent_is_given_up_in_time) {
  const temp_folder folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.file(".s.PGSQL.5432").copy(address.sun_path, sizeof address.sun_path - 1);
  const int silent = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(silent, 4), 0);
  auto host = folder.file("");
  host.pop_back();
  const auto refused =
      open_postgres({.address = "postgresql:///db?host=" + host + "&user=me", .connect_ms = 100});
  EXPECT_THAT(words_of(refused), HasSubstr("did not answer in time"));
  ::close(silent);
  EXPECT_THAT(words_of(open_postgres({.address = "postgresql:///db?host=" + host + "&user=me"})),
              HasSubstr("Connection refused"));
}

} // namespace
} // namespace rind::journal
