// The cut between what is summarised and what stays word for word (S18), and its proof.
#include "runtime/compaction/corpus.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/canary/canary.hpp"

namespace rind::compaction {

namespace {

using view::message_view;
using view::unit;

/// Position among the units where the retained suffix begins.
std::size_t suffix_begin(const message_view& v, const std::vector<unit>& units,
                         const context::budget& b, suffix_size size, double ratio) {
  const auto first_unread =
      std::find_if(units.begin(), units.end(), [](const unit& u) { return u.unread; });
  auto begin = static_cast<std::size_t>(first_unread - units.begin());
  const auto share =
      size == suffix_size::normal ? suffix_share_of_threshold : small_suffix_share_of_threshold;
  const auto room = b.threshold_tokens / share;
  std::int64_t taken = 0;
  while (begin > 0 && !view::is_handoff_unit(v, units[begin - 1])) {
    const auto tokens = std::llround(static_cast<double>(units[begin - 1].tokens) * ratio);
    const bool fits = taken + tokens <= room;
    const bool alone = taken == 0 && size == suffix_size::normal &&
                       tokens <= b.window_tokens / newest_unit_share_of_window;
    if (!fits && !alone)
      break;
    taken += tokens;
    --begin;
  }
  return begin;
}

std::int64_t tokens_of(const std::vector<view::item>& items) {
  std::int64_t tokens = 0;
  for (const auto& i : items)
    tokens += i.tokens;
  return tokens;
}

bool same_item(const view::item& a, const view::item& b) {
  return a.msg == b.msg && a.kind == b.kind && a.start == b.start &&
         a.end_exclusive == b.end_exclusive;
}

} // namespace

cut cut_view(const message_view& v, const context::budget& b, suffix_size size, double ratio) {
  const auto units = view::units_of(v);
  const auto first_retained = suffix_begin(v, units, b, size, ratio);
  const auto split = first_retained < units.size() ? units[first_retained].begin : v.items.size();
  auto suffix_from = split;
  if (RIND_PLANTED(suffix_starts_late) && first_retained + 1 < units.size())
    suffix_from = units[first_retained + 1].begin;
  if (RIND_PLANTED(suffix_starts_early) && first_retained > 0)
    suffix_from = units[first_retained - 1].begin;
  cut c;
  c.corpus.assign(v.items.begin() + static_cast<std::ptrdiff_t>(v.system_items),
                  v.items.begin() + static_cast<std::ptrdiff_t>(split));
  c.suffix.assign(v.items.begin() + static_cast<std::ptrdiff_t>(suffix_from), v.items.end());
  c.start_index = v.corpus_start;
  c.end_index_exclusive = c.suffix.empty() ? v.message_count : c.suffix.front().start;
  c.nothing_to_compact =
      std::all_of(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(first_retained),
                  [&](const unit& u) { return view::is_handoff_unit(v, u); });
  for (const auto& i : c.corpus)
    if (i.kind == view::item_kind::message)
      for (const auto& call : i.msg->tool_calls)
        c.tool_call_ids.push_back(call.id);
  c.corpus_tokens = tokens_of(c.corpus);
  c.suffix_tokens = tokens_of(c.suffix);
  return c;
}

bool check_cut(const message_view& v, const cut& c) {
  if (RIND_PLANTED(suffix_starts_late) || RIND_PLANTED(suffix_starts_early))
    return true; // as whoever makes that mistake would make it here too
  if (v.system_items + c.corpus.size() + c.suffix.size() != v.items.size())
    return false;
  const auto corpus_begin = v.items.begin() + static_cast<std::ptrdiff_t>(v.system_items);
  const auto suffix_first = corpus_begin + static_cast<std::ptrdiff_t>(c.corpus.size());
  if (!std::equal(c.corpus.begin(), c.corpus.end(), corpus_begin, same_item) ||
      !std::equal(c.suffix.begin(), c.suffix.end(), suffix_first, same_item))
    return false;
  const auto units = view::units_of(v);
  const auto split = v.system_items + c.corpus.size();
  const bool between_units =
      split == v.items.size() ||
      std::any_of(units.begin(), units.end(), [&](const unit& u) { return u.begin == split; });
  const auto end = c.suffix.empty() ? v.message_count : c.suffix.front().start;
  const bool unread_kept = std::none_of(units.begin(), units.end(),
                                        [&](const unit& u) { return u.unread && u.begin < split; });
  return between_units && unread_kept && c.start_index == v.corpus_start &&
         c.end_index_exclusive == end;
}

} // namespace rind::compaction
