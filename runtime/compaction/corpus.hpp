// Where a view is cut into corpus and retained suffix (S18). Pure.
#pragma once

#include "runtime/context/budget.hpp"
#include "runtime/view/view.hpp"

namespace rind::compaction {

/// The suffix takes read units while they fit in this share of the threshold; a smaller one for the
/// second try of S25.
inline constexpr std::int64_t suffix_share_of_threshold = 12;
inline constexpr std::int64_t small_suffix_share_of_threshold = 48;
/// The newest read unit alone may exceed it (the normal size only), up to this share of the window.
inline constexpr std::int64_t newest_unit_share_of_window = 4;

/// How much of the view stays word for word.
enum class suffix_size : std::uint8_t { normal, small };

struct cut {
  std::vector<view::item>
      corpus; // in order: an earlier handoff pair first, then what is to be summarised
  std::vector<view::item> suffix;
  std::int64_t start_index = 0; // record: message_start_index
  std::int64_t end_index_exclusive =
      0; // record: message_end_index_exclusive; the suffix starts here
  std::vector<std::string> tool_call_ids; // calls in the corpus
  bool nothing_to_compact = false;        // the corpus holds no unit besides an earlier handoff
  std::int64_t corpus_tokens = 0;
  std::int64_t suffix_tokens = 0;
};

/// Cuts between units. Each item of the view but the system items is in exactly one of the two
/// (check_cut proves it). `ratio` turns plain local tokens of the view into the active ones that
/// the budget is in.
cut cut_view(const view::message_view& v, const context::budget& b, suffix_size size,
             double ratio = 1.0);

/// Whether corpus and suffix together are the view, once each and in order, and no unit is split.
/// The commit asks this again.
bool check_cut(const view::message_view& v, const cut& c);

} // namespace rind::compaction
