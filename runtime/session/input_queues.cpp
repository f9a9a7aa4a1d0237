// The two queues as one list in order of acceptance.
#include "runtime/session/input_queues.hpp"

#include <algorithm>
#include <limits>

#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"

namespace rind::session {

namespace {

constexpr std::int64_t not_journaled = std::numeric_limits<std::int64_t>::max();

} // namespace

void input_queues::restore(std::vector<queued_input> inputs) {
  items_.clear();
  for (auto& in : inputs)
    items_.push_back({std::move(in), place::waiting, 0});
}

result<done> input_queues::room(input_mode mode, const std::string& text) const {
  std::int64_t inputs = 0;
  std::int64_t characters = 0;
  for (const auto& s : items_) {
    // An input that is being promoted has a place in both: it is in the one until it is in the
    // other.
    const bool on_its_way = mode == input_mode::steering && s.at == place::promoting;
    if (s.in.mode != mode && !on_its_way)
      continue;
    ++inputs;
    characters += count_characters(s.in.text);
  }
  if (inputs + 1 > limits_.inputs_max && !RIND_PLANTED(queue_without_bound))
    return make_failure(error_code::input_queue_full, std::string{to_string(mode)} + " holds " +
                                                          std::to_string(inputs) +
                                                          " inputs, as many as it may");
  if (characters + count_characters(text) > limits_.characters_max)
    return make_failure(error_code::input_queue_full,
                        std::string{to_string(mode)} + " may hold " +
                            std::to_string(limits_.characters_max) + " characters and would hold " +
                            std::to_string(characters + count_characters(text)));
  return done{};
}

result<done> input_queues::begin_accept(queued_input in) {
  if (auto r = room(in.mode, in.text); !r)
    return r;
  items_.push_back({std::move(in), place::arriving, not_journaled});
  return done{};
}

input_queues::slot* input_queues::lookup(const std::string& input_id) {
  auto i = std::find_if(items_.begin(), items_.end(),
                        [&](const slot& s) { return s.in.input_id == input_id; });
  return i == items_.end() ? nullptr : &*i;
}

const queued_input* input_queues::find(const std::string& input_id) const {
  auto i = std::find_if(items_.begin(), items_.end(),
                        [&](const slot& s) { return s.in.input_id == input_id; });
  return i == items_.end() ? nullptr : &i->in;
}

void input_queues::wait_in_order(const std::string& input_id, input_mode mode,
                                 std::int64_t position) {
  const auto i = std::find_if(items_.begin(), items_.end(),
                              [&](const slot& s) { return s.in.input_id == input_id; });
  if (i == items_.end())
    return;
  auto s = std::move(*i);
  items_.erase(i);
  s.in.mode = mode;
  s.at = place::waiting;
  s.position = position;
  const auto later = std::find_if(items_.begin(), items_.end(),
                                  [&](const slot& other) { return other.position > position; });
  items_.insert(later, std::move(s));
}

void input_queues::stay(const std::string& input_id) {
  if (auto* s = lookup(input_id))
    s->at = place::waiting;
}

void input_queues::accepted(const std::string& input_id, std::int64_t position) {
  if (const auto* in = find(input_id))
    wait_in_order(input_id, in->mode, position);
}

void input_queues::accept_refused(const std::string& input_id) {
  std::erase_if(items_, [&](const slot& s) { return s.in.input_id == input_id; });
}

std::optional<queued_input> input_queues::begin_deliver(bool steering_only) {
  const auto take = [&](input_mode mode) -> std::optional<queued_input> {
    if (RIND_PLANTED(newest_input_first))
      if (auto newest = begin_take_back(mode, {}))
        return *newest;
    for (auto& s : items_) {
      if (s.in.mode == mode && s.at == place::waiting) {
        s.at = place::leaving;
        return s.in;
      }
    }
    return std::nullopt;
  };
  if (auto in = take(input_mode::steering))
    return in;
  return steering_only ? std::nullopt : take(input_mode::follow_up);
}

result<queued_input> input_queues::begin_take_back(input_mode mode, const std::string& input_id) {
  for (auto s = items_.rbegin(); s != items_.rend(); ++s) {
    if (s->in.mode != mode || s->at != place::waiting ||
        (!input_id.empty() && s->in.input_id != input_id))
      continue;
    s->at = place::leaving;
    return s->in;
  }
  return make_failure(error_code::input_not_pending,
                      input_id.empty()
                          ? std::string{"no "} + to_string(mode) + " input is pending"
                          : "input " + input_id + " is not pending as " + to_string(mode));
}

void input_queues::left(const std::string& input_id) {
  accept_refused(input_id);
}

void input_queues::leave_refused(const std::string& input_id) {
  stay(input_id);
}

result<done> input_queues::begin_promote(const std::string& input_id) {
  auto* s = lookup(input_id);
  if (!s || s->in.mode != input_mode::follow_up || s->at != place::waiting)
    return make_failure(error_code::input_not_pending,
                        "input " + input_id + " is not pending as follow_up");
  if (auto r = room(input_mode::steering, s->in.text); !r)
    return r;
  s->at = place::promoting;
  return done{};
}

void input_queues::promoted(const std::string& input_id, std::int64_t position) {
  wait_in_order(input_id, input_mode::steering, position);
}

void input_queues::promote_refused(const std::string& input_id) {
  stay(input_id);
}

bool input_queues::unsettled() const {
  return std::any_of(items_.begin(), items_.end(),
                     [](const slot& s) { return s.at != place::waiting; });
}

bool input_queues::has(input_mode mode) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const slot& s) { return s.in.mode == mode && s.at == place::waiting; });
}

std::int64_t input_queues::count(input_mode mode) const {
  return std::count_if(items_.begin(), items_.end(), [&](const slot& s) {
    return s.in.mode == mode && s.at != place::leaving && s.at != place::arriving;
  });
}

std::vector<undelivered_input> input_queues::rest() const {
  std::vector<undelivered_input> out;
  for (const auto& s : items_)
    out.push_back({s.in.input_id, s.in.mode, s.in.text});
  return out;
}

} // namespace rind::session
