// Every history of the input queues up to a depth: what is asked for begins, and its entry is
// written or refused whenever the journal pleases, in the order in which it was sent. The journal's
// side is kept here: what it says must be what the queues do.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/session/input_queues.hpp"

namespace rind::session {
namespace {

using enum input_mode;

constexpr int depth_max = 7;           // five million histories
constexpr std::int64_t inputs_max = 2; // a queue

enum class step : std::uint8_t {
  accept_steering,
  accept_follow_up,
  deliver_steering,
  deliver_any,
  take_back_steering,
  take_back_follow_up,
  promote_first,
  write,  // the oldest entry that is on its way
  refuse, // the same
};
constexpr step steps[]{step::accept_steering,
                       step::accept_follow_up,
                       step::deliver_steering,
                       step::deliver_any,
                       step::take_back_steering,
                       step::take_back_follow_up,
                       step::promote_first,
                       step::write,
                       step::refuse};

enum class entry_kind : std::uint8_t { accepted, promoted, left };
struct pending_entry {
  entry_kind kind;
  queued_input in;
};

/// The queues, and the journal as it says that they are.
struct world {
  input_queues queues{queue_limits{inputs_max, 8'000}};
  std::vector<pending_entry> on_its_way;
  std::vector<queued_input> journaled; // waiting ones, in the journal's order
  std::int64_t position = 0;
  int inputs = 0;

  std::vector<queued_input> of(input_mode mode) const {
    std::vector<queued_input> out;
    for (const auto& in : journaled)
      if (in.mode == mode)
        out.push_back(in);
    return out;
  }
  bool is_leaving(const std::string& id) const {
    return std::any_of(on_its_way.begin(), on_its_way.end(),
                       [&](const auto& e) { return e.in.input_id == id; });
  }
  void erase(const std::string& id) {
    std::erase_if(journaled, [&](const auto& in) { return in.input_id == id; });
  }
};

void begin_accept(world& w, input_mode mode) {
  const queued_input in{std::to_string(++w.inputs), mode, "text"};
  if (w.queues.begin_accept(in))
    w.on_its_way.push_back({entry_kind::accepted, in});
}

/// What leaves is the oldest (delivered) or the newest (taken back) that is not leaving already.
void expect_left(world& w, const std::optional<queued_input>& in, input_mode mode, bool oldest) {
  auto waiting = w.of(mode);
  std::erase_if(waiting, [&](const auto& i) { return w.is_leaving(i.input_id); });
  ASSERT_EQ(in.has_value(), !waiting.empty());
  if (!in)
    return;
  EXPECT_EQ(*in, oldest ? waiting.front() : waiting.back());
  w.on_its_way.push_back({entry_kind::left, *in});
}

void take_back(world& w, input_mode mode) {
  auto in = w.queues.begin_take_back(mode, {});
  expect_left(w, in ? std::optional{*in} : std::nullopt, mode, false);
}

void deliver(world& w, bool steering_only) {
  auto waiting = w.of(steering);
  std::erase_if(waiting, [&](const auto& i) { return w.is_leaving(i.input_id); });
  const auto mode = steering_only || !waiting.empty() ? steering : follow_up;
  expect_left(w, w.queues.begin_deliver(steering_only), mode, true);
}

void begin_promote(world& w) {
  for (const auto& in : w.of(follow_up))
    if (!w.is_leaving(in.input_id)) {
      if (w.queues.begin_promote(in.input_id))
        w.on_its_way.push_back({entry_kind::promoted, in});
      return;
    }
}

void write_or_refuse(world& w, bool written) {
  if (w.on_its_way.empty())
    return;
  auto e = w.on_its_way.front();
  w.on_its_way.erase(w.on_its_way.begin());
  const auto& id = e.in.input_id;
  w.position += written;
  switch (e.kind) {
  case entry_kind::accepted:
    if (written)
      w.journaled.push_back(e.in);
    return written ? w.queues.accepted(id, w.position) : w.queues.accept_refused(id);
  case entry_kind::promoted:
    if (!written)
      return w.queues.promote_refused(id);
    w.erase(id);
    e.in.mode = steering;
    w.journaled.push_back(e.in);
    return w.queues.promoted(id, w.position);
  case entry_kind::left:
    if (!written)
      return w.queues.leave_refused(id);
    w.erase(id);
    return w.queues.left(id);
  }
}

void take(world& w, step s) {
  switch (s) {
  case step::accept_steering:
    return begin_accept(w, steering);
  case step::accept_follow_up:
    return begin_accept(w, follow_up);
  case step::deliver_steering:
    return deliver(w, true);
  case step::deliver_any:
    return deliver(w, false);
  case step::take_back_steering:
    return take_back(w, steering);
  case step::take_back_follow_up:
    return take_back(w, follow_up);
  case step::promote_first:
    return begin_promote(w);
  case step::write:
    return write_or_refuse(w, true);
  case step::refuse:
    return write_or_refuse(w, false);
  }
}

void check(const world& w) {
  EXPECT_EQ(w.queues.unsettled(), !w.on_its_way.empty());
  for (const auto mode : {steering, follow_up})
    EXPECT_LE(w.of(mode).size(), static_cast<std::size_t>(inputs_max));
  if (w.queues.unsettled())
    return;
  // What would be handed back is what a restart would find, in the same order.
  const auto rest = w.queues.rest();
  ASSERT_EQ(rest.size(), w.journaled.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].input_id, w.journaled[i].input_id);
    EXPECT_EQ(rest[i].mode, w.journaled[i].mode);
  }
}

std::size_t explore(const world& at, int depth) {
  check(at);
  if (depth == 0 || testing::Test::HasFailure())
    return 1;
  std::size_t n = 1;
  for (const auto s : steps) {
    auto next = at;
    take(next, s);
    n += explore(next, depth - 1);
  }
  return n;
}

TEST(input_queues, S3_in_every_history_the_queues_are_what_the_journal_says) {
  EXPECT_GT(explore({}, depth_max), 4'000'000u);
}

} // namespace
} // namespace rind::session
