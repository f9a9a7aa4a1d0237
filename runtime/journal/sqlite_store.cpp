// The SQLite journal: what is read and written in one transaction, and how failures leave it.
#include "runtime/journal/sqlite_store.hpp"

#include <limits>

#include <SQLiteCpp/Exception.h>

#include "messages/json.hpp"
#include "runtime/journal/sqlite_rows.hpp"
#include "runtime/journal/sqlite_schema.hpp"

namespace rind::journal {

namespace {

constexpr const char* update_epoch = "UPDATE sessions SET epoch = ? WHERE session_id = ?";
constexpr const char* select_epoch = "SELECT epoch FROM sessions WHERE session_id = ?";
constexpr const char* select_epoch_floor = "SELECT epoch_floor FROM meta";
constexpr const char* raise_epoch_floor = "UPDATE meta SET epoch_floor = max(epoch_floor, ?)";
constexpr const char* delete_session = "DELETE FROM sessions WHERE session_id = ?";

#ifdef RIND_CANARY_SPLIT_BOUNDARY
bool holds_boundary(const append_request& request) {
  for (const entry& e : request.entries)
    if (std::holds_alternative<entries::boundary>(e.body))
      return true;
  return false;
}
#endif

class sqlite_store final : public store {
public:
  sqlite_store(std::string path, std::unique_ptr<sqlite_connection> writing,
               std::unique_ptr<sqlite_connection> reading)
      : path_(std::move(path)), writing_(std::move(writing)), reading_(std::move(reading)) {}

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override;
  result<loaded_session> claim(const std::string& session_id) override;
  result<std::vector<entry_ptr>> read(const std::string& session_id, std::int64_t after_position,
                                      std::int64_t limit) override;
  result<std::optional<session_summary>> find(const std::string& session_id) override;
  result<session_page> list(std::int64_t limit, const std::string& after) override;
  result<std::optional<input_trace>> find_input(const std::string& session_id,
                                                const std::string& input_id) override;
  result<done> remove(const std::string& session_id, std::uint64_t epoch) override;

private:
  result<append_receipt> append_one(const append_request& request);
  result<append_receipt> repeat(const append_request& request, const entry_place& first);
  result<session_state> admit(const append_request& request);
  append_receipt write(session_state state, const append_request& request,
                       const std::vector<encoded_entry>& encoded);

  /// Runs `work` in a transaction; commits it where the answer is no failure.
  template <class T, class Work>
  result<T> within(sqlite_connection& db, connection_use use, Work work) {
    try {
      sqlite_transaction transaction(db, use);
      result<T> answer = work();
      if (answer)
        transaction.commit();
      return answer;
    } catch (const std::exception& e) {
      // SQLite meets a file that is gone in its own ways; the cause is the same.
      return db.has_moved() ? explain(moved_journal(), path_) : explain(e, path_);
    }
  }

