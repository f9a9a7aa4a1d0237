// The journal writer: its thread, its groups, and that each append is answered exactly once.
#include <atomic>
#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/journal/memory_store.hpp"
#include "runtime/journal/writer.hpp"
#include "tests/kit/faulty_store.hpp"
#include "tests/kit/forwarding_store.hpp"
#include "tests/kit/journal_samples.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;

/// Holds every append back until it is opened, and says when the first one is there.
struct gate {
  std::latch arrived{1};
  std::latch opened{1};
};

class gated_store final : public kit::forwarding_store {
public:
  gated_store(std::shared_ptr<gate> g, std::shared_ptr<std::vector<std::size_t>> sizes)
      : gate_(std::move(g)), sizes_(std::move(sizes)) {}

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override {
    if (sizes_->empty())
      gate_->arrived.count_down();
    sizes_->push_back(group.size());
    gate_->opened.wait();
    return forwarding_store::append(group);
  }

private:
  std::shared_ptr<gate> gate_;
  std::shared_ptr<std::vector<std::size_t>> sizes_; // of the groups; read after the writer is gone
};

/// A store that answers too few, or throws.
class broken_store final : public store {
public:
  std::vector<result<append_receipt>> append(std::span<const append_request>) override {
    return {};
  }
  result<loaded_session> claim(const std::string&) override { throw std::runtime_error("claim"); }
  result<std::vector<entry_ptr>> read(const std::string&, std::int64_t, std::int64_t) override {
    throw std::runtime_error("read");
  }
  result<std::optional<session_summary>> find(const std::string&) override {
    throw std::runtime_error("find");
  }
  result<session_page> list(std::int64_t, const std::string&) override {
    throw std::runtime_error("list");
  }
  result<std::optional<input_trace>> find_input(const std::string&, const std::string&) override {
    throw std::runtime_error("find_input");
  }
  result<done> remove(const std::string&, std::uint64_t) override {
    throw std::runtime_error("remove");
  }
};

TEST(journal_writer, S35_appends_that_wait_together_are_one_group) {
  const auto g = std::make_shared<gate>();
  const auto sizes = std::make_shared<std::vector<std::size_t>>();
  std::vector<std::string> order;
  writer_stats stats;
  {
    writer w(std::make_unique<gated_store>(g, sizes), writer_mode::own_thread);
    w.append(sample_create("first"), [&](auto r) { order.push_back(r ? "first" : "failed"); });
    g->arrived.wait(); // the first group is on its way: all that follows waits
    for (std::size_t i = 0; i < group_limit + 5; ++i)
      w.append(sample_create("s" + std::to_string(i)),
               [&, i](auto r) { order.push_back(r ? std::to_string(i) : "failed"); });
    std::latch looked(1);
    ASSERT_TRUE(w.post([&](store&) {
      order.push_back("read");
      stats = w.stats();
      looked.count_down();
    }));
    w.append(sample_create("last"), [&](auto r) { order.push_back(r ? "last" : "failed"); });
    g->opened.count_down();
    looked.wait();
  }
  EXPECT_EQ(*sizes, (std::vector<std::size_t>{1, group_limit, 5, 1}));
  ASSERT_EQ(order.size(), group_limit + 8);
  EXPECT_EQ(order.front(), "first");
  for (std::size_t i = 0; i < group_limit + 5; ++i)
    EXPECT_EQ(order[i + 1], std::to_string(i));
  EXPECT_EQ(order[order.size() - 2], "read");
  EXPECT_EQ(order.back(), "last");
  EXPECT_EQ(stats.groups, 3U);
  EXPECT_EQ(stats.appends, group_limit + 6);
  EXPECT_EQ(stats.entries, group_limit + 6);
}

