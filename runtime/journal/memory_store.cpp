// The journal in memory.
#include "runtime/journal/memory_store.hpp"

#include <algorithm>

namespace rind::journal {

std::vector<result<append_receipt>> memory_store::append(std::span<const append_request> group) {
  std::vector<result<append_receipt>> answers;
  answers.reserve(group.size());
  for (const append_request& request : group)
    answers.push_back(append_one(request));
  return answers;
}

result<append_receipt> memory_store::append_one(const append_request& request) {
  if (auto error = malformed(request))
    return *error;
  const auto first = places_.find(request.entries.front().id);
  if (first != places_.end())
    return repeat(request, first->second);
  for (const entry& e : request.entries)
    if (places_.contains(e.id))
      return id_in_use(e.id);

  auto found = sessions_.find(request.session_id);
  if (auto error = refusal(request, found == sessions_.end() ? nullptr : &found->second.state))
    return *error;
  if (found == sessions_.end()) {
    const std::uint64_t epoch = epoch_floor_ + 1;
    session fresh{{summary_tracker(request.session_id), epoch, epoch}, {}};
    found = sessions_.emplace(request.session_id, std::move(fresh)).first;
  }

  session& target = found->second;
  append_receipt receipt;
  receipt.epoch = target.state.epoch;
  receipt.first_position = target.state.tracker.summary().last_position + 1;
  for (const entry& e : request.entries) {
    auto stored = std::make_shared<entry>(e);
    stored->position = target.state.tracker.summary().last_position + 1;
    target.state.tracker.apply(*stored);
    places_.emplace(stored->id, place{request.session_id, stored->position});
    target.entries.push_back(stored);
    receipt.entries.push_back(std::move(stored));
  }
  return receipt;
}

result<append_receipt> memory_store::repeat(const append_request& request,
                                            const place& first) const {
  if (first.session_id != request.session_id)
    return id_in_use(request.entries.front().id);
  const session& target = sessions_.at(first.session_id);
  append_receipt receipt;
  receipt.epoch = request.create ? target.state.first_epoch : request.epoch;
  receipt.first_position = first.position;
  for (std::size_t i = 0; i < request.entries.size(); ++i) {
    const std::size_t index = static_cast<std::size_t>(first.position) - 1 + i;
    if (index >= target.entries.size() || target.entries[index]->id != request.entries[i].id)
      return id_in_use(request.entries.front().id);
    receipt.entries.push_back(target.entries[index]);
  }
  return receipt;
}

result<loaded_session> memory_store::claim(const std::string& session_id) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end())
    return no_such_session(session_id);
  ++found->second.state.epoch;
  return loaded_session{found->second.state.epoch, found->second.entries};
}

result<std::vector<entry_ptr>> memory_store::read(const std::string& session_id,
                                                  std::int64_t after_position, std::int64_t limit) {
  if (auto error = wrong_limit(limit, read_limit_max))
    return *error;
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end())
    return no_such_session(session_id);
  const auto& all = found->second.entries;
  const auto size = static_cast<std::int64_t>(all.size());
  const std::int64_t start = std::clamp<std::int64_t>(after_position, 0, size);
  const std::int64_t count = std::min(limit, size - start);
  return std::vector<entry_ptr>(all.begin() + start, all.begin() + start + count);
}

result<std::optional<session_summary>> memory_store::find(const std::string& session_id) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end())
    return std::optional<session_summary>();
  return std::optional(found->second.state.tracker.summary());
}

result<session_page> memory_store::list(std::int64_t limit, const std::string& after) {
  if (auto error = wrong_limit(limit, list_limit_max))
    return *error;
  std::vector<const session_summary*> order;
  for (const auto& [id, kept] : sessions_)
    order.push_back(&kept.state.tracker.summary());
  const auto comes_first = [](const session_summary& a, const page_start& b) {
    return a.updated_at_ms != b.updated_at_ms ? a.updated_at_ms > b.updated_at_ms
                                              : a.session_id < b.session_id;
  };
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    return comes_first(*a, {b->updated_at_ms, b->session_id});
  });

  auto next = order.begin();
  if (!after.empty()) {
    const auto start = parse_page_token(after);
    if (!start)
      return start.error();
    next = std::find_if(order.begin(), order.end(), [&](const auto* s) {
      const bool is_start =
          s->updated_at_ms == start->updated_at_ms && s->session_id == start->session_id;
      return !comes_first(*s, *start) && !is_start;
    });
  }
  session_page page;
  for (; next != order.end() && static_cast<std::int64_t>(page.sessions.size()) < limit; ++next)
    page.sessions.push_back(**next);
  if (next != order.end())
    page.next = page_token(page.sessions.back());
  return page;
}

result<std::optional<input_trace>> memory_store::find_input(const std::string& session_id,
                                                            const std::string& input_id) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end())
    return std::optional<input_trace>();
  std::optional<input_trace> trace;
  for (const entry_ptr& e : found->second.entries) {
    if (!trace && !input_id.empty() && input_id_of(e->body) == input_id)
      trace = trace_of(*e);
    const auto* end = std::get_if<entries::turn_ended>(&e->body);
    if (trace && end != nullptr && e->turn_id == trace->turn_id)
      trace->ended = end->outcome;
  }
  return trace;
}

result<done> memory_store::remove(const std::string& session_id, std::uint64_t epoch) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end())
    return no_such_session(session_id);
  if (epoch != 0 && epoch != found->second.state.epoch)
    return not_the_owner(session_id);
  // A session of the same name that is created later does not take this one's writer for its own.
  epoch_floor_ = std::max(epoch_floor_, found->second.state.epoch);
  for (const entry_ptr& e : found->second.entries)
    places_.erase(e->id);
  sessions_.erase(found);
  return done{};
}

} // namespace rind::journal
