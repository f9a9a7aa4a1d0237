// Settings, disk and sessions.
#include "tests/kit/scenario/setup.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/journal/sqlite_store.hpp"
#include "tests/kit/scenario/script_book.hpp"

namespace rind::kit {

world_options world_options_of(const scenario_world& w, power_cut_vfs* disk) {
  world_options o;
  o.seed = w.seed;
  o.shuffled = w.shuffled;
  o.nodes = w.nodes;
  o.keeps_history = false;
  for (auto& m : o.settings.providers.front().models) {
    m.limits.window_tokens = declared_window_tokens(m.name, w);
    m.limits.threshold_percent = w.threshold_percent;
    m.limits.max_output_tokens = w.max_output_tokens;
  }
  o.settings.session.auto_resume = w.auto_resume;
  o.settings.compaction.auto_compact = w.auto_compact;
  o.settings.compaction.overflow_recovery = w.overflow_recovery;
  o.settings.compaction.summaries_at_once_max = w.summaries_at_once;
  o.settings.compaction.model = w.compaction_model;
  if (disk == nullptr)
    return o;
  o.open_store = [] {
    auto opened =
        journal::open_sqlite({"journal", journal::sqlite_synchronous::full, simulated_disk, 1});
    if (!opened)
      throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  };
  o.power_cut = [disk, cuts = w.seed]() mutable { disk->power_cut(++cuts); };
  return o;
}

actors::open_session_command opening_of(const std::string& session, const scenario_world& w) {
  const auto switched_off = [&](const std::vector<std::string>& sessions) {
    const bool is_named = std::find(sessions.begin(), sessions.end(), session) != sessions.end();
    return is_named ? std::optional{false} : std::nullopt;
  };
  actors::open_session_command made;
  made.session_id = session;
  made.mode = actors::open_mode::create;
  if (w.system_prompt_tokens > 0)
    made.system_prompt = marked_text(session, 'y', {}, w.system_prompt_tokens);
  made.auto_compact = switched_off(w.no_auto_compact);
  made.overflow_recovery = switched_off(w.no_overflow_recovery);
  return made;
}

} // namespace rind::kit
