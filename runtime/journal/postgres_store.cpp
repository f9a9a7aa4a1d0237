// The PostgreSQL journal: transactions, and what becomes of a call when the connection breaks.
#include "runtime/journal/postgres_store.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include <libpq-fe.h>

#include "runtime/journal/postgres_group.hpp"
#include "runtime/journal/postgres_schema.hpp"

namespace rind::journal {

namespace {

using namespace std::chrono_literals;

/// Pauses between tries to connect: each twice the one before it.
constexpr auto first_pause = 20ms;
constexpr auto longest_pause = 2s;
/// How often a call is made anew because another node was in its way.
constexpr int conflicts_max = 3;

bool is_conflict(const postgres_error& e) {
  constexpr std::array states{"23505", "40001", "40P01"}; // unique key, serialization, deadlock
  return std::find(states.begin(), states.end(), e.sqlstate()) != states.end();
}

failure explain(const std::exception& e) {
  if (dynamic_cast<const damaged_session*>(&e) != nullptr)
    return make_failure(error_code::persistence_failed, e.what());
  return make_failure(error_code::persistence_failed,
                      std::string("the journal's database cannot be used: ") + e.what());
}

class postgres_store final : public store {
public:
  explicit postgres_store(postgres_options options) : options_(std::move(options)) {}

  /// Throws postgres_error.
  std::optional<failure> open() {
    connection_ = std::make_unique<postgres_connection>(options_);
    return prepare_tables(*connection_, options_.access);
  }

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
  using clock = std::chrono::steady_clock;

  /// Works on a connection, and once more on a new one where it breaks, as long as there is
  /// patience.
  template <class T, class Work>
  result<T> attempt(Work work) {
    const auto deadline =
        clock::now() + std::chrono::milliseconds(is_away_ ? 0 : options_.patience_ms);
    auto pause = std::chrono::milliseconds(first_pause);
    for (int conflicts = 0;;) {
      try {
        if (!connection_)
          connection_ = std::make_unique<postgres_connection>(options_);
        result<T> answer = work(*connection_);
        is_away_ = false;
        return answer;
      } catch (const postgres_error& e) {
        if (e.is_lost()) {
          connection_.reset();
          is_away_ = clock::now() + pause > deadline;
          if (is_away_)
            return explain(e);
          std::this_thread::sleep_for(pause);
          pause = std::min<std::chrono::milliseconds>(pause * 2, longest_pause);
        } else if (!is_conflict(e) || ++conflicts > conflicts_max) {
          return explain(e);
        }
      } catch (const std::exception& e) {
        return explain(e);
      }
    }
  }