TEST(journal_writer, many_threads_get_each_append_answered_exactly_once) {
  constexpr int thread_count = 8;
  constexpr int append_count = 400;
  std::vector<std::atomic<int>> answers(thread_count * append_count);
  std::atomic<int> reads = 0;
  std::atomic<int> failures = 0;
  {
    writer w(std::make_unique<memory_store>(), writer_mode::own_thread);
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t)
      threads.emplace_back([&, t] {
        const std::string session = "s" + std::to_string(t);
        for (int i = 0; i < append_count; ++i) {
          auto request = i == 0 ? sample_create(session)
                                : sample_append(session, 1,
                                                {sample_entry(session + "." + std::to_string(i),
                                                              sample_prompt("x"))});
          w.append(std::move(request), [&, t, i](const result<append_receipt>& r) {
            if (!r || r->first_position != i + 1)
              ++failures;
            ++answers[static_cast<std::size_t>(t * append_count + i)];
          });
          if (i % 50 == 0 && w.post([&, session](store& s) {
                if (const auto found = s.find(session); found && *found)
                  ++reads;
              }))
            (void)w.stats();
        }
      });
    for (auto& thread : threads)
      thread.join();
  } // the end of the writer answers what is still queued
  for (const auto& count : answers)
    EXPECT_EQ(count.load(), 1);
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(reads.load(), thread_count * append_count / 50);
}

TEST(journal_writer, a_full_queue_answers_at_once_and_keeps_what_it_took) {
  const auto g = std::make_shared<gate>();
  const auto sizes = std::make_shared<std::vector<std::size_t>>();
  std::size_t written = 0;
  int refused = 0;
  {
    writer w(std::make_unique<gated_store>(g, sizes), writer_mode::own_thread);
    w.append(sample_create("s"), [&](auto) { ++written; });
    g->arrived.wait();
    for (std::size_t i = 0; i < queue_limit; ++i)
      w.append(
          sample_append("s", 1, {sample_entry(std::to_string(i), entries::input_promoted{"x"})}),
          [&](auto r) { written += r ? 1 : 0; });
    w.append(sample_append("s", 1, {sample_entry("too many", entries::input_promoted{"x"})}),
             [&](auto r) {
               ASSERT_FALSE(r);
               EXPECT_EQ(r.error().code, error_code::persistence_failed);
               ++refused;
             });
    EXPECT_EQ(refused, 1);
    EXPECT_FALSE(w.post([](store&) { FAIL() << "a job that was refused ran"; }));
    g->opened.count_down();
  }
  EXPECT_EQ(written, queue_limit + 1);
  EXPECT_EQ(refused, 1);
}

TEST(journal_writer, S43_a_store_that_throws_is_a_failed_append_and_nothing_more) {
  for (const auto mode : {writer_mode::own_thread, writer_mode::when_told}) {
    const auto faults = std::make_shared<journal_faults>();
    faults->throws = true;
    for (int attempt = 1; attempt <= append_attempts_max; ++attempt)
      faults->appends[attempt] = {};
    std::vector<std::string> answers;
    {
      writer w(make_faulty_store(std::make_unique<memory_store>(), faults), mode);
      for (const char* id : {"a", "b"}) {
        std::latch answered(1);
        w.append(sample_create(id), [&](auto r) {
          answers.push_back(r ? "written" : to_string(r.error().code));
          answered.count_down();
        });
        if (mode == writer_mode::when_told) {
          EXPECT_TRUE(w.run_next());
        }
        answered.wait();
      }
    }
    EXPECT_EQ(answers, (std::vector<std::string>{"persistence_failed", "written"}));
  }
}

/// What became of three appends of one sender that waited together while the journal was busy.
std::vector<std::string> three_appends_under(const std::map<std::int64_t, append_fault>& script) {
  const auto faults = std::make_shared<journal_faults>();
  const auto g = std::make_shared<gate>();
  std::vector<std::string> answers;
  {
    writer w(make_faulty_store(std::make_unique<memory_store>(), faults), writer_mode::own_thread);
    std::latch busy{1};
    w.append(sample_create("a"), [&](auto r) {
      ASSERT_TRUE(r);
      busy.count_down();
      g->opened.wait(); // what follows waits together
      faults->append_count = 0;
      faults->appends = script;
    });
    busy.wait();
    for (const char* id : {"1", "2", "3"})
      w.append(sample_append("a", 1, {sample_entry(id, sample_prompt(id))}), [&answers](auto r) {
        answers.push_back(r ? std::to_string(r->first_position) : to_string(r.error().code));
      });
    g->opened.count_down();
  }
  return answers;
}

