// Replacing parts of a view: shortened bodies and notes for what is left out, and the plan which
// parts to take (S31, S18a).
#include "runtime/context/rescue.hpp"

#include <algorithm>

#include "runtime/context/budget.hpp"
#include "runtime/context/text_cut.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::context {

namespace {

constexpr std::size_t untouched_newest_units = 2;

bool before(const replacement& a, const replacement& b) {
  return a.start != b.start ? a.start < b.start : a.end_exclusive < b.end_exclusive;
}

std::vector<replacement> merged_kind(const std::vector<replacement>& sorted,
                                     replacement_kind kind) {
  std::vector<replacement> out;
  for (const auto& r : sorted) {
    if (r.kind != kind || r.start >= r.end_exclusive)
      continue;
    if (!out.empty() && r.start <= out.back().end_exclusive)
      out.back().end_exclusive = std::max(out.back().end_exclusive, r.end_exclusive);
    else
      out.push_back(r);
  }
  return out;
}

/// What is left of `bodies` outside of the left-out ranges; both sorted and merged.
std::vector<replacement> bodies_outside(const std::vector<replacement>& bodies,
                                        const std::vector<replacement>& units) {
  std::vector<replacement> out;
  for (auto b : bodies) {
    for (const auto& u : units) {
      if (u.end_exclusive <= b.start || u.start >= b.end_exclusive)
        continue;
      if (u.start > b.start)
        out.push_back({b.start, u.start, replacement_kind::body});
      b.start = std::min(u.end_exclusive, b.end_exclusive);
    }
    if (b.start < b.end_exclusive)
      out.push_back(b);
  }
  return out;
}

/// Answers for rising indices whether one of the ranges holds them.
class range_cursor {
public:
  explicit range_cursor(std::vector<replacement> ranges) : ranges_(std::move(ranges)) {}

  bool holds(std::int64_t index) {
    while (at_ < ranges_.size() && ranges_[at_].end_exclusive <= index)
      ++at_;
    return at_ < ranges_.size() && ranges_[at_].start <= index;
  }

private:
  std::vector<replacement> ranges_;
  std::size_t at_ = 0;
};

std::vector<replacement> only(const std::vector<replacement>& replaced, replacement_kind kind) {
  std::vector<replacement> out;
  std::copy_if(replaced.begin(), replaced.end(), std::back_inserter(out),
               [&](const replacement& r) { return r.kind == kind; });
  return out;
}

view::item note_item(std::int64_t start, std::int64_t end_exclusive) {
  view::item note;
  note.kind = view::item_kind::left_out;
  note.start = start;
  note.end_exclusive = end_exclusive;
  note.left_out_messages = end_exclusive - start;
  note.msg = left_out_note(start, end_exclusive, note.left_out_messages);
  note.tokens = estimate_message(*note.msg);
  return note;
}

bool is_whole_result(const view::item& i) {
  return i.kind == view::item_kind::message && i.msg->role == message_role::tool && !i.shortened;
}

/// The work of one plan: what was replaced so far and what the view then weighs.
class planner {
public:
  planner(const view::message_view& v, std::int64_t fixed_tokens, std::int64_t limit_tokens,
          const active_of& active)
      : view_(v),
        units_(view::units_of(v)),
        fixed_tokens_(fixed_tokens),
        limit_tokens_(limit_tokens),
        active_(active),
        local_tokens_(fixed_tokens + v.tokens) {}

  bool fits() const { return active_(local_tokens_) <= limit_tokens_; }

  void shorten_bodies(bool unread) {
    for (std::size_t u = 0; u < units_.size() && !fits(); ++u)
      if (unread ? units_[u].unread : may_touch(u))
        shorten_unit(units_[u]);
  }

  void leave_units_out() {
    std::size_t begin = 0;
    while (begin < units_.size() && !fits()) {
      if (!may_touch(begin)) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      while (end < units_.size() && may_touch(end))
        ++end;
      leave_run_out(begin, end);
      begin = end;
    }
  }

  rescue_plan finish() {
    rescue_plan plan;
    plan.replaced = merge_replacements(std::move(replaced_));
    plan.changed = !plan.replaced.empty();
    plan.after = plan.changed ? with_replaced(view_, plan.replaced) : view_;
    plan.active_tokens = active_(fixed_tokens_ + plan.after.tokens);
    plan.fits = plan.active_tokens <= limit_tokens_;
    return plan;
  }

private:
  bool may_touch(std::size_t index) const {
    const auto& u = units_[index];
    if (u.unread || index + untouched_newest_units >= units_.size() ||
        view::is_handoff_unit(view_, u))
      return false;
    const auto& first = view_.items[u.begin];
    const bool newest_words =
        first.kind == view::item_kind::message && first.start == view_.newest_user_index;
    return !newest_words;
  }

  void shorten_unit(view::unit& u) {
    for (std::size_t i = u.begin; i < u.end && !fits(); ++i) {
      const auto& whole = view_.items[i];
      if (!is_whole_result(whole))
        continue;
      const auto msg = shortened_message(*whole.msg);
      if (!msg)
        continue;
      const auto saved = whole.tokens - estimate_message(*msg);
      u.tokens -= saved;
      local_tokens_ -= saved;
      replaced_.push_back({whole.start, whole.end_exclusive, replacement_kind::body});
    }
  }