  std::string path_;
  std::unique_ptr<sqlite_connection> writing_;
  std::unique_ptr<sqlite_connection> reading_;
};

std::vector<result<append_receipt>> sqlite_store::append(std::span<const append_request> group) {
  std::vector<result<append_receipt>> answers;
  answers.reserve(group.size());
  const auto all = within<done>(*writing_, connection_use::write, [&] {
    for (const append_request& request : group)
      answers.push_back(append_one(request));
    return done{};
  });
  if (!all)
    answers.assign(group.size(), all.error());
  return answers;
}

result<append_receipt> sqlite_store::append_one(const append_request& request) {
  if (auto error = malformed(request))
    return *error;
  try {
    if (const auto first = find_entry(*writing_, request.entries.front().id))
      return repeat(request, *first);
    const auto encoded = encode(request.entries);
    auto state = admit(request);
    if (!state)
      return state.error();
    return write(std::move(*state), request, encoded);
  } catch (const SQLite::Exception&) {
    throw; // the file itself: nothing of the group is written
  } catch (const std::exception& e) {
    return explain(e, path_); // before anything of this request was written
  }
}

/// The state of the session that takes the request, or why none does. Every condition is checked
/// here, before the first write: a request that is refused leaves nothing to undo in the group's
/// transaction.
result<session_state> sqlite_store::admit(const append_request& request) {
  for (const entry& e : request.entries)
    if (find_entry(*writing_, e.id))
      return id_in_use(e.id);
  auto state = read_state(*writing_, request.session_id);
  if (auto error = refusal(request, state ? &*state : nullptr))
    return *error;
  check_end(request.session_id, state ? state->tracker.summary().last_position : 0,
            highest_position(*writing_, request.session_id));
  if (state)
    return *state;
  auto floor = writing_->use(select_epoch_floor);
  floor.step();
  const auto epoch = static_cast<std::uint64_t>(floor.integer(0)) + 1;
  return session_state{summary_tracker(request.session_id), epoch, epoch};
}

append_receipt sqlite_store::write(session_state state, const append_request& request,
                                   const std::vector<encoded_entry>& encoded) {
#ifdef RIND_CANARY_SPLIT_BOUNDARY
  const auto before = state;
#endif
  auto placed = place(std::move(state), request);
  write_state(*writing_, placed.state);
  for (std::size_t i = 0; i < encoded.size(); ++i) {
#ifdef RIND_CANARY_SPLIT_BOUNDARY
    if (i == 1 && holds_boundary(request)) {
      auto half = request;
      half.entries.resize(1);
      write_state(*writing_, place(before, half).state);
      writing_->execute("COMMIT");
      writing_->execute("BEGIN IMMEDIATE");
      write_state(*writing_, placed.state);
    }
#endif
    write_entry(*writing_, request.session_id, *placed.receipt.entries[i], encoded[i],
                placed.message_indices[i]);
  }
  return std::move(placed.receipt);
}

result<append_receipt> sqlite_store::repeat(const append_request& request,
                                            const entry_place& first) {
  const std::string& first_id = request.entries.front().id;
  if (first.session_id != request.session_id)
    return id_in_use(first_id);
  const auto state = read_state(*writing_, request.session_id);
  if (!state)
    throw damaged_session("the journal of session " + request.session_id +
                          " cannot be read: it has entries and no session");
  return repeated(request, *state,
                  read_entries(*writing_, state->tracker.summary(), first.position - 1,
                               static_cast<std::int64_t>(request.entries.size())));
}

result<loaded_session> sqlite_store::claim(const std::string& session_id) {
  return within<loaded_session>(*writing_, connection_use::write, [&]() -> result<loaded_session> {
    const auto state = read_state(*writing_, session_id);
    if (!state)
      return no_such_session(session_id);
    loaded_session loaded;
    loaded.epoch = state->epoch + 1;
    loaded.entries = read_entries(*writing_, state->tracker.summary(), 0,
                                  std::numeric_limits<std::int64_t>::max());
    writing_->use(update_epoch)
        .bind(static_cast<std::int64_t>(loaded.epoch))
        .bind(session_id)
        .step();
    return loaded;
  });
}

result<std::vector<entry_ptr>> sqlite_store::read(const std::string& session_id,
                                                  std::int64_t after_position, std::int64_t limit) {
  using entries_result = result<std::vector<entry_ptr>>;
  if (auto error = wrong_limit(limit, read_limit_max))
    return *error;
  return within<std::vector<entry_ptr>>(*reading_, connection_use::read, [&]() -> entries_result {
    const auto state = read_state(*reading_, session_id);
    if (!state)
      return no_such_session(session_id);
    return read_entries(*reading_, state->tracker.summary(), after_position, limit);
  });
}

result<std::optional<session_summary>> sqlite_store::find(const std::string& session_id) {
  using answer = std::optional<session_summary>;
  return within<answer>(*reading_, connection_use::read, [&]() -> result<answer> {
    const auto state = read_state(*reading_, session_id);
    return state ? answer(state->tracker.summary()) : answer();
  });
}

result<session_page> sqlite_store::list(std::int64_t limit, const std::string& after) {
  if (auto error = wrong_limit(limit, list_limit_max))
    return *error;
  std::optional<page_start> start;
  if (!after.empty()) {
    auto parsed = parse_page_token(after);
    if (!parsed)
      return parsed.error();
    start = std::move(*parsed);
  }
  return within<session_page>(*reading_, connection_use::read, [&]() -> result<session_page> {
    return read_page(*reading_, limit, start);
  });
}

result<std::optional<input_trace>> sqlite_store::find_input(const std::string& session_id,
                                                            const std::string& input_id) {
  using answer = std::optional<input_trace>;
  return within<answer>(*reading_, connection_use::read, [&]() -> result<answer> {
    return read_trace(*reading_, session_id, input_id);
  });
}

result<done> sqlite_store::remove(const std::string& session_id, std::uint64_t epoch) {
  return within<done>(*writing_, connection_use::write, [&]() -> result<done> {
    std::int64_t current = 0;
    { // only the epoch is read: a damaged session can be removed
      auto row = writing_->use(select_epoch);
      if (!row.bind(session_id).step())
        return no_such_session(session_id);
      current = row.integer(0);
    }
    if (epoch != 0 && epoch != static_cast<std::uint64_t>(current))
      return not_the_owner(session_id);
    writing_->use(raise_epoch_floor).bind(current).step();
    writing_->use(delete_session).bind(session_id).step(); // its entries go with it
    return done{};
  });
}

} // namespace

result<std::unique_ptr<store>> open_sqlite(const sqlite_options& options) {
  try {
    const bool serves = options.access == sqlite_access::serve;
    auto writing = std::make_unique<sqlite_connection>(options);
    auto error = refuse_file(writing->database(), options.access);
    if (!error) {
      writing->be_for(serves ? connection_use::write : connection_use::read, options.synchronous);
      if (serves)
        error = prepare_schema(writing->database());
    }
    if (error) {
      error->message = options.path + ": " + error->message;
      return *error;
    }
    auto reading = std::make_unique<sqlite_connection>(options);
    reading->be_for(connection_use::read, options.synchronous);
    return std::unique_ptr<store>(
        std::make_unique<sqlite_store>(options.path, std::move(writing), std::move(reading)));
  } catch (const std::exception& e) {
    return explain(e, options.path);
  }
}

} // namespace rind::journal
