// What the SQLite journal says of files that it cannot use, and that it goes on once the cause is
// gone.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/journal/sqlite_schema.hpp"
#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/journal_samples.hpp"
#include "tests/kit/journal_text.hpp"
#include "tests/kit/power_cut_vfs.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t step_bytes = 20'000; // of the appends that fill the disk

std::unique_ptr<store> open(const std::string& path, const std::string& vfs = {}) {
  auto opened = open_sqlite({.path = path, .vfs = vfs, .busy_timeout_ms = 1});
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

result<append_receipt> append(store& s, const append_request& request) {
  return std::move(s.append({&request, 1}).front());
}

append_request prompt(const std::string& session, std::uint64_t epoch, const std::string& id,
                      std::string text = "x") {
  return sample_append(session, epoch, {sample_entry(id, sample_prompt(std::move(text)))});
}

/// persistence_failed in these words; empty: it did not fail that way.
template <class T>
std::string words_of(const result<T>& answer) {
  if (!answer && answer.error().code == error_code::persistence_failed)
    return answer.error().message;
  return {};
}

void execute(const std::string& path, const std::string& sql) {
  SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST(sqlite_faults, S39_files_that_are_no_journal_are_named_and_left_alone) {
  const temp_folder folder;
  const auto file = [&](const char* name) { return folder.file(name); };
  std::ofstream(file("text")) << std::string(5'000, 'x');
  execute(file("other"), "CREATE TABLE t(x)");
  execute(file("newer"), "CREATE TABLE meta(schema_version INTEGER); INSERT INTO meta VALUES(" +
                             std::to_string(sqlite_schema_version + 1) + ")");
  execute(file("empty_meta"), "CREATE TABLE meta(schema_version INTEGER)");
  execute(file("zero"), "CREATE TABLE meta(schema_version INTEGER); INSERT INTO meta VALUES(0)");
  const struct {
    const char* name;
    const char* words;
  } rows[] = {{"text", "is not a database"},
              {"other", "another program's database"},
              {"newer", "written by a newer version"},
              {"empty_meta", "does not say its version"},
              {"zero", "makes no sense"},
              {"missing/journal.db", "cannot be opened"}};
  for (const auto& row : rows)
    for (const auto access : {sqlite_access::serve, sqlite_access::look}) {
      const auto before = content_of(file(row.name));
      const auto opened = open_sqlite({.path = file(row.name), .access = access});
      EXPECT_THAT(words_of(opened), AllOf(HasSubstr(row.words), HasSubstr(file(row.name))));
      EXPECT_EQ(content_of(file(row.name)), before) << row.name;
    }
}

TEST(sqlite_faults, who_looks_changes_nothing) {
  const temp_folder folder;
  const auto look = [&](const char* name) {
    return open_sqlite({.path = folder.file(name), .access = sqlite_access::look});
  };
  EXPECT_THAT(words_of(look("none")), HasSubstr("cannot be opened"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("none")));
  std::ofstream(folder.file("empty")).close();
  EXPECT_THAT(words_of(look("empty")), HasSubstr("is empty"));
  EXPECT_EQ(content_of(folder.file("empty")), "");
  execute(folder.file("older"), content_of(RIND_TEST_DATA "/journal/version_1.sql"));
  const auto older = content_of(folder.file("older"));
  EXPECT_THAT(words_of(look("older")), HasSubstr("older version"));
  EXPECT_EQ(content_of(folder.file("older")), older);
  ASSERT_TRUE(append(*open(folder.file("journal")), sample_create("a")));
  const auto looking = look("journal");
  ASSERT_TRUE(looking);
  EXPECT_TRUE((*looking)->read("a", 0, 10));
  EXPECT_THAT(words_of((*looking)->append(std::vector{prompt("a", 1, "a2")}).front()),
              HasSubstr("is read-only"));
  EXPECT_THAT(words_of((*looking)->remove("a", 0)), HasSubstr("is read-only"));
  EXPECT_TRUE((*looking)->find("a")->has_value());
}

TEST(sqlite_faults, an_older_journal_is_migrated_with_all_it_holds) {
  const temp_folder folder;
  const std::string path = folder.file("journal.db");
  execute(path, content_of(RIND_TEST_DATA "/journal/version_1.sql"));
  for (int round = 0; round < 2; ++round) { // the second finds nothing to migrate
    const auto s = open(path);
    ASSERT_TRUE(s);
    EXPECT_EQ(text_of(s->find_input("old", "p1")),
              "in 't1' 'Tidy the house' prompt ended completed");
    EXPECT_EQ(text_of(s->find_input("old", "s1")), "in 't1' 'faster' steering ended completed");
    EXPECT_EQ(text_of(s->find_input("old", "s2")), "none");
    const auto claimed = s->claim("old");
    ASSERT_TRUE(claimed) << claimed.error().message;
    EXPECT_EQ(claimed->epoch, 4U + static_cast<unsigned>(round));
    EXPECT_EQ(claimed->entries.size(), 5U + static_cast<unsigned>(round));
    const std::string id = "e" + std::to_string(6 + round);
    EXPECT_TRUE(append(*s, prompt("old", claimed->epoch, id)));
    // What could not be read before cannot be read now, and keeps nobody else from being served.
    EXPECT_THAT(words_of(s->claim("damaged")), HasSubstr("session damaged"));
  }
  execute(path, "UPDATE meta SET epoch_floor = 7");
  const auto created = append(*open(path), sample_create("new"));
  ASSERT_TRUE(created);
  EXPECT_EQ(created->epoch, 8U);
}

TEST(sqlite_faults, a_migration_that_fails_leaves_the_older_journal_as_it_was) {
  power_cut_vfs disk("migration");
  const temp_folder folder;
  const std::string path = folder.file("journal.db");
  execute(path, content_of(RIND_TEST_DATA "/journal/version_1.sql"));
  disk.put_file("j", content_of(path));
  disk.set_capacity(disk.used_bytes() + 5'000);
  EXPECT_THAT(words_of(open_sqlite({.path = "j", .vfs = disk.name()})), HasSubstr("disk is full"));
  disk.set_capacity(std::nullopt);
  const auto s = open("j", disk.name());
  ASSERT_TRUE(s);
  EXPECT_EQ(text_of(s->find_input("old", "s1")), "in 't1' 'faster' steering ended completed");
}

TEST(sqlite_faults, S39_rows_that_make_no_sense_fail_their_session_and_no_other) {
  const struct {
    const char* sql;
    bool stops_appends; // the others are seen when the session is read
  } rows[] = {
      {"UPDATE entries SET kind = 'from_the_future' WHERE entry_id = 'a2'", false},
      {"UPDATE entries SET body = '{\"mess' WHERE entry_id = 'a2'", false},
      {"UPDATE entries SET body = '' WHERE entry_id = 'a2'", false},
      {"UPDATE entries SET body = '[]' WHERE entry_id = 'a2'", false},
      {"DELETE FROM entries WHERE entry_id = 'a2'", false},
      {"DELETE FROM entries WHERE entry_id = 'a/1'", false},
      {"DELETE FROM entries WHERE entry_id = 'a3'", true},
      {"DELETE FROM entries WHERE session_id = 'a'", true},
      {"UPDATE sessions SET last_position = 2 WHERE session_id = 'a'", true},
      {"UPDATE sessions SET last_position = 9 WHERE session_id = 'a'", true},
      {"UPDATE sessions SET open_operation = 'dance' WHERE session_id = 'a'", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.sql);
    const temp_folder folder;
    const std::string path = folder.file("journal.db");
    const auto s = open(path);
    ASSERT_TRUE(append(*s, sample_create("a")) && append(*s, sample_create("b")));
    ASSERT_TRUE(append(*s, prompt("a", 1, "a2")) && append(*s, prompt("a", 1, "a3")));
    execute(path, row.sql);
    EXPECT_THAT(words_of(s->read("a", 0, 10)), HasSubstr("session a"));
    EXPECT_THAT(words_of(s->claim("a")), HasSubstr("session a"));
    const std::vector<append_request> group{prompt("a", 1, "a4"), prompt("b", 1, "b2")};
    const auto answers = s->append(group); // of the epoch before the claim, which failed as a whole
    EXPECT_EQ(words_of(answers[0]).empty(), !row.stops_appends);
    EXPECT_TRUE(answers[1]);
    EXPECT_TRUE(s->claim("b"));
    EXPECT_TRUE(s->remove("a", 0));
    EXPECT_TRUE(append(*s, sample_create("a")));
  }
}

TEST(sqlite_faults, S39_damaged_pages_are_an_error_and_never_an_empty_session) {
  const temp_folder folder;
  const std::string path = folder.file("journal.db");
  {
    const auto s = open(path);
    ASSERT_TRUE(append(*s, sample_create("a")));
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(append(*s, prompt("a", 1, "p" + std::to_string(i), std::string(500, 'x'))));
  }
  const std::string whole = content_of(path);
  constexpr std::size_t page_bytes = 4'096;
  ASSERT_GT(whole.size(), 10 * page_bytes);
  int failures = 0;
  for (std::size_t page = 1; page < whole.size() / page_bytes; ++page) {
    std::string damaged = whole;
    damaged.replace(page * page_bytes, page_bytes, page_bytes, '\xA5');
    std::ofstream(path, std::ios::binary) << damaged;
    const auto opened = open_sqlite({.path = path});
    if (!opened) {
      EXPECT_THAT(words_of(opened), HasSubstr("is damaged"));
      ++failures;
      continue;
    }
    const auto found = (*opened)->find("a");
    const auto claimed = (*opened)->claim("a");
    // Some pages hold an index only, which a claim does not read: then all is there.
    if (claimed)
      EXPECT_EQ(claimed->entries.size(), 201U);
    else
      EXPECT_THAT(words_of(claimed), HasSubstr("is damaged"));
    EXPECT_TRUE(!found || found->has_value());
    failures += claimed ? 0 : 1;
  }
  EXPECT_GT(failures, 10);
}

TEST(sqlite_faults, a_full_disk_fails_whole_groups_and_the_store_works_again_with_room) {
  power_cut_vfs disk("full");
  {
    const auto s = open("j", disk.name());
    ASSERT_TRUE(append(*s, sample_create("a")) && append(*s, sample_create("b")));
    disk.set_capacity(disk.used_bytes() + 10 * step_bytes);
    std::int64_t written = 1;
    std::string words;
    while (words.empty() && written < 100) {
      const std::string id = "a" + std::to_string(written);
      const std::vector<append_request> group{prompt("b", 1, id + "b"),
                                              prompt("a", 1, id, std::string(step_bytes, 'x')),
                                              prompt("none", 1, id + "n")};
      const auto answers = s->append(group);
      words = words_of(answers[1]);
      EXPECT_EQ(text_of(answers[0]).substr(0, 6), words.empty() ? "epoch " : "failed");
      written += words.empty() ? 1 : 0;
      EXPECT_EQ(words_of(answers[2]),
                words); // the third is refused alone, or fails with the others
    }
    EXPECT_THAT(words, HasSubstr("the disk is full"));
    EXPECT_GT(written, 3);
    EXPECT_EQ((*s->find("a"))->last_position, written);
    EXPECT_EQ((*s->find("b"))->last_position, written);
    EXPECT_EQ(s->read("a", 0, 100)->size(), static_cast<std::size_t>(written));
    disk.set_capacity(std::nullopt);
    const auto receipt = append(*s, prompt("a", 1, "again", std::string(step_bytes, 'x')));
    ASSERT_TRUE(receipt) << receipt.error().message;
    EXPECT_EQ(receipt->first_position, written + 1);
    EXPECT_TRUE(s->claim("b"));
  }
  power_cut_vfs small("small");
  small.set_capacity(1'000);
  EXPECT_THAT(words_of(open_sqlite({.path = "j", .vfs = small.name()})), HasSubstr("disk is full"));
}

TEST(sqlite_faults, a_read_only_database_is_named_and_still_read) {
  power_cut_vfs disk("read_only");
  const auto s = open("j", disk.name());
  ASSERT_TRUE(append(*s, sample_create("a")));
  disk.set_read_only(true);
  EXPECT_THAT(words_of(open_sqlite({.path = "j", .vfs = disk.name()})), HasSubstr("is read-only"));
  EXPECT_THAT(words_of(append(*s, prompt("a", 1, "2"))), HasSubstr("is read-only"));
  EXPECT_THAT(words_of(s->claim("a")), HasSubstr("is read-only"));
  EXPECT_THAT(words_of(s->remove("a", 0)), HasSubstr("is read-only"));
  EXPECT_EQ(s->read("a", 0, 10)->size(), 1U);
  disk.set_read_only(false);
  EXPECT_TRUE(append(*s, prompt("a", 1, "2")));
}

TEST(sqlite_faults, a_broken_disk_fails_the_operation_and_not_the_store) {
  power_cut_vfs disk("broken");
  {
    const auto s = open("j", disk.name());
    ASSERT_TRUE(append(*s, sample_create("a")));
  }
  const auto s = open("j", disk.name());
  disk.set_broken(true);
  EXPECT_THAT(words_of(append(*s, prompt("a", 1, "2"))), HasSubstr("cannot be read or written"));
  EXPECT_THAT(words_of(s->claim("a")), HasSubstr("cannot be read or written"));
  EXPECT_THAT(words_of(s->read("a", 0, 10)), HasSubstr("cannot be read or written"));
  EXPECT_THAT(words_of(s->list(10, "")), HasSubstr("cannot be read or written"));
  disk.set_broken(false);
  EXPECT_TRUE(append(*s, prompt("a", 1, "2")));
  EXPECT_EQ(s->read("a", 0, 10)->size(), 2U);
}

/// What happens to a journal's file while a host has it open.
struct file_fate {
  const char* name;
  void (*befall)(const std::string& path);
};

class moved_journals : public testing::TestWithParam<file_fate> {};

TEST_P(moved_journals, S35_S39_nothing_is_told_that_is_not_in_the_file_at_the_path) {
  const temp_folder folder;
  const auto path = folder.file("journal.db");
  const auto s = open(path);
  const auto created = append(*s, sample_create("a"));
  ASSERT_TRUE(created);
  GetParam().befall(path);
  const auto refused = append(*s, prompt("a", created->epoch, "lost"));
  EXPECT_THAT(words_of(refused), AllOf(HasSubstr(path), HasSubstr("removed or replaced")));
  EXPECT_THAT(words_of(s->read("a", 0, 10)), HasSubstr("removed or replaced"));
  EXPECT_THAT(words_of(s->claim("a")), HasSubstr("removed or replaced"));
  EXPECT_THAT(words_of(s->remove("a", 0)), HasSubstr("removed or replaced"));
  EXPECT_THAT(words_of(s->find("a")), HasSubstr("removed or replaced"));
}

INSTANTIATE_TEST_SUITE_P(sqlite_faults, moved_journals,
                         testing::Values(file_fate{"removed",
                                                   [](const std::string& path) {
                                                     std::filesystem::remove(path);
                                                   }},
                                         file_fate{"replaced_by_another",
                                                   [](const std::string& path) {
                                                     const auto other = path + ".other";
                                                     open(other).reset();
                                                     std::filesystem::rename(other, path);
                                                   }},
                                         file_fate{"renamed",
                                                   [](const std::string& path) {
                                                     std::filesystem::rename(path, path + ".old");
                                                   }}),
                         [](const auto& p) { return p.param.name; });

TEST(sqlite_faults, a_journal_that_comes_back_to_its_path_is_used_again) {
  const temp_folder folder;
  const auto path = folder.file("journal.db");
  const auto s = open(path);
  const auto created = append(*s, sample_create("a"));
  ASSERT_TRUE(created);
  std::filesystem::rename(path, path + ".away");
  EXPECT_FALSE(append(*s, prompt("a", created->epoch, "1")));
  std::filesystem::rename(path + ".away", path);
  EXPECT_TRUE(append(*s, prompt("a", created->epoch, "1")));
  EXPECT_EQ(open(path)->read("a", 0, 10)->size(), 2u);
}

TEST(sqlite_faults, S24_two_writers_on_one_database_get_conflict_and_not_owner) {
  const temp_folder folder;
  const auto first = open(folder.file("journal.db"));
  const auto second = open(folder.file("journal.db"));
  ASSERT_TRUE(append(*first, sample_create("a")));
  ASSERT_TRUE(append(*first, prompt("a", 1, "2")));
  // The same epoch, as by a copy of the writer: the view position decides.
  auto stale = sample_append("a", 1, {sample_entry("b1", sample_boundary(1))});
  stale.expected_view_position = 0;
  EXPECT_EQ(text_of(append(*second, stale)), "failed: persistence_conflict");
  const auto claimed = second->claim("a");
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->entries.size(), 2U);
  EXPECT_EQ(text_of(append(*first, prompt("a", 1, "3"))), "failed: NotOwner");
  ASSERT_TRUE(append(*second, prompt("a", claimed->epoch, "3")));
  EXPECT_EQ(first->read("a", 0, 10)->size(), 3U);
  // Both create: one is late.
  auto late = sample_create("b");
  late.entries.front().id = "late";
  ASSERT_TRUE(append(*first, sample_create("b")));
  EXPECT_EQ(text_of(append(*second, late)), "failed: SessionExists");
}

TEST(sqlite_faults, a_database_that_another_process_holds_is_busy_and_then_free) {
  const temp_folder folder;
  const std::string path = folder.file("journal.db");
  const auto s = open(path);
  ASSERT_TRUE(append(*s, sample_create("a")));
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  EXPECT_THAT(words_of(append(*s, prompt("a", 1, "2"))), HasSubstr("is busy"));
  EXPECT_THAT(words_of(s->claim("a")), HasSubstr("is busy"));
  EXPECT_EQ(s->read("a", 0, 10)->size(), 1U); // readers do not wait for a writer
  other.exec("ROLLBACK");
  EXPECT_TRUE(append(*s, prompt("a", 1, "2")));
}

} // namespace
} // namespace rind::journal
