// What was acknowledged is there after a power cut (S35): random work, a cut between two calls or
// in the middle of one, and a look at what is found, again and again on one disk. The same look has
// to fail where nothing is synced, or it would prove nothing.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/journal_samples.hpp"
#include "tests/kit/journal_text.hpp"
#include "tests/kit/power_cut_vfs.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;

constexpr std::uint64_t seed_count = 200;
constexpr int cut_count = 3; // a seed
constexpr std::uint64_t session_count = 4;

/// A session as far as it was acknowledged, and what was asked for without an answer.
struct known_session {
  std::uint64_t epoch = 0;
  std::vector<std::string> entries; // as text
  std::vector<std::vector<std::string>>
      unsure; // ids of appends that failed: each is there as a whole or not at all
};

class power_cut_world {
public:
  power_cut_world(std::uint64_t seed, sqlite_synchronous synchronous)
      : chance_(seed), synchronous_(synchronous), disk_("power_cut"), is_large_(pick(25) == 0) {}

  /// What is wrong with what is found after the cuts; empty: nothing.
  std::string run() {
    for (int i = 0; i < cut_count; ++i) {
      if (auto problem = open(); !problem.empty())
        return problem;
      work();
      disk_.power_cut(chance_());
      store_.reset();
    }
    return open();
  }

  /// Whether the log was moved into the database at least once: only then is that covered as well.
  bool moved_its_log() const { return disk_.file("journal")->size() > 200'000; }
  bool was_cut_inside_a_call() const { return cuts_inside_ > 0; }

private:
  std::uint64_t pick(std::uint64_t count) { return chance_() % count; }

  std::string open() {
    auto opened = open_sqlite({"journal", synchronous_, disk_.name(), 1});
    if (!opened)
      return opened.error().message;
    store_ = std::move(*opened);
    for (auto& [id, known] : known_)
      if (auto problem = look_at(id, known); !problem.empty())
        return problem;
    return {};
  }

  /// Claims the session and compares; on success what is found is what is known.
  std::string look_at(const std::string& id, known_session& known) {
    const auto claimed = store_->claim(id);
    if (!claimed) {
      const bool may_be_missing = known.entries.empty();
      return may_be_missing && claimed.error().code == error_code::session_not_found
                 ? std::string()
                 : id + ": " + claimed.error().message;
    }
    if (claimed->epoch <= known.epoch)
      return id + ": epoch " + std::to_string(claimed->epoch) + " was given before";
    const auto& found = claimed->entries;
    if (found.size() < known.entries.size())
      return id + ": " + std::to_string(found.size()) + " entries of " +
             std::to_string(known.entries.size());
    for (std::size_t i = 0; i < known.entries.size(); ++i)
      if (text_of(*found[i]) != known.entries[i])
        return id + ": another entry than " + known.entries[i].substr(0, 80);
    std::vector<std::string> more;
    for (std::size_t i = known.entries.size(); i < found.size(); ++i)
      more.push_back(found[i]->id);
    if (!more.empty() &&
        std::find(known.unsure.begin(), known.unsure.end(), more) == known.unsure.end())
      return id + ": a part of an append, from " + more.front();
    known.epoch = claimed->epoch;
    known.entries.clear();
    for (const auto& e : found)
      known.entries.push_back(text_of(*e));
    known.unsure.clear();
    return {};
  }

  /// Groups of appends, the last of which may be cut in its middle.
  void work() {
    const std::uint64_t groups = 1 + pick(is_large_ ? 60 : 15);
    const bool cuts_inside = pick(2) == 0;
    const std::int64_t cuts_before = disk_.cuts();
    if (cuts_inside)
      disk_.power_cut_after(static_cast<std::int64_t>(pick(groups * 6)), chance_());
    for (std::uint64_t i = 0; i < groups && disk_.cuts() == cuts_before; ++i)
      append_group();
    cuts_inside_ += disk_.cuts() - cuts_before;
  }

  void append_group() {
    std::vector<append_request> group;
    for (std::uint64_t session = 0; session < session_count; ++session)
      if (pick(2) == 0)
        group.push_back(next_append("s" + std::to_string(session)));
    if (group.empty())
      return;
    const auto answers = store_->append(group);
    for (std::size_t i = 0; i < group.size(); ++i)
      take(group[i], answers[i]);
  }

  append_request next_append(const std::string& id) {
    known_session& known = known_[id];
    append_request request{id, known.epoch, known.entries.empty(), std::nullopt, {}};
    if (request.create)
      request.entries.push_back(sample_entry(next_id(), sample_created()));
    for (std::uint64_t more = 1 + pick(3); more > 0; --more)
      request.entries.push_back(sample_entry(
          next_id(), sample_prompt(std::string(pick(is_large_ ? 60'000 : 3'000), 'x'))));
    return request;
  }

  void take(const append_request& request, const result<append_receipt>& answer) {
    known_session& known = known_[request.session_id];
    if (answer) {
      known.epoch = answer->epoch;
      for (const auto& e : answer->entries)
        known.entries.push_back(text_of(*e));
      return;
    }
    std::vector<std::string> ids;
    for (const entry& e : request.entries)
      ids.push_back(e.id);
    known.unsure.push_back(std::move(ids));
  }

  std::string next_id() { return "e" + std::to_string(++id_count_); }

  std::mt19937_64 chance_;
  sqlite_synchronous synchronous_;
  power_cut_vfs disk_;
  bool is_large_; // so much that the log is moved into the database now and then
  std::unique_ptr<store> store_;
  std::map<std::string, known_session> known_;
  std::int64_t id_count_ = 0;
  std::int64_t cuts_inside_ = 0;
};

TEST(sqlite_power_cut, S35_every_acknowledged_append_is_there_after_a_power_cut) {
  int moved = 0;
  int cut_inside = 0;
  for (std::uint64_t seed = 1; seed <= seed_count; ++seed) {
    power_cut_world world(seed, sqlite_synchronous::full);
    ASSERT_EQ(world.run(), "") << "seed " << seed;
    moved += world.moved_its_log() ? 1 : 0;
    cut_inside += world.was_cut_inside_a_call() ? 1 : 0;
  }
  EXPECT_GT(moved, 2);
  EXPECT_GT(cut_inside, 20);
}

TEST(sqlite_power_cut, S35_without_syncs_the_same_check_fails) {
  std::uint64_t failed = 0;
  for (std::uint64_t seed = 1; seed <= seed_count && failed == 0; ++seed)
    failed += power_cut_world(seed, sqlite_synchronous::off).run().empty() ? 0 : 1;
  EXPECT_GT(failed, 0U);
}

TEST(sqlite_power_cut, S35_a_group_costs_one_sync) {
  power_cut_vfs disk("sync_count");
  auto opened = open_sqlite({"journal", sqlite_synchronous::full, disk.name(), 1});
  ASSERT_TRUE(opened) << opened.error().message;
  std::vector<append_request> group;
  for (int i = 0; i < 100; ++i)
    group.push_back(sample_create("s" + std::to_string(i)));
  const std::int64_t before = disk.syncs();
  for (const auto& answer : (*opened)->append(group))
    ASSERT_TRUE(answer);
  EXPECT_EQ(disk.syncs() - before, 1);
}

} // namespace
} // namespace rind::journal