  postgres_options options_;
  std::unique_ptr<postgres_connection> connection_;
  bool is_away_ = false; // the patience of a call is over: the next ones try once each
};

std::vector<result<append_receipt>> postgres_store::append(std::span<const append_request> group) {
  postgres_group appends(group);
  const auto all = attempt<done>([&](postgres_connection& db) -> result<done> {
    if (appends.is_decided()) {
      appends.decide({}, db);
      return done{};
    }
    postgres_transaction transaction(db);
    const auto read = transaction.begin(appends.questions());
    transaction.commit(appends.decide(read, db));
    return done{};
  });
  if (all)
    return appends.take_answers();
  return std::vector<result<append_receipt>>(group.size(), all.error());
}

result<loaded_session> postgres_store::claim(const std::string& session_id) {
  return attempt<loaded_session>([&](postgres_connection& db) -> result<loaded_session> {
    constexpr auto all = std::numeric_limits<std::int64_t>::max();
    postgres_transaction transaction(db);
    const auto read =
        transaction.begin({lock_states({session_id}), select_entries(session_id, 0, all)});
    if (read[0].count() == 0)
      return no_such_session(session_id);
    const auto state = state_in(read[0], 0);
    loaded_session loaded;
    loaded.epoch = state.epoch + 1;
    loaded.entries = entries_in(read[1], state.tracker.summary(), 0, all);
    transaction.commit({update_epoch(session_id, loaded.epoch)});
    return loaded;
  });
}

result<std::vector<entry_ptr>> postgres_store::read(const std::string& session_id,
                                                    std::int64_t after_position,
                                                    std::int64_t limit) {
  using answer = std::vector<entry_ptr>;
  if (auto error = wrong_limit(limit, read_limit_max))
    return *error;
  return attempt<answer>([&](postgres_connection& db) -> result<answer> {
    const auto after = std::max<std::int64_t>(after_position, 0);
    const auto read = postgres_transaction(db).read(
        {select_state(session_id), select_entries(session_id, after, limit)});
    if (read[0].count() == 0)
      return no_such_session(session_id);
    return entries_in(read[1], state_in(read[0], 0).tracker.summary(), after, limit);
  });
}

result<std::optional<session_summary>> postgres_store::find(const std::string& session_id) {
  using answer = std::optional<session_summary>;
  return attempt<answer>([&](postgres_connection& db) -> result<answer> {
    const auto rows = db.run_one(select_state(session_id));
    return rows.count() == 0 ? answer() : answer(state_in(rows, 0).tracker.summary());
  });
}

result<session_page> postgres_store::list(std::int64_t limit, const std::string& after) {
  if (auto error = wrong_limit(limit, list_limit_max))
    return *error;
  std::optional<page_start> start;
  if (!after.empty()) {
    auto parsed = parse_page_token(after);
    if (!parsed)
      return parsed.error();
    start = std::move(*parsed);
  }
  return attempt<session_page>([&](postgres_connection& db) -> result<session_page> {
    return page_in(db.run_one(select_page(limit, start)), limit);
  });
}

result<std::optional<input_trace>> postgres_store::find_input(const std::string& session_id,
                                                              const std::string& input_id) {
  using answer = std::optional<input_trace>;
  return attempt<answer>([&](postgres_connection& db) -> result<answer> {
    const auto carrier_rows = db.run_one(select_input(session_id, input_id));
    if (carrier_rows.count() == 0)
      return answer();
    const auto carrier = entry_in(carrier_rows, 0, session_id);
    if (input_id_of(carrier->body) != input_id)
      damaged(session_id, "entry " + std::to_string(carrier->position) + " has another input id");
    input_trace trace = trace_of(*carrier);
    // Entries do not change: a later look at the end can only find more.
    const auto end_rows = db.run_one(select_end(session_id, carrier->turn_id, carrier->position));
    if (end_rows.count() > 0)
      trace.ended = std::get<entries::turn_ended>(entry_in(end_rows, 0, session_id)->body).outcome;
    return answer(std::move(trace));
  });
}

result<done> postgres_store::remove(const std::string& session_id, std::uint64_t epoch) {
  bool may_be_removed = false;
  return attempt<done>([&](postgres_connection& db) -> result<done> {
    postgres_transaction transaction(db);
    const auto current = transaction.begin({lock_epoch(session_id)});
    if (current.front().count() == 0)
      return may_be_removed ? result<done>(done{}) : no_such_session(session_id);
    const auto owner = static_cast<std::uint64_t>(current.front().integer(0, 0));
    if (epoch != 0 && epoch != owner)
      return not_the_owner(session_id);
    may_be_removed = true;
    transaction.commit({raise_epoch_floor(owner), delete_session(session_id)});
    return done{};
  });
}

using parsed_options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

} // namespace

bool is_postgres_address(const std::string& address) {
  return address.starts_with("postgresql://") || address.starts_with("postgres://");
}

std::optional<std::string> postgres_address_problem(const std::string& address) {
  char* why = nullptr;
  const parsed_options parsed(PQconninfoParse(address.c_str(), &why), &PQconninfoFree);
  PQfreemem(why); // it would repeat the address
  if (!parsed)
    return "is no address that libpq understands";
  for (const auto* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr &&
        std::string_view(option->keyword).find("password") != std::string_view::npos)
      return "must not hold a password: it comes from PGPASSWORD or a password file";
  return std::nullopt;
}

result<std::unique_ptr<store>> open_postgres(const postgres_options& options) {
  if (const auto problem = postgres_address_problem(options.address))
    return make_failure(error_code::invalid_request, "the journal's address " + *problem);
  try {
    auto made = std::make_unique<postgres_store>(options);
    if (auto error = made->open())
      return *error;
    return std::unique_ptr<store>(std::move(made));
  } catch (const std::exception& e) {
    return explain(e);
  }
}

} // namespace rind::journal
