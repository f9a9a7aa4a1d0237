// SQLite against its twin: random sequences of calls get the same answers from both, restarts and
// power cuts in between.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/journal/memory_store.hpp"
#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/journal_samples.hpp"
#include "tests/kit/journal_text.hpp"
#include "tests/kit/power_cut_vfs.hpp"

namespace rind::journal {
namespace {

using namespace rind::kit;

/// One call, in small numbers so that calls meet each other. What each means depends on the kind.
struct call {
  int kind = 0;
  int session = 0;
  int number = 0;
  int other = 0;
};

std::ostream& operator<<(std::ostream& out, const call& c) {
  return out << '{' << c.kind << ' ' << c.session << ' ' << c.number << ' ' << c.other << '}';
}

constexpr int call_kinds = 16;

rc::Gen<call> any_call() {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, call_kinds), rc::gen::inRange(0, 4),
                                     rc::gen::inRange(0, 40), rc::gen::inRange(0, 8)),
                      [](const auto& t) {
                        return call{std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
                      });
}

entry_body body_of(const call& c) {
  const std::string input = "i" + std::to_string(c.other);
  const auto mode = c.number % 2 == 0 ? input_mode::steering : input_mode::follow_up;
  switch (c.other) {
  case 0:
    return sample_turn_started(c.number % 2 == 0 ? operation_kind::turn : operation_kind::compact);
  case 1:
    return sample_ended(static_cast<entries::turn_outcome>(c.number % 3));
  case 2:
    return sample_boundary(c.number);
  case 3:
    return sample_accepted(input, mode, "input");
  case 4:
    return sample_delivered(input, mode, "input");
  case 5:
    return entries::model_set{"model-" + std::to_string(c.number)};
  case 6:
    return sample_answer("an answer");
  default:
    return sample_prompt("prompt  " + std::to_string(c.number), input);
  }
}

/// The two stores and what the calls know of them: the epochs, as both told them.
class pair_of_stores {
public:
  pair_of_stores() : disk_("model") { restart(); }

  void make(const call& c) {
    const std::string id = "s" + std::to_string(c.session);
    const std::string input = "i" + std::to_string(c.other);
    switch (c.kind) {
    case 0:
      return both([&](store& s) { return s.claim(id); }, [&](const auto& r) { learn(id, r); });
    case 1:
      return both([&](store& s) { return s.read(id, c.number - 5, c.other); });
    case 2:
      return both([&](store& s) { return s.find(id); });
    case 3:
      return list_all(c.other);
    case 4:
      return both([&](store& s) { return s.find_input(id, input); });
    case 5:
      return both([&](store& s) { return s.remove(id, c.other == 0 ? 0 : epoch(c)); });
    case 6:
      disk_.power_cut(static_cast<std::uint64_t>(c.number));
      return restart();
    default:
      return append_group(c);
    }
  }

private:
  void restart() {
    sqlite_.reset();
    auto opened = open_sqlite({"journal", sqlite_synchronous::full, disk_.name(), 1});
    RC_ASSERT(static_cast<bool>(opened));
    sqlite_ = std::move(*opened);
  }

  template <class Ask, class Learn>
  void both(Ask ask, Learn learn_from) {
    const auto expected = ask(memory_);
    RC_ASSERT(text_of(ask(*sqlite_)) == text_of(expected));
    learn_from(expected);
  }
  template <class Ask>
  void both(Ask ask) {
    both(ask, [](const auto&) {});
  }

  void list_all(int limit) {
    std::string after;
    do {
      const auto page = memory_.list(limit, after);
      RC_ASSERT(text_of(sqlite_->list(limit, after)) == text_of(page));
      after = page ? page->next : std::string();
    } while (!after.empty());
  }

  template <class Answer>
  void learn(const std::string& id, const Answer& answer) {
    if (answer)
      epochs_[id] = answer->epoch;
  }

  /// Mostly the newest epoch that was told.
  std::uint64_t epoch(const call& c) {
    const std::uint64_t newest = epochs_["s" + std::to_string(c.session)];
    return c.number == 0 && newest > 0 ? newest - 1 : newest;
  }

  append_request request_of(const call& c) {
    const std::string id = "s" + std::to_string(c.session);
    if (c.kind == call_kinds - 1) {
      auto request = sample_create(id, 100 + c.other);
      if (c.number % 4 == 0) // mostly a repetition: the sample's id follows from the session
        request.entries.front().id = id + "/" + std::to_string(c.number);
      return request;
    }
    // Some ids come twice: a repetition, or a clash.
    const std::string entry_id =
        c.number < 4 ? "e" + std::to_string(c.number) : "n" + std::to_string(++id_count_);
    const std::string turn = "t" + std::to_string(c.other % 2);
    auto request =
        sample_append(id, epoch(c), {sample_entry(entry_id, body_of(c), 100 + c.number, turn)});
    if (c.kind == 7)
      request.expected_view_position = c.other;
    if (c.kind == 8)
      request.entries.push_back(
          sample_entry("m" + std::to_string(c.number), sample_answer("more"), 50, turn));
    return request;
  }

  void append_group(const call& c) {
    std::vector<append_request> group{request_of(c)};
    for (int i = 0; i < c.other % 3; ++i)
      group.push_back(request_of({7 + (c.number + i) % 9, (c.session + i) % 4,
                                  (c.number * 7 + i) % 40, (c.other + i) % 8}));
    const auto expected = memory_.append(group);
    const auto answers = sqlite_->append(group);
    RC_ASSERT(answers.size() == expected.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      RC_ASSERT(text_of(answers[i]) == text_of(expected[i]));
      learn(group[i].session_id, expected[i]);
    }
  }

  power_cut_vfs disk_;
  memory_store memory_;
  std::unique_ptr<store> sqlite_;
  std::map<std::string, std::uint64_t> epochs_;
  int id_count_ = 0;
};

TEST(journal_model, memory_and_sqlite_answer_alike) {
  const bool holds = rc::check("random calls", [] {
    const auto calls = *rc::gen::container<std::vector<call>>(any_call());
    pair_of_stores stores;
    for (const call& c : calls)
      stores.make(c);
  });
  EXPECT_TRUE(holds);
}

} // namespace
} // namespace rind::journal