  /// Leaves out units [begin, end) from the oldest on, as many as needed; none where the note would
  /// weigh more than they do.
  void leave_run_out(std::size_t begin, std::size_t end) {
    const auto tokens_before = local_tokens_;
    const auto start = view_.items[units_[begin].begin].start;
    std::int64_t note_tokens = 0;
    std::int64_t run_end = start;
    bool whole_units = false;
    for (std::size_t u = begin; u < end && !(whole_units && fits()); ++u) {
      run_end = view_.items[units_[u].end - 1].end_exclusive;
      whole_units = whole_units || view_.items[units_[u].begin].kind != view::item_kind::left_out;
      const auto note = note_item(start, run_end);
      local_tokens_ += note.tokens - note_tokens - units_[u].tokens;
      note_tokens = note.tokens;
    }
    if (whole_units && local_tokens_ < tokens_before)
      replaced_.push_back({start, run_end, replacement_kind::units});
    else
      local_tokens_ = tokens_before;
  }

  const view::message_view& view_;
  std::vector<view::unit> units_;
  std::int64_t fixed_tokens_;
  std::int64_t limit_tokens_;
  const active_of& active_;
  std::int64_t local_tokens_; // fixed part included
  std::vector<replacement> replaced_;
};

} // namespace

rescue_plan plan_rescue(const view::message_view& v, std::int64_t fixed_tokens,
                        std::int64_t limit_tokens, const active_of& active) {
  planner work(v, fixed_tokens, limit_tokens, active);
  work.shorten_bodies(false);
  work.leave_units_out();
  work.shorten_bodies(true);
  return work.finish();
}

rescue_plan shorten_unread(const view::message_view& v, std::int64_t fixed_tokens,
                           std::int64_t limit_tokens, const active_of& active) {
  planner work(v, fixed_tokens, limit_tokens, active);
  work.shorten_bodies(true);
  return work.finish();
}

std::vector<replacement> merge_replacements(std::vector<replacement> replaced) {
  std::sort(replaced.begin(), replaced.end(), before);
  auto units = merged_kind(replaced, replacement_kind::units);
  auto out = bodies_outside(merged_kind(replaced, replacement_kind::body), units);
  out.insert(out.end(), units.begin(), units.end());
  std::sort(out.begin(), out.end(), before);
  return out;
}

view::message_view with_replaced(const view::message_view& v,
                                 const std::vector<replacement>& replaced) {
  const auto merged = merge_replacements(replaced);
  range_cursor units(only(merged, replacement_kind::units));
  range_cursor bodies(only(merged, replacement_kind::body));
  auto out = v;
  out.items.assign(v.items.begin(), v.items.begin() + static_cast<std::ptrdiff_t>(v.system_items));
  std::optional<view::item> run; // of items left out, not written yet
  const auto leave_out = [&](const view::item& i) {
    if (!run)
      run = i.kind == view::item_kind::left_out ? i : note_item(i.start, i.end_exclusive);
    else if (i.end_exclusive > run->end_exclusive)
      run = note_item(run->start, i.end_exclusive);
  };
  const auto write_run = [&] {
    if (run)
      out.items.push_back(std::move(*run));
    run.reset();
  };
  for (std::size_t at = v.system_items; at < v.items.size(); ++at) {
    const auto& current = v.items[at];
    const bool left_out = current.kind == view::item_kind::left_out ||
                          (current.kind == view::item_kind::message && units.holds(current.start));
    const bool goes_with_run = current.kind == view::item_kind::placeholder && run.has_value();
    if (left_out || goes_with_run) {
      leave_out(current);
      continue;
    }
    write_run();
    out.items.push_back(current);
    if (!is_whole_result(current) || !bodies.holds(current.start))
      continue;
    if (auto msg = shortened_message(*current.msg)) {
      auto& shortened = out.items.back();
      shortened.tokens = estimate_message(*msg);
      shortened.msg = std::move(msg);
      shortened.shortened = true;
    }
  }
  write_run();
  out.tokens = 0;
  for (std::size_t at = out.system_items; at < out.items.size(); ++at)
    out.tokens += out.items[at].tokens;
  return out;
}

message_ptr shortened_message(const message& m) {
  auto body = shortened_body(m.content);
  if (!body)
    return nullptr;
  auto copy = std::make_shared<message>(m);
  copy->content = std::move(*body);
  return copy;
}

std::optional<std::string> shortened_body(std::string_view body) {
  const auto head = first_characters(body, shortened_head_chars);
  const auto rest = body.substr(head.size());
  const auto tail = last_characters(rest, shortened_tail_chars);
  const auto middle = rest.substr(0, rest.size() - tail.size());
  if (middle.empty())
    return std::nullopt;
  const auto left_out = std::count_if(middle.begin(), middle.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  std::string out{head};
  out += "\n[... " + std::to_string(left_out) + " characters left out ...]\n";
  out += tail;
  if (out.size() >= body.size())
    return std::nullopt;
  return out;
}

message_ptr left_out_note(std::int64_t start, std::int64_t end_exclusive, std::int64_t messages) {
  auto note = std::make_shared<message>();
  note->role = message_role::user;
  note->origin = user_origin::rescue_note;
  note->content = "[Note by the runtime: " + std::to_string(messages) +
                  " earlier messages of this conversation (numbers " + std::to_string(start) +
                  " to " + std::to_string(end_exclusive - 1) +
                  ") were left out here to fit the context window. This is no request.]";
  return note;
}

} // namespace rind::context
