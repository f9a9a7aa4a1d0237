// What every journal has to do, run on each implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/journal/memory_store.hpp"
#include "runtime/journal/postgres_store.hpp"
#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/faulty_store.hpp"
#include "tests/kit/journal_samples.hpp"
#include "tests/kit/journal_text.hpp"
#include "tests/kit/private_postgres.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;
using testing::ElementsAre;

class journal_contract : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    if (is("postgres"))
      database_ = fresh_database();
    reopen();
  }

  /// As after a restart. What lies in memory only is not there to be reopened.
  void reopen() {
    if (is("memory") && store_)
      return;
    store_.reset();
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    if (is("faulty"))
      store_ = make_faulty_store(std::move(store_), std::make_shared<journal_faults>());
  }

  bool is(std::string_view word) const {
    return std::string_view(GetParam()).find(word) != std::string_view::npos;
  }

  result<std::unique_ptr<store>> open() const {
    if (is("postgres"))
      return open_postgres({.address = database_});
    if (is("sqlite"))
      return open_sqlite({.path = folder_.file("journal.db")});
    return std::unique_ptr<store>(std::make_unique<memory_store>());
  }

  result<append_receipt> append(const append_request& request) {
    return std::move(store_->append({&request, 1}).front());
  }

  /// A session with its first entry only; answers its epoch.
  std::uint64_t create(const std::string& id, std::int64_t time_ms = sample_time_ms) {
    const auto receipt = append(sample_create(id, time_ms));
    EXPECT_TRUE(receipt) << receipt.error().message;
    return receipt ? receipt->epoch : 0;
  }

  error_code code_of(const append_request& request) {
    const auto receipt = append(request);
    EXPECT_FALSE(receipt) << text_of(*receipt);
    return receipt ? error_code::cancelled : receipt.error().code;
  }

  session_summary summary(const std::string& id) {
    const auto found = store_->find(id);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : session_summary{};
  }

  std::string all_of(const std::string& id) { return text_of(store_->read(id, 0, read_limit_max)); }

  temp_folder folder_;
  std::string database_;
  std::unique_ptr<store> store_;
};

INSTANTIATE_TEST_SUITE_P(stores, journal_contract,
                         testing::Values("memory", "sqlite", "postgres", "faulty_memory",
                                         "faulty_sqlite", "faulty_postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

std::vector<std::string> ids_of(const std::vector<entry_ptr>& entries) {
  std::vector<std::string> ids;
  for (const entry_ptr& e : entries)
    ids.push_back(e->id);
  return ids;
}

TEST_P(journal_contract, positions_count_from_1_without_gaps_and_belong_to_their_session) {
  const auto a = create("a");
  const auto b = create("b");
  const auto more = append(sample_append(
      "a", a,
      {sample_entry("a/2", sample_prompt("hi")), sample_entry("a/3", sample_answer("ho"))}));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->first_position, 2);
  ASSERT_EQ(more->entries.size(), 2U);
  EXPECT_EQ(more->entries[0]->position, 2);
  EXPECT_EQ(more->entries[1]->position, 3);
  const auto other = append(sample_append("b", b, {sample_entry("b/2", sample_prompt("hi"))}));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->first_position, 2);
}

TEST_P(journal_contract, what_was_appended_is_read_word_for_word_after_a_restart) {
  const auto epoch = create("a");
  const std::vector<entry> all{
      sample_entry("2", sample_turn_started(), 7, "t1"),
      sample_entry("3", sample_prompt("Größe \u4e16\u754c \U0001F600 \"quoted\"\n\ttext", "in-1"),
                   8, "t1"),
      sample_entry("4", sample_answer(std::string("zero\0byte", 9)), 9, "t1"),
      sample_entry("5", sample_accepted("in-2", input_mode::steering, "faster"), 10, "t1"),
      sample_entry("6", sample_boundary(1), 11, "t1"),
      sample_entry("7", sample_ended(entries::turn_outcome::failed), 12, "t1")};
  const auto receipt = append(sample_append("a", epoch, all));
  ASSERT_TRUE(receipt) << receipt.error().message;
  reopen();
  const auto read = store_->read("a", 1, read_limit_max);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_of(*read), text_of(receipt->entries));
  ASSERT_EQ(read->size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    entry expected = all[i];
    expected.position = static_cast<std::int64_t>(i) + 2;
    EXPECT_EQ(text_of(*(*read)[i]), text_of(expected));
  }
}

