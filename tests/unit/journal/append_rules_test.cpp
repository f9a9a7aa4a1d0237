// What stores and writers decide about an append without looking at a disk.
#include <gtest/gtest.h>

#include "runtime/journal/append_rules.hpp"

namespace rind::journal {
namespace {

entry_ptr stored(const std::string& id, std::int64_t position) {
  auto e = std::make_shared<entry>();
  e->id = id;
  e->position = position;
  return e;
}

append_request asking(const std::vector<std::string>& ids) {
  append_request r;
  r.epoch = 7;
  for (const auto& id : ids) {
    entry e;
    e.id = id;
    r.entries.push_back(std::move(e));
  }
  return r;
}

TEST(append_rules, S35_what_stands_of_an_append_is_found_by_its_ids) {
  const std::vector<entry_ptr> journal{stored("a", 4), stored("b", 5), stored("c", 6)};
  const auto found = receipt_among(asking({"b", "c"}), journal);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->epoch, 7u);
  EXPECT_EQ(found->first_position, 5);
  ASSERT_EQ(found->entries.size(), 2u);
  EXPECT_EQ(found->entries[1]->id, "c");
  EXPECT_FALSE(receipt_among(asking({"d"}), journal));
  EXPECT_FALSE(receipt_among(asking({"c", "d"}), journal)); // cut off by the end of what was read
  EXPECT_FALSE(receipt_among(asking({"a", "c"}), journal));
  EXPECT_FALSE(receipt_among(asking({"a"}), {}));
}

} // namespace
} // namespace rind::journal