TEST(journal_writer, S35_a_failed_append_is_asked_once_more_in_its_place_of_the_order) {
  using answers = std::vector<std::string>;
  const append_fault fails{};
  const append_fault is_lost{error_code::persistence_failed, true};
  EXPECT_EQ(three_appends_under({}), (answers{"2", "3", "4"}));
  // The store as a whole: all are asked again, in their order.
  EXPECT_EQ(three_appends_under({{1, fails}, {2, fails}, {3, fails}}), (answers{"2", "3", "4"}));
  EXPECT_EQ(three_appends_under({{1, is_lost}, {2, is_lost}, {3, fails}}),
            (answers{"2", "3", "4"}));
  // Once only.
  EXPECT_EQ(three_appends_under({{3, fails}, {4, fails}}),
            (answers{"2", "3", "persistence_failed"}));
  // One that a later append has passed is not made behind it.
  EXPECT_EQ(three_appends_under({{1, fails}}), (answers{"persistence_failed", "2", "3"}));
}

TEST(journal_writer, S43_reads_that_throw_and_answers_that_are_missing_are_failures_too) {
  writer w(std::make_unique<broken_store>(), writer_mode::when_told);
  int answers = 0;
  w.append(sample_create("a"), [&](auto r) {
    ++answers;
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, error_code::persistence_failed);
  });
  EXPECT_TRUE(w.run_next());
  EXPECT_EQ(answers, 1);
  const auto expect_failed = [](const auto& answer) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, error_code::persistence_failed);
  };
  EXPECT_TRUE(w.post([&](store& s) {
    expect_failed(s.claim("a"));
    expect_failed(s.read("a", 0, 1));
    expect_failed(s.find("a"));
    expect_failed(s.list(1, ""));
    expect_failed(s.find_input("a", "b"));
    expect_failed(s.remove("a", 0));
    ++answers;
  }));
  EXPECT_TRUE(w.run_next());
  EXPECT_EQ(answers, 2);
}

TEST(journal_writer, told_when_to_work_it_groups_what_waits_and_may_be_called_from_a_callback) {
  int told = 0;
  writer w(std::make_unique<memory_store>(), writer_mode::when_told, [&told] { ++told; });
  std::vector<std::string> done;
  const auto note = [&done](const char* what) {
    return [&done, what](auto r) { done.push_back(r ? what : "failed"); };
  };
  w.append(sample_create("a"), [&](auto r) {
    ASSERT_TRUE(r);
    done.push_back("a");
    w.append(sample_append("a", r->epoch, {sample_entry("2", sample_prompt("x"))}), note("a2"));
  });
  w.append(sample_create("b"), note("b"));
  EXPECT_TRUE(w.post([&](store& s) { done.push_back(s.find("b") ? "read" : "failed"); }));
  EXPECT_EQ(told, 3);
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(w.run_next());
  EXPECT_EQ(done, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(w.run_next());
  EXPECT_TRUE(w.run_next());
  EXPECT_FALSE(w.run_next());
  EXPECT_EQ(done, (std::vector<std::string>{"a", "b", "read", "a2"}));
  EXPECT_EQ(w.stats().groups, 2U);
}

TEST(journal_writer, told_when_to_work_it_finishes_what_waits_at_its_end) {
  std::string answer;
  {
    writer w(std::make_unique<memory_store>(), writer_mode::when_told);
    w.append(sample_create("a"), [&](auto r) { answer = r ? "written" : "failed"; });
  }
  EXPECT_EQ(answer, "written");
}

TEST(journal_writer, the_end_answers_all_that_waits_and_refuses_what_comes_from_its_callbacks) {
  const auto g = std::make_shared<gate>();
  const auto sizes = std::make_shared<std::vector<std::size_t>>();
  std::atomic<int> answers = 0;
  std::atomic<int> refused = 0;
  std::latch ending(1);
  std::thread opener;
  {
    auto w =
        std::make_unique<writer>(std::make_unique<gated_store>(g, sizes), writer_mode::own_thread);
    writer* late = w.get();
    w->append(sample_create("a"), [&](auto) { ++answers; });
    g->arrived.wait();
    for (int i = 0; i < 100; ++i)
      w->append(sample_create("s" + std::to_string(i)), [&, late](auto) {
        ++answers;
        // Whether the end has begun by now or not, this one is answered as well.
        late->append(sample_create("late" + std::to_string(answers.load())),
                     [&](auto r) { r ? ++answers : ++refused; });
      });
    opener = std::thread([&] {
      ending.wait();
      g->opened.count_down();
    });
    ending.count_down();
    w.reset();
  }
  opener.join();
  EXPECT_EQ(answers.load() + refused.load(), 201);
}

} // namespace
} // namespace rind::journal
