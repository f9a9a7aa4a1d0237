// The rules of append_rules.hpp, over rows that were read at once.
#include "runtime/journal/postgres_group.hpp"

#include <set>

namespace rind::journal {

namespace {

failure cannot_store(const std::exception& why) {
  return make_failure(error_code::persistence_failed,
                      std::string("the append cannot be stored: ") + why.what());
}

/// SQLSTATE serialization_failure: asked again, the row is there.
constexpr const char* made_meanwhile = "40001";

enum question : std::size_t { states, highest, places, floor };

} // namespace

postgres_group::postgres_group(std::span<const append_request> group)
    : group_(group), encoded_(group.size()), refused_(group.size()) {
  std::set<std::string> sessions;
  for (std::size_t i = 0; i < group.size(); ++i) {
    refused_[i] = malformed(group[i]);
    if (refused_[i])
      continue;
    try {
      to_column(group[i].session_id);
      for (const entry& e : group[i].entries)
        to_column(e.id);
      encoded_[i] = encode(group[i].entries);
    } catch (const std::exception& e) {
      refused_[i] = cannot_store(e);
      continue;
    }
    sessions.insert(group[i].session_id);
    for (const entry& e : group[i].entries)
      entry_ids_.push_back(e.id);
  }
  session_ids_.assign(sessions.begin(), sessions.end());
}

std::vector<postgres_statement> postgres_group::questions() const {
  return {lock_states(session_ids_), select_highest(session_ids_), select_places(entry_ids_),
          select_epoch_floor()};
}

std::vector<postgres_statement> postgres_group::decide(const std::vector<postgres_rows>& read,
                                                       postgres_connection& db) {
  sessions_.clear();
  places_.clear();
  inserts_.clear();
  answers_.clear();
  if (!read.empty())
    take_rows(read);
  for (std::size_t i = 0; i < group_.size(); ++i)
    answers_.push_back(refused_[i] ? result<append_receipt>(*refused_[i]) : decide_one(i, db));
  std::vector<postgres_statement> writes;
  for (const auto& [id, session] : sessions_)
    if (!session.appended.empty())
      writes.push_back(upsert_state(*session.now, !session.stored));
  writes.insert(writes.end(), std::make_move_iterator(inserts_.begin()),
                std::make_move_iterator(inserts_.end()));
  return writes;
}

void postgres_group::take_rows(const std::vector<postgres_rows>& read) {
  for (int row = 0; row < read[states].count(); ++row) {
    auto& session = sessions_[session_id_in(read[states], row)];
    try {
      session.stored = state_in(read[states], row);
      session.now = session.stored;
    } catch (const damaged_session& e) {
      session.damage = make_failure(error_code::persistence_failed, e.what());
    }
  }
  for (int row = 0; row < read[highest].count(); ++row)
    sessions_[session_id_in(read[highest], row)].highest_position = read[highest].integer(row, 1);
  for (const auto& [id, session] : sessions_)
    if (!session.stored && !session.damage && session.highest_position > 0)
      throw postgres_error("session " + id + " was made meanwhile", made_meanwhile, false);
  for (int row = 0; row < read[places].count(); ++row)
    places_.insert(place_in(read[places], row));
  epoch_floor_ = static_cast<std::uint64_t>(read[floor].integer(0, 0));
}

result<append_receipt> postgres_group::decide_one(std::size_t index, postgres_connection& db) {
  const auto& request = group_[index];
  auto& session = sessions_[request.session_id];
  if (session.damage)
    return *session.damage;
  try {
    if (const auto first = places_.find(request.entries.front().id); first != places_.end())
      return repeat(request, first->second, db);
    for (const entry& e : request.entries)
      if (places_.contains(e.id))
        return id_in_use(e.id);
    if (auto error = refusal(request, session.now ? &*session.now : nullptr))
      return *error;
    check_end(request.session_id,
              session.stored ? session.stored->tracker.summary().last_position : 0,
              session.highest_position);
    return add(index, session);
  } catch (const postgres_error&) {
    throw; // the database itself: nothing of the group is written
  } catch (const damaged_session& e) {
    return make_failure(error_code::persistence_failed, e.what());
  } catch (const std::exception& e) {
    return cannot_store(e);
  }
}

// An append is atomic: all of it stands in the database, or all of it came before in this group.
result<append_receipt> postgres_group::repeat(const append_request& request,
                                              const entry_place& first, postgres_connection& db) {
  if (first.session_id != request.session_id)
    return id_in_use(request.entries.front().id);
  const auto& session = sessions_.at(request.session_id);
  if (!session.now)
    damaged(request.session_id, "it has entries and no session");
  const auto count = static_cast<std::int64_t>(request.entries.size());
  const auto stored_last = session.stored ? session.stored->tracker.summary().last_position : 0;
  if (first.position <= stored_last) {
    const auto rows = db.run_one(select_entries(request.session_id, first.position - 1, count));
    return repeated(request, *session.now,
                    entries_in(rows, session.stored->tracker.summary(), first.position - 1, count));
  }
  const auto begin = session.appended.begin() + (first.position - stored_last - 1);
  const auto there = std::min<std::int64_t>(count, session.appended.end() - begin);
  return repeated(request, *session.now, {begin, begin + there});
}

result<append_receipt> postgres_group::add(std::size_t index, known_session& session) {
  const auto& request = group_[index];
  const auto epoch = epoch_floor_ + 1;
  auto placed = place(
      session.now ? *session.now : session_state{summary_tracker(request.session_id), epoch, epoch},
      request);
  std::vector<postgres_statement> inserts{upsert_state(placed.state, false)}; // throws now or never
  inserts.clear();
  for (std::size_t i = 0; i < placed.receipt.entries.size(); ++i)
    inserts.push_back(insert_entry(request.session_id, *placed.receipt.entries[i],
                                   encoded_[index][i], placed.message_indices[i]));
  session.now = std::move(placed.state);
  for (const auto& e : placed.receipt.entries) {
    places_.emplace(e->id, entry_place{request.session_id, e->position});
    session.appended.push_back(e);
  }
  inserts_.insert(inserts_.end(), std::make_move_iterator(inserts.begin()),
                  std::make_move_iterator(inserts.end()));
  return std::move(placed.receipt);
}

} // namespace rind::journal