TEST_P(journal_contract, S35_a_large_body_of_5_MiB_survives) {
  const auto epoch = create("a");
  std::string large;
  while (large.size() < 5 * 1024 * 1024)
    large += "line \u00e9 of a large tool result\n";
  ASSERT_TRUE(append(sample_append("a", epoch, {sample_entry("2", sample_prompt(large))})));
  reopen();
  const auto read = store_->read("a", 1, 1);
  ASSERT_TRUE(read);
  const auto* body = std::get_if<entries::user_message>(&read->front()->body);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->msg->content, large);
}

TEST_P(journal_contract, an_append_that_is_tried_twice_is_written_once) {
  const auto created = append(sample_create("a"));
  ASSERT_TRUE(created);
  auto request = sample_append(
      "a", created->epoch,
      {sample_entry("2", sample_prompt("hi")), sample_entry("3", sample_answer("ho"))});
  request.expected_view_position = 0;
  const auto first = append(request);
  const auto second = append(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(text_of(*first), text_of(*second));
  EXPECT_EQ(summary("a").last_position, 3);
  EXPECT_EQ(summary("a").message_count, 2);
  EXPECT_EQ(text_of(append(sample_create("a"))), text_of(created));
}

TEST_P(journal_contract, a_repeated_create_does_not_take_the_session_from_its_new_owner) {
  const auto created = append(sample_create("a"));
  ASSERT_TRUE(created);
  const auto claimed = store_->claim("a");
  ASSERT_TRUE(claimed);
  const auto again = append(sample_create("a"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->epoch, created->epoch);
  EXPECT_NE(again->epoch, claimed->epoch);
}

TEST_P(journal_contract, an_entry_id_is_used_once_in_the_store) {
  const auto a = create("a");
  const auto b = create("b");
  ASSERT_TRUE(append(sample_append(
      "a", a, {sample_entry("x", sample_prompt("1")), sample_entry("y", sample_prompt("2"))})));
  const struct {
    const char* what;
    append_request request;
  } rows[] = {
      {"in another session", sample_append("b", b, {sample_entry("x", sample_prompt("1"))})},
      {"not first",
       sample_append(
           "a", a, {sample_entry("z", sample_prompt("1")), sample_entry("x", sample_prompt("1"))})},
      {"twice in one append",
       sample_append(
           "a", a, {sample_entry("z", sample_prompt("1")), sample_entry("z", sample_prompt("1"))})},
      {"a repeat with more entries",
       sample_append(
           "a", a, {sample_entry("y", sample_prompt("2")), sample_entry("z", sample_prompt("1"))})},
      {"a repeat with other entries",
       sample_append(
           "a", a, {sample_entry("x", sample_prompt("1")), sample_entry("z", sample_prompt("1"))})},
  };
  for (const auto& row : rows)
    EXPECT_EQ(code_of(row.request), error_code::invalid_request) << row.what;
  EXPECT_EQ(summary("a").last_position, 3);
  EXPECT_EQ(summary("b").last_position, 1);
}

TEST_P(journal_contract, S24_a_conditional_append_is_refused_once_the_view_moved) {
  const auto epoch = create("a");
  const auto boundary_at = [&](std::int64_t view_position, const char* id) {
    auto request = sample_append("a", epoch,
                                 {sample_entry(id, sample_boundary(1)),
                                  sample_entry(id + std::string("u"), entries::usage_recorded{})});
    request.expected_view_position = view_position;
    return request;
  };
  ASSERT_TRUE(append(sample_append("a", epoch, {sample_entry("2", sample_prompt("hi"))})));
  EXPECT_EQ(code_of(boundary_at(1, "b1")), error_code::persistence_conflict);
  EXPECT_EQ(code_of(boundary_at(3, "b2")), error_code::persistence_conflict);
  EXPECT_EQ(summary("a").generation, 0);
  // Other entries do not conflict.
  ASSERT_TRUE(
      append(sample_append("a", epoch,
                           {sample_entry("3", sample_accepted("i", input_mode::steering, "x")),
                            sample_entry("4", entries::attempt_started{}),
                            sample_entry("5", entries::usage_recorded{})})));
  const auto committed = append(boundary_at(2, "b3"));
  ASSERT_TRUE(committed);
  EXPECT_EQ(committed->first_position, 6);
  EXPECT_EQ(summary("a").generation, 1);
  // A boundary moves the view like a message.
  EXPECT_EQ(code_of(boundary_at(2, "b4")), error_code::persistence_conflict);
  EXPECT_TRUE(append(boundary_at(6, "b5")));
}

TEST_P(journal_contract, S24_only_the_newest_claim_may_append) {
  const auto first = create("a");
  const auto second = store_->claim("a");
  ASSERT_TRUE(second);
  EXPECT_GT(second->epoch, first);
  EXPECT_THAT(ids_of(second->entries), ElementsAre("a/1"));
  EXPECT_EQ(code_of(sample_append("a", first, {sample_entry("2", sample_prompt("old"))})),
            error_code::not_owner);
  EXPECT_EQ(
      code_of(sample_append("a", second->epoch + 1, {sample_entry("2", sample_prompt("future"))})),
      error_code::not_owner);
  EXPECT_EQ(code_of(sample_append("a", 0, {sample_entry("2", sample_prompt("none"))})),
            error_code::not_owner);
  EXPECT_TRUE(append(sample_append("a", second->epoch, {sample_entry("2", sample_prompt("new"))})));
  reopen();
  const auto third = store_->claim("a");
  ASSERT_TRUE(third);
  EXPECT_GT(third->epoch, second->epoch);
  EXPECT_THAT(ids_of(third->entries), ElementsAre("a/1", "2"));
}

TEST_P(journal_contract, sessions_exist_once_and_missing_ones_are_named) {
  create("a");
  auto again = sample_create("a");
  again.entries.front().id = "another id";
  EXPECT_EQ(code_of(again), error_code::session_exists);
  EXPECT_EQ(code_of(sample_append("b", 1, {sample_entry("2", sample_prompt("x"))})),
            error_code::session_not_found);
  const auto claimed = store_->claim("b");
  const auto read = store_->read("b", 0, 10);
  const auto found = store_->find("b");
  const auto traced = store_->find_input("b", "x");
  ASSERT_FALSE(claimed);
  ASSERT_FALSE(read);
  EXPECT_EQ(claimed.error().code, error_code::session_not_found);
  EXPECT_EQ(read.error().code, error_code::session_not_found);
  EXPECT_EQ(text_of(found), "none");
  EXPECT_EQ(text_of(traced), "none");
  EXPECT_EQ(text_of(store_->remove("b", 0)), "failed: SessionNotFound");
}

TEST_P(journal_contract, what_no_store_can_write_is_refused) {
  const auto epoch = create("a");
  auto no_session = sample_create("");
  auto no_first = sample_append("n", 0, {sample_entry("2", sample_prompt("x"))});
  no_first.create = true;
  auto created_twice = sample_create("n");
  created_twice.entries.push_back(sample_entry("2", sample_created()));
  const struct {
    const char* what;
    append_request request;
  } rows[] = {
      {"no session id", no_session},
      {"no entry", sample_append("a", epoch, {})},
      {"no entry id", sample_append("a", epoch, {sample_entry("", sample_prompt("x"))})},
      {"no message", sample_append("a", epoch, {sample_entry("2", entries::user_message{})})},
      {"no record", sample_append("a", epoch, {sample_entry("2", entries::boundary{})})},
      {"a create without session_created", no_first},
      {"session_created twice", created_twice},
      {"session_created later", sample_append("a", epoch, {sample_entry("2", sample_created())})},
  };
  for (const auto& row : rows)
    EXPECT_EQ(code_of(row.request), error_code::invalid_request) << row.what;
  EXPECT_EQ(summary("a").last_position, 1);
  EXPECT_EQ(text_of(store_->find("n")), "none");
}

TEST_P(journal_contract, a_refused_request_leaves_the_rest_of_its_group_alone) {
  const auto a = create("a");
  const auto b = create("b");
  auto conflict = sample_append(
      "a", a, {sample_entry("c1", sample_boundary(1)), sample_entry("c2", sample_prompt("no"))});
  conflict.expected_view_position = 0; // right when the group starts, wrong after its first request
  const std::vector<append_request> group{
      sample_append("a", a, {sample_entry("a2", sample_prompt("1"))}),
      conflict,
      sample_append("b", b + 5, {sample_entry("b2", sample_prompt("no"))}),
      sample_create("c"),
      sample_append("none", 1, {sample_entry("n1", sample_prompt("no"))}),
      sample_append("c", 1, {sample_entry("c/2", sample_prompt("2"))}),
      sample_append("a", a, {sample_entry("a3", sample_prompt("3"))}),
      sample_append("a", a, {sample_entry("a2", sample_prompt("1"))}),
  };
  const auto answers = store_->append(group);
  ASSERT_EQ(answers.size(), group.size());
  std::vector<std::string> codes;
  for (const auto& answer : answers)
    codes.push_back(answer ? std::to_string(answer->first_position)
                           : to_string(answer.error().code));
  EXPECT_THAT(codes, ElementsAre("2", "persistence_conflict", "NotOwner", "1", "SessionNotFound",
                                 "2", "3", "2"));
  reopen();
  EXPECT_THAT(ids_of(*store_->read("a", 0, 10)), ElementsAre("a/1", "a2", "a3"));
  EXPECT_THAT(ids_of(*store_->read("b", 0, 10)), ElementsAre("b/1"));
  EXPECT_THAT(ids_of(*store_->read("c", 0, 10)), ElementsAre("c/1", "c/2"));
}

TEST_P(journal_contract, reading_goes_page_by_page) {
  const auto epoch = create("a");
  std::vector<entry> more;
  for (int i = 2; i <= 25; ++i)
    more.push_back(sample_entry(std::to_string(i), sample_prompt("p")));
  ASSERT_TRUE(append(sample_append("a", epoch, more)));
  std::vector<std::size_t> sizes;
  std::int64_t after = 0;
  for (;;) {
    const auto page = store_->read("a", after, 10);
    ASSERT_TRUE(page);
    sizes.push_back(page->size());
    if (page->empty())
      break;
    EXPECT_EQ(page->front()->position, after + 1);
    after = page->back()->position;
  }
  EXPECT_THAT(sizes, ElementsAre(10U, 10U, 5U, 0U));
  EXPECT_EQ(text_of(store_->read("a", -3, 2)), text_of(store_->read("a", 0, 2)));
  EXPECT_EQ(text_of(store_->read("a", 1'000, 2)), "");
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{-1}, read_limit_max + 1})
    EXPECT_EQ(text_of(store_->read("a", 0, limit)), "failed: InvalidRequest") << limit;
}

TEST_P(journal_contract, the_list_is_newest_first_and_goes_page_by_page) {
  for (const auto& [id, age] :
       {std::pair("d", 5), std::pair("a", 10), std::pair("c", 5), std::pair("b", 1)})
    create(id, sample_time_ms - age);
  const auto c = store_->claim("c");
  ASSERT_TRUE(c);
  const auto list_all = [&](std::int64_t limit) {
    std::vector<std::string> ids;
    std::string after;
    do {
      const auto page = store_->list(limit, after);
      EXPECT_TRUE(page) << page.error().message;
      EXPECT_LE(page->sessions.size(), static_cast<std::size_t>(limit));
      for (const auto& s : page->sessions)
        ids.push_back(s.session_id);
      after = page->next;
    } while (!after.empty() && ids.size() < 10);
    return ids;
  };
  for (std::int64_t limit = 1; limit <= 5; ++limit)
    EXPECT_THAT(list_all(limit), ElementsAre("b", "c", "d", "a")) << limit;
  ASSERT_TRUE(append(
      sample_append("c", c->epoch, {sample_entry("new", sample_prompt("x"), sample_time_ms)})));
  EXPECT_THAT(list_all(2), ElementsAre("c", "b", "d", "a"));
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{-1}, list_limit_max + 1})
    EXPECT_EQ(text_of(store_->list(limit, "")), "failed: InvalidRequest") << limit;
  for (const char* token : {"x", "12", "12.", ".a", "1x.a", "99999999999999999999.a"})
    EXPECT_EQ(text_of(store_->list(5, token)), "failed: InvalidRequest") << token;
}

TEST_P(journal_contract, the_summary_is_kept_with_each_append) {
  auto epoch = create("a", 1'000);
  auto s = summary("a");
  EXPECT_EQ(s.title, "");
  EXPECT_EQ(s.model, "model-a");
  EXPECT_EQ(s.created_at_ms, 1'000);
  ASSERT_TRUE(
      append(sample_append("a", epoch,
                           {sample_entry("2", sample_turn_started(), 1'001, "t1"),
                            sample_entry("3", sample_prompt("  Tidy\n the   house "), 1'002, "t1"),
                            sample_entry("4", sample_answer("done"), 1'003, "t1"),
                            sample_entry("5", sample_boundary(1), 990, "t1"),
                            sample_entry("6", entries::model_set{"model-b"}, 1'004)})));
  reopen();
  s = summary("a");
  EXPECT_EQ(s.title, "Tidy the house");
  EXPECT_EQ(s.model, "model-b");
  EXPECT_EQ(s.created_at_ms, 1'000);
  EXPECT_EQ(s.updated_at_ms, 1'004);
  EXPECT_EQ(s.message_count, 2);
  EXPECT_EQ(s.generation, 1);
  EXPECT_EQ(s.open_turn_id, "t1");
  EXPECT_EQ(s.open_operation, operation_kind::turn);
  EXPECT_EQ(s.last_position, 6);
  ASSERT_TRUE(append(
      sample_append("a", epoch,
                    {sample_entry("7", sample_ended(entries::turn_outcome::completed), 900, "t1"),
                     sample_entry("8", sample_turn_started(operation_kind::compact), 901, "c1"),
                     sample_entry("9", sample_prompt("another title"), 902, "c1")})));
  s = summary("a");
  EXPECT_EQ(s.title, "Tidy the house");
  EXPECT_EQ(s.updated_at_ms, 1'004); // a clock that is set back
  EXPECT_EQ(s.open_turn_id, "c1");
  EXPECT_EQ(s.open_operation, operation_kind::compact);
  ASSERT_TRUE(append(sample_append(
      "a", epoch,
      {sample_entry("10", sample_ended(entries::turn_outcome::cancelled), 903, "c1")})));
  EXPECT_EQ(summary("a").open_turn_id, "");
}

TEST_P(journal_contract, S3a_an_input_is_found_by_the_clients_id) {
  const auto epoch = create("a");
  create("b");
  ASSERT_TRUE(append(sample_append(
      "a", epoch,
      {sample_entry("2", sample_turn_started(), 1, "t1"),
       sample_entry("3", sample_prompt("do it", "p1"), 2, "t1"),
       sample_entry("4", sample_accepted("s1", input_mode::steering, "faster"), 3, "t1"),
       sample_entry("5", sample_accepted("f1", input_mode::follow_up, "then this"), 4, "t1"),
       sample_entry("6", entries::input_promoted{"f1"}, 5, "t1"),
       sample_entry("7", sample_delivered("s1", input_mode::steering, "faster"), 6, "t1")})));
  EXPECT_EQ(text_of(store_->find_input("a", "p1")), "in 't1' 'do it' prompt open");
  ASSERT_TRUE(append(
      sample_append("a", epoch,
                    {sample_entry("8", sample_ended(entries::turn_outcome::cancelled), 7, "t1"),
                     sample_entry("9", sample_turn_started(), 8, "t2"),
                     sample_entry("10", sample_prompt("next", "p2"), 9, "t2")})));
  reopen();
  EXPECT_EQ(text_of(store_->find_input("a", "p1")), "in 't1' 'do it' prompt ended cancelled");
  EXPECT_EQ(text_of(store_->find_input("a", "s1")), "in 't1' 'faster' steering ended cancelled");
  EXPECT_EQ(text_of(store_->find_input("a", "f1")),
            "in 't1' 'then this' follow_up ended cancelled");
  EXPECT_EQ(text_of(store_->find_input("a", "p2")), "in 't2' 'next' prompt open");
  for (const char* unknown : {"", "p3", "p"})
    EXPECT_EQ(text_of(store_->find_input("a", unknown)), "none") << unknown;
  EXPECT_EQ(text_of(store_->find_input("b", "p1")), "none");
}

TEST_P(journal_contract, a_removed_session_is_gone_and_its_name_starts_with_a_new_epoch) {
  const auto old = create("a");
  create("b");
  EXPECT_EQ(text_of(store_->remove("a", old + 1)), "failed: NotOwner");
  const auto claimed = store_->claim("a");
  ASSERT_TRUE(claimed);
  EXPECT_EQ(text_of(store_->remove("a", old)), "failed: NotOwner");
  EXPECT_EQ(text_of(store_->remove("a", claimed->epoch)), "done");
  EXPECT_EQ(text_of(store_->find("a")), "none");
  EXPECT_EQ(all_of("a"), "failed: SessionNotFound");
  EXPECT_EQ(code_of(sample_append("a", claimed->epoch, {sample_entry("2", sample_prompt("x"))})),
            error_code::session_not_found);
  EXPECT_EQ(text_of(store_->remove("b", 0)), "done");
  reopen();
  const auto again = create("a");
  EXPECT_GT(again, claimed->epoch);
  EXPECT_EQ(summary("a").last_position, 1);
  EXPECT_EQ(code_of(sample_append("a", claimed->epoch, {sample_entry("2", sample_prompt("x"))})),
            error_code::not_owner);
}

} // namespace
} // namespace rind::journal
