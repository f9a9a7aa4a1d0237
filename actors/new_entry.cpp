// The record of a boundary carries the id and the time of its entry.
#include "actors/new_entry.hpp"

namespace rind::actors {

entry new_entry(host::environment& env, const std::string& turn_id, std::int64_t now_ms,
                entry_body body) {
  entry e;
  e.id = env.new_id("evt");
  e.time_ms = now_ms;
  e.turn_id = turn_id;
  if (auto* b = std::get_if<entries::boundary>(&body)) {
    auto record = *b->record;
    record.id = e.id;
    record.created_at_ms = now_ms;
    b->record = std::make_shared<const compaction_record>(std::move(record));
  }
  e.body = std::move(body);
  return e;
}

} // namespace rind::actors
